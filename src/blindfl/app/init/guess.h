#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/app/init/sample.h"
#include "blindfl/app/job/job.h"

// What a file's columns seem to be, and why. Names, shapes and counts only: never what a cell holds.

namespace blindfl::app::init {

/// A column, and what to make of it.
struct ColumnGuess {
  prepare::ColumnSpec column{};
  std::string why;
};

/// What a column seems to be that is neither id nor label. Never a feature if it names rows.
[[nodiscard]] ColumnGuess guess_column(const ColumnProfile& profile);

/// Columns that somebody could mean, in the file's order, and the one that needs no question.
struct Candidates {
  std::vector<std::string> names{};
  std::optional<std::string> sure{};
};

/// Columns that may name the people: whole numbers or texts, different in every row. Sure is the only one, and called
/// like an id or the first column and a text.
[[nodiscard]] Candidates id_candidates(const Sample& sample);

/// Columns that are called like what is predicted. Sure is the only one.
[[nodiscard]] Candidates label_candidates(const Sample& sample, const std::optional<std::string>& id);

/// `label`, `target`, `y`, `default` and the like.
[[nodiscard]] bool is_called_like_a_label(std::string_view name);

/// A model, and why.
struct ModelGuess {
  job::ModelKind kind = job::ModelKind::kLr;
  std::optional<std::size_t> classes{};
  std::string why;
};

/// What suits the labels. `has_categories`: some column would be embedded.
[[nodiscard]] ModelGuess guess_model(const ColumnProfile& labels, bool has_categories);

/// Of derivatives, where labels are numbers: a power of two with room for what they are; the default if that is enough.
/// It tells of the labels: whoever publishes it says so.
[[nodiscard]] double largest_derivative(job::ModelKind kind, const ColumnProfile& labels);

/// How the numeric features of a party become integers.
[[nodiscard]] FixedPointSpec guess_encoding(const Sample& sample, const std::vector<ColumnGuess>& columns);

}  // namespace blindfl::app::init
