#include "blindfl/run/disclosure.h"

#include <initializer_list>

#include "blindfl/base/error.h"

// The one place of these words. They follow SECURITY.md, "What each party must not learn" and "What leaks all the
// same": what changes there changes here.

namespace blindfl::run {

namespace {

/// A sentence, and whether it is true of the model.
struct Statement {
  bool holds;
  const char* text;
};

using Texts = std::vector<std::string>;

Texts those_that_hold(std::initializer_list<Statement> statements) {
  Texts texts;
  for (const Statement& statement : statements) {
    if (statement.holds) texts.emplace_back(statement.text);
  }
  return texts;
}

Texts joined(Texts texts, const Texts& more) {
  texts.insert(texts.end(), more.begin(), more.end());
  return texts;
}

constexpr const char* kTiming =
    "From how long the other party takes, roughly how many of its features are not zero in a batch: work that skips "
    "zeros takes less time. The sizes of messages never tell.";
constexpr const char* kShortKeys =
    "What is encrypted by Paillier with keys of 2048 bits, once these can be broken: they have 112 bits of security "
    "(NIST: until 2030), where the lattice has 128. With shared.scheme.security: 128 the keys have 3072 bits.";
constexpr const char* kHonesty =
    "All this holds while both parties follow the protocol. One that does not can learn more.";

Texts learned_by_both(const ModelFacts& model, Party party) {
  const bool learns_ids =
      model.matching == Matching::kBoth || (model.matching == Matching::kOnlyB && party == Party::kB);
  return those_that_hold({
      {true,
       "The shapes: rows of a batch, number of batches, features of each party, outputs of the model, and how numbers "
       "are encoded."},
      {model.categorical, "How many categories each field has, at both parties."},
      {learns_ids, "Which of its own ids the other party has too, and how many ids the other party has."},
      {model.matching == Matching::kOnlyB && !learns_ids,
       "How many ids the other party has, and not which of its own are among them."},
      {model.matching == Matching::kUnion,
       "How many ids the other party has and how many both have, and not which of its own are among them."},
      {model.matching == Matching::kAgreed,
       "That its rows and the other party's are about the same people, in the same order."},
      {model.stops_early, "After which epochs the model was better than before on rows kept back, in B's judgement."},
  });
}

Texts learned_by_a(const ModelFacts& model) {
  return those_that_hold({
      {true,
       "Its own pieces of the weights, and its shares of what passes through the model. Without B's half they are "
       "random numbers."},
      {model.encrypted_update,
       "What it drew for its own weights at the start, which holds nothing of the labels. How they changed since is "
       "encrypted under B's key."},
  });
}

Texts never_seen_by_a(const ModelFacts& model) {
  return those_that_hold({
      {true, "Labels, predictions, scores, the loss, any metric: nothing that tells how good the model is."},
      {true, "The output of the first layer (Z), its parts, and the derivatives that come back (dZ)."},
      {true, "Trained weights, its own included, and gradients: not their values, signs or sizes."},
      {model.categorical, "Tables of categories, what was looked up in them, and their gradients: B's and its own."},
      {true, "B's features, and which of them are not zero."},
  });
}

Texts learned_by_b(const ModelFacts& model) {
  return those_that_hold({
      {true,
       "The output of the first layer (Z) of every row, each time it was computed, rounded. It is the sum of A's part "
       "and B's part."},
      {true,
       "Predictions, loss and metrics, and the derivatives (dZ): they follow from Z, the labels and B's own top "
       "model."},
      {model.numeric,
       "How its own weights for numeric features changed in every step: all of them but what A drew at the start."},
      {true,
       "Its own pieces of other weights, as far as it holds any, and its shares. Without A's half they are random "
       "numbers."},
  });
}

Texts within_reach_of_b(const ModelFacts& model) {
  return those_that_hold({
      {model.numeric,
       "What A's features add to each row's output (X_A W_A), rather well. B sees the sum and knows its own weights up "
       "to what A drew at the start. Measured on the data set a9a: with initial weights of deviation 0.01 B's estimate "
       "correlates 0.99998 with the truth, with deviation 1.0 still 0.84."},
      {model.numeric,
       "The same without knowing how A drew: fitting Z to B's own features by least squares leaves A's part, with a "
       "correlation of 0.73 for one output and 0.89 for 64."},
      {model.numeric, "Weight decay makes the first estimate better."},
      {true, "Where two rows are alike in all of B's features, the difference of A's parts, outright."},
      {model.numeric && !model.categorical, "Where all of B's features of a row are zero, A's part itself."},
      {model.categorical,
       "What A's categories add to each row's output, by fitting Z to B's own features. How well was not measured for "
       "categories."},
      {true,
       "From A's parts of many rows, something of A's features. Rounding slows such attacks on features that are 0 or "
       "1, and does not stop them."},
      {true, "Z more exactly than it is rounded, if the same model scores the same rows again in other batches."},
      {true, kTiming},
      {model.short_keys, kShortKeys},
      {true, "Only a top model that is shared secretly would end this, and this run had an open one."},
      {true, kHonesty},
  });
}

Texts never_seen_by_b(const ModelFacts& model) {
  return those_that_hold({
      {true, "A's features, and which of them are not zero."},
      {true, "A's part of the output and its own part, apart from each other: only their sum, rounded."},
      {true, "A's trained weights and their gradients: not their values, signs or sizes."},
      {model.numeric, "Its own weights to the last bit: what A drew for them at the start is missing."},
      {model.categorical,
       "Tables of categories, what was looked up in them, the weights behind them, and all their gradients: A's and "
       "its "
       "own."},
      {model.encrypted_update,
       "The encrypted weights that A keeps. B has the key and not the ciphertexts, and they must never be brought "
       "together."},
  });
}

}  // namespace

Disclosure disclosure_of(Party party, const ModelFacts& model) {
  require<InvalidArgument>(model.numeric || model.categorical,
                           "who learns what: a model has numeric features, categories or both");
  if (party == Party::kA) {
    return {.learned = joined(learned_by_both(model, party), learned_by_a(model)),
            .could_work_out = those_that_hold({{true, kTiming}, {model.short_keys, kShortKeys}, {true, kHonesty}}),
            .never_saw = never_seen_by_a(model)};
  }
  return {.learned = joined(learned_by_both(model, party), learned_by_b(model)),
          .could_work_out = within_reach_of_b(model),
          .never_saw = never_seen_by_b(model)};
}

}  // namespace blindfl::run
