// Element-wise products of phases with real ciphertexts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "kernel_set.h"
#include "slot_lab.h"
#include "testing/thrown.h"

namespace blindfl::he::lattice::slots_test {
namespace {

using ::testing::HasSubstr;

std::vector<std::uint32_t> random_values(Random& random, std::size_t n) {
  std::vector<std::uint32_t> values(n);
  for (auto& v : values) v = static_cast<std::uint32_t>(random.next_u64());
  return values;
}

class SlotProducts : public ::testing::TestWithParam<std::string> {
 protected:
  LatticeScheme scheme_{{&kernels_by_name(GetParam())}};
  const Slots& slots_ = *scheme_.slots();
  SlotLab lab_{slots_};
};

/// In standard deviations, of thousands of values: their errors have products of normal numbers in them, u e_pk and e1
/// s slot by slot, which end later than normal ones do.
constexpr double kFarOff = 8;

TEST_P(SlotProducts, SharesAddUpToTheSum) {
  for (const auto& [values, frequencies, functions] :
       {std::tuple{1, 1, 1}, {128, 16, 1}, {100, 7, 2}, {1024, 10, 1}, {2048, 3, 2}, {2500, 3, 1}, {3, 40, 1}}) {
    const auto plan = slots_.plan(slot_spec(static_cast<std::size_t>(values), static_cast<std::size_t>(frequencies),
                                            static_cast<std::size_t>(functions)));
    const auto shares = lab_.shares_of(random_values(lab_.random(), plan->spec().values));
    const SlotRun run = lab_.run(plan, shares);
    EXPECT_LT(largest_deviation(*plan, run, shares), kFarOff) << values << " " << frequencies << " " << functions;
    EXPECT_LT(plan->deviation(0), 3e-6);
  }
}

// Wherever constants pile up they would show in single slots: values that are all alike, shares that are 0.
TEST_P(SlotProducts, SpecialSharesAreAsExact) {
  const auto plan = slots_.plan(slot_spec(128, 16));
  const std::vector<std::uint32_t> zeros(128);
  const std::vector<std::uint32_t> ends(128, 12U << 20);
  std::vector<std::uint32_t> alternating = ends;
  for (std::size_t i = 0; i < 128; i += 2) alternating[i] = 0U - ends[i];
  const auto some = random_values(lab_.random(), 128);
  const std::vector<SlotShares> cases{{zeros, zeros},       {ends, zeros},        {zeros, ends},
                                      {some, zeros},        {zeros, some},        {alternating, zeros},
                                      {zeros, alternating}, lab_.shares_of(ends), lab_.shares_of(alternating)};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_LT(largest_deviation(*plan, lab_.run(plan, cases[i]), cases[i]), kFarOff) << i;
  }
}

TEST_P(SlotProducts, ProductsThemselvesCanBeHad) {
  for (const std::size_t values : {5U, 128U, 1000U}) {
    SlotSpec spec = slot_spec(values, 9, 0, 31);
    const auto plan = slots_.plan(spec);
    const auto shares = lab_.shares_of(random_values(lab_.random(), values));
    const SlotRun run = lab_.run(plan, shares);
    const auto re = opened_reals(run, 0);
    const auto im = opened_reals(run, 1);
    for (std::size_t j = 0; j < 9; ++j) {
      for (std::size_t i = 0; i < values; ++i) {
        const std::uint32_t angle = spec.frequencies[j] * (shares.multiplier[i] + shares.owner[i]);
        const double t = 2 * std::numbers::pi * static_cast<double>(angle) * 0x1p-32;
        ASSERT_NEAR(re[j * values + i], std::cos(t), 6 * plan->deviation(0));
        ASSERT_NEAR(im[j * values + i], std::sin(t), 6 * plan->deviation(0));
      }
    }
  }
}

TEST_P(SlotProducts, DeviationsAreAsPlanned) {
  // Many values of few frequencies, and few of many; short runs and long ones, in which rounding weighs more.
  for (const auto& [values, frequencies, replies] :
       {std::tuple{2048, 4, 1ULL}, {100, 20, 1ULL}, {100, 20, 1ULL << 20}}) {
    SlotSpec spec = slot_spec(static_cast<std::size_t>(values), static_cast<std::size_t>(frequencies));
    spec.run_replies = replies;
    const auto plan = slots_.plan(spec);
    double squares = 0;
    std::size_t count = 0;
    for (int i = 0; i < (values > 1000 ? 2 : 12); ++i) {
      const auto shares = lab_.shares_of(random_values(lab_.random(), spec.values));
      const auto found = opened_reals(lab_.run(plan, shares), 0);
      for (std::size_t v = 0; v < found.size(); ++v) {
        const double error = found[v] - exact_sum(spec, 0, shares.multiplier[v] + shares.owner[v]);
        squares += error * error;
        ++count;
      }
    }
    EXPECT_NEAR(std::sqrt(squares / static_cast<double>(count)) / plan->deviation(0), 1, 0.1)
        << values << " " << frequencies << " " << replies;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, SlotProducts, ::testing::ValuesIn(kernel_names()),
                         [](const auto& test) { return test.param; });

// ---- errors and secrets as large as they can be

void all_ones(std::int64_t* out, const std::uint64_t* /*words*/, std::size_t n) {
  std::fill_n(out, n, 1);
}
void all_largest(std::uint64_t* words, std::size_t n) {
  std::fill_n(words, n, static_cast<std::uint64_t>(Params::kErrorBound));
}

TEST(SlotErrors, LargestErrorsAndSecretsStayWithinTheBound) {
  Kernels worst = *available_kernels().front();
  worst.ternary = all_ones;
  worst.centred_binomial = all_largest;
  const LatticeScheme scheme({&worst});
  SlotLab lab(*scheme.slots());
  for (const std::size_t values : {1U, 128U, 2048U}) {
    for (const bool cut : {true, false}) {
      const auto planned = scheme.slots()->plan(slot_spec(values, 8));
      const auto& own = LatticeSlotPlan::of(*planned);
      auto scales = own.scales();
      if (!cut) scales.cut = 0;
      const auto plan =
          std::make_shared<const LatticeSlotPlan>(own.shared_params(), own.spec(), own.chunks(), std::move(scales));
      double most = 0;
      for (const auto& shares : {lab.shares_of(random_values(lab.random(), values)),
                                 SlotShares{std::vector<std::uint32_t>(values), std::vector<std::uint32_t>(values)}}) {
        most = std::max(most, largest_deviation(*plan, lab.run(plan, shares), shares) * plan->deviation(0));
      }
      EXPECT_LE(most, plan->largest_error(0));
      // The slot next to x = 1 comes close, but for what is cut off, which is random.
      if (values == 2048 && !cut) {
        EXPECT_GE(most, plan->largest_error(0) / 8);
      }
    }
  }
}

// ---- wraps

TEST(SlotWraps, AreAsRareAsTheBoundSays) {
  const auto params = std::make_shared<const Params>(parameter_sets().front());
  const LatticeScheme scheme;
  SlotLab lab(*scheme.slots());
  const auto planned = scheme.slots()->plan(slot_spec(128, 16));
  const auto& own = LatticeSlotPlan::of(*planned);
  for (const int bits : {2, 4}) {
    auto scales = own.scales();
    scales.factors[0] *= std::ldexp(1.0, -bits) / planned->wraps_of_run();
    // Both factors alike, or one would be too long.
    const double by = std::exp2(std::round(std::log2(scales.factors[0] / scales.phases) / 2));
    scales.factors[0] /= by;
    scales.phases *= by;
    const auto plan = std::make_shared<const LatticeSlotPlan>(params, planned->spec(), own.chunks(), scales);
    ASSERT_NEAR(plan->wraps_of_run(), std::ldexp(1.0, -bits), 1e-9);
    int wrapped = 0;
    constexpr int kRuns = 200;
    for (int i = 0; i < kRuns; ++i) {
      const auto shares = lab.shares_of(random_values(lab.random(), 128));
      wrapped += largest_deviation(*plan, lab.run(plan, shares), shares) > 1000 ? 1 : 0;
    }
    // At most what the bound says, with room for chance; and not never, or the test would not see a wrap.
    const double expected = kRuns * std::ldexp(1.0, -bits);
    EXPECT_LE(wrapped, expected + 4 * std::sqrt(expected));
    if (bits == 2) {
      EXPECT_GT(wrapped, 0);
    }
  }
}

// ---- one key, one operand, one reply

TEST(SlotKeys, ServeOnce) {
  const LatticeScheme scheme;
  const Slots& slots = *scheme.slots();
  SlotLab lab(slots);
  const auto plan = slots.plan(slot_spec(16, 3));
  const auto shares = lab.shares_of(random_values(lab.random(), 16));
  BufferSink operand;
  const auto key = slots.encrypt(plan, lab.coin(), shares.owner, lab.random(), lab.pool(), operand);
  BufferSource in(operand.bytes());
  BufferSink reply;
  (void)slots.multiply(*plan, lab.coin(), in, shares.multiplier, lab.random(), lab.pool(), reply);
  BufferSource first(reply.bytes());
  (void)key->open(first, lab.pool());
  BufferSource second(reply.bytes());
  EXPECT_THAT(testing::message_of<InvalidArgument>([&] { (void)key->open(second, lab.pool()); }),
              HasSubstr("opens one reply, and has done so"));
}

TEST(SlotKeys, AreGoneAfterAReplyThatWasNone) {
  const LatticeScheme scheme;
  const Slots& slots = *scheme.slots();
  SlotLab lab(slots);
  const auto plan = slots.plan(slot_spec(16, 3));
  BufferSink operand;
  const auto key = slots.encrypt(plan, lab.coin(), std::vector<std::uint32_t>(16), lab.random(), lab.pool(), operand);
  BufferSource nothing{ByteView{}};
  EXPECT_THROW((void)key->open(nothing, lab.pool()), ProtocolError);
  EXPECT_THROW((void)key->open(nothing, lab.pool()), InvalidArgument);
}

/// How many bytes two messages have in common behind an id, of those that chance gives.
double alike(const Bytes& a, const Bytes& b) {
  std::size_t same = 0;
  for (std::size_t i = sizeof(KeyId); i < a.size(); ++i) same += a[i] == b[i] ? 1 : 0;
  return 256 * static_cast<double>(same) / static_cast<double>(a.size() - sizeof(KeyId));
}

TEST(SlotReplies, ToOneOperandAreUnrelated) {
  const LatticeScheme scheme;
  const Slots& slots = *scheme.slots();
  SlotLab lab(slots);
  const auto plan = slots.plan(slot_spec(16, 3, 2));
  const auto shares = lab.shares_of(random_values(lab.random(), 16));
  BufferSink operand;
  (void)slots.encrypt(plan, lab.coin(), shares.owner, lab.random(), lab.pool(), operand);
  const auto reply = [&] {
    BufferSource in(operand.bytes());
    return write_to_bytes([&](ByteSink& out) {
      (void)slots.multiply(*plan, lab.coin(), in, shares.multiplier, lab.random(), lab.pool(), out);
    });
  };
  const Bytes first = reply();
  EXPECT_NEAR(alike(first, reply()), 1, 0.3);
  // The two functions' ciphertexts, too.
  const std::size_t half = (first.size() - sizeof(KeyId)) / 2;
  const Bytes one(first.begin(), first.end() - static_cast<std::ptrdiff_t>(half));
  Bytes other(sizeof(KeyId));
  other.insert(other.end(), first.end() - static_cast<std::ptrdiff_t>(half), first.end());
  EXPECT_NEAR(alike(one, other), 1, 0.3);
}

TEST(SlotKeys, AreNeverTheSame) {
  const LatticeScheme scheme;
  const Slots& slots = *scheme.slots();
  SlotLab lab(slots);
  const auto plan = slots.plan(slot_spec(16, 3));
  const SlotShares shares{std::vector<std::uint32_t>(16), std::vector<std::uint32_t>(16)};
  const SlotRun first = lab.run(plan, shares);
  const SlotRun second = lab.run(plan, shares);
  const auto key_bytes = static_cast<std::ptrdiff_t>(PublicKey::bytes(LatticeSlotPlan::of(*plan).params()));
  const auto key_of = [&](const SlotRun& run) { return Bytes(run.operand.begin(), run.operand.begin() + key_bytes); };
  EXPECT_NEAR(alike(key_of(first), key_of(second)), 1, 0.3);
  EXPECT_NEAR(alike(first.operand, second.operand), 1, 0.3);
  EXPECT_NE(Bytes(first.reply.begin(), first.reply.begin() + sizeof(KeyId)),
            Bytes(second.reply.begin(), second.reply.begin() + sizeof(KeyId)));
  EXPECT_NE(first.kept[0], second.kept[0]);
}

}  // namespace
}  // namespace blindfl::he::lattice::slots_test
