// Lossless: Embed-MatMul equals nn::Embedding and nn::Linear on the joined data, forward, backward, and after 200 steps
// with momentum; Wide & Deep and DLRM equal the plain models.

#include <gtest/gtest.h>

#include <memory>

#include "blindfl/lab/local_deep.h"
#include "blindfl/nn/federated_optimizer.h"
#include "blindfl/protocol/layers/lookup_plan.h"
#include "nn/vertical_fixture.h"
#include "protocol/embed_fixture.h"
#include "testing/real_data.h"

namespace blindfl::nn::embed_lossless_test {
namespace {

struct Case {
  std::string scheme;
  bool encrypted;
  std::string fields;  // "both", "only_a", "only_b"
  bool by_ot = false;
  std::string vocabularies = "few";  // "few", "all", "largest"
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.scheme << (c.encrypted ? ", encrypted, " : ", exchanged, ") << (c.by_ot ? "by OT, " : "") << c.fields
       << ", " << c.vocabularies;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const char* fields : {"both", "only_a", "only_b"}) {
    for (const char* scheme : {"plain", "lattice", "paillier"}) cases.push_back({scheme, false, fields});
    cases.push_back({"paillier", true, fields});
    cases.push_back({"lattice", false, fields, /*by_ot=*/true});
    cases.push_back({"plain", false, fields, /*by_ot=*/true, "all"});
  }
  if (testing::long_runs()) cases.push_back({"plain", false, "both", /*by_ot=*/true, "largest"});
  return cases;
}

constexpr std::size_t kBatch = 16;
constexpr std::size_t kRows = 150;  // not a multiple of the batch: the last one is padded
constexpr std::size_t kDimension = 4;
constexpr std::size_t kOut = 5;
constexpr std::size_t kSteps = 200;

/// Fields of one party. In the first of A's, every row has the same category; in most others categories repeat within a
/// batch. All: around the number of bins, and so large that look-ups share these.
std::vector<CategoryField> fields_of(Party party, const std::string& vocabularies) {
  if (vocabularies != "few") {
    std::vector<CategoryField> all;
    const std::vector<std::size_t> sizes =
        party == Party::kB ? std::vector<std::size_t>{2, 48, 300, 4000} : std::vector<std::size_t>{1, 47, 49, 10000};
    for (const std::size_t n : sizes) all.push_back({.name = std::to_string(n), .categories = n});
    if (party == Party::kA) all.push_back({.name = "same", .categories = 48});
    if (party == Party::kA && vocabularies == "largest") all.push_back({.name = "largest", .categories = 100000});
    return all;
  }
  if (party == Party::kA) return {{.name = "same", .categories = 3}, {.name = "few", .categories = 6}};
  return {{.name = "many", .categories = 40}, {.name = "two", .categories = 2}};
}

std::vector<IntMatrix::Column> categories_of(const CategoryField& field, SeededRandom& random) {
  std::vector<IntMatrix::Column> all(kRows, 1);
  if (field.name == "same") return all;
  for (auto& c : all) c = static_cast<IntMatrix::Column>(random.below(field.categories));
  return all;
}

torch::Tensor index_tensor(const std::vector<IntMatrix::Column>& categories, const std::vector<std::uint32_t>& rows) {
  std::vector<std::int64_t> chosen;
  chosen.reserve(rows.size());
  for (const std::uint32_t row : rows) chosen.push_back(categories[row]);
  return torch::tensor(chosen, torch::kInt64);
}

class EmbedLossless : public ::testing::TestWithParam<Case> {
 protected:
  EmbedLossless() {
    SeededRandom random(5);
    shape_.batch = kBatch;
    shape_.dimension = kDimension;
    for (const Party party : {Party::kA, Party::kB}) {
      if (GetParam().fields == (party == Party::kA ? "only_b" : "only_a")) continue;
      for (const CategoryField& field : fields_of(party, GetParam().vocabularies)) {
        (party == Party::kA ? shape_.fields_a : shape_.fields_b).push_back(field);
        categories_.push_back(categories_of(field, random));
        at(party).fields.push_back(encode_categories(field, categories_.back()));
      }
    }
    for (std::size_t r = 0; r < kRows; ++r) b_.labels.push_back(random.below(2) == 0 ? 0.0 : 1.0);
    // A party without fields has rows all the same.
    for (data::Dataset* d : {&a_, &b_}) {
      if (d->fields.empty()) d->features = IntMatrix::dense(kRows, 0, {}, 0, 1);
    }
    sgd_ = {.learning_rate = 0.1, .momentum = 0.9, .steps = kSteps};
  }
  data::Dataset& at(Party party) { return party == Party::kA ? a_ : b_; }

  [[nodiscard]] EmbedMatMulOptions options() const {
    EmbedMatMulOptions options;
    if (GetParam().encrypted) options.update = protocol::Update::kEncrypted;
    if (GetParam().by_ot) options.table_scheme = protocol::kByOt;
    options.sgd = sgd_;
    options.table_deviation = 0.5;
    return options;
  }

  std::unique_ptr<he::Scheme> scheme_ = testing::make_scheme(GetParam().scheme);
  testing::TwoParties parties_{*scheme_, testing::Record::kNo};
  CategoryShape shape_;
  std::vector<std::vector<IntMatrix::Column>> categories_;  ///< A's fields, then B's
  data::Dataset a_;
  data::Dataset b_;
  SgdOptions sgd_;
};

/// The joined model: an Embedding for each field, a Linear, and a top of its own.
struct JoinedImpl : torch::nn::Module {
  JoinedImpl(const std::vector<std::size_t>& vocabularies, const torch::Tensor& head_start) {
    for (const std::size_t n : vocabularies) {
      tables.push_back(register_module("table" + std::to_string(tables.size()),
                                       torch::nn::Embedding(static_cast<std::int64_t>(n), kDimension)));
    }
    linear = register_module(
        "linear",
        torch::nn::Linear(
            torch::nn::LinearOptions(static_cast<std::int64_t>(tables.size() * kDimension), kOut).bias(false)));
    head = register_parameter("head", head_start.clone());
  }
  torch::Tensor z(const std::vector<torch::Tensor>& categories) {
    std::vector<torch::Tensor> embedded;
    for (std::size_t i = 0; i < tables.size(); ++i) embedded.push_back(tables[i](categories[i]));
    return linear(torch::cat(embedded, 1));
  }
  std::vector<torch::nn::Embedding> tables;
  torch::nn::Linear linear{nullptr};
  torch::Tensor head;
};
TORCH_MODULE(Joined);

/// What the federated layer stands for, both halves in hand.
void copy_into(Joined& joined, const EmbedMatMul& a, const EmbedMatMul& b) {
  const torch::NoGradGuard no_grad;
  for (std::size_t t = 0; t < joined->tables.size(); ++t) {
    torch::Tensor& weight = joined->tables[t]->weight;
    weight.copy_(to_tensor(protocol::opened_table(a->layer(), b->layer(), t), static_cast<std::size_t>(weight.size(0)),
                           kDimension));
  }
  const ShareMatrix w = blindfl::open(a->weight().piece(), b->weight().piece());
  joined->linear->weight.copy_(to_tensor(decode_ring(w), w.rows(), w.cols()).t());
}

TEST_P(EmbedLossless, TrainsLikeEmbeddingAndLinear) {
  torch::manual_seed(3);
  const torch::Tensor head_start = 0.5 * torch::randn({kOut, 1});
  const auto halves = parties_.run([&](Session& s) { return EmbedMatMul(s, shape_, kOut, options()); });
  const EmbedMatMul& a = halves.first;
  const EmbedMatMul& b = halves.second;
  std::vector<std::size_t> vocabularies;
  for (const auto* fields : {&shape_.fields_a, &shape_.fields_b}) {
    for (const CategoryField& f : *fields) vocabularies.push_back(f.categories);
  }
  Joined joined(vocabularies, head_start);
  copy_into(joined, a, b);

  const data::BatchOrder order(kRows, kBatch, 1);
  std::vector<std::vector<std::uint32_t>> batches;
  for (std::size_t epoch = 1; batches.size() < kSteps; ++epoch) {
    for (const auto& rows : order.batches(epoch)) batches.push_back(rows);
  }
  batches.resize(kSteps);

  // Both parties at the same time; Z of every step, and the gradients of the first, are kept for comparing.
  struct Kept {
    std::vector<torch::Tensor> z;
    std::vector<std::optional<ShareMatrix>> gradients;
    torch::Tensor head;
  };
  const auto train = [&](Session& s) {
    const EmbedMatMul& layer = s.party() == Party::kA ? a : b;
    torch::Tensor head = head_start.clone().requires_grad_();
    torch::optim::SGD top({head}, torch::optim::SGDOptions(sgd_.learning_rate).momentum(sgd_.momentum));
    FederatedOptimizer source(layer->federated_parameters(), sgd_);
    Kept kept;
    for (const auto& rows : batches) {
      const data::Batch batch = data::make_batch(at(s.party()), rows, kBatch);
      const torch::Tensor z = EmbedMatMul(layer)(batch);
      source.zero_grad();
      top.zero_grad();
      loss(Family::kLogistic, torch::mm(torch::tanh(z), head), labels_tensor(batch)).backward();
      if (kept.z.empty()) {
        for (const FederatedParameter& p : layer->federated_parameters()) kept.gradients.push_back(p.grad());
      }
      kept.z.push_back(z.detach());
      source.step();
      top.step();
    }
    kept.head = head.detach();
    return kept;
  };
  const auto kept = parties_.run(train);
  const Kept& kept_a = kept.first;
  const Kept& kept_b = kept.second;

  torch::optim::SGD sgd(joined->parameters(), torch::optim::SGDOptions(sgd_.learning_rate).momentum(sgd_.momentum));
  for (std::size_t step = 0; step < kSteps; ++step) {
    std::vector<torch::Tensor> chosen;
    std::vector<double> labels;
    for (const auto& c : categories_) chosen.push_back(index_tensor(c, batches[step]));
    for (const std::uint32_t row : batches[step]) labels.push_back(b_.labels[row]);
    const torch::Tensor z = joined->z(chosen);
    ASSERT_LE(largest_difference(kept_b.z[step], z), step == 0 ? 1e-4 : 1e-3) << "step " << step;
    sgd.zero_grad();
    loss(Family::kLogistic, torch::mm(torch::tanh(z), joined->head), to_tensor(labels)).backward();
    if (step == 0) {
      // Gradients of the mean loss times the batch size.
      const auto expect = [&](std::size_t i, const torch::Tensor& gradient) {
        if (!kept_a.gradients[i]) return;  // updated under encryption: there is none to see
        const ShareMatrix g = blindfl::open(*kept_a.gradients[i], *kept_b.gradients[i]);
        EXPECT_LE(largest_difference(to_tensor(decode_ring(g), g.rows(), g.cols()) / double{kBatch}, gradient), 1e-4);
      };
      expect(0, joined->linear->weight.grad().t());
      for (std::size_t t = 0; t < joined->tables.size(); ++t) expect(t + 1, joined->tables[t]->weight.grad());
    }
    sgd.step();
  }
  Joined trained(vocabularies, head_start);
  copy_into(trained, a, b);
  for (std::size_t t = 0; t < joined->tables.size(); ++t) {
    EXPECT_LE(largest_difference(trained->tables[t]->weight, joined->tables[t]->weight), 1e-3) << "table " << t;
  }
  EXPECT_LE(largest_difference(trained->linear->weight, joined->linear->weight), 1e-3);
  EXPECT_LE(largest_difference(kept_b.head, joined->head), 1e-3);
}

TEST(EmbedLosslessVocabularies, AreChainedAndInBins) {
  const auto way = [](std::size_t categories) {
    return protocol::lookup_plan(kBatch, 1, categories, kDimension).call.way();
  };
  EXPECT_EQ(way(300), ot::TableWay::kChain);
  for (const std::size_t categories : {4000, 10000, 100000}) EXPECT_EQ(way(categories), ot::TableWay::kBins);
}

INSTANTIATE_TEST_SUITE_P(Cases, EmbedLossless, ::testing::ValuesIn(all_cases()), [](const auto& info) {
  return info.param.scheme +
         (info.param.encrypted ? "_encrypted_"
          : info.param.by_ot   ? "_ot_"
                               : "_exchanged_") +
         info.param.fields + (info.param.vocabularies == "few" ? "" : "_" + info.param.vocabularies);
});

}  // namespace
}  // namespace blindfl::nn::embed_lossless_test
