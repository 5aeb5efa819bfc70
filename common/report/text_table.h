#pragma once

#include <string>
#include <vector>

namespace trainbench {

/// Columns of plain text, each as wide as its widest cell and one space apart.
class TextTable {
 public:
  enum class Align : std::uint8_t { left, right };
  struct Column {
    std::string title;
    Align align = Align::right;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// One cell a column.
  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }

  /// Titles and rows, a line each, without trailing spaces.
  std::string text(const std::string& indent = "") const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// `text` broken between words into lines of at most `width`; every line but the first starts with
/// `indent`. A longer word has a line of its own.
std::string wrapped(const std::string& text, std::size_t width, const std::string& indent);

}  // namespace trainbench
