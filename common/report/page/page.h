#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/config/json_file.h"
#include "common/report/run_files.h"

namespace trainbench {

/// What a table of a page shows in a place; `order` is what it is sorted by, absent for text.
struct PageCell {
  std::string text;
  std::optional<double> order;
};

struct PageTable {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<PageCell>> rows;  ///< one cell a column
};

/// A picture: traces and axes as Plotly takes them. Its numbers stand in `table`, for those who
/// cannot see it or want them.
struct PageFigure {
  std::string title;
  std::string description;  ///< what can be seen, in a sentence
  Json traces;
  Json layout;
  PageTable table;
};

struct PageSection {
  std::string title;
  std::vector<std::string> paragraphs;
  std::vector<PageFigure> figures;
  std::vector<PageTable> tables;
  std::vector<std::string> commands;  ///< to be typed into a shell
};

/// A result file that the page holds whole.
struct PageData {
  std::string name;
  std::string json;
};

/// A report for people who did not run it, before it is written in some markup. All of it is plain
/// text: whoever writes it escapes it.
struct Page {
  std::string title;
  std::vector<PageSection> sections;
  std::vector<PageData> data;
};

/// What the result files have to say: the machines, how it was measured, what the GPU gains, every
/// row, and what was not measured and why. Several files stand side by side, lettered.
Page page_of(const std::vector<RunFile>& runs);

/// The letter or number by which the page's tables name a file.
std::string run_name(std::size_t index);

/// Pictures of what was measured; none of what has no rows. Simulated devices take no part.
std::vector<PageFigure> figures_of(const std::vector<RunFile>& runs);

/// One self-contained document that needs no network: style sheet and script are taken from the
/// folder `page` of the program's configs. Throws InputError where those are not found; without
/// Plotly, which the build puts beside them where it could be had, figures are their tables.
std::string to_html(const Page& page);
/// The same without pictures and data, for a repository or a pull request.
std::string to_markdown(const Page& page);

}  // namespace trainbench
