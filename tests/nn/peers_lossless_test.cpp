// Lossless with several A's: a federated model equals the plain libtorch model on the joined data of all, forward,
// backward, and after 200 steps.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <mutex>

#include "blindfl/nn/federated_optimizer.h"
#include "blindfl/protocol/layers/matmul.h"
#include "blindfl/train/trainer.h"
#include "nn/peers_fixture.h"
#include "testing/insecure_lattice.h"
#include "testing/thrown.h"

namespace blindfl::nn::peers_lossless_test {
namespace {

using protocol::Sessions;
using protocol::Update;
using Place = std::optional<std::size_t>;

struct Case {
  std::size_t peers = 2;
  std::string scheme = "plain";
  Update update = Update::kExchanged;
  std::size_t epochs = 29;  ///< of 7 steps: 203
  double weight_decay = 0;  ///< which moves all shares of B's weights, and not B's alone
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.peers << " A's, " << c.scheme << (c.update == Update::kEncrypted ? ", encrypted" : "");
}
std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  return "A" + std::to_string(info.param.peers) + "_" + info.param.scheme +
         (info.param.update == Update::kEncrypted ? "_encrypted" : "") +
         (info.param.weight_decay > 0 ? "_with_decay" : "");
}

constexpr std::size_t kBatch = 16;
constexpr double kRealBatch = 16;

/// The A's have different numbers of columns, and one of three or more has none.
std::vector<std::size_t> columns_of(std::size_t peers) {
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < peers; ++i) columns.push_back(peers > 2 && i == 1 ? 0 : 2 + i);
  return columns;
}

/// The first of three or more has no fields, so that B's are with one that has none of its own.
std::vector<std::vector<CategoryField>> fields_of(std::size_t peers) {
  std::vector<std::vector<CategoryField>> fields;
  for (std::size_t i = 0; i < peers; ++i) {
    const std::string name = "a" + std::to_string(i);
    fields.push_back({{.name = name + " few", .categories = 3 + i}});
    if (i % 2 == 1) fields.back().push_back({.name = name + " many", .categories = 12});
    if (peers > 2 && i == 0) fields.back().clear();
  }
  return fields;
}

std::unique_ptr<he::Scheme> make_scheme(const std::string& name) {
  if (name == "small_lattice") return testing::make_insecure_lattice();
  return testing::make_scheme(name);
}

class WithPeers : public ::testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<he::Scheme> scheme_ = make_scheme(GetParam().scheme);
  testing::SeveralParties parties_{GetParam().peers, *scheme_};
  PeersData data_{{.columns_of_a = columns_of(GetParam().peers),
                   .columns_of_b = 3,
                   .fields_of_a = fields_of(GetParam().peers),
                   .fields_of_b = {{.name = "b", .categories = 7}, {.name = "c", .categories = 3}},
                   .rows = 106,  // the last batch is padded
                   .batch = kBatch}};
  std::mutex torch_random_;

  /// `at(sessions, place)` at all parties; B has no place. B's result comes last.
  template <class At>
  auto run(At&& at) {
    auto [of_a, of_b] =
        parties_.run([&](std::size_t place, Session& session) { return at(Sessions(session), Place(place)); },
                     [&](const Sessions& sessions) { return at(sessions, Place()); });
    of_a.push_back(std::move(of_b));
    return of_a;
  }

  [[nodiscard]] train::TrainOptions options() const {
    train::TrainOptions options;
    options.epochs = GetParam().epochs;
    options.batch = kBatch;
    options.sgd = {.learning_rate = 0.05, .momentum = 0.9, .weight_decay = GetParam().weight_decay};
    if (GetParam().update == Update::kEncrypted) options.sgd.steps = options.epochs * 7;
    return options;
  }
  [[nodiscard]] MatMulOptions layer_options() const {
    MatMulOptions layer;
    layer.update = GetParam().update;
    if (GetParam().update == Update::kEncrypted) layer.sgd = options().sgd;
    return layer;
  }
  [[nodiscard]] TwoSourceOptions two_source_options() const {
    TwoSourceOptions both;
    both.numeric.update = both.categories.update = GetParam().update;
    if (GetParam().update == Update::kEncrypted) both.numeric.sgd = both.categories.sgd = options().sgd;
    return both;
  }
  [[nodiscard]] data::Batch first_batch(Place place) const {
    std::vector<std::uint32_t> rows(kBatch - 3);
    for (std::uint32_t i = 0; i < rows.size(); ++i) rows[i] = i;
    return data::make_batch(data_.at(place), rows, kBatch);
  }
  [[nodiscard]] torch::Tensor first_features() const {
    return lab::features_tensor(data_.joined.numeric).slice(0, 0, kBatch - 3);
  }
  template <class Model>
  void fit(const Model& model, Place place) {
    Model copy = model;
    train::fit(
        *model, [copy](const data::Batch& batch) mutable { return copy->forward(batch); },
        [](const torch::Tensor& z, const torch::Tensor& y) { return loss(Family::kLogistic, z, y); }, data_.at(place),
        options());
  }
  template <class Model>
  torch::Tensor score(const Model& model, Place place) {
    Model copy = model;
    return train::score([copy](const data::Batch& batch) mutable { return copy->forward(batch); }, data_.at(place),
                        kBatch);
  }
};

TEST_P(WithPeers, ForwardAndGradientsEqualLibtorch) {
  if (GetParam().update == Update::kEncrypted) GTEST_SKIP() << "gradients stay with the layer";
  struct Result {
    std::vector<Pieces> pieces;
    torch::Tensor z;
    std::vector<std::optional<ShareMatrix>> of_a;
    std::optional<ShareMatrix> of_b;
  };
  torch::manual_seed(3);
  const torch::Tensor dz = torch::randn({kBatch - 3, 2}).clamp(-3, 3) / kRealBatch;
  const std::vector<Result> all = run([&](const Sessions& sessions, Place place) {
    MatMul source(sessions, data_.shapes(place), std::size_t{2});
    Result result{all_pieces_of(source), source(first_batch(place)), {}, {}};
    result.z.backward(place ? torch::zeros_like(result.z) : dz);
    for (std::size_t i = 0; i < sessions.size(); ++i) result.of_a.push_back(source->weight_a(i).grad());
    result.of_b = source->weight_b().grad();
    return result;
  });
  const Result& b = all.back();
  std::vector<Pieces> of_a;
  for (std::size_t i = 0; i < data_.peers(); ++i) of_a.push_back(all[i].pieces.front());
  torch::Tensor weight = joined_weight(of_a, b.pieces).set_requires_grad(true);
  const torch::Tensor z = torch::mm(first_features(), weight);
  ASSERT_EQ(b.z.sizes(), z.sizes());
  EXPECT_LE(largest_difference(b.z, z), 5e-5 * static_cast<double>(data_.peers()));
  for (std::size_t i = 0; i < data_.peers(); ++i) EXPECT_EQ(all[i].z.size(0), 0);

  z.backward(dz);
  const auto tensor = [](const ShareMatrix& m) { return to_tensor(decode_ring(m), m.rows(), m.cols()) / kRealBatch; };
  std::vector<torch::Tensor> gradient;
  for (std::size_t i = 0; i < data_.peers(); ++i) {
    if (all[i].of_a[0]) gradient.push_back(tensor(blindfl::open(*all[i].of_a[0], *b.of_a[i])));
    EXPECT_FALSE(all[i].of_b.has_value());
  }
  gradient.push_back(tensor(*b.of_b));
  EXPECT_LE(largest_difference(torch::cat(gradient), weight.grad()), 1e-5);
}

TEST_P(WithPeers, LogisticRegressionAfter200StepsEqualsLibtorch) {
  struct Result {
    GeneralizedLinear model{nullptr};
    std::vector<Pieces> before;
  };
  const auto made = run([&](const Sessions& sessions, Place place) {
    GeneralizedLinear model(sessions, data_.shapes(place), std::size_t{1}, layer_options());
    return Result{model, all_pieces_of(model->source)};
  });
  lab::LocalModel joined(data_.joined.numeric.cols(), std::vector<std::size_t>{}, std::size_t{1});
  {
    const torch::NoGradGuard no_grad;
    std::vector<Pieces> of_a;
    for (std::size_t i = 0; i < data_.peers(); ++i) of_a.push_back(made[i].before.front());
    joined->weight.copy_(joined_weight(of_a, made.back().before));
  }
  const auto scores = run([&](const Sessions&, Place place) {
    const Result& mine = place ? made[*place] : made.back();
    const torch::Tensor before = score(mine.model, place);
    fit(mine.model, place);
    return std::pair(before, score(mine.model, place));
  });
  const torch::Tensor x = lab::features_tensor(data_.joined.numeric);
  EXPECT_LE(largest_difference(scores.back().first, joined->forward(x)), 2e-4);
  lab::fit(joined, Family::kLogistic, data_.joined.numeric, options());
  EXPECT_LE(largest_difference(scores.back().second, joined->forward(x)), 1e-3);
  EXPECT_GT(largest_difference(scores.back().first, scores.back().second), 0.1) << "nothing was learned";
  if (GetParam().update == Update::kEncrypted) return;  // pieces stay with the layer
  std::vector<Pieces> after;
  for (std::size_t i = 0; i < data_.peers(); ++i) after.push_back(pieces_of(made[i].model->source));
  const torch::Tensor weight = joined_weight(after, all_pieces_of(made.back().model->source));
  EXPECT_LE(largest_difference(weight, joined->weight), 1e-3);
}

TEST_P(WithPeers, AMultiLayerPerceptronAfter200StepsEqualsLibtorch) {
  if (GetParam().update == Update::kEncrypted) GTEST_SKIP() << "the same source layer as a logistic regression's";
  const std::vector<std::size_t> hidden{6, 4};
  const auto models = run([&](const Sessions& sessions, Place place) {
    const std::lock_guard lock(torch_random_);  // all parties draw from torch's one generator
    // Whichever comes first: how far rounding grows in training depends on where that begins.
    torch::manual_seed(3);
    return Mlp(sessions, data_.shapes(place), hidden, std::size_t{1}, Activation::kTanh);
  });
  lab::LocalModel joined(data_.joined.numeric.cols(), hidden, std::size_t{1}, Activation::kTanh);
  {
    const torch::NoGradGuard no_grad;
    std::vector<Pieces> of_a;
    for (std::size_t i = 0; i < data_.peers(); ++i) of_a.push_back(pieces_of(models[i]->source));
    joined->weight.copy_(joined_weight(of_a, all_pieces_of(models.back()->source)));
    joined->bias.copy_(models.back()->bias);
  }
  copy_parameters(*models.back()->top, *joined->top);
  const auto scores = run([&](const Sessions&, Place place) {
    const Mlp& mine = place ? models[*place] : models.back();
    const torch::Tensor before = score(mine, place);
    fit(mine, place);
    return std::pair(before, score(mine, place));
  });
  const torch::Tensor x = lab::features_tensor(data_.joined.numeric);
  EXPECT_LE(largest_difference(scores.back().first, joined->forward(x)), 3e-4);
  lab::fit(joined, Family::kLogistic, data_.joined.numeric, options());
  EXPECT_LE(largest_difference(scores.back().second, joined->forward(x)), 1e-3);
  EXPECT_GT(largest_difference(scores.back().first, scores.back().second), 0.03) << "nothing was learned";
}

TEST_P(WithPeers, WideAndDeepAfter200StepsEqualsLibtorch) {
  const std::vector<std::size_t> hidden{5, 4};
  const auto models = run([&](const Sessions& sessions, Place place) {
    const std::lock_guard lock(torch_random_);
    torch::manual_seed(3);
    return WideDeep(sessions, data_.shapes(place), data_.categories_of(place), hidden, std::size_t{1},
                    Activation::kTanh, two_source_options());
  });
  const std::size_t inputs = data_.all_fields.size() * PeersData::kDimension;
  lab::LocalWideDeep joined(
      lab::LocalSources(data_.joined.numeric.cols(), 1, data_.all_fields, PeersData::kDimension, hidden.front()),
      WideDeepTop(inputs, hidden, 1, Activation::kTanh));
  std::vector<Pieces> of_a;
  std::vector<EmbedMatMul> embedded;
  for (std::size_t i = 0; i < data_.peers(); ++i) {
    of_a.push_back(pieces_of(models[i]->wide));
    embedded.push_back(models[i]->deep);
  }
  {
    const torch::NoGradGuard no_grad;
    joined->sources->weight.copy_(joined_weight(of_a, all_pieces_of(models.back()->wide)));
  }
  copy_embeddings(embedded, models.back()->deep, joined->sources);
  copy_parameters(*models.back()->top, *joined->top);
  const auto scores = run([&](const Sessions&, Place place) {
    const WideDeep& mine = place ? models[*place] : models.back();
    const torch::Tensor before = score(mine, place);
    fit(mine, place);
    return std::pair(before, score(mine, place));
  });
  EXPECT_LE(largest_difference(scores.back().first, lab::score(joined, data_.joined)), 5e-4);
  lab::fit(joined, Family::kLogistic, data_.joined, options());
  EXPECT_LE(largest_difference(scores.back().second, lab::score(joined, data_.joined)), 1e-3);
  EXPECT_GT(largest_difference(scores.back().first, scores.back().second), 0.03) << "nothing was learned";
  if (GetParam().update == Update::kEncrypted) return;
  std::vector<Pieces> after;
  for (std::size_t i = 0; i < data_.peers(); ++i) after.push_back(pieces_of(models[i]->wide));
  const torch::Tensor weight = joined_weight(after, all_pieces_of(models.back()->wide));
  EXPECT_LE(largest_difference(weight, joined->sources->weight), 1e-3);
  lab::LocalSources opened(data_.joined.numeric.cols(), 1, data_.all_fields, PeersData::kDimension, hidden.front());
  copy_embeddings(embedded, models.back()->deep, opened);
  EXPECT_LE(largest_difference(opened->embedded_weight, joined->sources->embedded_weight), 1e-3);
  for (std::size_t t = 0; t < data_.all_fields.size(); ++t) {
    EXPECT_LE(largest_difference(opened->tables.at(t), joined->sources->tables.at(t)), 1e-3) << "table " << t;
  }
}

/// Three A's, each with a plan of its own: exchanged over the lattice, under encryption over Paillier, and exchanged
/// with one scheme for A's features and another for B's.
TEST(PairsWithDifferentPlans, LearnWhatLibtorchDoes) {
  const auto plain = testing::make_scheme("plain");
  const auto lattice = testing::make_insecure_lattice();
  const auto paillier = testing::make_scheme("paillier");
  testing::SeveralParties parties(3, std::vector<const he::Scheme*>{plain.get(), lattice.get(), paillier.get()});
  const PeersData data({.columns_of_a = {2, 3, 4},
                        .columns_of_b = 3,
                        .fields_of_a = {},
                        .fields_of_b = {},
                        .rows = 64,
                        .batch = kBatch});
  train::TrainOptions options;
  options.epochs = 4;
  options.batch = kBatch;
  options.sgd = {.learning_rate = 0.1, .momentum = 0.9, .steps = 16};
  std::vector<MatMulOptions> plans(3);
  plans[0].scheme_a = plans[0].scheme_b = "lattice";
  plans[1].scheme_a = "paillier";
  plans[1].update = Update::kEncrypted;
  plans[1].sgd = options.sgd;
  plans[2].scheme_b = "paillier";

  struct Result {
    std::vector<Pieces> before;
    std::vector<std::pair<std::string, Update>> made;
    torch::Tensor scores;
  };
  const auto train = [&](const Sessions& sessions, Place place) {
    const protocol::PerPeer<MatMulOptions> own =
        place ? protocol::PerPeer<MatMulOptions>(plans[*place]) : protocol::PerPeer<MatMulOptions>(plans);
    GeneralizedLinear model(sessions, data.shapes(place), std::size_t{1}, own);
    Result result{all_pieces_of(model->source), {}, {}};
    for (const auto& layer : model->source->layers()) {
      result.made.emplace_back(layer->params().spec().scheme_a, layer->params().spec().update);
    }
    const auto forward = [&](const data::Batch& batch) { return model->forward(batch); };
    train::fit(
        *model, forward, [](const torch::Tensor& z, const torch::Tensor& y) { return loss(Family::kLogistic, z, y); },
        data.at(place), options);
    result.scores = train::score(forward, data.at(place), kBatch);
    return result;
  };
  const auto [of_a, of_b] =
      parties.run([&](std::size_t place, Session& session) { return train(Sessions(session), Place(place)); },
                  [&](const Sessions& sessions) { return train(sessions, Place()); });
  EXPECT_EQ(of_b.made[0], std::pair(std::string("lattice"), Update::kExchanged));
  EXPECT_EQ(of_b.made[1], std::pair(std::string("paillier"), Update::kEncrypted));
  EXPECT_EQ(of_b.made[2].second, Update::kExchanged);
  std::vector<Pieces> before;
  for (const Result& one : of_a) before.push_back(one.before.front());
  lab::LocalModel joined(data.joined.numeric.cols(), std::vector<std::size_t>{}, std::size_t{1});
  {
    const torch::NoGradGuard no_grad;
    joined->weight.copy_(joined_weight(before, of_b.before));
  }
  const torch::Tensor x = lab::features_tensor(data.joined.numeric);
  const torch::Tensor untrained = joined->forward(x);
  lab::fit(joined, Family::kLogistic, data.joined.numeric, options);
  EXPECT_LE(largest_difference(of_b.scores, joined->forward(x)), 1e-3);
  EXPECT_GT(largest_difference(of_b.scores, untrained), 0.1) << "nothing was learned";
}

TEST(SharedTopWithSeveralAs, IsRefusedAtAllPartiesSayingWhatToDo) {
  testing::PlainScheme scheme;
  testing::SeveralParties parties(2, scheme);
  const FeatureShape shape{.in_a = 2, .in_b = 2, .batch = 4, .in_others = 2};
  MatMulOptions options;
  options.top = protocol::Top::kShared;
  const auto refused = [&](const std::function<void()>& make) {
    const std::string text = testing::message_of<InvalidArgument>(make);
    EXPECT_THAT(text, ::testing::HasSubstr("top that is shared takes one A"));
    EXPECT_THAT(text, ::testing::HasSubstr("to which every A must consent, or train with one of the A's"));
  };
  refused([&] { (void)MatMul(Sessions(parties.a(0)), shape, std::size_t{1}, options); });
  refused([&] { (void)MatMul(parties.b(), shape, std::size_t{1}, options); });
  refused([&] { (void)SharedGeneralizedLinear(parties.a(1), shape); });
  refused([&] { (void)SharedGeneralizedLinear(parties.b()[1], shape); });
}

INSTANTIATE_TEST_SUITE_P(
    Cases, WithPeers,
    ::testing::Values(Case{.peers = 1}, Case{.peers = 2}, Case{.peers = 3}, Case{.peers = 5},
                      Case{.peers = 3, .epochs = 10, .weight_decay = 0.02},
                      Case{.peers = 3, .scheme = "lattice", .epochs = 2}, Case{.peers = 3, .scheme = "small_lattice"},
                      Case{.peers = 2, .scheme = "paillier", .epochs = 2},
                      Case{.peers = 3, .scheme = "paillier", .update = Update::kEncrypted, .epochs = 4}),
    name_of);

}  // namespace
}  // namespace blindfl::nn::peers_lossless_test
