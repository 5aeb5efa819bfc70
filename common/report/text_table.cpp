#include "common/report/text_table.h"

#include <algorithm>
#include <sstream>

#include "common/core/error.h"

namespace trainbench {

void TextTable::add(std::vector<std::string> cells) {
  require(cells.size() == columns_.size(), "one cell a column");
  rows_.push_back(std::move(cells));
}

std::string TextTable::text(const std::string& indent) const {
  std::vector<std::size_t> widths;
  std::vector<std::string> titles;
  for (const Column& column : columns_) {
    titles.push_back(column.title);
    widths.push_back(column.title.size());
  }
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string result;
  const auto append = [&](const std::vector<std::string>& cells) {
    std::string line = indent;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string padding(widths[i] - cells[i].size(), ' ');
      if (i > 0) line += ' ';
      line += columns_[i].align == Align::left ? cells[i] + padding : padding + cells[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + "\n";
  };
  append(titles);
  for (const auto& row : rows_) append(row);
  return result;
}

std::string wrapped(const std::string& text, std::size_t width, const std::string& indent) {
  std::istringstream words(text);
  std::string result;
  std::string line;
  bool first = true;
  for (std::string word; words >> word;) {
    if (!first && line.size() + 1 + word.size() > width) {
      result += line + "\n";
      line = indent + word;
    } else {
      line += first ? word : " " + word;
    }
    first = false;
  }
  return result + line;
}

}  // namespace trainbench
