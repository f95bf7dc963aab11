#include "blindfl/protocol/layers/embed_params.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "blindfl/base/error.h"
#include "testing/schemes.h"
#include "testing/steps.h"
#include "testing/thrown.h"

namespace blindfl::protocol::embed_params_test {
namespace {

using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

EmbedMatMulSpec good() {
  EmbedMatMulSpec spec;
  spec.name = "first";
  spec.fields_a = {{.field = {.name = "city", .categories = 100}},
                   {.field = {.name = "words", .categories = 1000, .most = 8, .pooling = Pooling::kSum}}};
  spec.fields_b = {{.field = {.name = "tags", .categories = 50, .most = 5, .pooling = Pooling::kMean}}};
  spec.dimension = 4;
  spec.out = 3;
  spec.batch = 128;
  spec.table_deviation = 0.25;
  return spec;
}

struct Case {
  const char* name;
  void (*change)(EmbedMatMulSpec&);
  const char* says;
};

void expect_refusals(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    EmbedMatMulSpec spec = good();
    c.change(spec);
    try {
      const EmbedMatMulParams params(spec);
      ADD_FAILURE() << c.name << " was accepted";
    } catch (const InvalidArgument& error) {
      EXPECT_THAT(error.what(), HasSubstr("layer 'first'")) << c.name;
      EXPECT_THAT(error.what(), HasSubstr("batch " + std::to_string(spec.batch))) << c.name;
      EXPECT_THAT(error.what(), HasSubstr(c.says)) << c.name;
    }
  }
}

TEST(EmbedMatMulParams, RefusesShapesWithoutValues) {
  using Spec = EmbedMatMulSpec;
  expect_refusals({
      {"no fields",
       [](Spec& s) {
         s.fields_a.clear();
         s.fields_b.clear();
       },
       "needs fields"},
      {"no outputs", [](Spec& s) { s.out = 0; }, "outputs and rows"},
      {"no rows", [](Spec& s) { s.batch = 0; }, "outputs and rows"},
      {"embeddings of nothing", [](Spec& s) { s.dimension = 0; }, "an embedding dimension"},
      {"more embeddings than can be counted",
       [](Spec& s) {
         s.fields_a.resize(1);
         s.dimension = std::size_t{1} << 63;
       },
       "needs fields"},
      {"a table without rows", [](Spec& s) { s.fields_a[0].field.categories = 0; },
       "field 'city' needs a table with rows"},
      {"more categories than columns can be", [](Spec& s) { s.fields_b[0].field.categories = std::size_t{0xFFFFFFFF}; },
       "field 'tags' needs a table with rows"},
      {"rows without categories", [](Spec& s) { s.fields_a[1].field.most = 0; }, "field 'words'"},
  });
}

TEST(EmbedMatMulParams, RefusesScalesAndRangesThatAreNone) {
  using Spec = EmbedMatMulSpec;
  expect_refusals({
      {"a negative weight scale", [](Spec& s) { s.weight_scale = -1; }, "a scale is out of range"},
      {"a weight scale beyond fixed point", [](Spec& s) { s.weight_scale = 61; }, "a scale is out of range"},
      {"embeddings without a scale", [](Spec& s) { s.embedding_scale = 0; }, "a scale is out of range"},
      {"embeddings as fine as their shares", [](Spec& s) { s.embedding_scale = 59; }, "a scale is out of range"},
      {"a negative gradient scale", [](Spec& s) { s.gradient_scale = -1; }, "a scale is out of range"},
      {"gradients finer than what they are made of", [](Spec& s) { s.gradient_scale = 65; }, "a scale is out of range"},
      {"a negative output scale", [](Spec& s) { s.output_scale = -1; }, "Z cannot be opened at -1 fractional bits"},
      {"an output scale beyond the product's", [](Spec& s) { s.output_scale = 53; }, "it has 52"},
      {"an output that gives features away", [](Spec& s) { s.output_scale = 21; },
       "gives A's features away to B by lattice reduction; take 20 at most, or set fine_outputs_reveal_features"},
      {"a weight bound that is not one", [](Spec& s) { s.largest_weight = std::nan(""); }, "the largest weight"},
      {"no weights", [](Spec& s) { s.largest_weight = 0; }, "the largest weight"},
      {"endless embeddings", [](Spec& s) { s.largest_embedding = kInfinity; }, "the largest embedding"},
      {"negative embeddings", [](Spec& s) { s.largest_embedding = -1; }, "the largest embedding"},
      {"huge embeddings", [](Spec& s) { s.largest_embedding = 0x1p21; }, "at most 2^20"},
      {"a deviation below 0", [](Spec& s) { s.initial_deviation = -0.5; }, "initial deviations"},
      {"a deviation beyond the weights", [](Spec& s) { s.initial_deviation = 65; }, "initial deviations"},
      {"tables that vary without end", [](Spec& s) { s.table_deviation = kInfinity; }, "initial deviations"},
      {"tables beyond their largest value", [](Spec& s) { s.table_deviation = 17; }, "initial deviations"},
  });
}

TEST(EmbedMatMulParams, RefusesWhatCouldOverflow) {
  using Spec = EmbedMatMulSpec;
  expect_refusals({
      {"sums of many large embeddings",
       [](Spec& s) {
         s.largest_embedding = 0x1p14;
         s.fields_a[1].field.most = 129;
       },
       "at scale 14 would not hide them in a run of 2000 passes"},
      {"outputs",
       [](Spec& s) {
         s.weight_scale = 60;
         s.embedding_scale = 50;
         s.largest_embedding = 0x1p-28;
         s.table_deviation = 0;
       },
       "outputs in a ring of 130 bits at scale 110 could overflow"},
      {"outputs that cannot be opened",
       [](Spec& s) {
         s.output_scale = 50;
         s.fine_outputs_reveal_features = true;
         s.largest_weight = 256;
       },
       "could overflow when they are opened"},
      {"wide derivatives", [](Spec& s) { s.derivative = {.scale = 20, .largest = 0x1p40, .clip = false}; },
       "could overflow: shares that are read as numbers need rings of"},
      {"gradients in endless runs",
       [](Spec& s) {
         s.largest_embedding = 1;
         s.embedding_scale = 12;
         s.fields_a[1].field.most = 1;
         s.run.passes = std::uint64_t{1} << 40;
       },
       "the length of the run"},
  });
}

// What is summed is as large as its parts together; a mean is no larger than its largest part.
TEST(EmbedMatMulParams, TakesManyCategoriesWhereTheyAreAveraged) {
  EmbedMatMulSpec spec = good();
  spec.largest_embedding = 0x1p12;
  spec.largest_weight = 1;
  spec.fields_a[1].field.most = 4096;
  EXPECT_THAT(testing::message_of<InvalidArgument>([&] { EmbedMatMulParams{spec}; }), HasSubstr("of a summed field"));
  spec.fields_a[1].field.pooling = Pooling::kMean;
  EXPECT_NO_THROW(EmbedMatMulParams{spec});
}

TEST(EmbedMatMulParams, RefusesWhatAnEncodingOfDerivativesDoes) {
  EmbedMatMulSpec spec = good();
  spec.derivative.scale = 61;
  EXPECT_THROW(EmbedMatMulParams{spec}, InvalidArgument);
}

TEST(EmbedMatMulParams, ComputesBitsThatTheWorstCaseReaches) {
  const EmbedMatMulParams params(good());
  EXPECT_EQ(params.product_scale(), 52);
  // 12 inputs of 8 categories times 16 * 2^20, against weights of 64 * 2^32; and a bit for the rounding.
  // But no Z is taken to exceed 2^15.
  EXPECT_LT(params.output_bits(), 4 + 27 + 38 + 1);
  EXPECT_EQ(params.output_bits(), 52 + 15);
  EXPECT_EQ(params.output_ring(), 52 + 15 + 5);
  // Whatever there can be, gradients are expected to be at most 16 times 256.
  const LiftedGradient& weight = params.weight_lift();
  EXPECT_EQ(weight.scale, params.derivative_scale() + 20);
  EXPECT_EQ(weight.bits, 12 + weight.scale);
  EXPECT_EQ(params.derivative_lift().bits, 12 + params.derivative_lift().scale);
  for (const EmbedField& field : {good().fields_a[0], good().fields_a[1], good().fields_b[0]}) {
    const LiftedGradient table = params.table_lift(field);
    EXPECT_EQ(table.scale, params.derivative_share_scale(field) + field.field.scale());
    EXPECT_EQ(table.bits, 12 + table.scale);
  }
  // Unless there cannot be: 2 rows of 3 outputs' derivatives of 256 times weights of 1/64, of up to 8 categories in a
  // sum.
  EmbedMatMulSpec small = good();
  small.batch = 2;
  small.largest_weight = 1.0 / 64;
  small.initial_deviation = 0.01;
  const EmbedMatMulParams fewer(small);
  EXPECT_EQ(fewer.derivative_lift().bits, 2 + 8 - 6 + fewer.derivative_lift().scale);
  for (const EmbedField& field : {small.fields_a[0], small.fields_a[1], small.fields_b[0]}) {
    const LiftedGradient table = fewer.table_lift(field);
    EXPECT_EQ(table.bits, 1 + 2 + 8 - 6 + (field.field.name == "words" ? 3 : 0) + table.scale)
        << "a mean's parts add up to one";
  }
}

TEST(EmbedMatMulParams, LiftsFromRingsThatAreWideEnoughForTheRun) {
  for (const std::uint64_t passes : {std::uint64_t{1}, std::uint64_t{2000}, std::uint64_t{1} << 18}) {
    EmbedMatMulSpec spec = good();
    spec.run.passes = passes;
    const EmbedMatMulParams params(spec);
    double failure = 0;
    const auto add = [&](const he::ProductSpec& product) {
      EXPECT_LE(product.ring_bits, 128);
      EXPECT_GT(product.lifted_bits, 0);
      failure += static_cast<double>(passes * product.rows * product.cols) * product.lift_failure();
    };
    add(params.weight_gradient(128));
    add(params.embedding_derivative(128));
    for (const Party party : {Party::kA, Party::kB}) {
      for (const EmbedField& f : params.fields(party)) {
        add(params.table_gradient(f, 128));
        EXPECT_EQ(params.lookup(f, 128).lifted_bits, 0) << "shares of lookups are rounded modulo a power of 2";
        EXPECT_GE(params.derivative_share_scale(f), 10);
      }
    }
    EXPECT_LE(failure, 0x1p-40);
    EXPECT_GE(params.derivative_scale(), 16);
    EXPECT_GE(params.backward_weight_scale(), 16);
  }
}

// Four uniform words of 60 bits: a variance of 2^120 / 3. Embeddings of up to 8 * 16 at scale 20.
TEST(EmbedMatMulParams, CountsWhatPiecesGiveAway) {
  EmbedMatMulSpec spec = good();
  const EmbedMatMulParams params(spec);
  EXPECT_NEAR(params.divergence_of_piece() / (1.56 * 0x1p54 / 0x1p120), 1, 1e-6);
  EXPECT_NEAR(params.divergence_of_pieces() / (128.0 * 12 * 2000 * params.divergence_of_piece()), 1, 1e-9);
  EXPECT_LE(params.divergence_of_pieces(), 0x1p-40);
  spec.run.layers = 4;
  EXPECT_NEAR(EmbedMatMulParams(spec).divergence_of_pieces() / (4 * params.divergence_of_pieces()), 1, 1e-9);
}

TEST(EmbedMatMulParams, RoundsEmbeddingsInLongRunsSoThatPiecesHideThem) {
  EmbedMatMulSpec spec = good();
  EXPECT_EQ(EmbedMatMulParams(spec).embedding_scale(), 20);
  for (const std::uint64_t passes : {std::uint64_t{1} << 20, std::uint64_t{1} << 24}) {
    spec.run.passes = passes;
    const EmbedMatMulParams params(spec);
    EXPECT_LT(params.embedding_scale(), 20);
    EXPECT_LE(params.divergence_of_pieces(), 0x1p-40);
    EXPECT_GT(params.divergence_of_pieces(), 0x1p-43) << "no more than it takes";
    EXPECT_EQ(params.product_scale(), params.embedding_scale() + 32);
  }
}

TEST(EmbedMatMulParams, LooksUpInTheRingThatPiecesNeed) {
  EmbedMatMulSpec spec = good();
  const EmbedMatMulParams params(spec);
  for (const Party party : {Party::kA, Party::kB}) {
    for (const EmbedField& f : params.fields(party)) {
      EXPECT_EQ(params.table_scale(f), 32);
      const he::ProductSpec lookup = params.lookup(f, 1);
      EXPECT_EQ(lookup.ring_bits, 64 + lookup.result_scale() - 20);
      EXPECT_EQ(lookup.noise_bits, lookup.result_scale() - 20 - 2) << "less than a unit of what is left";
      EmbedField encrypted = f;
      encrypted.update = Update::kEncrypted;
      EXPECT_EQ(params.table_scale(encrypted) + f.field.scale(), 60);
    }
  }
  spec.embedding_scale = 30;
  spec.largest_embedding = 0x1p-8;
  spec.table_deviation = 0;
  EXPECT_EQ(EmbedMatMulParams(spec).table_scale(spec.fields_a[0]), 38) << "finer than embeddings, always";
}

TEST(EmbedMatMulParams, PutsFieldsOfAInFrontOfThoseOfB) {
  const EmbedMatMulParams params(good());
  EXPECT_EQ(params.inputs(), 12U);
  EXPECT_EQ(params.first_column(Party::kA, 0), 0U);
  EXPECT_EQ(params.first_column(Party::kA, 1), 4U);
  EXPECT_EQ(params.first_column(Party::kB, 0), 8U);
  EXPECT_EQ(params.fields(Party::kB)[0].field.name, "tags");
}

std::string shape(const he::ProductSpec& p) {
  return std::to_string(p.rows) + " x " + std::to_string(p.inner) + " x " + std::to_string(p.cols);
}

TEST(EmbedMatMulParams, MakesTheSpecsOfItsProducts) {
  const EmbedMatMulSpec spec = good();
  const EmbedMatMulParams params(spec);
  const he::ProductSpec lookup = params.lookup(spec.fields_a[1], 64);
  EXPECT_EQ(shape(lookup), "64 x 1000 x 4");
  EXPECT_EQ(lookup.left_bound, 8U);
  EXPECT_EQ(lookup.right_bits, 128) << "shares fill the ring";
  const he::ProductSpec mean = params.lookup(spec.fields_b[0], 64);
  EXPECT_EQ(mean.left_bound, std::uint64_t{1} << 20);
  EXPECT_EQ(mean.left_scale, 20);

  const Limbs limbs = Limbs::of(62, 3);
  const he::ProductSpec embedding = params.embedding(limbs, 64);
  EXPECT_EQ(shape(embedding), "64 x 36 x 3");
  EXPECT_EQ(embedding.left_bound, limbs.bound());
  EXPECT_EQ(embedding.result_scale(), params.product_scale());

  const he::ProductSpec gradient = params.weight_gradient(64);
  EXPECT_EQ(shape(gradient), "3 x 64 x 12");
  EXPECT_EQ(gradient.left_bound, (std::uint64_t{1} << (8 + params.derivative_scale())) + 1);
  EXPECT_EQ(gradient.right_bits, 63) << "pieces are numbers";
  EXPECT_EQ(gradient.result_scale(), params.weight_lift().scale);

  const he::ProductSpec derivative = params.embedding_derivative(64);
  EXPECT_EQ(shape(derivative), "64 x 3 x 12");
  EXPECT_EQ(derivative.result_scale(), params.derivative_lift().scale);

  const he::ProductSpec table = params.table_gradient(spec.fields_b[0], 64);
  EXPECT_EQ(shape(table), "50 x 64 x 4");
  EXPECT_EQ(table.result_scale(), params.table_lift(spec.fields_b[0]).scale);
}

TEST(EmbedMatMulParams, RefusesBatchesBeyondTheLayers) {
  const EmbedMatMulSpec spec = good();
  const EmbedMatMulParams params(spec);
  for (const std::size_t rows : {std::size_t{0}, std::size_t{129}}) {
    const auto refused = [&](const auto& product) {
      EXPECT_THAT(testing::message_of<InvalidArgument>([&] { (void)product(); }),
                  HasSubstr("a batch of " + std::to_string(rows) + " rows"));
    };
    refused([&] { return params.lookup(spec.fields_a[0], rows); });
    refused([&] { return params.embedding(Limbs::of(62, 3), rows); });
    refused([&] { return params.weight_gradient(rows); });
    refused([&] { return params.embedding_derivative(rows); });
    refused([&] { return params.table_gradient(spec.fields_a[0], rows); });
  }
}

TEST(EmbedMatMulParams, TakesTheDeviationOfTorchsLinearUnlessTold) {
  EmbedMatMulSpec spec = good();
  EXPECT_DOUBLE_EQ(EmbedMatMulParams(spec).initial_deviation(), 1 / std::sqrt(36.0));
  spec.initial_deviation = 0.25;
  EXPECT_DOUBLE_EQ(EmbedMatMulParams(spec).initial_deviation(), 0.25);
}

TEST(EmbedMatMulParams, ChoosesTheCutThatMakesTheLeastTraffic) {
  const EmbedMatMulParams params(good());
  for (const std::string& name : testing::scheme_names()) {
    const auto scheme = testing::make_scheme(name);
    const auto bytes = [&](const Limbs& limbs) {
      const auto plan = scheme->plan(params.embedding(limbs, 128));
      return plan->operand_bytes() + plan->reply_bytes();
    };
    const Limbs chosen = params.choose_limbs(*scheme);
    EXPECT_GE(chosen.count * static_cast<std::size_t>(chosen.bits), 63U) << name << ": room for 62 bits and a sign";
    for (std::size_t count = 1; count <= 6; ++count) {
      const Limbs other = Limbs::of(62, count);
      try {
        EXPECT_LE(bytes(chosen), bytes(other)) << name << ", " << count;
      } catch (const InvalidArgument&) {
        EXPECT_NE(count, chosen.count) << name << " refuses such limbs";
      }
    }
  }
  const auto plain = testing::make_scheme("plain");
  EXPECT_EQ(params.choose_limbs(*plain).count, 1U) << "without encryption every limb is only more to send";
}

/// Takes left operands of a few bits only.
class NarrowScheme final : public he::Scheme {
 public:
  explicit NarrowScheme(std::uint64_t most) : most_(most) {}

  [[nodiscard]] std::string_view name() const override { return "narrow"; }
  [[nodiscard]] std::string parameters() const override { return plain_.parameters(); }
  [[nodiscard]] std::uint64_t public_key_bytes(const std::string& set) const override {
    return plain_.public_key_bytes(set);
  }
  [[nodiscard]] std::unique_ptr<he::KeyOwner> generate_keys(const he::KeySetup& setup, Random& random) const override {
    return plain_.generate_keys(setup, random);
  }
  [[nodiscard]] std::unique_ptr<he::Multiplier> multiplier(const he::KeySetup& setup,
                                                           ByteView public_key) const override {
    return plain_.multiplier(setup, public_key);
  }

 private:
  [[nodiscard]] std::shared_ptr<const he::Plan> do_plan(const he::ProductSpec& spec) const override {
    require<InvalidArgument>(spec.left_bound <= most_, "no room for such a product");
    return plain_.plan(spec);
  }

  testing::PlainScheme plain_;
  std::uint64_t most_;
};

TEST(EmbedMatMulParams, TakesShorterLimbsWhereASchemeHasNoRoomForLongerOnes) {
  const EmbedMatMulParams params(good());
  EXPECT_EQ(params.choose_limbs(NarrowScheme(std::uint64_t{1} << 31)).count, 2U);
  EXPECT_EQ(params.choose_limbs(NarrowScheme(std::uint64_t{1} << 15)).count, 4U);
}

TEST(EmbedMatMulParams, SaysSoWhereASchemeHasNoRoomForAnyLimbs) {
  const EmbedMatMulParams params(good());
  const std::string said =
      testing::message_of<InvalidArgument>([&] { (void)params.choose_limbs(NarrowScheme(std::uint64_t{1} << 8)); });
  EXPECT_THAT(said, HasSubstr("layer 'first'"));
  EXPECT_THAT(said, HasSubstr("no room for such a product"));
}

TEST(EmbedMatMulParams, TellsUpdatesUnderEncryptionWhatTheyNeed) {
  EmbedMatMulSpec spec = good();
  spec.sgd = {.learning_rate = 0.1, .steps = 77};
  for (EmbedField* field : {&spec.fields_a[1], &spec.fields_b[0]}) field->update = Update::kEncrypted;
  const EmbedMatMulParams params(spec);
  const EncryptedUpdateSpec sum = params.encrypted_update(spec.fields_a[1]);
  EXPECT_EQ(sum.name, "first");
  EXPECT_EQ(sum.in, 1000U);
  EXPECT_EQ(sum.out, 4U);
  EXPECT_EQ(sum.batch, 128U);
  EXPECT_EQ(sum.features.scale(), 0);
  EXPECT_EQ(sum.features.bound(), 8U);
  EXPECT_EQ(sum.most_terms, 8U);
  EXPECT_EQ(sum.product_scale, 60);
  EXPECT_EQ(sum.largest_derivative, 3 * 256.0 * 64.0);
  EXPECT_EQ(sum.share_scale, 28);
  // From the ring that they are lifted from, then times at most 128 for a short batch.
  const LiftedGradient& lift = params.derivative_lift();
  EXPECT_EQ(sum.share_bits, lift.ring_bits - 1 - (lift.scale - 28) + 8);
  EXPECT_EQ(sum.sgd.steps, 77U);
  EXPECT_EQ(sum.product_step, steps::kLookupProduct);
  EXPECT_EQ(sum.derivative_step, steps::kDerivativeShare);
  const EncryptedUpdateSpec mean = params.encrypted_update(spec.fields_b[0]);
  EXPECT_EQ(mean.features.scale(), 20);
  EXPECT_EQ(mean.features.bound(), std::uint64_t{1} << 20);
}

TEST(EmbedMatMulParams, SettingsHaveAllThatBothMustShareAndNoFieldsName) {
  const std::string text = EmbedMatMulParams(good()).settings().text();
  for (const char* line :
       {"fields_a: 2\n", "fields_a.0.categories: 100\n", "fields_a.1.most: 8\n", "fields_a.1.pooling: sum\n",
        "fields_b.0.pooling: mean\n", "fields_b.0.update: exchanged\n", "dimension: 4\n", "out: 3\n", "batch: 128\n",
        "derivative.scale: 32\n", "derivative.largest: 256\n", "derivative.clip: no\n", "weight_scale: 32\n",
        "largest_weight: 64\n", "largest_embedding: 16\n", "embedding_scale: 20\n", "gradient_scale: 28\n",
        "output_scale: 16\n", "table_deviation: 0.25\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  for (const char* name : {"city", "words", "tags"}) EXPECT_EQ(text.find(name), std::string::npos) << name;
}

TEST(EmbedMatMulParams, SettingsHaveTheTrainingPlanWhereATableIsUpdatedUnderEncryption) {
  EmbedMatMulSpec spec = good();
  spec.sgd = {.learning_rate = 0.1, .momentum = 0.5, .steps = 77};
  EXPECT_EQ(EmbedMatMulParams(spec).settings().text().find("momentum"), std::string::npos);
  spec.fields_a[1].update = spec.fields_b[0].update = Update::kEncrypted;
  const std::string text = EmbedMatMulParams(spec).settings().text();
  EXPECT_THAT(text, HasSubstr("momentum: 0.5"));
  EXPECT_EQ(text.find("momentum"), text.rfind("momentum")) << "once, however many tables have it";
}

}  // namespace
}  // namespace blindfl::protocol::embed_params_test
