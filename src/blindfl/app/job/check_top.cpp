#include <algorithm>
#include <vector>

#include "blindfl/app/job/check.h"
#include "blindfl/base/number_text.h"
#include "blindfl/he/registry/registry.h"
#include "blindfl/protocol/layers/shared_top_options.h"

namespace blindfl::app::job {

namespace {

bool allows_slots(const Scheme& scheme) {
  return std::ranges::any_of(scheme.allowed,
                             [](const std::string& name) { return he::scheme_entry(name).family == kFamilyWithSlots; });
}

/// Models whose layers are all there on shares.
struct KindRefusal {
  ModelKind kind;
  std::string_view words;
};
constexpr KindRefusal kKinds[] = {
    {ModelKind::kDlrm,
     "the interaction of dlrm multiplies vectors that nobody may see, which is not there on shares; take "
     "shared.model.top: open for dlrm, or wdl"},
};

/// Derivatives of the loss may be as large and nobody notices: differences of probabilities, or what is watched.
double unnoticed_derivative(ModelKind kind) {
  const bool watched = kind == ModelKind::kLinear || kind == ModelKind::kPoisson;
  return watched ? protocol::kLargestWatchedDerivative : 1;
}

using Refusals = std::vector<TopRefusal>;

Refusals of_shared(const Shared& shared) {
  Refusals all;
  const auto refuse = [&](bool applies, std::string key, std::string words) {
    if (applies) all.push_back({std::move(key), std::move(words)});
  };
  for (const KindRefusal& kind : kKinds) {
    refuse(shared.model.kind == kind.kind, "shared.model.top", std::string(kind.words));
  }
  const AlignmentMode mode = shared.alignment.mode;
  refuse(mode == AlignmentMode::kOnlyB || mode == AlignmentMode::kUnion, "shared.alignment.mode",
         Value<AlignmentMode>::write(mode) +
             " has placeholders among the rows, which only B could keep out of a loss, and under a shared top nobody "
             "sees one; take intersection or aligned, or shared.model.top: open");
  refuse(shared.training.derivative.clip, "shared.training.derivative.clip",
         "under a shared top nobody sees a derivative, to clip it; leave it out, or take shared.model.top: open");
  const double unnoticed = unnoticed_derivative(shared.model.kind);
  refuse(shared.training.derivative.largest < unnoticed, "shared.training.derivative.largest",
         "under a shared top nobody sees a derivative that is beyond it, and the model would be wrong without a word; "
         "for this model set it to " +
             decimal_text(unnoticed) + " or more");
  refuse(!allows_slots(shared.scheme), "shared.scheme.allowed",
         "a shared top needs " + std::string(kFamilyWithSlots) + ", whose slots its functions are computed in; add it");
  return all;
}

Refusals of_own(const Shared& shared, const Own& own) {
  Refusals all;
  const auto refuse = [&](bool applies, std::string key, std::string words) {
    if (applies) all.push_back({std::move(key), std::move(words)});
  };
  const std::string not_announced =
      "under a shared top A takes part in weighting rows, and has to know that some count more: set "
      "shared.training.row_weights to true at both parties, or leave this out";
  const bool announced = shared.training.row_weights;
  refuse(!announced && !own.top.class_weights.empty(), "private.top.class_weights", not_announced);
  refuse(!announced && own.data.weight_column.has_value(), "private.data.weight_column", not_announced);
  refuse(
      own.top.clip_gradient.has_value(), "private.top.clip_gradient",
      "under a shared top nobody sees the norm of a gradient; leave it out and take a smaller learning rate, or take "
      "shared.model.top: open");
  const auto& metrics = own.top.metrics;
  refuse(
      shared.training.early_stopping.patience > 0 && !metrics.empty() && metrics.front() != Metric::kLoss,
      "private.top.metrics",
      "early stopping watches the first of them in every validation, and under a shared top that is the mean loss: no "
      "score is opened there, since a row that is scored under many weights gives its features away. Say loss first");
  return all;
}

}  // namespace

std::optional<TopRefusal> refused_by_shared_top(const Shared& shared, const Own* own) {
  if (!shared.model.shared_top()) {
    if (shared.training.row_weights) {
      return TopRefusal{"shared.training.row_weights",
                        "is for a shared top, under which A takes part in weighting rows; leave it out, or set "
                        "shared.model.top to shared"};
    }
    if (shared.model.score_bits == kCoarseScoreBits) return std::nullopt;
    return TopRefusal{"shared.model.score_bits",
                      "is for a shared top, whose scores are opened rounded; leave it out, or set shared.model.top to "
                      "shared"};
  }
  Refusals all = of_shared(shared);
  if (own != nullptr) std::ranges::move(of_own(shared, *own), std::back_inserter(all));
  if (all.empty()) return std::nullopt;
  return std::move(all.front());
}

void check_shared_top(const Shared& shared, const Own* own, const Given& given) {
  const std::optional<TopRefusal> refusal = refused_by_shared_top(shared, own);
  if (refusal) check(false, given, refusal->key, refusal->words);
}

}  // namespace blindfl::app::job
