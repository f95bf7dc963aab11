// Factorisation machines: the plain one for features that are 0 or 1, and equal to libtorch's on the joined data:
// forward, backward, after many steps with momentum, and with updates under encryption.

#include "blindfl/nn/factorization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "blindfl/base/error.h"
#include "blindfl/lab/local_factorization.h"
#include "blindfl/nn/federated_optimizer.h"
#include "blindfl/train/trainer.h"
#include "nn/deep_fixture.h"
#include "protocol/encrypted_fixture.h"
#include "testing/steps.h"
#include "testing/thrown.h"

namespace blindfl::nn::factorization_test {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kBatch = 32;
constexpr std::size_t kInA = 12;
constexpr std::size_t kInB = 8;
constexpr std::size_t kFactors = 3;

/// `binary`: features of 0 and 1, a third of them 1; else normal numbers.
data::Table make_table(bool binary, made_up::Task task = made_up::Task::kBinary, std::size_t rows = 300) {
  made_up::SyntheticSpec spec;
  spec.rows = rows;  // not a multiple of the batch: the last one is padded
  spec.columns_a = kInA;
  spec.columns_b = kInB;
  spec.density = binary ? 0.3 : 1.0;
  spec.binary = binary;
  spec.task = task;
  const data::Table made = made_up::make_synthetic(spec).joined;
  return binary ? made : rounded(made, 16);
}

// The plain machine has w where the one of width 1 + k has w - |v|^2 / 2.
TEST(FactorizationMachines, ArePlainOnesForFeaturesThatAreZeroOrOne) {
  torch::manual_seed(3);
  const std::size_t inputs = kInA + kInB;
  lab::LocalFactorizationMachine plain(inputs, kFactors, lab::Diagonal::kSubtracted);
  lab::LocalFactorizationMachine folded(inputs, kFactors);
  {
    const torch::NoGradGuard no_grad;
    plain->weight.mul_(5);
    folded->weight.copy_(plain->weight);
    folded->weight.slice(1, 0, 1).sub_(0.5 * plain->weight.slice(1, 1).square().sum(1, true));
    for (const auto& bias : {plain->top->bias, folded->top->bias}) torch::Tensor(bias).fill_(0.25);
  }
  const data::Table binary = make_table(true);
  EXPECT_LE(largest_difference(lab::score(plain, binary), lab::score(folded, binary)), 1e-5);
  // The definition, by pairs, of one row.
  const torch::Tensor x = lab::features_tensor(binary.select_rows(std::vector<std::uint32_t>{4})).to_dense();
  const torch::Tensor v = plain->weight.slice(1, 1);
  double score = 0.25 + torch::mm(x, plain->weight.slice(1, 0, 1)).item<double>();
  for (std::int64_t i = 0; i < v.size(0); ++i) {
    for (std::int64_t j = i + 1; j < v.size(0); ++j) {
      score += (v[i].dot(v[j]) * x[0][i] * x[0][j]).item<double>();
    }
  }
  EXPECT_NEAR(lab::score(folded, binary)[4][0].item<double>(), score, 1e-5);
  EXPECT_GT(x.sum().item<double>(), 3) << "of no or one feature there are no pairs";
  EXPECT_GT(largest_difference(lab::score(plain, make_table(false)), lab::score(folded, make_table(false))), 0.1)
      << "of other features the squares are no weights";
}

struct Case {
  std::string scheme;
  bool binary = true;
  Family family = Family::kLogistic;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.scheme << (c.binary ? ", binary, " : ", dense, ") << static_cast<int>(c.family);
}

made_up::Task task_of(Family family) {
  if (family == Family::kLinear) return made_up::Task::kRegression;
  return family == Family::kPoisson ? made_up::Task::kCount : made_up::Task::kBinary;
}

class LosslessMachine : public ::testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<he::Scheme> scheme_ = testing::make_scheme(GetParam().scheme);
  testing::TwoParties parties_{*scheme_, testing::Record::kNo};
  VerticalData data_{make_table(GetParam().binary, task_of(GetParam().family)), kInA, kBatch};

  /// The plain machine that begins where the parties' does.
  [[nodiscard]] static lab::LocalFactorizationMachine joined(const Pieces& a, const Pieces& b) {
    lab::LocalFactorizationMachine model(kInA + kInB, kFactors);
    const torch::NoGradGuard no_grad;
    model->weight.copy_(joined_weight(a, b));
    return model;
  }
};

TEST_P(LosslessMachine, HasTheScoresAndGradientsOfLibtorch) {
  struct Result {
    Pieces pieces;
    torch::Tensor scores;
    std::optional<ShareMatrix> grad_a;
    std::optional<ShareMatrix> grad_b;
    torch::Tensor bias;
  };
  std::vector<std::uint32_t> rows(kBatch - 3);
  std::iota(rows.begin(), rows.end(), 5U);
  const auto [a, b] = parties_.run([&](Session& s) {
    FactorizationMachine model(s, data_.shape, kFactors);
    Result result{.pieces = pieces_of(model->source), .scores = {}, .grad_a = {}, .grad_b = {}, .bias = {}};
    const data::Batch batch = data::make_batch(data_.at(s.party()), rows, kBatch);
    const torch::Tensor scores = model->forward(batch);
    loss(GetParam().family, scores, labels_tensor(batch)).backward();
    result.scores = scores.detach();
    result.grad_a = model->source->weight_a().grad();
    result.grad_b = model->source->weight_b().grad();
    result.bias = model->top->bias.grad();
    return result;
  });
  lab::LocalFactorizationMachine plain = joined(a.pieces, b.pieces);
  const data::Table chosen = data_.joined.select_rows(rows);
  const torch::Tensor scores = plain->forward(lab::features_tensor(chosen));
  EXPECT_EQ(a.scores.size(0), 0);
  EXPECT_LE(largest_difference(b.scores, scores), 2e-4);
  loss(GetParam().family, scores, to_tensor(chosen.labels())).backward();
  const auto tensor = [&](const ShareMatrix& m) {
    return to_tensor(decode_ring(m), m.rows(), m.cols()) / static_cast<double>(kBatch);
  };
  const torch::Tensor gradient = torch::cat({tensor(open(*a.grad_a, *b.grad_a)), tensor(*b.grad_b)});
  EXPECT_LE(largest_difference(gradient, plain->weight.grad()), 1e-4);
  EXPECT_GT(plain->weight.grad().slice(1, 1).abs().max().item<double>(), 0.01) << "factors have gradients";
  EXPECT_LE(largest_difference(b.bias, plain->top->bias.grad()), 1e-4);
}

TEST_P(LosslessMachine, HasTheWeightsOfLibtorchAfterManyStepsWithMomentum) {
  const bool slow = GetParam().scheme == "paillier";
  train::TrainOptions options{.epochs = slow ? std::size_t{3} : std::size_t{10}, .batch = kBatch};
  const double rate = slow ? 0.15 : 0.05;
  options.sgd = {.learning_rate = GetParam().family == Family::kLogistic ? rate : 0.005, .momentum = 0.9};
  struct Result {
    Pieces before;
    Pieces after;
    torch::Tensor bias;
  };
  const auto [a, b] = parties_.run([&](Session& s) {
    FactorizationMachine model(s, data_.shape, kFactors);
    Result result{.before = pieces_of(model->source), .after = {}, .bias = {}};
    train::fit(
        *model, [&](const data::Batch& batch) { return model->forward(batch); },
        [&](const torch::Tensor& z, const torch::Tensor& y) { return loss(GetParam().family, z, y); },
        data_.at(s.party()), options);
    result.after = pieces_of(model->source);
    result.bias = model->top->bias.detach();
    return result;
  });
  lab::LocalFactorizationMachine plain = joined(a.before, b.before);
  const torch::Tensor start = plain->weight.detach().clone();
  lab::fit(plain, GetParam().family, data_.joined, options);
  EXPECT_LE(largest_difference(joined_weight(a.after, b.after), plain->weight), 1e-3);
  EXPECT_LE(largest_difference(b.bias, plain->top->bias), 1e-3);
  EXPECT_GT(largest_difference(start.slice(1, 1), plain->weight.slice(1, 1)), 0.05) << "factors have not moved";
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const std::string& scheme : testing::scheme_names()) {
    cases.push_back({.scheme = scheme});
    if (scheme == "paillier") continue;  // it re-encrypts every weight at every step
    cases.push_back({.scheme = scheme, .binary = false});
  }
  for (const Family family : {Family::kLinear, Family::kPoisson}) {
    cases.push_back({.scheme = "plain", .binary = true, .family = family});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Models, LosslessMachine, ::testing::ValuesIn(all_cases()), [](const auto& info) {
  const Case& c = info.param;
  return c.scheme + (c.binary ? "_binary" : "_dense") +
         (c.family == Family::kLinear    ? "_linear"
          : c.family == Family::kPoisson ? "_poisson"
                                         : "");
});

TEST(FactorizationMachines, LearnUnderEncryptionAsLibtorchDoes) {
  train::TrainOptions options{.epochs = 6, .batch = 8};
  options.sgd = {
      .learning_rate = 0.05, .momentum = 0.9, .schedule = {{.step = 50, .learning_rate = 0.02}}, .steps = 90};
  VerticalData data(make_table(true, made_up::Task::kBinary, 120), kInA, 8);
  data.shape.features_a = data.shape.features_b = {.scale = 0, .largest = 1.0, .clip = false};
  const auto split = made_up::vertical_split(data.joined, kInA);
  const auto scheme = testing::make_scheme("paillier");
  testing::TwoParties parties(*scheme, testing::Record::kNo);
  struct Result {
    Pieces before;
    Pieces after;
    MatMul source{nullptr};
  };
  const auto [a, b] = parties.run([&](Session& s) {
    const bool at_a = s.party() == Party::kA;
    MatMulOptions layer;
    layer.derivative.largest = 16.0;
    layer.update = protocol::Update::kEncrypted;
    layer.sgd = options.sgd;
    FactorizationMachine model(s, data.shape, kFactors, layer);
    Result result{.before = pieces_of(model->source), .after = {}, .source = model->source};
    train::fit(
        *model, [&](const data::Batch& batch) { return model->forward(batch); },
        [](const torch::Tensor& z, const torch::Tensor& y) { return loss(Family::kLogistic, z, y); },
        data::make_dataset(at_a ? split.a : split.b, FixedPoint(data.shape.features_a)), options);
    if (!at_a) model->source->layer().row_update()->refresh_all();
    result.after = pieces_of(model->source);
    return result;
  });
  lab::LocalFactorizationMachine plain(kInA + kInB, kFactors);
  {
    const torch::NoGradGuard no_grad;
    const auto tensor = [](const ShareMatrix& m) { return to_tensor(decode_ring(m), m.rows(), m.cols()); };
    plain->weight.copy_(torch::cat({tensor(a.before.weight_a), tensor(open(a.before.weight_b, b.before.weight_b))}));
  }
  const torch::Tensor start = plain->weight.detach().clone();
  lab::fit(plain, Family::kLogistic, data.joined, options);
  const auto tensor = [](const ShareMatrix& m) { return to_tensor(decode_ring(m), m.rows(), m.cols()); };
  const torch::Tensor learned =
      to_tensor(protocol::decrypt_weights(a.source->layer(), b.source->layer()), kInA, 1 + kFactors);
  const torch::Tensor after =
      torch::cat({tensor(a.after.weight_a) + learned, tensor(open(a.after.weight_b, b.after.weight_b))});
  EXPECT_EQ(a.source->layer().holder()->steps(), 90U);
  EXPECT_LE(largest_difference(after, plain->weight), 1e-3);
  EXPECT_GT(largest_difference(start.slice(1, 1), plain->weight.slice(1, 1)), 0.05) << "factors have not moved";
  EXPECT_EQ(a.before.weight_a, a.after.weight_a) << "A holds what it drew, and nothing else in the clear";
}

// What travels in a step does not grow with the features, and neither do the scores go wrong: rows that say nothing are
// never touched.
TEST(FactorizationMachines, TakeAMillionFeaturesUnderEncryption) {
  constexpr std::size_t kMany = 1'000'000;
  constexpr std::size_t kFew = 40;  // that occur
  FeatureShape shape{.in_a = kMany, .in_b = 2, .batch = 8};
  shape.features_a = shape.features_b = {.scale = 0, .largest = 1.0, .clip = false};
  shape.nonzeros_a = 2;
  SeededRandom random(8);
  std::vector<std::size_t> starts{0};
  std::vector<IntMatrix::Column> columns;
  data::Dataset at_a;
  data::Dataset at_b;
  std::vector<std::int64_t> of_b;
  constexpr std::size_t kRows = 64;
  for (std::size_t r = 0; r < kRows; ++r) {
    const auto first = static_cast<IntMatrix::Column>(random.below(kFew / 2));
    const auto second = static_cast<IntMatrix::Column>(kMany - 1 - random.below(kFew / 2));
    columns.insert(columns.end(), {first, second});
    starts.push_back(columns.size());
    of_b.insert(of_b.end(), {static_cast<std::int64_t>(r % 2), static_cast<std::int64_t>(r % 3 == 0)});
    at_b.labels.push_back((first + second) % 2 == 0 ? 1 : 0);
  }
  at_a.features = IntMatrix::csr(kRows, kMany, starts, columns, std::vector<std::int64_t>(columns.size(), 1), 0, 1);
  at_b.features = IntMatrix::dense(kRows, 2, of_b, 0, 1);
  const auto scheme = testing::make_scheme("paillier");
  testing::TwoParties parties(*scheme, testing::Record::kNo);
  train::TrainOptions options{.epochs = 3, .batch = 8, .sgd = {.learning_rate = 0.5, .steps = 24}};
  struct Result {
    std::uint64_t bytes = 0;
    torch::Tensor before;
    torch::Tensor after;
  };
  const auto [a, b] = parties.run([&](Session& s) {
    MatMulOptions layer;
    layer.derivative.largest = 16.0;
    layer.update = protocol::Update::kEncrypted;
    layer.sgd = options.sgd;
    layer.initial_deviation = 0.3;  // that of torch's Linear would be nearly 0
    FactorizationMachine model(s, shape, kFactors, layer);
    const auto forward = [&](const data::Batch& batch) { return model->forward(batch); };
    const data::Dataset& rows = s.party() == Party::kA ? at_a : at_b;
    Result result{.bytes = 0, .before = train::score(forward, rows, options.batch), .after = {}};
    std::uint64_t before = 0;
    for (const auto& [step, traffic] : s.channel().sent()) before += traffic.bytes;
    train::fit(
        *model, forward, [](const torch::Tensor& z, const torch::Tensor& y) { return loss(Family::kLogistic, z, y); },
        rows, options);
    for (const auto& [step, traffic] : s.channel().sent()) result.bytes += traffic.bytes;
    result.bytes -= before;
    result.after = train::score(forward, rows, options.batch);
    return result;
  });
  const torch::Tensor labels = to_tensor(at_b.labels);
  const auto loss_of = [&](const torch::Tensor& scores) {
    return loss(Family::kLogistic, scores, labels).item<double>();
  };
  EXPECT_LT(loss_of(b.after), 0.8 * loss_of(b.before));
  EXPECT_LT(a.bytes + b.bytes, std::uint64_t{24} * kMany) << "of 24 steps not a byte for each feature";
}

TEST(FactorizationMachines, NeedFactorsAndFeatures) {
  testing::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  Session& session = parties.session(Party::kA);
  FeatureShape numeric;
  numeric.in_b = 3;
  CategoryShape fields;
  fields.fields_a = {{.name = "a", .categories = 3}};
  const std::vector<std::size_t> hidden{4};
  const auto refused = [](const auto& make) { return testing::message_of<InvalidArgument>(make); };
  EXPECT_THAT(refused([&] { (void)FactorizationMachine(session, numeric, std::size_t{0}); }),
              HasSubstr("without any it is a generalised linear model"));
  EXPECT_THAT(refused([&] { (void)DeepFm(session, FeatureShape{}, fields, kFactors, hidden); }),
              HasSubstr("needs numeric or one-hot features"));
  EXPECT_THAT(refused([&] { (void)DeepFm(session, numeric, CategoryShape{}, kFactors, hidden); }),
              HasSubstr("needs categorical fields"));
}

TEST(FactorizationMachines, OpenOneMoreValueARowThanTheyHaveFactors) {
  testing::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  const VerticalData data(make_table(true), kInA, kBatch);
  std::vector<std::uint32_t> rows(kBatch);
  std::iota(rows.begin(), rows.end(), 0U);
  parties.run([&](Session& s) {
    FactorizationMachine model(s, data.shape, kFactors);
    (void)model(data::make_batch(data.at(s.party()), rows, kBatch));
  });
  EXPECT_EQ(parties.recording(Party::kB).received().at(protocol::steps::kOutputShare),
            (net::Traffic{1, kBatch * (1 + kFactors) * 8}));
}

}  // namespace
}  // namespace blindfl::nn::factorization_test
