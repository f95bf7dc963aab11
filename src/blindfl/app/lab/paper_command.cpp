#include <torch/torch.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "blindfl/app/cli/suggestion.h"
#include "blindfl/app/commands/run.h"
#include "blindfl/app/lab/lab_commands.h"
#include "blindfl/base/atomic_file.h"
#include "blindfl/base/error.h"
#include "blindfl/base/number_text.h"
#include "blindfl/base/text.h"
#include "blindfl/lab/paper/cell_run.h"
#include "blindfl/lab/paper/csv.h"
#include "blindfl/lab/paper/machine.h"
#include "blindfl/lab/paper/page.h"
#include "blindfl/lab/paper/study.h"

namespace blindfl::app {

namespace {

namespace paper = lab::paper;

/// Throws UsageError if one is none of those there are.
void check_names(const std::vector<std::string>& given, const std::vector<paper::Exhibit>& all) {
  std::vector<std::string_view> names;
  for (const paper::Exhibit& exhibit : all) names.push_back(exhibit.name);
  for (const std::string& name : given) {
    if (std::ranges::find(names, name) != names.end()) continue;
    const std::string_view meant = nearest(name, names);
    std::string list;
    for (const std::string_view each : names) list.append(list.empty() ? "" : ", ").append(each);
    fail<UsageError>("there is no table or figure '", name, "'",
                     meant.empty() ? "; there are " + list : "; did you mean " + std::string(meant) + "?");
  }
}

/// Those that `--only` names, in the page's order; all without it.
std::vector<paper::Exhibit> chosen_exhibits(const Arguments& arguments, const paper::StudyOptions& options) {
  std::vector<paper::Exhibit> all = paper::all_exhibits(options);
  const std::vector<std::string> only = arguments.all("only");
  check_names(only, all);
  check_names(options.whole, all);
  if (!only.empty()) {
    std::erase_if(all,
                  [&](const paper::Exhibit& exhibit) { return std::ranges::find(only, exhibit.name) == only.end(); });
  }
  return all;
}

std::string file_name(std::string name) {
  std::ranges::replace(name, ':', '-');
  return name;
}

void write_files(const std::filesystem::path& folder, const paper::PageFacts& facts,
                 const std::vector<paper::Measured>& measured) {
  const auto write = [&](const std::string& name, const std::string& text) {
    if (!text.empty()) write_text_atomically(folder / name, text, Readers::kEveryone);
  };
  for (const paper::Measured& each : measured) {
    const std::string name = file_name(each.exhibit->name);
    write(name + ".csv", paper::cells_csv(each));
    write(name + "-series.csv", paper::series_csv(each));
    std::size_t number = 0;
    for (const std::string& drawing : paper::drawings_of(each)) {
      write(name + "-" + std::to_string(++number) + ".svg", drawing);
    }
  }
  write("paper.html", paper::page_html(facts, measured));
  write("paper.md", paper::page_markdown(facts, measured));
}

std::string size_words(const paper::StudyOptions& options) {
  if (!options.quick) return "whole";
  std::string words = "quick: few mini-batches, one epoch, some of the rows";
  if (!options.whole.empty()) words += "; whole: " + listed(options.whole);
  return words;
}

/// What the command line said of it.
std::string words_of_size(const paper::StudyOptions& options) {
  std::string words = options.quick ? " --quick" : "";
  for (const std::string& name : options.whole) words += " --whole " + name;
  return words;
}

void run_paper(const Arguments& arguments, std::ostream& out) {
  paper::StudyOptions options;
  const char* data = std::getenv("BLINDFL_DATA");
  if (data != nullptr) options.data = data;
  options.quick = arguments.has("quick");
  options.whole = arguments.all("whole");
  require<UsageError>(options.quick || options.whole.empty(), "--whole is for --quick: without it, all is whole");
  options.seed = static_cast<std::uint64_t>(arguments.integer("seed", 1, 1'000'000'000));
  options.release = version();
  options.build = paper::this_build();
  const std::vector<paper::Exhibit> exhibits = chosen_exhibits(arguments, options);
  const std::filesystem::path folder = arguments.text("out");
  paper::CellCache cache(folder / "cells");
  torch::set_num_threads(1);
  torch::manual_seed(options.seed);

  const paper::PageFacts facts{.machine = paper::this_machine().text() + "; one thread for each party",
                               .data = paper::data_words(options),
                               .size = size_words(options),
                               .command = "blindfl_lab paper --out FOLDER",
                               .options = words_of_size(options),
                               .release = std::string(version())};
  out << "machine  " << facts.machine << "\ndata     " << facts.data << "\n" << std::flush;
  const std::vector<paper::Measured> measured = paper::measure_all(exhibits, cache, out, ::isatty(STDOUT_FILENO) == 1);
  write_files(folder, facts, measured);
  out << "written  " << (folder / "paper.html").string() << ", paper.md, and for each table and figure CSV and SVG\n";
}

std::string more_help_of_paper() {
  std::string text =
      "Data sets are read from the folder that the environment variable BLINDFL_DATA names; rows of the same shape are "
      "generated where time alone is measured and the set is not there.\n"
      "Each measurement is kept in FOLDER/cells as soon as it is done: after a kill, the same command continues "
      "there. What another build of this program left is measured again.\n"
      "\nNAME is one of:\n";
  for (const paper::Exhibit& exhibit : paper::all_exhibits({})) {
    text += "  " + exhibit.name + std::string(exhibit.name.size() < 26 ? 26 - exhibit.name.size() : 1, ' ') +
            exhibit.title + "\n";
  }
  return text +
         "\nexamples:\n  blindfl_lab paper --out lab --quick\n  blindfl_lab paper --out lab --only table:width\n"
         "  blindfl_lab paper --out lab --quick --whole table:efficiency --whole table:features\n";
}

}  // namespace

Command paper_command() {
  return {.name = "paper",
          .summary = "measures the paper's tables and figures: one page, CSV and SVG",
          .options =
              {{.name = "out",
                .placeholder = "FOLDER",
                .summary = "where the page and all else goes",
                .need = Option::Need::kRequired},
               {.name = "quick",
                .placeholder = {},
                .summary = "a minute or two instead of half an hour or more: fewer rows and steps"},
               {.name = "whole",
                .placeholder = "NAME",
                .summary = "with --quick: all the same, this table or figure is measured whole",
                .repeats = true},
               {.name = "only", .placeholder = "NAME", .summary = "this table or figure and no other", .repeats = true},
               {.name = "seed", .placeholder = "NUMBER", .summary = "of generated rows", .fallback = "1"}},
          .run = run_paper,
          .more_help = more_help_of_paper};
}

}  // namespace blindfl::app
