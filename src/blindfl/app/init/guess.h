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
  job::Column column{};
  std::string why;
};

/// What a column seems to be that is neither id nor label. `is_a`: at A, what is called like a label is left out.
[[nodiscard]] ColumnGuess guess_column(const ColumnProfile& profile, bool is_a);

/// The column that names the people; none if no column looks so.
[[nodiscard]] std::optional<std::string> guess_id(const Sample& sample);

/// The column to predict; none if no column is called like one.
[[nodiscard]] std::optional<std::string> guess_label(const Sample& sample, const std::optional<std::string>& id);

/// A model, and why.
struct ModelGuess {
  job::ModelKind kind = job::ModelKind::kLr;
  std::optional<std::size_t> classes{};
  std::string why;
};

/// What suits the labels. `has_categories`: some column would be embedded.
[[nodiscard]] ModelGuess guess_model(const ColumnProfile& labels, bool has_categories);

/// Of derivatives, where labels are numbers: a power of two with room for what they are; the default if that is enough.
[[nodiscard]] double largest_derivative(job::ModelKind kind, const ColumnProfile& labels);

/// How the numeric features of a party become integers.
[[nodiscard]] job::Encoding guess_encoding(const Sample& sample, const std::vector<ColumnGuess>& columns);

}  // namespace blindfl::app::init
