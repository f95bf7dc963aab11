#include "blindfl/app/init/one_hot_hint.h"

#include <algorithm>

#include "blindfl/app/plan/estimate.h"
#include "blindfl/app/plan/job_layers.h"
#include "blindfl/base/error.h"
#include "blindfl/base/number_text.h"

namespace blindfl::app::init {

namespace {

/// What training would find, as far as a sample tells: categories that it has not seen are missing.
PartyShape shape_of(const PartyDraft& draft) {
  PartyShape shape;
  for (const ColumnGuess& guess : draft.columns) {
    const data::ColumnKind kind = guess.column.kind.value_or(data::ColumnKind::kNumeric);
    if (kind == data::ColumnKind::kNumeric) ++shape.numeric;
    const bool is_categorical = kind == data::ColumnKind::kCategory || kind == data::ColumnKind::kCategories;
    const ColumnProfile* profile = draft.sample.find(guess.column.name);
    if (!is_categorical || profile == nullptr) continue;
    // One more for what training has not seen.
    const std::size_t categories = profile->distinct() + 1;
    const std::size_t most =
        std::clamp<std::size_t>(kind == data::ColumnKind::kCategories ? profile->most_pieces() : 1, 1, categories);
    shape.fields.push_back({.categories = categories, .most = most});
  }
  return shape;
}

std::string times(double more, double less) {
  const double ratio = more / std::max(less, 1e-9);
  return decimal_text(ratio, ratio < 10 ? 2 : 3) + " times";
}

}  // namespace

std::string one_hot_hint(std::span<const PartyDraft> drafts, const job::Shared& shared) {
  if (drafts.empty() || !job::has_embeddings(shared.model.kind)) return "";
  const bool first_is_a = drafts.front().is_a();
  const PartyShape first = shape_of(drafts.front());
  const PartyShape second = drafts.size() > 1 ? shape_of(drafts.back()) : first;
  const PartyShape& a = first_is_a ? first : second;
  const PartyShape& b = first_is_a ? second : first;
  const std::size_t rows = std::max<std::size_t>(drafts.front().sample.rows, 1);
  try {
    const protocol::Link link = job_link(shared.scheme);
    const auto one_hot = cheaper_one_hot(shared, a, b, rows, link);
    if (one_hot.empty()) return "";
    const OneHotEstimate& nearest = one_hot.front();
    const JobEstimate embedded = estimate(shared, a, b, rows, link);
    const std::string kind = job::Value<job::ModelKind>::write(nearest.kind);
    return "Embeddings will take about " + times(embedded.seconds, nearest.estimate.seconds) + " the time and " +
           times(static_cast<double>(embedded.per_step.bytes()),
                 static_cast<double>(nearest.estimate.per_step.bytes())) +
           " the traffic of one-hot columns (--model " + kind +
           "), which are often as good with few categories; `blindfl plan` has the figures.\n";
  } catch (const Error&) {  // what is wrong with the job is said where it is checked
    return "";
  }
}

}  // namespace blindfl::app::init
