#include "bench/commands/report.h"

#include <cstdio>
#include <filesystem>
#include <memory>

#include "common/config/spelling.h"
#include "common/core/error.h"
#include "common/report/atomic_file.h"
#include "common/report/page/page.h"

namespace trainbench {
namespace {

struct ReportCommand {
  std::vector<std::string> files;
  std::string filter;
  std::string out = "report.html";
};

int run_report(const ReportCommand& command) {
  const std::string kind = std::filesystem::path(command.out).extension().string();
  if (kind != ".html" && kind != ".md") {
    throw InputError("--out " + in_quotes(command.out) + ": must end in .html or .md");
  }
  const std::vector<RunFile> runs = read_run_files(command.files, NameFilter(command.filter));
  prepare_output(command.out);
  const Page page = page_of(runs);
  write_file_atomically(command.out, kind == ".html" ? to_html(page) : to_markdown(page));
  std::fprintf(stderr, "report: %s\n", command.out.c_str());
  return 0;
}

}  // namespace

void register_report(CLI::App& app, std::function<int()>& action) {
  CLI::App* command = app.add_subcommand("report", "Write results as a page to share");
  auto wanted = std::make_shared<ReportCommand>();
  command->add_option("files", wanted->files, "Result files, or folders of them")->required();
  command->add_option("--filter", wanted->filter, "Keep the cases this regular expression finds");
  command->add_option("--out", wanted->out, "The page: a file that ends in .html or .md")
      ->capture_default_str();
  command->callback([wanted, &action] { action = [wanted] { return run_report(*wanted); }; });
}

}  // namespace trainbench
