// Wide & Deep, DLRM and DeepFM: two source layers combined, equal to the plain models on the joined data.

#include "blindfl/nn/deep_models.h"

#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "blindfl/lab/local_factorization.h"
#include "blindfl/protocol/layers/embed_matmul.h"
#include "blindfl/train/trainer.h"
#include "made_up/synthetic_categories.h"
#include "nn/deep_fixture.h"
#include "testing/steps.h"
#include "testing/thrown.h"

namespace blindfl::nn::deep_models_test {
namespace {

constexpr std::size_t kBatch = 32;
const std::vector<std::size_t> kHidden{10, 6};
constexpr std::size_t kFactors = 4;
const DlrmShape kDlrm{.bottom = {9}, .vectors = 3, .dimension = 4, .top = {8}};

struct Case {
  std::string scheme;
  std::string model;  // "wdl", "dlrm", "deepfm"
  std::string kinds;  // "both": of both at both; "split": A has only categories, B only numbers; "fields": no numbers
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.scheme << ", " << c.model << ", " << c.kinds;
}

made_up::SyntheticCategoriesSpec spec_of(const Case& c) {
  made_up::SyntheticCategoriesSpec spec;
  spec.rows = 200;  // not a multiple of the batch: the last one is padded
  spec.fields_a = {{.name = "a1", .categories = 12}, {.name = "a2", .categories = 6, .most = 3}};
  spec.fields_b = {{.name = "b1", .categories = 9, .most = 2, .pooling = Pooling::kMean}};
  if (c.kinds != "both") spec.columns_a = 0;
  if (c.kinds == "split") spec.fields_b.clear();
  if (c.kinds == "fields") spec.columns_b = 0;
  return spec;
}

CategoricalData make_data(const Case& c) {
  const made_up::SyntheticCategoriesSpec spec = spec_of(c);
  return {made_up::make_synthetic_categories(spec), spec.columns_a, kBatch};
}

class DeepModel : public ::testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<he::Scheme> scheme_ = testing::make_scheme(GetParam().scheme);
  testing::TwoParties parties_{*scheme_, testing::Record::kNo};
  CategoricalData data_ = make_data(GetParam());

  /// Trains a federated model and the plain one beside it, from the same start.
  template <class Federated, class Local, class Make, class MakeLocal>
  void expect_the_same(const Make& make, const MakeLocal& make_local) {
    train::TrainOptions options{.epochs = 4, .batch = kBatch};
    options.sgd = {.learning_rate = 0.1, .momentum = 0.9};
    torch::manual_seed(1);
    const auto models = parties_.run([&](Session& s) {
      const std::lock_guard lock(torch_random_);  // both parties draw from torch's one generator
      return make(s);
    });
    Local local = make_local();
    copy_sources(models.first, models.second, local);
    copy_parameters(*models.second->top, *local->top);
    const auto train = [&](Session& s) {
      Federated model = s.party() == Party::kA ? models.first : models.second;
      const auto forward = [&](const data::Batch& batch) { return model(batch); };
      const torch::Tensor before = train::score(forward, data_.at(s.party()), kBatch);
      train::fit(
          *model, forward, [](const torch::Tensor& z, const torch::Tensor& y) { return loss(Family::kLogistic, z, y); },
          data_.at(s.party()), options);
      return std::pair(before, train::score(forward, data_.at(s.party()), kBatch));
    };
    const auto scores = parties_.run(train);
    EXPECT_EQ(scores.first.second.numel(), 0);
    EXPECT_LE(largest_difference(scores.second.first, lab::score(local, data_.joined)), 3e-4);
    lab::fit(local, Family::kLogistic, data_.joined, options);
    EXPECT_LE(largest_difference(scores.second.second, lab::score(local, data_.joined)), 1e-3);
    EXPECT_GT(largest_difference(scores.second.first, scores.second.second), 0.03) << "nothing was learned";
  }

  std::mutex torch_random_;
};

TEST_P(DeepModel, TrainsLikeThePlainModel) {
  const std::size_t numeric = data_.shape.in_a + data_.shape.in_b;
  const std::size_t inputs = data_.fields.size() * data_.categories.dimension;
  if (GetParam().model == "wdl") {
    expect_the_same<WideDeep, lab::LocalWideDeep>(
        [&](Session& s) {
          return WideDeep(s, data_.shape, data_.categories, kHidden, std::size_t{1}, Activation::kTanh);
        },
        [&] {
          return lab::LocalWideDeep(
              lab::LocalSources(numeric, 1, data_.fields, data_.categories.dimension, kHidden.front()),
              WideDeepTop(inputs, kHidden, 1, Activation::kTanh));
        });
  } else if (GetParam().model == "deepfm") {
    expect_the_same<DeepFm, lab::LocalDeepFm>(
        [&](Session& s) { return DeepFm(s, data_.shape, data_.categories, kFactors, kHidden, Activation::kTanh); },
        [&] {
          return lab::LocalDeepFm(lab::LocalSources(numeric, factorization_width(kFactors), data_.fields,
                                                    data_.categories.dimension, kHidden.front()),
                                  DeepFmTop(inputs, kHidden, Activation::kTanh));
        });
  } else {
    expect_the_same<Dlrm, lab::LocalDlrm>(
        [&](Session& s) { return Dlrm(s, data_.shape, data_.categories, kDlrm, std::size_t{1}, Activation::kTanh); },
        [&] {
          return lab::LocalDlrm(lab::LocalSources(numeric, kDlrm.bottom.front(), data_.fields,
                                                  data_.categories.dimension, kDlrm.vectors * kDlrm.dimension),
                                DlrmTop(numeric, inputs, kDlrm, 1, Activation::kTanh));
        });
  }
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const char* model : {"wdl", "dlrm", "deepfm"}) {
    for (const char* kinds : {"both", "split", "fields"}) {
      const bool lacks_numbers = std::string_view(kinds) == "fields" && std::string_view(model) == "deepfm";
      if (!lacks_numbers) cases.push_back({"plain", model, kinds});
    }
    cases.push_back({"lattice", model, "both"});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Cases, DeepModel, ::testing::ValuesIn(all_cases()), [](const auto& info) {
  return info.param.scheme + "_" + info.param.model + "_" + info.param.kinds;
});

TEST(DeepModels, NeedCategoricalFields) {
  testing::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  FeatureShape numeric;
  numeric.in_b = 3;
  const std::string text = testing::message_of<InvalidArgument>(
      [&] { (void)WideDeep(parties.session(Party::kA), numeric, CategoryShape{}, std::vector<std::size_t>{4}); });
  EXPECT_NE(text.find("needs categorical fields"), std::string::npos);
  CategoryShape categories;
  categories.fields_a = {{.name = "a", .categories = 3}};
  EXPECT_THROW((void)WideDeep(parties.session(Party::kA), numeric, categories, std::vector<std::size_t>{}),
               InvalidArgument);
  EXPECT_THROW((void)Dlrm(parties.session(Party::kA), numeric, categories, DlrmShape{.vectors = 1}), InvalidArgument);
}

TEST(DeepModels, LeaveTheChoiceForEachFieldToThePlannerIfAsked) {
  const auto lattice = testing::make_scheme("lattice");
  const auto paillier = testing::make_scheme("paillier_2048");
  testing::TwoParties parties({lattice.get(), paillier.get()}, testing::Record::kNo);
  CategoryShape shape;
  shape.fields_a = {{.name = "small", .categories = 20}, {.name = "big", .categories = 1000000}};
  EmbedMatMulOptions options;
  options.automatic = protocol::Link{};
  options.sgd = {.learning_rate = 0.1, .steps = 1000};
  const auto layers = parties.run([&](Session& s) { return EmbedMatMul(s, shape, std::size_t{4}, options); });
  const auto& fields = layers.first->layer().params().spec().fields_a;
  EXPECT_EQ(fields[0].scheme, "ot");
  EXPECT_EQ(fields[0].update, protocol::Update::kExchanged);
  EXPECT_EQ(fields[1].scheme, "paillier");
  EXPECT_EQ(fields[1].update, protocol::Update::kEncrypted);
  EXPECT_EQ(layers.first->plan().size(), 10U) << "four ways for each table, two for the weights";
  EXPECT_EQ(layers.first->plan(), layers.second->plan());
}

TEST(DeepModels, OpenOneOutputForNumbersAndOneForCategories) {
  testing::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  const CategoricalData data = make_data({"plain", "wdl", "both"});
  std::vector<std::uint32_t> rows(kBatch);
  for (std::uint32_t i = 0; i < kBatch; ++i) rows[i] = i;
  parties.run([&](Session& s) {
    WideDeep model(s, data.shape, data.categories, kHidden);
    (void)model(data::make_batch(data.at(s.party()), rows, kBatch));
  });
  // Z of the wide part, 32 x 1, and of the deep part, 32 x 10: nothing of a single field or party.
  EXPECT_EQ(parties.recording(Party::kB).received().at(protocol::steps::kOutputShare), (net::Traffic{2, 32 * 11 * 8}));
}

}  // namespace
}  // namespace blindfl::nn::deep_models_test
