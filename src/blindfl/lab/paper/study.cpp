#include "blindfl/lab/paper/study.h"

#include <algorithm>
#include <utility>

#include "blindfl/base/number_text.h"
#include "blindfl/base/text.h"
#include "blindfl/lab/paper/data_sets.h"
#include "blindfl/lab/paper/machine.h"

namespace blindfl::lab::paper {

std::vector<Exhibit> all_exhibits(const StudyOptions& options) {
  StudyOptions whole = options;
  whole.quick = false;
  std::vector<Exhibit> all;
  for (const auto make : {efficiency_table, convergence_figure, activations_figure, derivatives_figure,
                          model_shares_figure, width_table, depth_table, features_table, parties_table}) {
    Exhibit exhibit = make(options);
    exhibit.quick = options.quick;
    if (std::ranges::find(options.whole, exhibit.name) != options.whole.end()) exhibit = make(whole);
    all.push_back(std::move(exhibit));
  }
  return all;
}

Settings settings_of(std::string_view kind, const StudyOptions& options) {
  const Machine machine = this_machine();
  Settings settings;
  settings.set("kind", kind).set("program", options.release).set("build", options.build);
  settings.set("processor", machine.processor).set("cores", machine.cores).set("seed", std::to_string(options.seed));
  return settings;
}

std::size_t most_rows(const StudyOptions& options) {
  constexpr std::size_t kAll = 1'000'000'000;
  return options.quick ? options.quick_rows : kAll;
}

std::string rows_words(const StudyOptions& options) {
  return options.quick ? "at most " + count_text(options.quick_rows) : std::string("all");
}

std::string data_words(const StudyOptions& options) {
  std::vector<std::string> real;
  std::vector<std::string> generated;
  for (const PaperSet& set : paper_sets()) {
    const bool there = !set.files.empty() && missing_file(set, options.data).empty();
    (there ? real : generated).emplace_back(set.name);
  }
  std::string words;
  if (!real.empty()) words = "real rows of " + listed(real);
  if (!real.empty()) words += " (of higgs 35,298 of its 11,000,000; of connect-4 and news20 a split of our own)";
  if (!generated.empty()) append(words, "; ", "generated rows of the same shape for " + listed(generated));
  return words;
}

}  // namespace blindfl::lab::paper
