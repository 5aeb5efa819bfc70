#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace trainbench {

/// Which of several ways to do `work` is the fastest here, as an index into their names, the one
/// that usually is first. The first question runs each way a few times; the answer is remembered by
/// the three arguments before `run`, by this process and, after keep_choices(), by later ones.
std::size_t fastest(int threads, const std::string& work, const std::vector<std::string>& names,
                    const std::function<void(std::size_t)>& run);

/// Where answers outlive the process.
struct ChoiceFile {
  std::filesystem::path path;
  std::string key;      ///< of CPU and libraries; answers under another key are not used
  bool retune = false;  ///< start without those that the file has
};

/// Takes the answers that the file has. One that is missing, unreadable or of another key is as one
/// without answers: it is a cache.
void keep_choices(const ChoiceFile& file);

/// How many answers came from the file and how many were measured since.
struct ChoiceCounts {
  std::size_t kept = 0;
  std::size_t measured = 0;
};
ChoiceCounts choice_counts();

/// Adds what was measured to the file of keep_choices(), whatever else was added to it meanwhile;
/// without one, or where it cannot be written, nothing happens.
void save_choices();

}  // namespace trainbench
