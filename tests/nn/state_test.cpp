// A run that is killed and resumes from what both parties saved trains the same model as one that was not; and what
// does not belong to a model is refused.

#include "blindfl/nn/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

#include "blindfl/base/error.h"
#include "nn/state_fixture.h"
#include "testing/thrown.h"

namespace blindfl::nn::state_test {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kBatch = 8;
constexpr std::size_t kSteps = 20;
constexpr std::size_t kSaved = 11;

SgdOptions sgd() {
  return {.learning_rate = 0.1,
          .momentum = 0.9,
          .schedule = {{.step = 6, .learning_rate = 0.05}, {.step = 15, .learning_rate = 0.02}},
          .steps = kSteps};
}

const CategoricalData& rows() {
  static const CategoricalData data = [] {
    made_up::SyntheticCategoriesSpec spec;
    spec.rows = 60;  // not a multiple of the batch
    spec.columns_a = 3;
    spec.columns_b = 2;
    spec.fields_a = {{.name = "a1", .categories = 7}};
    spec.fields_b = {{.name = "b1", .categories = 5, .most = 2, .pooling = Pooling::kMean}};
    CategoricalData made(made_up::make_synthetic_categories(spec), spec.columns_a, kBatch);
    made.categories.dimension = 2;
    return made;
  }();
  return data;
}

struct Case {
  std::string model;   // "lr", "mlp", "fm", "wdl"
  std::string scheme;  // the default one
  bool encrypted;      // updates under encryption, by Paillier
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.model << ", " << c.scheme << (c.encrypted ? ", encrypted" : "");
}

class Resumed : public ::testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<he::Scheme> scheme_ = testing::make_scheme(GetParam().scheme);
  std::unique_ptr<he::Scheme> paillier_ = testing::make_scheme("paillier");

  [[nodiscard]] std::vector<const he::Scheme*> schemes() const {
    if (GetParam().scheme == "paillier") return {scheme_.get()};
    return {scheme_.get(), paillier_.get()};
  }
  [[nodiscard]] static MatMulOptions numeric() {
    MatMulOptions options;
    options.derivative.largest = 16.0;
    if (!GetParam().encrypted) return options;
    options.update = protocol::Update::kEncrypted;
    options.scheme_a = "paillier";
    options.sgd = sgd();
    return options;
  }
  [[nodiscard]] static TwoSourceOptions both_sources() {
    TwoSourceOptions options;
    options.numeric = numeric();
    options.categories.derivative = options.numeric.derivative;
    if (!GetParam().encrypted) return options;
    options.categories.update = protocol::Update::kEncrypted;
    options.categories.table_scheme = "paillier";
    options.categories.sgd = sgd();
    return options;
  }
  /// Calls `body` with what makes the case's model.
  template <class Body>
  void with_model(const Body& body) {
    const FeatureShape& shape = rows().shape;
    if (GetParam().model == "lr") {
      body(TrainingRun<GeneralizedLinear>::Make([&](Session& s) { return GeneralizedLinear(s, shape, 1, numeric()); }));
    } else if (GetParam().model == "mlp") {
      body(TrainingRun<Mlp>::Make([&](Session& s) {
        return Mlp(s, shape, std::vector<std::size_t>{4, 3}, 1, Activation::kTanh, numeric());
      }));
    } else if (GetParam().model == "fm") {
      body(TrainingRun<FactorizationMachine>::Make(
          [&](Session& s) { return FactorizationMachine(s, shape, std::size_t{2}, numeric()); }));
    } else {
      body(TrainingRun<WideDeep>::Make([&](Session& s) {
        return WideDeep(s, shape, rows().categories, std::vector<std::size_t>{3}, 1, Activation::kTanh, both_sources());
      }));
    }
  }
  template <class Make>
  using RunOf = TrainingRun<std::invoke_result_t<Make, Session&>>;

  static double largest_difference(const Numbers& x, const Numbers& y) {
    EXPECT_EQ(x.size(), y.size());
    double largest = 0;
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) largest = std::max(largest, std::abs(x[i] - y[i]));
    return largest;
  }
};

TEST_P(Resumed, TrainsTheSameModelAsARunThatWasNotKilled) {
  with_model([&](const auto& make) {
    using Run = RunOf<decltype(make)>;
    const Numbers whole = [&] {
      Run run(schemes(), make, sgd());
      run.train(rows(), 0, kSteps);
      return run.numbers();
    }();
    Numbers halfway;
    const SavedRun saved = [&] {
      Run run(schemes(), make, sgd());
      run.train(rows(), 0, kSaved);
      halfway = run.numbers();
      return run.save();
    }();
    Run run(schemes(), make, sgd(), {saved.a.keys, saved.b.keys});
    run.load(saved);
    EXPECT_EQ(run.numbers(), halfway);
    EXPECT_EQ(run.a.optimizer->steps_taken(), kSaved);
    const SavedRun again = run.save();
    EXPECT_EQ(again.a.model, saved.a.model);
    EXPECT_EQ(again.b.model, saved.b.model);
    EXPECT_EQ(again.a.optimizer, saved.a.optimizer);
    EXPECT_EQ(again.b.optimizer, saved.b.optimizer);
    EXPECT_EQ(*again.a.keys, *saved.a.keys);
    run.train(rows(), kSaved, kSteps);
    // Masks differ, and so does the last bit of Z, 2^-16, now and then.
    const double difference = largest_difference(run.numbers(), whole);
    RecordProperty("difference", std::to_string(difference));
    EXPECT_LT(difference, 1e-3);
    EXPECT_GT(largest_difference(halfway, whole), 1e-2) << "what is compared must have moved";
    EXPECT_THROW(run.train(rows(), kSteps, kSteps + 1), InvalidArgument) << "all planned steps are taken";
  });
}

TEST_P(Resumed, GoesOnAfterALinkThatBrokeBetweenABackwardPassAndItsStep) {
  with_model([&](const auto& make) {
    using Run = RunOf<decltype(make)>;
    const Numbers whole = [&] {
      Run run(schemes(), make, sgd());
      run.train(rows(), 0, 6);
      return run.numbers();
    }();
    const SavedRun saved = [&] {
      Run run(schemes(), make, sgd());
      run.train(rows(), 0, 4);
      run.pass(rows(), 4);
      run.parties.close();
      EXPECT_THROW((void)run.save(), InvalidArgument);
      run.a.optimizer->zero_grad();
      run.b.optimizer->zero_grad();
      return run.save();
    }();
    Run run(schemes(), make, sgd(), {saved.a.keys, saved.b.keys});
    run.load(saved);
    run.train(rows(), 4, 6);
    EXPECT_LT(largest_difference(run.numbers(), whole), 1e-3);
  });
}

INSTANTIATE_TEST_SUITE_P(
    All, Resumed,
    ::testing::Values(Case{"lr", "plain", false}, Case{"lr", "lattice", false}, Case{"lr", "plain", true},
                      Case{"lr", "paillier", true}, Case{"mlp", "plain", false}, Case{"mlp", "lattice", false},
                      Case{"mlp", "plain", true}, Case{"fm", "lattice", false}, Case{"fm", "plain", true},
                      Case{"wdl", "plain", false}, Case{"wdl", "lattice", false}, Case{"wdl", "plain", true}),
    [](const auto& info) {
      return info.param.model + "_" + info.param.scheme + (info.param.encrypted ? "_encrypted" : "");
    });

class ModelState : public ::testing::Test {
 protected:
  using Run = TrainingRun<Mlp>;

  testing::PlainScheme scheme_;
  FeatureShape shape_ = rows().shape;
  std::vector<std::size_t> hidden_{4, 3};
  SgdOptions sgd_ = sgd();

  std::unique_ptr<Run> make() {
    return std::make_unique<Run>(
        std::vector<const he::Scheme*>{&scheme_},
        [&](Session& s) { return Mlp(s, shape_, hidden_, 1, Activation::kTanh); }, sgd_);
  }
  static void load_model(Mlp& model, ByteView bytes) {
    BufferSource in(bytes);
    load_state(*model, in);
  }
  static void load_optimizer(FederatedOptimizer& optimizer, ByteView bytes) {
    BufferSource in(bytes);
    optimizer.load(in);
  }
  static std::string refused(Mlp& model, const Bytes& bytes) {
    return testing::message_of<DataError>([&] { load_model(model, bytes); });
  }
  static std::string refused(FederatedOptimizer& optimizer, const Bytes& bytes) {
    return testing::message_of<DataError>([&] { load_optimizer(optimizer, bytes); });
  }
  /// Where the header ends: mark, version, length, settings.
  static std::size_t header_of(const Bytes& bytes) {
    BufferSource in(bytes);
    (void)in.read_u64();
    return 12 + in.read_u32();
  }
};

TEST_F(ModelState, IsRefusedWhereItIsCutShortOrItsHeaderIsDamagedAndNothingChanges) {
  const auto trained = make();
  trained->train(rows(), 0, 3);
  const SavedRun saved = trained->save();
  const auto fresh = make();
  const SavedRun before = fresh->save();
  for (std::size_t size = 0; size < saved.b.model.size(); size += size < 100 ? 1 : 13) {
    EXPECT_THROW(load_model(fresh->b.model, ByteView(saved.b.model).first(size)), DataError) << size;
  }
  for (std::size_t size = 0; size < saved.b.optimizer.size(); size += size < 100 ? 1 : 13) {
    EXPECT_THROW(load_optimizer(*fresh->b.optimizer, ByteView(saved.b.optimizer).first(size)), DataError) << size;
  }
  for (std::size_t at = 0; at < header_of(saved.b.model); ++at) {
    Bytes damaged = saved.b.model;
    damaged[at] ^= std::byte{0x04};
    EXPECT_THROW(load_model(fresh->b.model, damaged), DataError) << at;
  }
  const std::string header(reinterpret_cast<const char*>(saved.b.optimizer.data()), header_of(saved.b.optimizer));
  const std::size_t steps = header.find("\nsteps: ") + 8;
  const std::size_t steps_end = header.find('\n', steps);
  for (std::size_t at = 0; at < header.size(); ++at) {
    Bytes damaged = saved.b.optimizer;
    damaged[at] ^= std::byte{0x04};
    // Another number of steps is no damage: a training may be made longer.
    if (at >= steps && at < steps_end && std::isdigit(static_cast<unsigned char>(damaged[at])) != 0) continue;
    EXPECT_THROW(load_optimizer(*fresh->b.optimizer, damaged), DataError) << at;
  }
  EXPECT_EQ(fresh->save().b.model, before.b.model);
  EXPECT_EQ(fresh->save().b.optimizer, before.b.optimizer);
}

TEST_F(ModelState, OfAnotherModelPartyOrPlanIsRefusedInWords) {
  const SavedRun saved = make()->save();
  const auto same = make();
  EXPECT_THAT(refused(same->b.model, saved.a.model), HasSubstr("source.party is B here and A in the saved state"));
  EXPECT_THAT(refused(*same->b.optimizer, saved.a.optimizer), HasSubstr("party is B here and A in the saved state"));
  EXPECT_THAT(refused(same->a.model, saved.a.optimizer), HasSubstr("state is model here and optimizer"));

  hidden_ = {4, 2};
  const auto other_top = make();
  EXPECT_THAT(refused(other_top->b.model, saved.b.model), HasSubstr("Float [2, 4] here and Float [3, 4] in the saved"));
  EXPECT_THAT(refused(*other_top->b.optimizer, saved.b.optimizer), HasSubstr("Float [2, 4] here"));
  hidden_ = {5, 3};
  EXPECT_THAT(refused(make()->a.model, saved.a.model), HasSubstr("source.out is 5 here and 4 in the saved state"));
  hidden_ = {4, 3};
  sgd_.momentum = 0.5;
  const auto other_plan = make();
  EXPECT_THAT(refused(*other_plan->a.optimizer, saved.a.optimizer),
              HasSubstr("momentum is 0.5 here and 0.9 in the saved state"));
}

TEST_F(ModelState, OfAnOptimizerMustBeOfTheSameMomentAtBothParties) {
  const auto trained = make();
  trained->train(rows(), 0, 2);
  SavedRun saved = trained->save();
  trained->train(rows(), 2, 3);
  saved.b.optimizer = trained->save().b.optimizer;
  const auto fresh = make();
  fresh->load(saved);
  EXPECT_THAT(testing::message_of<ConfigError>([&] { fresh->pass(rows(), 2); }),
              HasSubstr("the saved state of the optimizer"));
}

TEST_F(ModelState, HasTheLearningRateThatWasSetMeanwhile) {
  sgd_.schedule.clear();
  const auto trained = make();
  trained->train(rows(), 0, 2);
  trained->a.optimizer->set_learning_rate(0.01);
  trained->b.optimizer->set_learning_rate(0.01);
  const SavedRun saved = trained->save();
  const auto fresh = make();
  fresh->load(saved);
  EXPECT_EQ(fresh->a.optimizer->options().learning_rate, 0.01);
  EXPECT_EQ(fresh->save().b.optimizer, saved.b.optimizer);
  EXPECT_NO_THROW(fresh->train(rows(), 2, 3));

  Bytes damaged = saved.a.optimizer;
  const std::size_t rate = header_of(damaged) + 16 + 8;
  for (std::size_t i = 0; i < 8; ++i) damaged[rate + i] = std::byte{0xff};
  EXPECT_THAT(refused(*fresh->a.optimizer, damaged), HasSubstr("learning rate"));
}

TEST_F(ModelState, CanBeSavedAfterAStepBeforeGradientsAreForgotten) {
  const auto run = make();
  run->train(rows(), 0, 1);
  const SavedRun after_step = run->save();
  run->a.optimizer->zero_grad();
  run->b.optimizer->zero_grad();
  const SavedRun later = run->save();
  EXPECT_EQ(after_step.a.optimizer, later.a.optimizer);
  EXPECT_EQ(after_step.b.model, later.b.model);
}

TEST_F(ModelState, GoesBackWithinOneSession) {
  const auto run = make();
  run->train(rows(), 0, 3);
  const SavedRun saved = run->save();
  run->train(rows(), 3, 8);
  const Numbers once = run->numbers();
  run->load(saved);
  run->train(rows(), 3, 8);
  const Numbers again = run->numbers();
  ASSERT_EQ(once.size(), again.size());
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_NEAR(once[i], again[i], 1e-3);
}

/// A model with buffers of several types, and a layer of its own that is no torch module.
struct WithBuffersImpl : FederatedModule {
  explicit WithBuffersImpl(Session& session) : source(register_module("source", MatMul(session, rows().shape, 1))) {
    register_buffer("counts", torch::arange(4, torch::kInt64));
    flags = register_buffer("flags", torch::tensor({true, false, true}));
    weights = register_parameter("weights", torch::randn({2, 3}, torch::kFloat64));
    strided = register_buffer("strided", torch::randn({3, 2}).t());
  }
  MatMul source;
  torch::Tensor flags;
  torch::Tensor weights;
  torch::Tensor strided;
};

TEST_F(ModelState, HasParametersAndBuffersOfAllTypesBitForBit) {
  testing::TwoParties parties(scheme_);
  WithBuffersImpl from(parties.session(Party::kA));
  WithBuffersImpl to(parties.session(Party::kA));
  {
    const torch::NoGradGuard no_grad;
    from.weights[0][0] = std::numeric_limits<double>::quiet_NaN();
    from.weights[0][1] = -0.0;
    from.flags[1] = true;
  }
  const Bytes saved = write_to_bytes([&](ByteSink& out) { save_state(from, out); });
  BufferSource in(saved);
  load_state(to, in);
  EXPECT_EQ(in.remaining(), 0U);
  EXPECT_TRUE(torch::equal(to.flags, from.flags));
  EXPECT_TRUE(torch::equal(to.strided, from.strided));
  EXPECT_TRUE(std::isnan(to.weights[0][0].item<double>()));
  EXPECT_TRUE(std::signbit(to.weights[0][1].item<double>()));
  EXPECT_EQ(write_to_bytes([&](ByteSink& out) { save_state(to, out); }), saved);

  // Parameters first, 6 of 8 bytes; then 4 counts, and the flags.
  Bytes damaged = saved;
  damaged[header_of(saved) + 6 * 8 + 4 * 8] = std::byte{2};
  BufferSource neither(damaged);
  EXPECT_THROW(load_state(to, neither), DataError);
}

TEST_F(ModelState, OfATensorThatIsNotDenseIsNotSaved) {
  testing::TwoParties parties(scheme_);
  WithBuffersImpl model(parties.session(Party::kA));
  model.register_buffer("sparse", torch::eye(3).to_sparse());
  EXPECT_THROW((void)write_to_bytes([&](ByteSink& out) { save_state(model, out); }), InvalidArgument);
}

}  // namespace
}  // namespace blindfl::nn::state_test
