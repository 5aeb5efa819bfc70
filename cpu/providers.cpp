#include "cpu/providers.h"

#include "common/core/error.h"
#include "cpu/providers/eigen.h"

namespace trainbench {

const std::vector<const MatmulProvider*>& matmul_providers() {
  static const std::vector<const MatmulProvider*> list{&eigen_provider()};
  return list;
}

std::vector<const MatmulProvider*> matmul_providers_for(const std::string& option) {
  if (option == "auto") return matmul_providers();
  std::string known = "auto";
  for (const MatmulProvider* provider : matmul_providers()) {
    if (provider->name() == option) return {provider};
    known += ", " + std::string(provider->name());
  }
  throw InputError("no CPU provider \"" + option + "\" in this build; it has " + known);
}

std::vector<std::pair<std::string, std::string>> cpu_providers() {
  return {{"eigen", eigen_version()}};
}

}  // namespace trainbench
