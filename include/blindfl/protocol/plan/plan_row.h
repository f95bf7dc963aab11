#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "blindfl/protocol/layers/update.h"
#include "blindfl/protocol/plan/step_cost.h"
#include "blindfl/tensor/activation.h"

namespace blindfl::protocol {

/// Numeric features of one party.
struct FeaturesPart {
  std::size_t features = 0;
  std::size_t most_nonzeros = 0;  ///< of a row

  bool operator==(const FeaturesPart&) const = default;
};

/// Categorical fields of one party whose tables are run alike.
struct FieldsPart {
  std::vector<std::size_t> fields{};  ///< their numbers, ascending
  std::size_t fewest_categories = 0;  ///< of the smallest table
  std::size_t most_categories = 0;    ///< of the largest
  std::size_t most_per_row = 1;

  bool operator==(const FieldsPart&) const = default;
};

/// The weights that embeddings are multiplied with.
struct WeightsPart {
  std::size_t inputs = 0;
  std::size_t out = 0;

  bool operator==(const WeightsPart&) const = default;
};

/// What follows the source layers on shares: hidden layers and the loss.
struct TopPart {
  std::vector<std::size_t> widths{};  ///< of the hidden layers and of the scores
  Activation activation = Activation::kRelu;
  std::size_t factors = 0;  ///< of a factorisation machine beside them; 0: none

  bool operator==(const TopPart&) const = default;
};

/// One way to run one part of a layer, as a planner weighed it.
struct PlanRow {
  std::string layer{};
  std::optional<Party> party{};  ///< whose features or fields; none: the weights of embeddings, a top on shares
  std::variant<FeaturesPart, FieldsPart, WeightsPart, TopPart> part{};
  std::optional<Update>
      update{};  ///< none where there is but one: B's features (open top), weights of embeddings, tops
  std::string scheme{};
  StepCost step{};        ///< of the whole part: of all its fields
  bool chosen = false;    ///< one row of each part is
  bool asked = false;     ///< whether a choice of the user's fixed some of it
  std::string refused{};  ///< the error that this way would end in; empty if it is possible

  bool operator==(const PlanRow&) const = default;
};

}  // namespace blindfl::protocol
