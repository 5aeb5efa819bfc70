#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace trainbench {

/// What a result must say of the machine it was measured on: CPU, caches, memory, clocks and their
/// governor, kernel, container, OpenMP's threads and the environment. What the machine hides is
/// null. The real host is `root` "/".
nlohmann::ordered_json machine_info(const std::filesystem::path& root = "/");

/// The name of this host.
std::string host_name();

/// Tells hosts apart without naming them: a salted one-way hash of the machine id, CPU model and
/// core counts. Containers made from one image may share a machine id, hence the latter.
std::string host_id(const std::filesystem::path& root = "/");

}  // namespace trainbench
