#include "bench/build_info.h"

#include "trainbench_version.h"

namespace trainbench {

nlohmann::ordered_json build_info() {
  return {{"version", TRAINBENCH_VERSION},
          {"commit", TRAINBENCH_COMMIT},
          {"dirty", TRAINBENCH_DIRTY},
          {"build_type", TRAINBENCH_BUILD_TYPE},
          {"compiler", TRAINBENCH_COMPILER},
          {"flags", TRAINBENCH_FLAGS},
          {"arch", TRAINBENCH_ARCH},
          {"sanitizers", TRAINBENCH_SANITIZE},
          {"cuda_compiler", TRAINBENCH_CUDA_COMPILER}};
}

std::string version_text() {
  const nlohmann::ordered_json info = build_info();
  std::string text = "trainbench " + info["version"].get<std::string>() + " (commit " +
                     info["commit"].get<std::string>();
  if (info["dirty"].get<bool>()) text += ", with changes";
  text += ")";
  for (const char* key :
       {"build_type", "compiler", "flags", "arch", "sanitizers", "cuda_compiler"}) {
    const std::string value = info[key].get<std::string>();
    if (!value.empty()) text += std::string("\n  ") + key + ": " + value;
  }
  return text;
}

}  // namespace trainbench
