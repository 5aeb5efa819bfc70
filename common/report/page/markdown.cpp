#include "common/report/escape.h"
#include "common/report/page/page.h"

namespace trainbench {
namespace {

std::string table_text(const PageTable& table) {
  std::string text = table.title.empty() ? "" : "**" + for_markdown(table.title) + "**\n\n";
  text += "|";
  for (const std::string& column : table.columns) text += " " + for_markdown(column) + " |";
  text += "\n|";
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const bool numbers = !table.rows.empty() && table.rows.front()[i].order.has_value();
    text += numbers ? "---:|" : "---|";
  }
  text += "\n";
  for (const std::vector<PageCell>& row : table.rows) {
    text += "|";
    for (const PageCell& cell : row) text += " " + for_markdown(cell.text) + " |";
    text += "\n";
  }
  return text;
}

}  // namespace

std::string to_markdown(const Page& page) {
  std::string text = "# " + for_markdown(page.title) + "\n";
  for (const PageSection& section : page.sections) {
    text += "\n## " + for_markdown(section.title) + "\n";
    for (const std::string& paragraph : section.paragraphs) {
      text += "\n" + for_markdown(paragraph) + "\n";
    }
    for (const PageTable& table : section.tables) text += "\n" + table_text(table);
    for (const std::string& command : section.commands) {
      text += "\n    " + escaped(command, {{'\n', " "}}) + "\n";
    }
  }
  return text;
}

}  // namespace trainbench
