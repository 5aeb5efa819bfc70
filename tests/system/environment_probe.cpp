// Stands for the program in environment_test: a library that reads its environment while it is
// loaded, then a main() that sanitizes. Prints what each saw.
#include <omp.h>
#include <sched.h>
#include <stdlib.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "common/system/cpu_topology.h"
#include "common/system/environment.h"

namespace {

const std::string seen_at_load = [] {
  const char* value = getenv("NVIDIA_TF32_OVERRIDE");
  return std::string(value == nullptr ? "absent" : value);
}();

int own_mask_size() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const trainbench::SanitizedEnvironment& record = trainbench::sanitize_environment(argv);
  int loader_mask = 0;
  std::thread([&] {
    trainbench::allow_all_cpus();
    loader_mask = own_mask_size();
  }).join();
  std::cout << nlohmann::json{{"at_load", seen_at_load},
                              {"cleared", record.cleared},
                              {"set", record.set},
                              {"restarted", record.restarted},
                              {"relevant", trainbench::relevant_environment()},
                              {"arguments", std::vector<std::string>(argv + 1, argv + argc)},
                              {"bound", omp_get_proc_bind() != omp_proc_bind_false},
                              {"allowed", trainbench::allowed_cpus().size()},
                              {"usable_cores", trainbench::usable_cores()},
                              {"main_mask", own_mask_size()},
                              {"loader_mask", loader_mask}}
            << "\n";
}
