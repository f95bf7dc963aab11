// A layer of embeddings under a shared top, trained by FederatedOptimizer: tables and weights learn from shares, as
// torch's; and so do both source layers of Wide & Deep.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "blindfl/base/error.h"
#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/nn/deep_models.h"
#include "blindfl/nn/federated_optimizer.h"
#include "blindfl/nn/shared_models.h"
#include "blindfl/protocol/layers/lookup_plan.h"
#include "nn/deep_fixture.h"
#include "protocol/embed_fixture.h"
#include "testing/thrown.h"

namespace blindfl::nn::shared_embed_test {
namespace {

using protocol::Top;
using ::testing::HasSubstr;

constexpr std::size_t kBatch = 16;
constexpr std::size_t kOut = 3;
constexpr std::size_t kSteps = 20;
constexpr std::size_t kManySteps = 200;

/// Of the mean loss.
torch::Tensor random_derivative(std::size_t out, int seed) {
  torch::manual_seed(seed);
  return torch::randn({static_cast<std::int64_t>(kBatch), static_cast<std::int64_t>(out)}) /
         static_cast<double>(kBatch);
}

/// Of the summed loss, as a top on shares would leave it with both parties.
std::pair<ShareMatrix, ShareMatrix> shared(const torch::Tensor& dz, std::size_t real_rows = kBatch) {
  Random random;
  return split(encode_ring(kBatch, static_cast<std::size_t>(dz.size(1)),
                           to_vector(dz.to(torch::kFloat64) * static_cast<double>(real_rows)), 30, 256.0),
               random);
}

/// The layer on tensors: tables, A's fields first, and the weights behind them.
struct Plain {
  std::vector<torch::Tensor> parameters;  ///< the weights, then the tables

  Plain(const EmbedMatMul& a, const EmbedMatMul& b) {
    const auto add = [&](const std::vector<double>& values, std::size_t cols) {
      parameters.push_back(to_tensor(values, values.size() / cols, cols).to(torch::kFloat64).requires_grad_());
    };
    const protocol::EmbedMatMulParams& params = a->layer().params();
    add(decode_ring(blindfl::open(a->weight().piece(), b->weight().piece())), params.spec().out);
    for (std::size_t t = 0; t < a->layer().tables().size(); ++t) {
      add(protocol::opened_table(a->layer(), b->layer(), t), params.spec().dimension);
    }
  }
  [[nodiscard]] torch::Tensor z(const std::vector<IntMatrix>& x_a, const std::vector<IntMatrix>& x_b) const {
    std::vector<torch::Tensor> embedded;
    for (const std::vector<IntMatrix>* of : {&x_a, &x_b}) {
      for (const IntMatrix& x : *of) {
        embedded.push_back(embedding(x, parameters[1 + embedded.size()]));
      }
    }
    return torch::mm(torch::cat(embedded, 1), parameters[0]);
  }
  /// Not as a product with a dense X, which has as many columns as there are categories.
  [[nodiscard]] static torch::Tensor embedding(const IntMatrix& x, const torch::Tensor& table) {
    std::vector<std::int64_t> rows;
    std::vector<std::int64_t> categories;
    std::vector<double> weights;
    for (std::size_t r = 0; r < x.rows(); ++r) {
      x.for_each_in_row(r, [&](std::size_t c, std::int64_t v) {
        rows.push_back(static_cast<std::int64_t>(r));
        categories.push_back(static_cast<std::int64_t>(c));
        weights.push_back(std::ldexp(static_cast<double>(v), -x.scale()));
      });
    }
    const torch::Tensor weight = to_tensor(weights, weights.size(), 1).to(torch::kFloat64);
    const torch::Tensor parts = table.index_select(0, torch::tensor(categories, torch::kInt64)) * weight;
    return torch::zeros({static_cast<std::int64_t>(x.rows()), table.size(1)}, torch::kFloat64)
        .index_add(0, torch::tensor(rows, torch::kInt64), parts);
  }
  [[nodiscard]] double difference(const Plain& other) const {
    double largest = 0;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      largest = std::max(largest, largest_difference(parameters[i], other.parameters[i]));
    }
    return largest;
  }
};

class SharedEmbedTop : public ::testing::Test {
 protected:
  SharedEmbedTop()
      : SharedEmbedTop({{.name = "a1", .categories = 12}, {.name = "a2", .categories = 6, .most = 3}},
                       {{.name = "b1", .categories = 9, .most = 2, .pooling = Pooling::kMean}}) {}
  SharedEmbedTop(const std::vector<CategoryField>& fields_a, const std::vector<CategoryField>& fields_b) {
    made_up::SyntheticCategoriesSpec spec;
    spec.rows = 4 * kBatch;
    spec.fields_a = fields_a;
    spec.fields_b = fields_b;
    data_.emplace(made_up::make_synthetic_categories(spec), spec.columns_a, kBatch);
    data_->categories.dimension = 4;
    options_.numeric.top = options_.categories.top = Top::kShared;
    options_.categories.table_deviation = 0.5;
  }

  [[nodiscard]] std::size_t rows_of(std::size_t step) const { return kBatch - (step % 4 == 3 ? missing_of_last_ : 0); }
  [[nodiscard]] data::Batch batch(Party party, std::size_t step) const {
    std::vector<std::uint32_t> rows(rows_of(step));
    for (std::uint32_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::uint32_t>(kBatch * (step % 4)) + i;
    return data::make_batch(data_->at(party), rows, kBatch);
  }
  /// Forward, and the layer's part of a backward pass, as a shared top calls for it. Returns the share of Z.
  template <class Source>
  ShareMatrix pass(Session& s, Source& source, const std::pair<ShareMatrix, ShareMatrix>& shares,
                   std::size_t step) const {
    const SourceOutput output = source->shares(batch(s.party(), step));
    const ShareMatrix& share = s.party() == Party::kA ? shares.first : shares.second;
    for (const auto& part : output.parts) part(protocol::shared_derivative(rows_of(step), share));
    return output.shares.front().output.share;
  }
  void train(Plain& plain, const torch::Tensor& dz, const SgdOptions& options) const {
    torch::optim::SGD sgd(
        plain.parameters,
        torch::optim::SGDOptions(options.learning_rate).momentum(options.momentum).weight_decay(options.weight_decay));
    for (std::size_t i = 0; i < kSteps; ++i) {
      sgd.zero_grad();
      plain.z(batch(Party::kA, i).fields, batch(Party::kB, i).fields).backward(dz.to(torch::kFloat64));
      sgd.step();
    }
  }
  [[nodiscard]] std::pair<EmbedMatMul, EmbedMatMul> make_layers() {
    return parties_.run([&](Session& s) { return EmbedMatMul(s, data_->categories, kOut, options_.categories); });
  }

  testing::PlainScheme scheme_;
  testing::TwoParties parties_{scheme_, testing::Record::kNo};
  std::optional<CategoricalData> data_;
  TwoSourceOptions options_;
  std::size_t missing_of_last_ = 0;  ///< rows, of every fourth batch
};

TEST_F(SharedEmbedTop, TrainsTablesAndWeightsAsTorchDoes) {
  const torch::Tensor dz = random_derivative(kOut, 5);
  const auto shares = shared(dz);
  for (const double weight_decay : {0.0, 0.01}) {
    const SgdOptions sgd{.learning_rate = 0.1, .momentum = 0.9, .weight_decay = weight_decay};
    const auto layers = make_layers();
    const Plain before(layers.first, layers.second);
    Plain wanted(layers.first, layers.second);
    parties_.run([&](Session& s) {
      EmbedMatMul layer = s.party() == Party::kA ? layers.first : layers.second;
      FederatedOptimizer optimizer(*layer, sgd);
      for (std::size_t i = 0; i < kSteps; ++i) {
        optimizer.zero_grad();
        pass(s, layer, shares, i);
        optimizer.step();
      }
    });
    train(wanted, dz, sgd);
    EXPECT_LE(wanted.difference(Plain(layers.first, layers.second)), 1e-4);
    EXPECT_GT(wanted.difference(before), 1e-2);
  }
}

TEST_F(SharedEmbedTop, ResumesWithTheMomentumOfTablesAndWeights) {
  const SgdOptions sgd{.learning_rate = 0.1, .momentum = 0.9};
  const torch::Tensor dz = random_derivative(kOut, 6);
  const auto shares = shared(dz);
  const auto first = make_layers();
  Plain wanted(first.first, first.second);
  const auto second = parties_.run([&](Session& s) {
    EmbedMatMul layer = s.party() == Party::kA ? first.first : first.second;
    const auto train = [&](FederatedOptimizer& optimizer, EmbedMatMul& source, std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i) {
        optimizer.zero_grad();
        pass(s, source, shares, i);
        optimizer.step();
      }
    };
    FederatedOptimizer optimizer(*layer, sgd);
    train(optimizer, layer, 0, kSteps / 2);
    const Bytes state = write_to_bytes([&](ByteSink& out) { layer->save_layer(out); });
    const Bytes optimizer_state = write_to_bytes([&](ByteSink& out) { optimizer.save(out); });
    EmbedMatMul resumed(s, data_->categories, kOut, options_.categories);
    FederatedOptimizer again(*resumed, sgd);
    BufferSource in(state);
    resumed->load_layer(in);
    BufferSource in_optimizer(optimizer_state);
    again.load(in_optimizer);
    train(again, resumed, kSteps / 2, kSteps);
    return resumed;
  });
  train(wanted, dz, sgd);
  EXPECT_LE(wanted.difference(Plain(second.first, second.second)), 1e-4);
}

TEST_F(SharedEmbedTop, TrainsBothSourcesOfWideAndDeep) {
  const std::vector<std::size_t> hidden{5};
  const SgdOptions sgd{.learning_rate = 0.1, .momentum = 0.9};
  const torch::Tensor dz_wide = random_derivative(1, 7);
  const torch::Tensor dz_deep = random_derivative(hidden.front(), 8);
  const auto wide_shares = shared(dz_wide);
  const auto deep_shares = shared(dz_deep);
  std::mutex torch_random;
  const auto models = parties_.run([&](Session& s) {
    const std::lock_guard lock(torch_random);  // both parties draw from torch's one generator
    return WideDeep(s, data_->shape, data_->categories, hidden, 1, Activation::kTanh, options_);
  });
  Plain deep(models.first->deep, models.second->deep);
  torch::Tensor wide = joined_weight(pieces_of(models.first->wide), pieces_of(models.second->wide));
  parties_.run([&](Session& s) {
    WideDeep model = s.party() == Party::kA ? models.first : models.second;
    EXPECT_THAT(testing::message_of<InvalidArgument>([&] { (void)model->deep(batch(s.party(), 0)); }),
                HasSubstr("shared top"));
    FederatedOptimizer optimizer(*model, sgd);
    for (std::size_t i = 0; i < kSteps; ++i) {
      optimizer.zero_grad();
      pass(s, model->wide, wide_shares, i);
      pass(s, model->deep, deep_shares, i);
      optimizer.step();
    }
  });
  train(deep, dz_deep, sgd);
  EXPECT_LE(deep.difference(Plain(models.first->deep, models.second->deep)), 1e-4);
  wide = wide.to(torch::kFloat64).requires_grad_();
  torch::optim::SGD plain({wide}, torch::optim::SGDOptions(sgd.learning_rate).momentum(sgd.momentum));
  for (std::size_t i = 0; i < kSteps; ++i) {
    plain.zero_grad();
    std::vector<std::uint32_t> rows(kBatch);
    for (std::uint32_t r = 0; r < kBatch; ++r) rows[r] = static_cast<std::uint32_t>(kBatch * (i % 4)) + r;
    torch::mm(lab::features_tensor(data_->joined.numeric.select_rows(rows)).to(torch::kFloat64), wide)
        .backward(dz_wide.to(torch::kFloat64));
    plain.step();
  }
  EXPECT_LE(largest_difference(
                joined_weight(pieces_of(models.first->wide), pieces_of(models.second->wide)).to(torch::kFloat64), wide),
            1e-5);
}

torch::Tensor opened(const FederatedParameter& a, const FederatedParameter& b) {
  const ShareMatrix sum = blindfl::open(a.piece(), b.piece());
  return to_tensor(decode_ring(sum), sum.rows(), sum.cols()).to(torch::kFloat64).requires_grad_();
}

// All of it: sources, hidden layer, scores and loss. Over the lattice, which has the functions.
TEST_F(SharedEmbedTop, TrainsAllOfWideAndDeepOnShares) {
  const std::vector<std::size_t> hidden{5};
  const SgdOptions sgd{.learning_rate = 0.1, .momentum = 0.9};
  const he::LatticeScheme lattice;
  testing::TwoParties parties(lattice, testing::Record::kNo);
  const SharedTopOptions top{.batch = kBatch, .sgd = sgd};
  const auto models = parties.run([&](Session& s) {
    return SharedWideDeep(s, data_->shape, data_->categories, hidden, 1, Activation::kTanh, options_, top);
  });
  const auto& [a, b] = models;
  /// The plain model with the weights of now.
  struct Whole {
    Whole(const SharedWideDeep& a, const SharedWideDeep& b)
        : deep(a->deep, b->deep),
          rest{joined_weight(pieces_of(a->wide), pieces_of(b->wide)).to(torch::kFloat64).requires_grad_()} {
      const auto of_a = a->federated_parameters();
      const auto of_b = b->federated_parameters();
      for (std::size_t i = 0; i < of_a.size(); ++i) {
        if (of_a[i].name().ends_with("bias") || of_a[i].name().starts_with("linear")) {
          rest.push_back(opened(of_a[i], of_b[i]));
        }
      }
    }
    Plain deep;
    std::vector<torch::Tensor> rest;  // wide weights; bias; weights and bias of the last layer
  };
  Whole wanted(a, b);
  const Whole before(a, b);
  ASSERT_EQ(wanted.rest.size(), 4U);
  parties.run([&](Session& s) {
    SharedWideDeep model = s.party() == Party::kA ? models.first : models.second;
    SharedLoss loss(s, Family::kLogistic, std::size_t{1}, top);
    FederatedOptimizer optimizer(*model, sgd);
    for (std::size_t i = 0; i < kManySteps; ++i) {
      const data::Batch x = batch(s.party(), i);
      auto step = loss->forward(model->scores(x), x);
      optimizer.zero_grad();
      step.backward();
      optimizer.step();
    }
  });
  std::vector<torch::Tensor> all = wanted.deep.parameters;
  all.insert(all.end(), wanted.rest.begin(), wanted.rest.end());
  torch::optim::SGD plain(all, torch::optim::SGDOptions(sgd.learning_rate).momentum(sgd.momentum));
  for (std::size_t i = 0; i < kManySteps; ++i) {
    std::vector<std::uint32_t> rows(kBatch);
    for (std::uint32_t r = 0; r < kBatch; ++r) rows[r] = static_cast<std::uint32_t>(kBatch * (i % 4)) + r;
    const data::Table numeric = data_->joined.numeric.select_rows(rows);
    const torch::Tensor deep = wanted.deep.z(batch(Party::kA, i).fields, batch(Party::kB, i).fields);
    const torch::Tensor scores = torch::mm(torch::tanh(deep + wanted.rest[1]), wanted.rest[2]) + wanted.rest[3] +
                                 torch::mm(lab::features_tensor(numeric).to(torch::kFloat64), wanted.rest[0]);
    plain.zero_grad();
    loss(Family::kLogistic, scores, to_tensor(numeric.labels()).to(torch::kFloat64)).backward();
    plain.step();
  }
  const Whole found(a, b);
  EXPECT_LE(wanted.deep.difference(found.deep), 1e-3);
  EXPECT_GT(wanted.deep.difference(before.deep), 1e-2);
  for (std::size_t i = 0; i < found.rest.size(); ++i) {
    EXPECT_LE(largest_difference(found.rest[i], wanted.rest[i]), 1e-3) << i;
    EXPECT_GT(largest_difference(before.rest[i], wanted.rest[i]), 1e-3) << i;
  }
}

// No step of these ends in a wrong model that nobody was told of: checked as TrainingLoop does.
TEST_F(SharedEmbedTop, DrivenOutOfItsRangeSaysSo) {
  const SgdOptions sgd{.learning_rate = 50, .momentum = 0.9};
  const he::LatticeScheme lattice;
  testing::TwoParties parties(lattice, testing::Record::kNo);
  const SharedTopOptions top{.batch = kBatch, .sgd = sgd};
  const std::string said = testing::message_of<Error>([&] {
    parties.run([&](Session& s) {
      SharedWideDeep model(s, data_->shape, data_->categories, std::vector<std::size_t>{5}, 1, Activation::kTanh,
                           options_, top);
      SharedLoss loss(s, Family::kLogistic, std::size_t{1}, top);
      FederatedOptimizer optimizer(*model, sgd);
      for (std::size_t i = 0; i < 64; ++i) {
        const data::Batch x = batch(s.party(), i);
        auto step = loss->forward(model->scores(x), x);
        optimizer.zero_grad();
        step.backward();
        optimizer.step();
        if (i % 16 != 15 && !std::has_single_bit(i + 1)) continue;
        check_ranges(*model);
        loss->check_ranges();
      }
    });
  });
  EXPECT_THAT(said,
              ::testing::AnyOf(::testing::HasSubstr("left the interval"), ::testing::HasSubstr("training diverged")));
}

/// Tables of one category in a row, by oblivious transfer, of any size at either party or both. The last batch of each
/// round is short; in the table named "same" every row has one category.
struct Vocabularies {
  std::string name;
  std::vector<std::size_t> of_a;
  std::vector<std::size_t> of_b;
  std::size_t steps = kManySteps;
};
void PrintTo(const Vocabularies& v, std::ostream* out) {
  *out << v.name;
}

class SharedEmbedTopByOt : public SharedEmbedTop, public ::testing::WithParamInterface<Vocabularies> {
 protected:
  SharedEmbedTopByOt() : SharedEmbedTop({{.name = "a", .categories = 3}}, {{.name = "b", .categories = 3}}) {
    missing_of_last_ = 7;
    options_.categories.table_scheme = protocol::kByOt;
    SeededRandom random(4);
    for (const Party party : {Party::kA, Party::kB}) {
      auto& fields = party == Party::kA ? data_->categories.fields_a : data_->categories.fields_b;
      auto& encoded = (party == Party::kA ? data_->a : data_->b).fields;
      fields.clear();
      encoded.clear();
      const auto add = [&](const std::string& name, std::size_t categories) {
        fields.push_back({.name = name, .categories = categories});
        std::vector<IntMatrix::Column> drawn(4 * kBatch, 5);
        for (auto& c : drawn) {
          if (name != "same") c = static_cast<IntMatrix::Column>(random.below(categories));
        }
        encoded.push_back(encode_categories(fields.back(), drawn));
      };
      const auto& sizes = party == Party::kA ? GetParam().of_a : GetParam().of_b;
      for (const std::size_t n : sizes) add(std::to_string(n), n);
      if (!sizes.empty()) add("same", 48);
    }
  }
};

std::vector<Vocabularies> all_vocabularies() {
  return {{"both", {1, 47, 49, 10000}, {2, 48, 300}},
          {"only_a", {12, 4000}, {}},
          {"only_b", {}, {300, 4000}},
          {"largest", {100000}, {2}, /*steps=*/20}};
}

TEST(SharedEmbedTopByOtVocabularies, AreChainedAndInBins) {
  const auto way = [](std::size_t categories) { return protocol::lookup_plan(kBatch, 1, categories, 4).call.way(); };
  for (const std::size_t categories : {1, 12, 49, 300}) EXPECT_EQ(way(categories), ot::TableWay::kChain);
  for (const std::size_t categories : {4000, 10000, 100000}) EXPECT_EQ(way(categories), ot::TableWay::kBins);
}

// Torch goes first, down the squares of Z less what is wanted of each row, and the layers take its derivatives.
// Rows that a short batch lacks have derivatives here, too: what they look up is nothing, and nothing learns from them.
TEST_P(SharedEmbedTopByOt, TrainsTablesAndWeightsAsTorchDoes) {
  const SgdOptions sgd{.learning_rate = 0.05, .momentum = 0.9};
  const auto layers = make_layers();
  const Plain before(layers.first, layers.second);
  Plain wanted(layers.first, layers.second);
  std::vector<torch::Tensor> z;                             // of every step
  std::vector<std::pair<ShareMatrix, ShareMatrix>> shares;  // of its dZ
  std::vector<torch::Tensor> gradients;                     // of the first step
  torch::optim::SGD plain(wanted.parameters, torch::optim::SGDOptions(sgd.learning_rate).momentum(sgd.momentum));
  for (std::size_t i = 0; i < GetParam().steps; ++i) {
    plain.zero_grad();
    z.push_back(wanted.z(batch(Party::kA, i).fields, batch(Party::kB, i).fields));
    const torch::Tensor targets = random_derivative(kOut, static_cast<int>(i % 4)) * double{kBatch};
    const torch::Tensor dz = (z.back().detach() - targets) / static_cast<double>(rows_of(i));
    shares.push_back(shared(dz, rows_of(i)));
    z.back().backward(dz);
    for (const torch::Tensor& p : wanted.parameters) {
      if (i == 0) gradients.push_back(p.grad().clone());
    }
    plain.step();
  }

  struct Kept {
    std::vector<ShareMatrix> z;
    std::vector<ShareMatrix> gradients;  // by the summed loss
  };
  const auto kept = parties_.run([&](Session& s) {
    EmbedMatMul layer = s.party() == Party::kA ? layers.first : layers.second;
    FederatedOptimizer optimizer(*layer, sgd);
    Kept all;
    for (std::size_t i = 0; i < GetParam().steps; ++i) {
      optimizer.zero_grad();
      all.z.push_back(pass(s, layer, shares[i], i));
      for (const FederatedParameter& p : layer->federated_parameters()) {
        if (i == 0) all.gradients.push_back(p.grad().value());
      }
      optimizer.step();
    }
    return all;
  });
  const auto tensor = [](const ShareMatrix& a, const ShareMatrix& b) {
    return to_tensor(decode_ring(blindfl::open(a, b)), a.rows(), a.cols()).to(torch::kFloat64);
  };
  for (std::size_t i = 0; i < GetParam().steps; ++i) {
    ASSERT_LE(largest_difference(tensor(kept.first.z[i], kept.second.z[i]), z[i]), i == 0 ? 1e-4 : 1e-3) << i;
  }
  ASSERT_EQ(kept.first.gradients.size(), gradients.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const torch::Tensor found = tensor(kept.first.gradients[i], kept.second.gradients[i]) / double{kBatch};
    EXPECT_LE(largest_difference(found, gradients[i]), 1e-4) << i;
    EXPECT_GT(gradients[i].abs().max().item<double>(), 1e-2) << i;
  }
  EXPECT_LE(wanted.difference(Plain(layers.first, layers.second)), 1e-3);
  EXPECT_GT(wanted.difference(before), 1e-1);
}

INSTANTIATE_TEST_SUITE_P(Tables, SharedEmbedTopByOt, ::testing::ValuesIn(all_vocabularies()),
                         [](const auto& info) { return info.param.name; });

// Both kinds of source layers may feed one Z: their shares are added, and each takes its part of dZ.
TEST_F(SharedEmbedTop, AddsUpWithALayerOfFeatures) {
  const auto outputs = parties_.run([&](Session& s) {
    MatMul numeric(s, data_->shape, kOut, options_.numeric);
    EmbedMatMul embedded(s, data_->categories, kOut, options_.categories);
    const SourceOutput of_numbers = numeric->shares(batch(s.party(), 0));
    const SourceOutput of_fields = embedded->shares(batch(s.party(), 0));
    const SourceOutput sum = of_numbers + of_fields;
    EXPECT_EQ(sum.parts.size(), 2U);
    return std::vector<protocol::OutputShare>{of_numbers.shares.front().output, of_fields.shares.front().output,
                                              sum.shares.front().output};
  });
  const auto z = [&](std::size_t i) {
    return decode_ring(blindfl::open(outputs.first[i].share, outputs.second[i].share));
  };
  const std::vector<double> numbers = z(0);
  const std::vector<double> fields = z(1);
  const std::vector<double> sum = z(2);
  for (std::size_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(sum[i], numbers[i] + fields[i], 1e-6);
}

}  // namespace
}  // namespace blindfl::nn::shared_embed_test
