#include <filesystem>
#include <optional>

#include "common/config/json_file.h"
#include "common/config/suite.h"
#include "common/core/error.h"
#include "common/report/escape.h"
#include "common/report/numbers.h"
#include "common/report/page/page.h"

namespace trainbench {
namespace {

constexpr std::size_t kLargestPart = std::size_t{16} << 20;

/// A file of the page's, from the first of the program's folders that has it; none: no value.
std::optional<std::string> find_part(const std::string& name) {
  for (const std::filesystem::path& folder : config_folders()) {
    std::error_code error;
    const std::filesystem::path path = folder / "page" / name;
    if (std::filesystem::exists(path, error)) return read_text_file(path, kLargestPart);
  }
  return std::nullopt;
}

std::string part(const std::string& name) {
  if (const auto text = find_part(name)) return *text;
  throw InputError("the program's file configs/page/" + name +
                   " was not found; it is installed beside the suites");
}

/// A program inside a script element: no string in it may end that.
std::string as_script(std::string program) {
  for (std::size_t at = 0; (at = program.find("</script", at)) != std::string::npos; at += 3) {
    program.insert(at + 1, "\\");
  }
  return "<script>\n" + program + "</script>\n";
}

std::string element(const std::string& name, const std::string& text,
                    const std::string& attributes = "") {
  return "<" + name + attributes + ">" + for_markup(text) + "</" + name + ">\n";
}

/// The script sorts by data-order where a cell has one, else by its text.
std::string cell_text(const PageCell& cell) {
  if (!cell.order) return element("td", cell.text);
  return element("td", cell.text,
                 " class=\"number\" data-order=\"" + Json(*cell.order).dump() + "\"");
}

std::string table_text(const PageTable& table) {
  std::string text = "<div class=\"table\" tabindex=\"0\">\n<table>\n";
  if (!table.title.empty()) text += element("caption", table.title);
  text += "<thead><tr>\n";
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const bool numbers = !table.rows.empty() && table.rows.front()[i].order.has_value();
    text += element("th", table.columns[i],
                    numbers ? " scope=\"col\" class=\"number\"" : " scope=\"col\"");
  }
  text += "</tr></thead>\n<tbody>\n";
  for (const std::vector<PageCell>& row : table.rows) {
    text += "<tr>\n";
    for (const PageCell& cell : row) text += cell_text(cell);
    text += "</tr>\n";
  }
  return text + "</tbody>\n</table>\n</div>\n";
}

/// JSON inside a script element: only a "<" could end that.
std::string for_script(const std::string& json) { return escaped(json, {{'<', "\\u003c"}}); }

/// `number` tells the page's figures apart. The numbers lie open where there is no picture.
std::string figure_text(const PageFigure& figure, std::size_t number, bool drawn) {
  const std::string id = "figure" + std::to_string(number);
  std::string text = "<figure>\n" + element("figcaption", figure.title);
  if (drawn) {
    text +=
        "<div class=\"scrolled\" tabindex=\"0\"><div class=\"plot\" role=\"img\" aria-label=\"" +
        for_markup(figure.description) + "\" data-from=\"" + id +
        "\"></div></div>\n<script type=\"application/json\" id=\"" + id + "\">" +
        for_script(Json{{"data", figure.traces}, {"layout", figure.layout}}.dump(
            -1, ' ', false, Json::error_handler_t::replace)) +
        "</script>\n";
  }
  text += element("p", figure.description);
  text += drawn ? "<details>\n<summary>The numbers</summary>\n"
                : "<details open>\n<summary>The numbers</summary>\n";
  return text + table_text(figure.table) + "</details>\n</figure>\n";
}

std::string data_text(const Page& page) {
  std::string text = "<section>\n<h2>Data</h2>\n<ul>\n";
  for (std::size_t i = 0; i < page.data.size(); ++i) {
    const PageData& data = page.data[i];
    text += "<li><a class=\"download\" href=\"#\" data-from=\"data" + std::to_string(i) + "\">" +
            for_markup(data.name) + "</a> (" +
            for_markup(bytes_text(static_cast<double>(data.json.size()))) + ")</li>\n";
  }
  text += "</ul>\n</section>\n";
  for (std::size_t i = 0; i < page.data.size(); ++i) {
    text += "<script type=\"application/json\" id=\"data" + std::to_string(i) + "\">" +
            for_script(page.data[i].json) + "</script>\n";
  }
  return text;
}

}  // namespace

std::string to_html(const Page& page) {
  std::string text = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  text += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  // Nothing is loaded and nothing runs but what stands in the page itself.
  text +=
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:\">\n";
  text += element("title", page.title) + "<style>\n" + part("page.css") + "</style>\n</head>\n";
  text += "<body>\n<header>\n" + element("h1", page.title) + "</header>\n<main>\n";
  const std::optional<std::string> plotly = find_part("plotly.min.js");
  std::size_t figures = 0;
  for (const PageSection& section : page.sections) {
    text += "<section>\n" + element("h2", section.title);
    for (const std::string& paragraph : section.paragraphs) text += element("p", paragraph);
    if (!section.figures.empty() && !plotly) {
      text +=
          element("p", "This build has no Plotly, which draws the pictures: their numbers follow.");
    }
    for (const PageFigure& figure : section.figures) {
      text += figure_text(figure, figures++, plotly.has_value());
    }
    for (const PageTable& table : section.tables) text += table_text(table);
    for (const std::string& command : section.commands) text += element("pre", command);
    text += "</section>\n";
  }
  text += data_text(page) + "</main>\n";
  if (plotly && figures > 0) text += as_script(*plotly);
  text += as_script(part("page.js"));
  return text + "</body>\n</html>\n";
}

}  // namespace trainbench
