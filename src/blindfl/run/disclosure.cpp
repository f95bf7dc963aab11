#include "blindfl/run/disclosure.h"

#include <initializer_list>

#include "blindfl/base/error.h"
#include "blindfl/base/text.h"
#include "blindfl/run/several_as.h"

// The one place of these words. They follow SECURITY.md, "What each party must not learn" and "What leaks all the
// same": what changes there changes here.

namespace blindfl::run {

namespace {

/// A sentence, and whether it is true of the model.
struct Statement {
  bool holds;
  std::string text;
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

Texts learned_by_both(const DisclosureFacts& model, Party party) {
  const bool learns_ids =
      model.matching == Matching::kIntersection || (model.matching == Matching::kOnlyB && party == Party::kB);
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
      {model.matching == Matching::kAligned,
       "That its rows and the other party's are about the same people, in the same order."},
      {model.stops_early, "After which epochs the model was better than before on rows kept back, in B's judgement."},
      {model.shared_top,
       "Every 16 steps, after each epoch and before each checkpoint, whether all values were inside the range of the "
       "functions that they went through: one bit for each function."},
  });
}

Texts learned_by_a(const DisclosureFacts& model) {
  return those_that_hold({
      {true,
       "Its own shares of the weights, and of what passes through the model. Without B's half they are "
       "random numbers."},
      {model.encrypted_update,
       "What it drew for its own weights at the start, which holds nothing of the labels. How they changed since is "
       "encrypted under B's key."},
  });
}

Texts never_seen_by_a(const DisclosureFacts& model) {
  return those_that_hold({
      {true, "Labels, predictions, scores, the loss, any metric: nothing that tells how good the model is."},
      {true, "The output of the first layer (Z), its parts, and the derivatives that come back (dZ)."},
      {true, "Trained weights, its own included, and gradients: not their values, signs or sizes."},
      {model.categorical, "Tables of categories, what was looked up in them, and their gradients: B's and its own."},
      {true, "B's features, and which of them are not zero."},
      {model.encrypted_update_b,
       "The encrypted tables that B keeps. A has the key and not the ciphertexts, and they must never be brought "
       "together."},
  });
}

std::string rounding_of(const DisclosureFacts& model) {
  return "rounded to " + std::to_string(model.output_scale) + " fractional bits";
}

Texts learned_by_b(const DisclosureFacts& model) {
  const bool alone = open_top_reach(model).outright;
  return those_that_hold({
      {!alone, "The output of the first layer (Z) of every row, each time it was computed, " + rounding_of(model) +
                   (model.as > 1 ? ". It is the sum of the A's parts and B's part, of each kind of features by itself."
                                 : ". It is the sum of A's part and B's part.")},
      {alone, "The output of the first layer (Z) of every row, each time it was computed, " + rounding_of(model) +
                  ". B has no features, so it is A's part itself (X_A W_A)."},
      {true,
       "Predictions, loss and metrics, and the derivatives (dZ): they follow from Z, the labels and B's own top "
       "model."},
      {model.numeric,
       "How its own weights for numeric features changed in every step: all of them but what A drew at the start."},
      {true,
       "Its own shares of other weights, as far as it holds any, and of what passes through the model. Without A's "
       "half they are random "
       "numbers."},
  });
}

/// Of one source layer: whether it has enough outputs for (a), or openings for (b) to reach all of A's features in it.
bool spans(const LayerFacts& layer) {
  return layer.in_a > 0 && layer.out >= layer.in_a;
}

std::string counts_of(const LayerFacts& layer, const char* what) {
  return std::to_string(layer.out) + " outputs, " + std::to_string(layer.in_a) + what;
}

/// (a) with this model's numbers.
std::string span_sentence(const DisclosureFacts& model) {
  const bool by_numbers = spans(model.numeric_layer);
  return "(a) There are at least as many outputs as A has features (" +
         (by_numbers ? counts_of(model.numeric_layer, " features of A")
                     : counts_of(model.category_layer, " categories of A")) +
         "): the span of Z and B's own columns contains A's columns, and columns of zeros and ones are found in "
         "it, since c*c = c. One scoring is enough.";
}

/// (b) with this model's numbers.
std::string difference_sentence(const DisclosureFacts& model) {
  return "(b) The same rows are opened " + std::to_string(model.openings) + " times while weights change" +
         (model.numeric ? ": between two openings B knows how its own part changed, and what is left is A's features "
                          "times the change of A's weights."
                        : ": between two openings Z changes by A's categories times a matrix, beside what follows from "
                          "B's own.") +
         " This holds for any number of outputs, and whatever initial_deviation is.";
}

constexpr const char* kFigures =
    "Measured: from one scoring of 4000 rows at 64 outputs, 40 of 40 binary columns in 3 s; from one batch of "
    "128 rows, 12 of 12; with 8 fractional bits still 16 of 16; from 30 validations of a logistic regression, 8 of 8; "
    "of real columns (a9a, 6000 rows scored once at 64 outputs) all 54 lie in B's span, and a naive search finds 31 of "
    "them.";

/// Estimates of A's part, which need no binary features.
Texts estimates_by_b(const DisclosureFacts& model) {
  const bool with_numbers = model.numeric && !open_top_reach(model).outright;
  return those_that_hold({
      {with_numbers,
       "What A's features add to each row's output (X_A W_A), rather well, also where they are not binary. B sees the "
       "sum and knows its own weights up to what A drew at the start. Measured on the data set a9a: with initial "
       "weights of standard deviation 0.01 B's estimate correlates 0.99998 with the truth, with 1.0 still 0.84."},
      {with_numbers,
       "The same without knowing how A drew: fitting Z to B's own features by least squares leaves A's part, with a "
       "correlation of 0.73 for one output and 0.89 for 64."},
      {with_numbers, "Weight decay makes the first estimate better."},
      {true, "Where two rows are alike in all of B's features, the difference of A's parts, outright."},
      {with_numbers && !model.categorical, "Where all of B's features of a row are zero, A's part itself."},
      {model.categorical,
       "What A's categories add to each row's output, by fitting Z to B's own features, and the categories themselves "
       "as binary columns, one for each. How well was not measured for categories."},
  });
}

Texts within_reach_of_b(const DisclosureFacts& model) {
  const OpenTopReach reach = open_top_reach(model);
  Texts texts = {open_top_warning()};
  texts = joined(std::move(texts), open_top_ways(model));
  texts = joined(std::move(texts),
                 those_that_hold({
                     {!reach.span && !reach.differences,
                      "Neither (a) nor (b) is known to apply to this run; (c) may. Scoring rows that it was trained on "
                      "makes (b) apply."},
                     {true,
                      "With A's features, also A's trained weights and its own, whole: Z = X_A W_A + X_B W_B is then "
                      "solved for them."},
                 }));
  texts = joined(std::move(texts), estimates_by_b(model));
  return joined(
      std::move(texts),
      those_that_hold({
          {model.weight_seed == Party::kA,
           "What A drew for the initial weights, if B guesses the number that A's job sets (weight_seed): with it, B "
           "knows its own weights whole and A's part of every row exactly."},
          {model.output_scale > 20,
           "A's features by lattice reduction: Z was opened with more than 20 fractional bits."},
          {true, "Z more exactly than it is rounded, if the same model scores the same rows again in other batches."},
          {true, kTiming},
          {model.short_keys, kShortKeys},
          {true, "Only a top model that is shared secretly would end this, and this run had an open one."},
          {true, kHonesty},
      }));
}

Texts within_reach_of_a(const DisclosureFacts& model) {
  return those_that_hold({
      {model.weight_seed == Party::kB,
       "What B drew for the initial weights, if A guesses the number that B's job sets (weight_seed)."},
      {true, kTiming},
      {model.short_keys, kShortKeys},
      {true, kHonesty},
  });
}

std::string score_rounding(const DisclosureFacts& model) {
  return "rounded to " + std::to_string(model.score_bits) + " fractional bits";
}

Texts learned_by_b_of_shared_top(const DisclosureFacts& model) {
  return those_that_hold({
      {model.opens_mean_loss, std::string(model.opens_accuracy ? "The mean loss and the accuracy" : "The mean loss") +
                                  " over the rows that were kept back for validation, after each epoch, rounded and "
                                  "with noise of A's; of no single row" +
                                  (model.opens_accuracy ? ", nor whether it is right." : ".")},
      {true, "Of what the model says of rows: " + shared_top_openings(model) +
                 ". Metrics follow from these scores and the labels."},
      {true,
       "Its own shares of all weights, and of what passes through the model. Without A's half they are random "
       "numbers."},
  });
}

constexpr const char* kScoresTell =
    "What scores tell of A's features, which no protocol can hide: a score is a function of them. Of a logistic "
    "regression with 4 features of A that are 0 or 1, scores at 10 fractional bits told every pattern of A's apart, "
    "for "
    "all rows; at 4 an attack still told from 35 to 98 % of the rows apart, where guessing gets 15 % (SECURITY.md).";

Texts within_reach_of_b_of_shared_top(const DisclosureFacts& model) {
  return those_that_hold({
      {true, kScoresTell},
      {model.score_bits > 4,
       "Scores of this model are opened finer than 4 fractional bits, which A accepted (private.accept: fine_scores)."},
      {true,
       "Scores more exactly than they are rounded, if the same model scores the same rows again: every scoring rounds "
       "anew. Score a row once per model; A counts by id, or by file where rows have none, and refuses the second "
       "time unless private.limits.scorings says otherwise. The same people under other ids, or without ids in another "
       "file, are not recognised."},
      {true,
       "A bounded amount from the last bits of scores: weights carry the small errors of all products and functions, "
       "which depend on secrets. It is estimated at some hundred bits over a run, spread over thousands of fresh "
       "secrets."},
      {model.weight_seed == Party::kA,
       "What A drew for the initial weights, if B guesses the number that A's job sets (weight_seed)."},
      {true, kTiming},
      {model.short_keys, kShortKeys},
      {true, kHonesty},
  });
}

Texts never_seen_by_b_of_shared_top(const DisclosureFacts& model) {
  return those_that_hold({
      {true, "A's features, and which of them are not zero."},
      {true, "The output of the first layer (Z), its parts, and the derivatives that come back (dZ)."},
      {true, "Trained weights, its own included, and gradients: not their values, signs or sizes."},
      {true, "The score or the loss of any row while the model was trained, and the loss of any single row ever."},
      {model.encrypted_update,
       "The encrypted weights that A keeps. B has the key and not the ciphertexts, and they must never be brought "
       "together."},
  });
}

Texts never_seen_by_b(const DisclosureFacts& model) {
  const bool alone = open_top_reach(model).outright;
  const Texts outright = outright_layers(model);
  return those_that_hold({
      {true,
       "A message that holds A's features, or tells which of them are not zero. It does not need one to work out those "
       "that are 0 or 1: see above."},
      {!alone, "A's part of the output and its own part, apart from each other: only their sum, " + rounding_of(model) +
                   (outright.empty() ? "." : ", but for the layer of " + listed(outright) + ".")},
      {true,
       "A message that holds A's trained weights or their gradients: they follow only from A's features, as above."},
      {model.numeric && !alone, "Its own weights to the last bit: what A drew for them at the start is missing."},
      {model.categorical,
       "Tables of categories, what was looked up in them, the weights behind them, and all their gradients: A's "
       "and its own."},
      {model.encrypted_update,
       "The encrypted weights that A keeps. B has the key and not the ciphertexts, and they must never be brought "
       "together."},
  });
}

}  // namespace

OpenTopReach open_top_reach(const DisclosureFacts& model) {
  return {.span = (model.numeric && spans(model.numeric_layer)) || (model.categorical && spans(model.category_layer)),
          .differences = model.openings > 1,
          .outright = model.as == 1 && model.b_has_features.has_value() && !*model.b_has_features,
          .may_be_outright = model.as == 1 && !model.b_has_features.has_value()};
}

std::string open_top_warning() {
  return std::string(
             "This model has an open top: B sees Z. A B that follows the protocol and only looks can recover A's "
             "features that are 0 or 1, one-hot ones too, exactly: (a) where there are at least as many outputs as A "
             "has features, from one scoring; (b) with any number of outputs, where the same rows are opened again "
             "while weights change; (c) with any number of outputs and one opening, where A's features together take "
             "few different values: rows with the same ones differ in B's part alone, and form clusters. Columns of "
             "two other values are no safer than those of 0 and 1. Neither rounding nor initial_deviation prevents "
             "it. ") +
         kFigures;
}

std::vector<std::string> open_top_ways(const DisclosureFacts& model) {
  const OpenTopReach reach = open_top_reach(model);
  Texts ways;
  if (reach.span) ways.push_back(span_sentence(model));
  if (reach.differences) ways.push_back(difference_sentence(model));
  if (reach.outright) ways.emplace_back("B has no features of its own: Z is A's part of each row (X_A W_A) outright.");
  for (const std::string& words : lone_parts(model)) ways.push_back(as_sentence(words));
  return ways;
}

std::string shared_top_openings(const DisclosureFacts& model) {
  const std::string rows = model.scored_rows == 0 ? "of rows that both agree to score"
                                                  : "of " + std::to_string(model.scored_rows) + " rows, once";
  std::string means;
  if (model.opens_mean_loss) {
    means = std::string(model.opens_accuracy ? "the mean loss and the accuracy" : "the mean loss") +
            " of each epoch's validation, and ";
  }
  return means + "the scores " + rows + ", " + score_rounding(model) + "; nothing else";
}

namespace {

/// As if there were one A.
Disclosure disclosure_of_one(Party party, const DisclosureFacts& model) {
  require<InvalidArgument>(model.numeric || model.categorical,
                           "who learns what: a model has numeric features, categories or both");
  if (party == Party::kA) {
    return {.learned = joined(learned_by_both(model, party), learned_by_a(model)),
            .could_work_out = within_reach_of_a(model),
            .never_saw = never_seen_by_a(model)};
  }
  if (model.shared_top) {
    return {.learned = joined(learned_by_both(model, party), learned_by_b_of_shared_top(model)),
            .could_work_out = within_reach_of_b_of_shared_top(model),
            .never_saw = never_seen_by_b_of_shared_top(model)};
  }
  return {.learned = joined(learned_by_both(model, party), learned_by_b(model)),
          .could_work_out = within_reach_of_b(model),
          .never_saw = never_seen_by_b(model)};
}

}  // namespace

Disclosure disclosure_of(Party party, const DisclosureFacts& model) {
  Disclosure all = disclosure_of_one(party, model);
  add_several(party, model, all);
  return all;
}

}  // namespace blindfl::run
