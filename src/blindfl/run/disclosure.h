#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "blindfl/base/party.h"

namespace blindfl::run {

/// How the parties found the rows that they have in common.
enum class Matching {
  kAligned,       ///< they said that row i of both is about the same person
  kIntersection,  ///< by private set intersection; both learned it
  kOnlyB,         ///< only B learned it
  kUnion,         ///< neither learned more than how many
};

/// A source layer as whoever sees its outputs Z sees it.
struct LayerFacts {
  std::size_t in_a = 0;                          ///< A's features; of categories, those of all of A's fields together
  std::size_t out = 0;                           ///< outputs of a row
  std::optional<bool> in_b{};                    ///< whether B has features in it; nothing: not known yet
  std::optional<std::vector<std::string>> of{};  ///< of several A's, who has features in it; nothing: not known yet
};

/// What there is to know of a model to say who learns what.
struct DisclosureFacts {
  bool numeric = true;              ///< has layers of numeric features (MatMul)
  bool categorical = false;         ///< has layers of categories (Embed-MatMul)
  bool encrypted_update = false;    ///< A's weights, or tables, learn under encryption
  bool encrypted_update_b = false;  ///< B's tables do
  bool short_keys = false;          ///< some products were encrypted by Paillier with keys of 2048 bits
  Matching matching = Matching::kAligned;
  bool stops_early = false;    ///< B says after each epoch whether the model got better
  LayerFacts numeric_layer{};  ///< 0 of either: not known
  LayerFacts category_layer{};
  std::optional<bool> b_has_features{};  ///< nothing: not known yet
  std::size_t openings = 0;              ///< how often the same row is opened while weights change; 0: not known
  int output_scale = 16;                 ///< fractional bits that Z is opened with
  /// A top on shares: nobody sees Z, dZ or a weight, and what is said of Z above does not apply.
  bool shared_top = false;
  int score_bits = 4;            ///< fractional bits that scores are opened with then
  std::size_t scored_rows = 0;   ///< whose scores were opened at the end; 0: none, or not known
  bool opens_mean_loss = false;  ///< of rows kept back, after each epoch
  bool opens_accuracy = false;   ///< with it: of a model of classes
  std::size_t as = 1;            ///< A's; of several, what is said of A's features is said of all of them together
  std::string own_name{};        ///< at one of several A's: what it is called; in_a is its own then
  std::optional<Party>
      weight_seed{};  ///< whose shares of the initial weights follow from a number in its job, as far as is known
};

/// Which ways from Z to A's features are open to a B that only looks, as far as the shapes are known.
struct OpenTopReach {
  bool span = false;             ///< (a): a layer has at least as many outputs as A has features in it
  bool differences = false;      ///< (b): rows are opened again while weights change
  bool outright = false;         ///< B has no features, and there is one A: Z is A's part itself
  bool may_be_outright = false;  ///< the same, if B turns out to have none
};
[[nodiscard]] OpenTopReach open_top_reach(const DisclosureFacts& model);

/// The warning of every party's documents, in one paragraph: what B can work out under an open top, with figures.
[[nodiscard]] std::string open_top_warning();

/// The same of one way each, for this model: only those that are open. Whole sentences.
[[nodiscard]] std::vector<std::string> open_top_ways(const DisclosureFacts& model);

/// What B learns under a shared top, in one sentence: "the mean loss and the accuracy of each epoch's validation, and
/// the scores of 120 rows, rounded to 4 fractional bits; nothing else".
[[nodiscard]] std::string shared_top_openings(const DisclosureFacts& model);

/// What a party knows after training a model under the protocol, in plain words, a sentence or two each.
/// `never_saw` is about messages: what can be worked out from them all the same is in `could_work_out`.
struct Disclosure {
  std::vector<std::string> learned;
  std::vector<std::string> could_work_out;
  std::vector<std::string> never_saw;
};

/// From the protocol alone: the same at both parties, and without a value of the run.
/// Throws InvalidArgument for a model without any layer.
[[nodiscard]] Disclosure disclosure_of(Party party, const DisclosureFacts& model);

}  // namespace blindfl::run
