#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/lab/paper/exhibit.h"

namespace blindfl::lab::paper {

/// How large the study is, and where its data sets are.
struct StudyOptions {
  std::filesystem::path data{};
  bool quick = false;                ///< few steps and rows: a minute or two instead of half an hour or more
  std::size_t quick_rows = 6400;     ///< at most, of a set that is trained on, in a quick study
  std::vector<std::string> whole{};  ///< tables and figures that are not quick in a quick study
  std::uint64_t seed = 1;
  std::string release{};  ///< of the program
  std::string build{};    ///< of it, `this_build()`: figures of one are not taken for another's
};

/// All tables and figures, in the order of the page. Nothing is measured yet.
[[nodiscard]] std::vector<Exhibit> all_exhibits(const StudyOptions& options);

[[nodiscard]] Exhibit efficiency_table(const StudyOptions& options);
[[nodiscard]] Exhibit width_table(const StudyOptions& options);
[[nodiscard]] Exhibit depth_table(const StudyOptions& options);
[[nodiscard]] Exhibit features_table(const StudyOptions& options);
[[nodiscard]] Exhibit parties_table(const StudyOptions& options);
[[nodiscard]] Exhibit convergence_figure(const StudyOptions& options);
[[nodiscard]] Exhibit activations_figure(const StudyOptions& options);
[[nodiscard]] Exhibit derivatives_figure(const StudyOptions& options);
[[nodiscard]] Exhibit model_shares_figure(const StudyOptions& options);

/// What every measurement's settings begin with: its kind, program, machine and seed.
[[nodiscard]] Settings settings_of(std::string_view kind, const StudyOptions& options);
/// Rows of a set that are trained on: "all", or "at most 6,400".
[[nodiscard]] std::string rows_words(const StudyOptions& options);
/// As many as there may be.
[[nodiscard]] std::size_t most_rows(const StudyOptions& options);
/// Which of the paper's data sets the folder has, in words.
[[nodiscard]] std::string data_words(const StudyOptions& options);

}  // namespace blindfl::lab::paper
