// Accuracy on public data with several A's: a9a in four parts, beside libtorch on the joined columns.

#include <gtest/gtest.h>

#include <numeric>

#include "blindfl/data/libsvm.h"
#include "blindfl/run/metrics.h"
#include "blindfl/train/trainer.h"
#include "nn/peers_fixture.h"
#include "testing/ranking.h"
#include "testing/real_data.h"

namespace blindfl::train::peers_data_test {
namespace {

using protocol::Sessions;
using Place = std::optional<std::size_t>;

constexpr std::size_t kPeers = 3;
constexpr std::size_t kColumns = 123;
constexpr std::size_t kOfEach = 31;  // and 30 at B
constexpr std::size_t kBatch = 128;

/// Both files' rows at one party; B has no place.
struct Rows {
  data::Dataset train;
  data::Dataset test;
};

data::Table part_of(const data::Table& table, Place place) {
  data::Table rest = table;
  for (std::size_t i = 0; i < kPeers; ++i) {
    auto split = made_up::vertical_split(rest, kOfEach);
    if (place == i) return split.a;
    rest = std::move(split.b);
  }
  return rest;
}

nn::FeatureShape shape_of_pair() {
  nn::FeatureShape shape{.in_a = kOfEach, .in_b = kColumns - kPeers * kOfEach, .batch = kBatch};
  shape.features_a = shape.features_b = {.scale = 0, .largest = 1.0};
  shape.in_others = (kPeers - 1) * kOfEach;
  return shape;
}

TEST(RealDataOfFour, A9aIsClassifiedAsWellAsJoined) {
  BLINDFL_NEEDS_DATA("a9a.xz");
  BLINDFL_NEEDS_DATA("a9a.t.xz");
  const auto read = [](const char* file, std::size_t every) {
    const data::Table all = made_up::with_class_labels(data::read_libsvm(testing::real_data(file), {.cols = kColumns}));
    return all.select_rows(testing::some_rows(all.rows(), testing::every(every)));
  };
  const data::Table train = read("a9a.xz", 4);
  const data::Table test = read("a9a.t.xz", 4);
  TrainOptions options;
  options.epochs = testing::epochs(3, 10);
  options.batch = kBatch;
  options.sgd = {.learning_rate = 0.05, .momentum = 0.9};

  const auto scheme = testing::make_scheme("lattice");
  testing::SeveralParties parties(kPeers, *scheme);
  struct Result {
    std::vector<nn::Pieces> start;
    torch::Tensor scores;
  };
  const auto at = [&](const Sessions& sessions, Place place) {
    const FixedPoint encoding(shape_of_pair().features_a);
    const data::Dataset rows = data::make_dataset(part_of(train, place), encoding);
    nn::GeneralizedLinear model(sessions, shape_of_pair());
    Result result{nn::all_pieces_of(model->source), {}};
    const auto forward = [&](const data::Batch& batch) { return model->forward(batch); };
    fit(
        *model, forward,
        [](const torch::Tensor& z, const torch::Tensor& y) { return nn::loss(nn::Family::kLogistic, z, y); }, rows,
        options);
    result.scores = score(forward, data::make_dataset(part_of(test, place), encoding), kBatch);
    return result;
  };
  const auto [of_a, of_b] =
      parties.run([&](std::size_t place, protocol::Session& session) { return at(Sessions(session), Place(place)); },
                  [&](const Sessions& sessions) { return at(sessions, Place()); });
  std::vector<nn::Pieces> pieces;
  for (const Result& one : of_a) pieces.push_back(one.start.front());

  lab::LocalModel joined(kColumns, std::vector<std::size_t>{}, std::size_t{1});
  {
    const torch::NoGradGuard no_grad;
    joined->weight.copy_(nn::joined_weight(pieces, of_b.start));
  }
  lab::fit(joined, nn::Family::kLogistic, train, options);
  const double federated = testing::auc(nn::to_vector(of_b.scores.reshape({-1})), test.labels());
  const double plain = testing::auc(nn::to_vector(lab::score(joined, test).reshape({-1})), test.labels());
  std::cout << "a9a in four, AUC: federated " << federated << ", joined " << plain << "\n";
  EXPECT_NEAR(federated, plain, 0.001);
  EXPECT_GT(federated, 0.88);
}

}  // namespace
}  // namespace blindfl::train::peers_data_test
