// What A has of a training by SecureML: its shares, and numbers less masks. The attacks on labels make nothing of them.

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/lab/attacks/attack_activations.h"
#include "blindfl/lab/attacks/attack_derivatives.h"
#include "blindfl/lab/attacks/recorded_view.h"
#include "blindfl/lab/secureml/model.h"
#include "blindfl/lab/secureml/steps.h"
#include "lab/secureml/ways.h"
#include "lab/vertical_rows.h"

namespace blindfl::lab::attacks::secureml_views_test {
namespace {

using secureml::Output;
using secureml::TripletParties;
using secureml::Triplets;
using secureml::Words;
using torch::Tensor;

constexpr std::size_t kRows = 256;
constexpr std::size_t kOfA = 3;
constexpr std::size_t kOfB = 4;
constexpr std::size_t kFeatures = kOfA + kOfB;
constexpr std::size_t kSteps = 4;

/// Rows whose labels a model with weights of 1 gives: A's columns say nearly half of them.
struct Rows {
  std::vector<double> of_a = secureml::small_numbers(kRows * kOfA, 1);
  std::vector<double> of_b = secureml::small_numbers(kRows * kOfB, 2);
  std::vector<double> labels{};

  Rows() {
    for (std::size_t r = 0; r < kRows; ++r) {
      double sum = 0;
      for (std::size_t c = 0; c < kOfA; ++c) sum += of_a[r * kOfA + c];
      for (std::size_t c = 0; c < kOfB; ++c) sum += of_b[r * kOfB + c];
      labels.push_back(sum > 0.4 ? 1 : 0);
    }
  }
};

const Rows& rows() {
  static const Rows made;
  return made;
}

Tensor numbers_of_words(const Words& words) {
  return numbers_of(secureml::to_shares(words, secureml::kFractionBits));
}

/// A number for each row: what A has, and what nobody may have.
struct Seen {
  Tensor label;             ///< A's share
  Tensor prediction;        ///< A's share, after training
  Tensor derivative;        ///< of the last step, less its mask, which both open
  Tensor whole_prediction;  ///< the sum of both shares
};

/// The last difference of derivatives from a mask that a party sent: the one message with a word for each row.
Words last_difference(const TripletParties& parties, Party party) {
  Words words(kRows, 1);
  std::size_t found = 0;
  for (const Bytes& payload : parties.sent(party, secureml::steps::kMatrixDifference)) {
    if (payload.size() != words.values().size_bytes()) continue;
    std::memcpy(words.values().data(), payload.data(), payload.size());
    ++found;
  }
  EXPECT_EQ(found, kSteps);
  return words;
}

/// What a party ends with.
struct Shares {
  Words label;
  Words prediction;
};

/// A logistic regression, all rows in every step.
Shares train_party(protocol::Session& session, secureml::TripletSource& source) {
  const bool at_a = session.party() == Party::kA;
  const Words mine = at_a ? secureml::encode(kRows, kOfA, rows().of_a) : secureml::encode(kRows, kOfB, rows().of_b);
  Words features = secureml::share_columns(session, mine, at_a ? kOfB : kOfA);
  Words labels = at_a ? secureml::share_of_b(session, kRows, 1)
                      : secureml::share_of_b(session, secureml::encode(kRows, 1, rows().labels));
  std::vector<Words> weights;
  weights.push_back(at_a ? secureml::share_of_b(session, kFeatures, 1)
                         : secureml::share_of_b(session, Words(kFeatures, 1)));
  Shares shares{.label = labels, .prediction = {}};
  secureml::Model model(session, source,
                        {.widths = {kFeatures, 1}, .output = Output::kPiecewiseSigmoid, .rate_bits = 6},
                        std::move(features), std::move(labels), std::move(weights));
  const std::vector<std::uint32_t> all = secureml::all_rows(kRows);
  for (std::size_t i = 0; i < kSteps; ++i) model.step(all);
  shares.prediction = model.predict(all);
  return shares;
}

Seen seen_in_training() {
  TripletParties parties(Triplets::kObliviousTransfer);
  const auto [a, b] = parties.run(train_party);
  return {.label = numbers_of_words(a.label),
          .prediction = numbers_of_words(a.prediction),
          .derivative = numbers_of_words(last_difference(parties, Party::kA) + last_difference(parties, Party::kB)),
          .whole_prediction = numbers_of_words(a.prediction + b.prediction)};
}

/// The paper's attacks and ours on a number for each row: by size, by direction and by length.
std::vector<double> told_by(const Tensor& numbers) {
  return {attack_activations(numbers, rows().labels).value,
          attack_directions(numbers, rows().labels, longest_row(numbers), 0).balanced,
          attack_norms(numbers, rows().labels).value};
}

TEST(SecureMLViews, TellAttacksOnLabelsNothing) {
  std::vector<VainAttack> attacks;
  for (const char* seen : {"share of labels", "share of predictions", "opened derivative less its mask"}) {
    for (const char* by : {"activations", "directions", "norms"}) {
      attacks.push_back({std::string("SecureML, A's ") + seen + ", " + by});
    }
  }
  Tensor whole;
  expect_chance(attacks, 12, [&](std::uint64_t, std::uint64_t count) {
    std::vector<std::vector<double>> told(attacks.size());
    for (std::uint64_t i = 0; i < count; ++i) {
      const Seen seen = seen_in_training();
      std::size_t attack = 0;
      for (const Tensor* numbers : {&seen.label, &seen.prediction, &seen.derivative}) {
        for (const double value : told_by(*numbers)) told[attack++].push_back(value);
      }
      whole = seen.whole_prediction;
    }
    return told;
  });
  // Of a training that learns: as soon as shares are added, they tell.
  EXPECT_GT(told_by(whole)[0], 0.9);
}

}  // namespace
}  // namespace blindfl::lab::attacks::secureml_views_test
