#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/app/job/shared.h"
#include "blindfl/app/party_shape.h"
#include "blindfl/he/scheme.h"
#include "blindfl/protocol/source_layer.h"

// From what both parties agreed on to the source layers of the model: the one way, for building it and for telling
// before what it will cost.

namespace blindfl::app {

/// The schemes that a job allows, the default first, as a session takes them.
[[nodiscard]] std::vector<std::unique_ptr<he::Scheme>> job_schemes(const job::Scheme& scheme);
/// The same, as planners take them.
[[nodiscard]] std::vector<const he::Scheme*> pointers_to(const std::vector<std::unique_ptr<he::Scheme>>& schemes);
/// What sessions and planners call a scheme of a job: "paillier" for both sizes of keys.
[[nodiscard]] std::string session_name(std::string_view scheme);

/// The line that schemes are chosen for.
[[nodiscard]] protocol::Link job_link(const job::Scheme& scheme);

/// A source layer for numeric features.
struct NumericLayer {
  protocol::FeatureShape shape{};
  std::size_t out = 0;
  protocol::MatMulOptions options{};
};

/// A source layer for categorical fields.
struct CategoryLayer {
  protocol::CategoryShape shape{};
  std::size_t out = 0;
  protocol::EmbedMatMulOptions options{};
};

/// The source layers of a job's model, and the course of its training.
struct JobLayers {
  std::optional<NumericLayer> numeric{};      ///< none if nobody has numeric features
  std::optional<CategoryLayer> categories{};  ///< only of wdl and dlrm
  std::size_t outputs = 1;                    ///< of the whole model: 1, or the number of classes
  std::size_t training_rows = 0;              ///< without those of the validation share
  std::size_t steps_per_epoch = 0;
  protocol::SgdOptions sgd{};  ///< with the schedule in steps and the number of all steps
  /// What hiding is made for: passes of training and validation, and as many again for steps that are taken again after
  /// resume, the test file, and scoring.
  protocol::RunLength run{};
};

/// How many values of a row each source layer of a model opens to B.
struct SourceWidths {
  std::size_t numeric = 0;
  std::size_t categories = 0;  ///< 0: the model embeds none
};
[[nodiscard]] SourceWidths source_widths(const job::Model& model);

/// How many of `rows` rows are trained on: all but the validation share, at least one.
[[nodiscard]] std::size_t training_rows(const job::Training& training, std::size_t rows);

/// Layers for the shapes that the parties told each other and `rows` rows that they have in common. Schemes have the
/// session's names, and `automatic` is set: what the job leaves open is chosen, what it fixes is checked.
/// Throws ConfigError, saying what to change in the job file, if the model does not suit the features.
[[nodiscard]] JobLayers job_layers(const job::Shared& shared, const PartyShape& a, const PartyShape& b,
                                   std::size_t rows);

}  // namespace blindfl::app
