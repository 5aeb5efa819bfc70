#include "cpu/providers.h"

#include "common/core/error.h"
#include "cpu/providers/eigen.h"
#include "cpu/providers/plain.h"
#include "cpu/providers/winograd.h"
#if TRAINBENCH_HAS_BLAS
#include "cpu/providers/blas.h"
#endif
#if TRAINBENCH_HAS_ONEDNN
#include "cpu/providers/onednn.h"
#endif

namespace trainbench {
namespace {

struct Library {
  const MatmulProvider& (*provider)();
  std::string (*version)();
  const ConvolutionProvider& (*convolution)() = nullptr;
};

const std::vector<Library>& libraries() {
  static const std::vector<Library> list {
#if TRAINBENCH_HAS_ONEDNN
    {onednn_provider, onednn_version, onednn_convolution_provider},
#endif
#if TRAINBENCH_HAS_BLAS
        {blas_provider, blas_version},
#endif
        {eigen_provider, eigen_version},
  };
  return list;
}

}  // namespace

std::vector<const MatmulProvider*> matmul_providers_for(const std::string& option) {
  std::vector<const MatmulProvider*> chosen;
  std::string known = "auto";
  for (const Library& library : libraries()) {
    const MatmulProvider& provider = library.provider();
    if (option == "auto" || provider.name() == option) chosen.push_back(&provider);
    known += ", " + std::string(provider.name());
  }
  for (const MatmulProvider* rung : {&naive_provider(), &openmp_provider()}) {
    if (rung->name() == option) chosen.push_back(rung);
  }
  if (chosen.empty()) {
    throw InputError("no CPU provider \"" + option + "\" in this build; it has " + known);
  }
  return chosen;
}

std::vector<const ConvolutionProvider*> convolution_providers_for(const std::string& option) {
  std::vector<const ConvolutionProvider*> chosen;
  for (const Library& library : libraries()) {
    if (library.convolution == nullptr) continue;
    const ConvolutionProvider& provider = library.convolution();
    if (option == "auto" || provider.name() == option) chosen.push_back(&provider);
  }
  if (option == "auto") chosen.push_back(&winograd_provider());
  return chosen;
}

std::vector<std::pair<std::string, std::string>> cpu_providers() {
  std::vector<std::pair<std::string, std::string>> list;
  for (const Library& library : libraries()) {
    list.emplace_back(library.provider().name(), library.version());
  }
  return list;
}

}  // namespace trainbench
