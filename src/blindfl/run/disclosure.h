#pragma once

#include <string>
#include <vector>

#include "blindfl/base/party.h"

namespace blindfl::run {

/// How the parties found the rows that they have in common.
enum class Matching {
  kAgreed,  ///< they said that row i of both is about the same person
  kBoth,    ///< by private set intersection; both learned it
  kOnlyB,   ///< only B learned it
  kUnion,   ///< neither learned more than how many
};

/// What there is to know of a model to say who learns what.
struct ModelFacts {
  bool numeric = true;            ///< has layers of numeric features (MatMul)
  bool categorical = false;       ///< has layers of categories (Embed-MatMul)
  bool encrypted_update = false;  ///< A's weights, or tables, learn under encryption
  bool short_keys = false;        ///< some products were encrypted by Paillier with keys of 2048 bits
  Matching matching = Matching::kAgreed;
  bool stops_early = false;  ///< B says after each epoch whether the model got better
};

/// What a party knows after training an open top model under the protocol, in plain words, a sentence or two each.
struct Disclosure {
  std::vector<std::string> learned;
  std::vector<std::string> could_work_out;
  std::vector<std::string> never_saw;
};

/// From the protocol alone: the same at both parties, and without a value of the run.
/// Throws InvalidArgument for a model without any layer.
[[nodiscard]] Disclosure disclosure_of(Party party, const ModelFacts& model);

}  // namespace blindfl::run
