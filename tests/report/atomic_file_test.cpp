#include "common/report/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "common/core/error.h"
#include "tests/temporary_folder.h"

namespace trainbench {
namespace {

using testing::TemporaryFolder;

std::string contents_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t files_in(const std::filesystem::path& folder) {
  const std::filesystem::directory_iterator files(folder);
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

template <class Work>
std::string message_of(Work&& work) {
  try {
    work();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(AtomicFile, WritesAndReplaces) {
  const TemporaryFolder folder;
  const std::string path = folder.file("deep/er/result.json");
  prepare_output(path);
  EXPECT_FALSE(std::filesystem::exists(path));
  write_file_atomically(path, "first");
  EXPECT_EQ(contents_of(path), "first");
  write_file_atomically(path, std::string(1 << 20, 'x'));
  EXPECT_EQ(contents_of(path).size(), std::size_t{1} << 20);
  EXPECT_EQ(files_in(folder.file("deep/er")), 1u);
}

TEST(AtomicFile, PreparingLeavesWhatIsThere) {
  const TemporaryFolder folder;
  const std::string path = folder.file("result.json");
  write_file_atomically(path, "kept");
  prepare_output(path);
  EXPECT_EQ(contents_of(path), "kept");
  EXPECT_EQ(files_in(folder.file("")), 1u);
}

TEST(AtomicFile, AFailedWriteLeavesTheOldFileAndNoOther) {
  const TemporaryFolder folder;
  const std::string path = folder.file("result.json");
  write_file_atomically(path, "kept");
  // The temporary file is there already, as a folder: it cannot be written.
  const std::string temporary = path + ".tmp" + std::to_string(::getpid());
  std::filesystem::create_directory(temporary);
  const std::string message = message_of([&] { write_file_atomically(path, "new"); });
  EXPECT_EQ(message.find(temporary + ": cannot be written"), 0u) << message;
  EXPECT_EQ(contents_of(path), "kept");
}

TEST(AtomicFile, HasTheModeOfAnyOtherFile) {
  const TemporaryFolder folder;
  const std::string path = folder.file("result.json");
  const mode_t old = ::umask(022);
  write_file_atomically(path, "x");
  ::umask(old);
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0644u);
}

TEST(AtomicFile, WhatIsNoRegularFileIsNotReplaced) {
  prepare_output("/dev/null");
  write_file_atomically("/dev/null", "x");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(AtomicFile, NamesThePathThatCannotBeWritten) {
  const TemporaryFolder folder;
  write_file_atomically(folder.file("file"), "x");
  EXPECT_EQ(message_of([&] { prepare_output(folder.file("")); }),
            folder.file("") + ": is a folder; a file's name is needed");
  const std::string below_file = folder.file("file/result.json");
  EXPECT_EQ(message_of([&] { prepare_output(below_file); }).find(below_file + ": cannot"), 0u);
  // No user may make a file there, root included.
  const std::string message = message_of([] { prepare_output("/proc/trainbench.json"); });
  EXPECT_EQ(message.find("/proc/trainbench.json: cannot"), 0u) << message;
  EXPECT_FALSE(message_of([] { prepare_output(""); }).empty());
}

}  // namespace
}  // namespace trainbench
