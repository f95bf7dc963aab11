// Updates under encryption: A's weights learn as plain SGD does, what travels does not tell which of them, and state
// can be saved.

#include "blindfl/protocol/layers/encrypted_update.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "blindfl/base/error.h"
#include "protocol/encrypted_fixture.h"
#include "testing/label.h"
#include "testing/steps.h"
#include "testing/thrown.h"

namespace blindfl::protocol::encrypted_update_test {
namespace {

constexpr std::size_t kInA = 12;
constexpr std::size_t kInB = 7;
constexpr std::size_t kBatch = 8;

enum class Features { kBinary, kInteger, kReal, kMixed };

/// A sparse batch: about a third of the entries, of the kind that the column has.
IntMatrix random_batch(Features features, std::size_t cols, int scale, std::uint64_t bound, SeededRandom& random,
                       std::size_t rows = kBatch) {
  std::vector<std::size_t> starts{0};
  std::vector<IntMatrix::Column> columns;
  std::vector<std::int64_t> values;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < cols; ++c) {
      if (random.below(3) != 0) continue;
      const bool real = features == Features::kReal || (features == Features::kMixed && c % 2 == 1);
      std::int64_t value = 1;
      if (features == Features::kInteger) value = static_cast<std::int64_t>(random.below(19)) - 9;
      if (features == Features::kMixed && !real) value = std::int64_t{1} << scale;
      if (real) value = testing::random_value(bound, random);
      columns.push_back(static_cast<IntMatrix::Column>(c));
      values.push_back(value);
    }
    starts.push_back(columns.size());
  }
  return IntMatrix::csr(rows, cols, starts, columns, values, scale, bound);
}

MatMulSpec make_spec(Features features, std::size_t out, const SgdOptions& sgd) {
  MatMulSpec spec = small_spec(kInA, kInB, out, kBatch);
  const bool integers = features == Features::kBinary || features == Features::kInteger;
  const double largest = features == Features::kBinary ? 1.0 : features == Features::kInteger ? 9.0 : 2.0;
  spec.features_a = spec.features_b = {.scale = integers ? 0 : 16, .largest = largest, .clip = false};
  spec.derivative = {.scale = 32, .largest = 4.0, .clip = false};
  spec.update = Update::kEncrypted;
  spec.sgd = sgd;
  return spec;
}

/// SGD on doubles.
struct PlainWeights {
  std::vector<double> weight;
  std::vector<double> buffer;

  void step(const SgdPlan& plan, std::size_t t, const IntMatrix& x, const Derivative& d, std::size_t out) {
    std::vector<double> gradient(weight.size());
    const std::vector<std::int64_t> dz = d.share->to_dense();
    for (std::size_t r = 0; r < x.rows(); ++r) {
      x.for_each_in_row(r, [&](std::size_t c, std::int64_t v) {
        for (std::size_t o = 0; o < out; ++o) {
          gradient[c * out + o] += std::ldexp(static_cast<double>(v), -x.scale()) *
                                   std::ldexp(static_cast<double>(dz[r * out + o]), -d.share->scale()) /
                                   static_cast<double>(d.real_rows);
        }
      });
    }
    for (std::size_t i = 0; i < weight.size(); ++i) {
      buffer[i] = plan.options().momentum * buffer[i] + gradient[i];
      weight[i] -= plan.learning_rate_at(t) * buffer[i];
    }
  }
};

PlainWeights start_from(const std::vector<double>& weight) {
  return {weight, std::vector<double>(weight.size())};
}

/// Both halves of a layer and plain SGD beside them.
class Trained {
 public:
  Trained(const he::Scheme& scheme, Features features, std::size_t out, const SgdOptions& sgd)
      : features_(features),
        spec(make_spec(features, out, sgd)),
        plan(sgd),
        pair(scheme, spec),
        plain_a(start_from(decode_ring(pair.a.weight(Party::kA).piece))),
        plain_b(start_from(decode_ring(pair.weight(Party::kB)))) {}

  IntMatrix batch(Party party, SeededRandom& random) const {
    const FixedPoint encoding(party == Party::kA ? spec.features_a : spec.features_b);
    return random_batch(features_, party == Party::kA ? kInA : kInB, encoding.scale(), encoding.bound(), random);
  }
  /// A forward pass, compared; a backward pass and a step at all.
  void step(std::size_t t, SeededRandom& random) {
    const IntMatrix x_a = batch(Party::kA, random);
    const IntMatrix x_b = batch(Party::kB, random);
    const auto [share_a, share_b] = pair.forward(x_a, x_b);
    expect_output(open(share_a.share, share_b.share), x_a, x_b);
    const Derivative derivative = random_derivative(spec, random);
    (void)pair.backward(x_a, x_b, derivative);
    pair.a.holder()->step();
    pair.b.owner()->step();
    pair.b.row_update()->step();
    plain_a.step(plan, t, x_a, derivative, spec.out);
    plain_b.step(plan, t, x_b, derivative, spec.out);
  }
  void expect_output(const ShareMatrix& z, const IntMatrix& x_a, const IntMatrix& x_b) const {
    std::vector<double> expected(kBatch * spec.out);
    const auto add = [&](const IntMatrix& x, const std::vector<double>& w) {
      for (std::size_t r = 0; r < kBatch; ++r) {
        x.for_each_in_row(r, [&](std::size_t c, std::int64_t v) {
          for (std::size_t o = 0; o < spec.out; ++o) {
            expected[r * spec.out + o] += std::ldexp(static_cast<double>(v), -x.scale()) * w[c * spec.out + o];
          }
        });
      }
    };
    add(x_a, plain_a.weight);
    add(x_b, plain_b.weight);
    const std::vector<double> opened = decode_ring(z);
    for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(opened[i], expected[i], 1e-5);
  }
  /// W_A: what A drew, and what B's key opens.
  std::vector<double> weight_a() {
    std::vector<double> weight = decode_ring(pair.a.weight(Party::kA).piece);
    const std::vector<double> learned = decrypt_weights(pair.a, pair.b);
    for (std::size_t i = 0; i < weight.size(); ++i) weight[i] += learned[i];
    return weight;
  }
  std::vector<double> weight_b() {
    pair.b.row_update()->refresh_all();
    return decode_ring(pair.weight(Party::kB));
  }
  void expect_weights() {
    const std::vector<double> a = weight_a();
    const std::vector<double> b = weight_b();
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], plain_a.weight[i], 1e-5) << "A's " << i;
    for (std::size_t i = 0; i < b.size(); ++i) ASSERT_NEAR(b[i], plain_b.weight[i], 1e-5) << "B's " << i;
  }

 private:
  Features features_;

 public:
  MatMulSpec spec;
  SgdPlan plan;
  MatMulPair pair;
  PlainWeights plain_a;
  PlainWeights plain_b;
};

struct Case {
  const char* name;
  Features features;
  std::size_t out;
  bool momentum;
};

class EncryptedUpdate : public ::testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<he::Scheme> scheme_ = testing::make_scheme("paillier");
  SeededRandom random_{5};
};

INSTANTIATE_TEST_SUITE_P(Cases, EncryptedUpdate,
                         ::testing::Values(Case{"binary", Features::kBinary, 1, false},
                                           Case{"integer", Features::kInteger, 3, false},
                                           Case{"real", Features::kReal, 1, false},
                                           Case{"mixed", Features::kMixed, 9, false},
                                           Case{"binary_momentum", Features::kBinary, 9, true},
                                           Case{"integer_momentum", Features::kInteger, 1, true},
                                           Case{"real_momentum", Features::kReal, 4, true},
                                           Case{"mixed_momentum", Features::kMixed, 1, true}),
                         [](const auto& c) { return c.param.name; });

// More than three windows of momentum: of 10 steps with momentum 0.1, of 32 with 0.5.
TEST_P(EncryptedUpdate, TrainsAsPlainSgdDoesThroughPlannedRatesAndWindowsOfMomentum) {
  const double momentum = testing::kFull ? 0.5 : 0.1;
  const std::size_t steps = testing::kFull ? 110 : 34;
  const SgdOptions sgd{
      .learning_rate = 0.2,
      .momentum = GetParam().momentum ? momentum : 0.0,
      .schedule = {{.step = steps / 5, .learning_rate = 0.05}, {.step = steps * 2 / 3, .learning_rate = 0.1}},
      .steps = steps};
  Trained trained(*scheme_, GetParam().features, GetParam().out, sgd);
  for (std::size_t t = 0; t < steps; ++t) {
    SCOPED_TRACE(t);
    trained.step(t, random_);
    if (HasFatalFailure()) return;
  }
  trained.expect_weights();
}

class EncryptedUpdateState : public ::testing::Test {
 protected:
  std::unique_ptr<he::Scheme> scheme_ = testing::make_scheme("paillier");
  SeededRandom random_{6};
  SgdOptions sgd_{.learning_rate = 0.1, .momentum = 0.1, .steps = 30};
};

TEST_F(EncryptedUpdateState, IsSavedAndGoesOnInAnotherLayerUnderTheSameKeys) {
  Trained trained(*scheme_, Features::kReal, 2, sgd_);
  for (std::size_t t = 0; t < 14; ++t) trained.step(t, random_);
  ThreadPool pool;
  const Bytes at_a = write_to_bytes([&](ByteSink& out) { trained.pair.a.holder()->save(out, pool); });
  const Bytes at_b = write_to_bytes([&](ByteSink& out) { trained.pair.b.owner()->save(out); });
  const Bytes rows = write_to_bytes([&](ByteSink& out) { trained.pair.b.row_update()->save(out); });
  const std::vector<double> before = trained.weight_a();
  for (std::size_t t = 14; t < 19; ++t) trained.step(t, random_);

  BufferSource from_a(at_a);
  BufferSource from_b(at_b);
  BufferSource from_rows(rows);
  trained.pair.a.holder()->load(from_a, pool);
  trained.pair.b.owner()->load(from_b);
  trained.pair.b.row_update()->load(from_rows);
  const std::vector<double> after = trained.weight_a();
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(before[i], after[i]);
  EXPECT_EQ(trained.pair.a.holder()->steps(), 14U);

  // From here on as if the five steps had never been.
  Trained again(*scheme_, Features::kReal, 2, sgd_);
  SeededRandom same(6);
  for (std::size_t t = 0; t < 14; ++t) again.step(t, same);
  trained.plain_a = again.plain_a;
  trained.plain_b = again.plain_b;
  for (std::size_t t = 14; t < 30; ++t) trained.step(t, random_);
  trained.expect_weights();
}

TEST_F(EncryptedUpdateState, IsRefusedWhenDamagedTruncatedOrOfAnotherLayer) {
  Trained trained(*scheme_, Features::kBinary, 1, sgd_);
  for (std::size_t t = 0; t < 3; ++t) trained.step(t, random_);
  ThreadPool pool;
  const Bytes at_a = write_to_bytes([&](ByteSink& out) { trained.pair.a.holder()->save(out, pool); });
  const Bytes rows = write_to_bytes([&](ByteSink& out) { trained.pair.b.row_update()->save(out); });
  const std::vector<double> before = trained.weight_a();
  const auto load_a = [&](MatMulPair& pair, ByteView bytes) {
    BufferSource in(bytes);
    pair.a.holder()->load(in, pool);
  };
  const auto load_rows = [&](ByteView bytes) {
    BufferSource in(bytes);
    trained.pair.b.row_update()->load(in);
  };
  for (std::size_t size = 0; size < at_a.size(); size += 97) {
    EXPECT_THROW(load_a(trained.pair, ByteView(at_a).first(size)), DataError) << size;
  }
  for (std::size_t size = 0; size < rows.size(); size += 31) {
    EXPECT_THROW(load_rows(ByteView(rows).first(size)), DataError) << size;
  }
  for (const std::size_t at : {0, 4, 8, 39, 40}) {
    Bytes damaged = at_a;
    damaged[at] ^= std::byte{0xff};
    EXPECT_THROW(load_a(trained.pair, damaged), DataError) << at;
  }
  // A failed load changes nothing.
  const std::vector<double> after = trained.weight_a();
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(before[i], after[i]);

  Trained other_keys(*scheme_, Features::kBinary, 1, sgd_);
  EXPECT_THROW(load_a(other_keys.pair, at_a), DataError);
  Trained other_shape(*scheme_, Features::kBinary, 2, sgd_);
  EXPECT_THROW(load_a(other_shape.pair, at_a), DataError);
}

TEST_F(EncryptedUpdateState, OfBIsNotChangedByAFileThatIsRefused) {
  Trained trained(*scheme_, Features::kBinary, 1, sgd_);
  for (std::size_t t = 0; t < 3; ++t) trained.step(t, random_);
  EncryptedUpdateOwner& owner = *trained.pair.b.owner();
  const Bytes saved = write_to_bytes([&](ByteSink& out) { owner.save(out); });
  const auto load = [&](const Bytes& bytes) {
    BufferSource in(bytes);
    owner.load(in);
  };
  Bytes too_many_steps = saved;
  too_many_steps[40] = std::byte{0xff};
  EXPECT_THROW(load(too_many_steps), DataError);
  Bytes fewer_passes = saved;
  fewer_passes[48] = std::byte{1};
  EXPECT_THROW(load(fewer_passes), DataError);
  for (std::size_t size = 0; size < saved.size(); ++size) {
    EXPECT_THROW(load(Bytes(saved.begin(), saved.begin() + static_cast<std::ptrdiff_t>(size))), DataError);
  }
  EXPECT_EQ(owner.steps(), 3U);
  EXPECT_EQ(write_to_bytes([&](ByteSink& out) { owner.save(out); }), saved);
}

TEST_F(EncryptedUpdateState, OfRowsHasMomentumThatCanMoveAWeight) {
  Trained trained(*scheme_, Features::kBinary, 1, sgd_);
  for (std::size_t t = 0; t < 3; ++t) trained.step(t, random_);
  RowUpdate& rows = *trained.pair.b.row_update();
  const Bytes saved = write_to_bytes([&](ByteSink& out) { rows.save(out); });
  for (const double momentum : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                                -std::numeric_limits<double>::infinity(), 1e300, -1e40}) {
    Bytes damaged = saved;  // the last number is a momentum
    std::memcpy(damaged.data() + damaged.size() - sizeof(double), &momentum, sizeof(double));
    BufferSource in(damaged);
    EXPECT_EQ(testing::message_of<DataError>([&] { rows.load(in); }), "the saved state has a momentum that cannot be");
  }
  EXPECT_EQ(write_to_bytes([&](ByteSink& out) { rows.save(out); }), saved);
}

TEST_F(EncryptedUpdateState, EndsWithItsLayer) {
  std::vector<std::weak_ptr<Weight>> weights;
  {
    Trained trained(*scheme_, Features::kBinary, 1, sgd_);
    trained.step(0, random_);
    for (const Party party : {Party::kA, Party::kB}) {
      weights.emplace_back(trained.pair.a.shared_weight(party));
      weights.emplace_back(trained.pair.b.shared_weight(party));
    }
  }
  for (const auto& weight : weights) EXPECT_TRUE(weight.expired());
}

TEST_F(EncryptedUpdateState, IsLoadedAgainAfterAPassThatWasRefused) {
  sgd_.steps = 1;
  Trained trained(*scheme_, Features::kBinary, 1, sgd_);
  trained.step(0, random_);
  const IntMatrix x_a = trained.batch(Party::kA, random_);
  const IntMatrix x_b = trained.batch(Party::kB, random_);
  const Derivative derivative = random_derivative(trained.spec, random_);
  EXPECT_THROW((void)trained.pair.a.backward(x_a, absent_derivative(kBatch, kBatch)), InvalidArgument);
  EXPECT_THROW((void)trained.pair.b.backward(x_b, derivative), InvalidArgument);
  ThreadPool pool;
  const Bytes at_a = write_to_bytes([&](ByteSink& out) { trained.pair.a.holder()->save(out, pool); });
  const Bytes at_b = write_to_bytes([&](ByteSink& out) { trained.pair.b.owner()->save(out); });
  BufferSource from_a(at_a);
  BufferSource from_b(at_b);
  EXPECT_NO_THROW(trained.pair.a.holder()->load(from_a, pool));
  EXPECT_NO_THROW(trained.pair.b.owner()->load(from_b));
}

TEST_F(EncryptedUpdateState, CountsStepsAndPassesAgainstWhatWasDeclared) {
  sgd_.steps = 2;
  Trained trained(*scheme_, Features::kBinary, 1, sgd_);
  EXPECT_THROW(trained.pair.a.holder()->step(), InvalidArgument) << "no backward pass";
  EXPECT_THROW(trained.pair.b.owner()->step(), InvalidArgument);
  EXPECT_THROW(trained.pair.b.row_update()->step(), InvalidArgument);
  trained.step(0, random_);
  const IntMatrix x_a = trained.batch(Party::kA, random_);
  const IntMatrix x_b = trained.batch(Party::kB, random_);
  // A pass that is discarded counts for nothing.
  (void)trained.pair.backward(x_a, x_b, random_derivative(trained.spec, random_));
  trained.pair.a.holder()->discard();
  trained.pair.b.owner()->discard();
  trained.pair.b.row_update()->discard();
  trained.step(1, random_);
  (void)trained.pair.forward(x_a, x_b);  // scoring needs no step
  EXPECT_THROW((void)trained.pair.backward(x_a, x_b, random_derivative(trained.spec, random_)), InvalidArgument);
}

TEST_F(EncryptedUpdateState, ForgetsGradientsThatAreDiscarded) {
  Trained trained(*scheme_, Features::kBinary, 1, sgd_);
  trained.step(0, random_);
  const std::vector<double> before = trained.weight_a();
  const IntMatrix x_a = trained.batch(Party::kA, random_);
  const IntMatrix x_b = trained.batch(Party::kB, random_);
  (void)trained.pair.forward(x_a, x_b);
  (void)trained.pair.backward(x_a, x_b, random_derivative(trained.spec, random_));
  trained.pair.a.holder()->discard();
  trained.pair.b.owner()->discard();
  trained.pair.b.row_update()->discard();
  const std::vector<double> after = trained.weight_a();
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(before[i], after[i]);
  trained.step(1, random_);
  trained.expect_weights();
}

TEST_F(EncryptedUpdateState, RefusesMorePassesInAStepThanWereDeclared) {
  sgd_.passes_per_step = 2;
  Trained trained(*scheme_, Features::kBinary, 1, sgd_);
  const IntMatrix x_a = trained.batch(Party::kA, random_);
  const IntMatrix x_b = trained.batch(Party::kB, random_);
  const Derivative derivative = random_derivative(trained.spec, random_);
  for (int i = 0; i < 2; ++i) (void)trained.pair.backward(x_a, x_b, derivative);
  const char* const said = "layer 'matmul': backward pass 3 of one step, and 2 were declared";
  EXPECT_THAT(testing::message_of<InvalidArgument>(
                  [&] { (void)trained.pair.a.backward(x_a, absent_derivative(kBatch, kBatch)); }),
              ::testing::StartsWith(said));
  EXPECT_THAT(testing::message_of<InvalidArgument>([&] { (void)trained.pair.b.backward(x_b, derivative); }),
              ::testing::StartsWith(said));
  // Nothing was sent, and the step goes on with the passes that there is room for.
  trained.pair.a.holder()->step();
  trained.pair.b.owner()->step();
  trained.pair.b.row_update()->step();
  (void)trained.pair.backward(x_a, x_b, derivative);
}

// What B encrypts of a pass and A multiplies with its features is at most `largest * 2^scale * bound`: one row of a
// batch may count for all of it.
TEST(EncryptedUpdateBounds, HaveRoomForAllPassesOfAllSteps) {
  for (const double momentum : {0.0, 0.5, 0.9, 0.99}) {
    for (const std::size_t passes : {1, 2, 100}) {
      const SgdOptions sgd{.learning_rate = 0.1, .momentum = momentum, .steps = 500, .passes_per_step = passes};
      const MatMulParams layer(make_spec(Features::kReal, 2, sgd));
      const EncryptedUpdateParams params(layer, updates_with(he::paillier::Params({.key_bits = 2048})));
      const auto bound = static_cast<double>(layer.features(Party::kA).bound());
      const double of_pass = 4.0 * bound * static_cast<double>(passes);
      double sum = 0;
      for (std::size_t s = 0; s < sgd.steps; ++s) {
        sum += of_pass * std::ldexp(params.sums().coefficient(s), params.derivative_scale());
      }
      EXPECT_LE(std::log2(sum), params.weights(false).bits) << momentum << " " << passes;
      if (momentum == 0) continue;
      double window = 0;
      for (std::size_t s = 0; s < params.sums().window(); ++s) {
        window += of_pass * std::ldexp(std::pow(momentum, -static_cast<double>(s)), params.history_scale());
      }
      EXPECT_LE(std::log2(window), params.weights(true).bits) << momentum << " " << passes;
    }
  }
}

// A mask hides a value of a run by 40 bits and the logarithm of all values that the run opens.
TEST(EncryptedUpdateBounds, MasksAreMadeForEveryForwardPassOfTheRun) {
  for (const double momentum : {0.0, 0.9}) {
    for (const std::uint64_t passes : {0, 1000, 1000000}) {
      MatMulSpec spec = make_spec(Features::kReal, 3, {.learning_rate = 0.1, .momentum = momentum, .steps = 500});
      spec.run.passes = passes;
      const EncryptedUpdateParams params{MatMulParams(spec), updates_with(he::paillier::Params({.key_bits = 2048}))};
      const double declared = passes == 0 ? 2.0 * 500 : static_cast<double>(passes);
      const double opened = declared * kBatch * 3 * (momentum == 0 ? 1 : 3);
      const he::paillier::ReplyLayout layout = layout_of(params, kBatch);
      // Largest of all that is hidden: the sum of a row's products with weights as large as they may be.
      const double most = std::log2(static_cast<double>(kInA) * 2.0 * 0x1p16) + params.weights(false).bits;
      EXPECT_GE(layout.mask_bits - most, 40 + std::log2(opened)) << passes;
      EXPECT_LE(declared * params.exposure_of_reply().distance, 0x1p-40) << passes;
    }
  }
}

TEST_F(EncryptedUpdateState, AddsUpSeveralPassesOfOneStep) {
  sgd_.momentum = 0;
  sgd_.passes_per_step = 2;
  Trained trained(*scheme_, Features::kInteger, 1, sgd_);
  const std::vector<double> before = trained.weight_a();
  const IntMatrix x_a = trained.batch(Party::kA, random_);
  const IntMatrix x_b = trained.batch(Party::kB, random_);
  const Derivative derivative = random_derivative(trained.spec, random_);
  for (int i = 0; i < 2; ++i) (void)trained.pair.backward(x_a, x_b, derivative);
  trained.pair.a.holder()->step();
  trained.pair.b.owner()->step();
  PlainWeights plain = start_from(before);
  plain.step(trained.plan, 0, x_a, derivative, 1);
  const std::vector<double> after = trained.weight_a();
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_NEAR(after[i] - before[i], 2 * (plain.weight[i] - before[i]), 1e-6);
  }
}

class EncryptedUpdateTraffic : public ::testing::Test {
 protected:
  /// Runs two training steps with the given features of A; the shapes of all messages.
  std::vector<net::Message> transcript(std::size_t in_a, const IntMatrix& x_a) {
    MatMulSpec spec = small_spec(in_a, 0, 2, kBatch);
    spec.features_a = {.scale = 0, .largest = 1.0, .clip = false};
    spec.nonzeros_a = 7;
    spec.update = Update::kEncrypted;
    spec.sgd = {.learning_rate = 0.1, .momentum = 0.5, .steps = 10};
    MatMulPair pair(*scheme_, spec);
    const IntMatrix none = IntMatrix::dense(kBatch, 0, {}, 0, 1);
    for (int i = 0; i < 2; ++i) {
      (void)pair.forward(x_a, none);
      (void)pair.backward(x_a, none, random_derivative(spec, random_));
      pair.a.holder()->step();
      pair.b.owner()->step();
    }
    std::vector<net::Message> messages;
    for (const testing::RecordedMessage& m : pair.parties.recording(Party::kA).messages())
      messages.push_back(m.message);
    return messages;
  }
  IntMatrix rows_of(std::size_t in_a, std::size_t nonzeros, SeededRandom& random) {
    std::vector<std::size_t> starts{0};
    std::vector<IntMatrix::Column> columns;
    for (std::size_t r = 0; r < kBatch; ++r) {
      std::set<IntMatrix::Column> chosen;
      while (chosen.size() < nonzeros) chosen.insert(static_cast<IntMatrix::Column>(random.below(in_a)));
      columns.insert(columns.end(), chosen.begin(), chosen.end());
      starts.push_back(columns.size());
    }
    std::vector<std::int64_t> ones(columns.size(), 1);
    return IntMatrix::csr(kBatch, in_a, starts, columns, ones, 0, 1);
  }

  std::unique_ptr<he::Scheme> scheme_ = testing::make_scheme("paillier");
  SeededRandom random_{9};
};

TEST_F(EncryptedUpdateTraffic, DoesNotTellWhichRowsWereTouchedNorHowMany) {
  SeededRandom random(1);
  const auto few = transcript(1000, rows_of(1000, 1, random));
  const auto many = transcript(1000, rows_of(1000, 7, random));
  const auto none = transcript(1000, rows_of(1000, 0, random));
  EXPECT_EQ(few, many);
  EXPECT_EQ(few, none);
}

TEST_F(EncryptedUpdateTraffic, DoesNotDependOnTheNumberOfFeatures) {
  SeededRandom random(2);
  const auto small = transcript(1000, rows_of(1000, 7, random));
  const auto large = transcript(1000000, rows_of(1000000, 7, random));
  ASSERT_EQ(small.size(), large.size());
  for (std::size_t i = 0; i < small.size(); ++i) EXPECT_EQ(small[i].size, large[i].size);
}

TEST_F(EncryptedUpdateTraffic, IsWhatTheParametersSay) {
  SeededRandom random(3);
  const auto messages = transcript(50, rows_of(50, 7, random));
  MatMulSpec spec = small_spec(50, 0, 2, kBatch);
  spec.features_a = {.scale = 0, .largest = 1.0, .clip = false};
  spec.nonzeros_a = 7;
  spec.update = Update::kEncrypted;
  spec.sgd = {.learning_rate = 0.1, .momentum = 0.5, .steps = 10};
  const EncryptedUpdateParams params(MatMulParams(spec), updates_with(he::paillier::InsecureParams::make()));
  std::size_t products = 0;
  std::size_t derivatives = 0;
  for (const net::Message& m : messages) {
    if (m.step == steps::kForwardProduct) {
      ++products;
      EXPECT_EQ(m.size, params.reply_bytes(kBatch));
    }
    if (m.step == steps::kDerivativeOperand) {
      ++derivatives;
      EXPECT_EQ(m.size, params.derivative_bytes(kBatch));
    }
    EXPECT_NE(m.step, steps::kGradientProduct);
    EXPECT_NE(m.step, steps::kForwardOperand);
  }
  EXPECT_EQ(products, 2U);
  EXPECT_EQ(derivatives, 2U);
}

TEST(EncryptedUpdateParams, RefuseWhatCannotWorkAndSayWhy) {
  const auto refusal = [](const std::function<void(MatMulSpec&)>& change) {
    MatMulSpec spec = make_spec(Features::kBinary, 1, {.learning_rate = 0.1, .steps = 100});
    change(spec);
    return testing::message_of<InvalidArgument>([&] {
      (void)EncryptedUpdateParams(MatMulParams(spec), updates_with(he::paillier::Params({.key_bits = 2048})));
    });
  };
  EXPECT_EQ(refusal([](MatMulSpec& s) { s.sgd.steps = 0; }),
            "layer 'matmul': updates under encryption need the most steps that will be taken (sgd.steps), because "
            "encrypted sums must have room for all of them");
  EXPECT_EQ(refusal([](MatMulSpec& s) { s.sgd.weight_decay = 0.1; }),
            "layer 'matmul': updates under encryption only ever add to a ciphertext, and weight decay would scale it. "
            "Use update: exchanged, or no weight decay");
}

TEST(EncryptedUpdateParams, MakeRoomForTheDeclaredStepsAndNoMore) {
  const auto width = [](std::size_t steps, double momentum) {
    MatMulSpec spec = make_spec(Features::kBinary, 1, {.learning_rate = 0.1, .momentum = momentum, .steps = steps});
    const EncryptedUpdateParams params(MatMulParams(spec), updates_with(he::paillier::Params({.key_bits = 2048})));
    return params.weights(false).width;
  };
  // Twice for each doubling: the sums grow, and so do the masks that hide all of them.
  EXPECT_EQ(width(1 << 20, 0.0) - width(1 << 10, 0.0), 20);
  EXPECT_GT(width(1 << 10, 0.9), width(1 << 10, 0.0) + 20);
  EXPECT_LT(width(1 << 20, 0.9), 200);
}

TEST(EncryptedUpdateSession, NeedsPaillierForAsFeatures) {
  const auto scheme = testing::make_scheme("plain");
  const MatMulSpec spec = make_spec(Features::kBinary, 1, {.learning_rate = 0.1, .steps = 100});
  EXPECT_EQ(testing::message_of<ConfigError>([&] { MatMulPair pair(*scheme, spec); }),
            "layer 'matmul': updates under encryption need the scheme 'paillier' for A's features, not 'plain'");
}

// At the shipped key sizes, a few steps each.
class EncryptedUpdateAtShippedSizes : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(KeyBits, EncryptedUpdateAtShippedSizes,
                         ::testing::ValuesIn(testing::kFull ? std::vector{2048, 3072} : std::vector{2048}));

TEST_P(EncryptedUpdateAtShippedSizes, TrainsAsPlainSgdDoes) {
  const he::PaillierScheme scheme(he::paillier::Params({.key_bits = GetParam()}), {});
  SeededRandom random(7);
  Trained trained(scheme, Features::kMixed, 3, {.learning_rate = 0.1, .momentum = 0.9, .steps = 1000000});
  for (std::size_t t = 0; t < 4; ++t) trained.step(t, random);
  trained.expect_weights();
}

}  // namespace
}  // namespace blindfl::protocol::encrypted_update_test
