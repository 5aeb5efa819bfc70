#pragma once

#include <string>

namespace trainbench {

/// Makes sure, before anything is measured, that a file can be written at `path`: makes its folder
/// and tries. Leaves an existing file as it is. Throws InputError that names the path.
void prepare_output(const std::string& path);

/// Writes a file so that a reader sees the old contents or the new, never a part: a temporary file
/// beside it, flushed to the disk, then renamed. What exists and is no regular file (/dev/null, a
/// pipe) is written to directly. Throws InputError that names the path.
void write_file_atomically(const std::string& path, const std::string& contents);

}  // namespace trainbench
