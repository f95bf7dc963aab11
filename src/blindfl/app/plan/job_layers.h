#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/app/job/shared.h"
#include "blindfl/app/plan/party_shape.h"
#include "blindfl/he/schemes.h"
#include "blindfl/mpc/top_plan.h"
#include "blindfl/protocol/plan/source_layer.h"

// From what both parties agreed on to the source layers of the model: the one way, for building it and for telling
// before what it will cost.

namespace blindfl::app {

/// The schemes that a job allows.
[[nodiscard]] he::Schemes job_schemes(const job::Scheme& scheme);
/// What sessions and planners call a scheme of a job: the name of its family.
[[nodiscard]] std::string session_name(std::string_view scheme);

/// The line that schemes are chosen for.
[[nodiscard]] protocol::Link job_link(const job::Scheme& scheme);

/// A source layer for numeric features. Of each A with B there is a shape, in the order of the A's.
struct NumericLayer {
  std::vector<protocol::FeatureShape> shapes{};
  std::size_t out = 0;
  protocol::MatMulOptions options{};
};

/// A source layer for categorical fields.
struct CategoryLayer {
  std::vector<protocol::CategoryShape> shapes{};
  std::size_t out = 0;
  protocol::EmbedMatMulOptions options{};
};

/// The layers and the loss of a top on shares.
struct SharedTopLayers {
  mpc::TopShape shape{};
  protocol::SharedTopOptions options{};
};

/// The source layers of a job's model, and the course of its training.
struct JobLayers {
  std::vector<std::string> peers{};           ///< what the A's are called: "A", where there is only one
  std::optional<NumericLayer> numeric{};      ///< none if nobody has numeric features
  std::optional<CategoryLayer> categories{};  ///< of models with embeddings
  std::size_t outputs = 1;                    ///< of the whole model: 1, or the number of classes
  std::size_t training_rows = 0;              ///< without those for validation and test
  std::size_t steps_per_epoch = 0;
  std::size_t epochs = 0;
  protocol::SgdOptions sgd{};  ///< with the schedule in steps and the number of all steps
  /// What hiding is made for: passes of training and validation, and as many again for steps that are taken again after
  /// resume, the test file, and scoring.
  protocol::RunLength run{};
  std::optional<SharedTopLayers> top{};  ///< none: the top is open, and B's own
};

/// What a model's scores mean.
[[nodiscard]] Family family_of(const job::Model& model);

/// How many values of a row each source layer of a model opens to B.
struct SourceWidths {
  std::size_t numeric = 0;
  std::size_t categories = 0;  ///< 0: the model embeds none
};
[[nodiscard]] SourceWidths source_widths(const job::Model& model);

/// A job that does not say how many epochs it has gets at least these.
constexpr std::size_t kFewestEpochs = 10;

/// What both parties say, with what it leaves open of the training filled in from what both know. `rows` are those that
/// they have in common: a tenth of them is for a test if nobody has a test file, and epochs are those of 1000 steps, or
/// 10 if that is more. Changes nothing that is said.
[[nodiscard]] job::Shared settled(const job::Shared& shared, std::size_t rows, bool has_test_file);

/// What a job says, or 0.9. Under encryption momentum takes three sums in place of one, so it is 0 where updates are
/// said to be encrypted, and where that is left open and a party has so many features or categories that it may be
/// chosen.
[[nodiscard]] double momentum_of(const job::Shared& shared, const ShapesOfA& a, const PartyShape& b);

/// How many of `rows` rows are used for what.
struct RowSplit {
  std::size_t training = 0;  ///< at least one
  std::size_t validation = 0;
  std::size_t test = 0;
};
/// Of a training that is settled.
[[nodiscard]] RowSplit split_of(const job::Training& training, std::size_t rows);

/// Layers for the shapes that the parties told each other and `rows` rows that they have in common. Schemes have the
/// session's names, and `automatic` is set: what the job leaves open is chosen, what it fixes is checked. What is left
/// open of the training is settled as without a test file.
/// Throws ConfigError, saying what to change in the job file, if the model does not suit the features.
[[nodiscard]] JobLayers job_layers(const job::Shared& shared, const ShapesOfA& a, const PartyShape& b,
                                   std::size_t rows);

}  // namespace blindfl::app
