// Exact element-wise products of shared matrices.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "blindfl/base/error.h"
#include "blindfl/he/elements.h"
#include "blindfl/he/lattice/element_plan.h"
#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/he/lattice/packing.h"
#include "kernel_set.h"
#include "testing/thrown.h"

namespace blindfl::he::lattice::elements_test {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

struct Factors {
  ShareMatrix x;
  ShareMatrix y;
};

class Parties {
 public:
  explicit Parties(const Elements& elements) : elements_(elements) { random_.fill(coin_); }

  [[nodiscard]] Random& random() { return random_; }
  [[nodiscard]] ThreadPool& pool() { return pool_; }
  [[nodiscard]] const Coin& coin() const { return coin_; }

  /// What the two shares of the product add up to.
  [[nodiscard]] ShareMatrix product(const std::shared_ptr<const ElementPlan>& plan, const Factors& p,
                                    const Factors& q) {
    BufferSink operand;
    const auto key = elements_.encrypt(plan, coin_, q.x, q.y, random_, pool_, operand);
    EXPECT_EQ(operand.bytes().size(), plan->operand_bytes());
    BufferSource in(operand.bytes());
    BufferSink reply;
    const ShareMatrix kept = elements_.multiply(*plan, coin_, in, p.x, p.y, random_, pool_, reply);
    EXPECT_EQ(in.remaining(), 0U);
    EXPECT_EQ(reply.bytes().size(), plan->reply_bytes());
    BufferSource back(reply.bytes());
    const ShareMatrix opened = key->open(back, pool_);
    EXPECT_EQ(back.remaining(), 0U);
    return kept + opened;
  }
  [[nodiscard]] ShareMatrix uniform(const ElementSpec& spec, int scale) {
    return random_share(spec.rows, spec.cols, scale, random_, spec.ring_bits);
  }

 private:
  const Elements& elements_;
  Random random_;
  ThreadPool pool_{2};
  Coin coin_{};
};

ShareMatrix expected(const Factors& p, const Factors& q) {
  const ShareMatrix x = p.x + q.x;
  const ShareMatrix y = p.y + q.y;
  ShareMatrix product(x.rows(), x.cols(), x.scale() + y.scale(), x.ring_bits());
  for (std::size_t i = 0; i < product.values().size(); ++i) product.values()[i] = x.values()[i] * y.values()[i];
  product.reduce();
  return product;
}

ShareMatrix filled(const ElementSpec& spec, int scale, UInt128 value) {
  ShareMatrix m(spec.rows, spec.cols, scale, spec.ring_bits);
  std::ranges::fill(m.values(), low_bits(value, spec.ring_bits));
  return m;
}

class ElementProducts : public ::testing::TestWithParam<std::string> {
 protected:
  LatticeScheme scheme_{{&kernels_by_name(GetParam())}};
  const Elements& elements_ = *scheme_.elements();
  Parties parties_{elements_};
};

TEST_P(ElementProducts, AreExact) {
  for (const ElementSpec& spec : {ElementSpec{.rows = 1, .cols = 1},
                                  {.rows = 100, .cols = 7, .ring_bits = 64},
                                  {.rows = 50, .cols = 41, .ring_bits = 48},
                                  {.rows = 9, .cols = 9, .ring_bits = 20},
                                  {.rows = 4096, .cols = 1, .ring_bits = 60},
                                  {.rows = 4097, .cols = 1, .ring_bits = 60},
                                  {.rows = 8193, .cols = 1, .ring_bits = 32}}) {
    const auto plan = elements_.plan(spec);
    EXPECT_LE(plan->failures_of_run(), 0x1p-40);
    const Factors p{parties_.uniform(spec, 20), parties_.uniform(spec, 12)};
    const Factors q{parties_.uniform(spec, 20), parties_.uniform(spec, 12)};
    const ShareMatrix found = parties_.product(plan, p, q);
    EXPECT_EQ(found, expected(p, q)) << plan->describe();
    EXPECT_EQ(found.scale(), 32);
  }
}

TEST_P(ElementProducts, OfTheLargestAndTheSmallestNumbersAreExact) {
  const ElementSpec spec{.rows = 64, .cols = 3, .ring_bits = 64};
  const auto plan = elements_.plan(spec);
  const UInt128 least = UInt128{1} << 63;
  for (const UInt128 a : {UInt128{0}, UInt128{1}, least, least - 1, ~UInt128{0}}) {
    for (const UInt128 b : {UInt128{0}, least, least - 1}) {
      const Factors p{filled(spec, 0, a), filled(spec, 0, b)};
      const Factors q{filled(spec, 0, b), filled(spec, 0, a)};
      EXPECT_EQ(parties_.product(plan, p, q), expected(p, q));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, ElementProducts, ::testing::ValuesIn(kernel_names()),
                         [](const auto& test) { return test.param; });

const LatticeScheme& scheme() {
  static const LatticeScheme made;
  return made;
}

void all_ones(std::int64_t* out, const std::uint64_t* /*words*/, std::size_t n) {
  std::fill_n(out, n, 1);
}
void all_largest(std::uint64_t* words, std::size_t n) {
  std::fill_n(words, n, static_cast<std::uint64_t>(Params::kErrorBound));
}

// Errors as large as they can be are some 2^10 times what they are in the mean, which failures have room for.
TEST(ElementErrors, LargestErrorsAndSecretsDoNotShow) {
  Kernels worst = *available_kernels().front();
  worst.ternary = all_ones;
  worst.centred_binomial = all_largest;
  const LatticeScheme largest({&worst});
  Parties parties(*largest.elements());
  const ElementSpec spec{.rows = 8192, .cols = 1};
  const auto plan = largest.elements()->plan(spec);
  const Factors p{filled(spec, 0, UInt128{1} << 63), parties.uniform(spec, 0)};
  const Factors q{parties.uniform(spec, 0), filled(spec, 0, UInt128{1} << 63)};
  EXPECT_EQ(parties.product(plan, p, q), expected(p, q));
}

// With primes and moduli that leave too little room rounding fails about as often as planned, and all slots of a
// ciphertext with it.
TEST(ElementErrors, FailAsRarelyAsTheBoundSays) {
  const auto params = std::make_shared<const Params>(parameter_sets().front());
  const ElementSpec spec{.rows = 2100, .cols = 1, .ring_bits = 8};
  Parties parties(*scheme().elements());
  const auto plan = std::make_shared<const LatticeElementPlan>(params, spec, largest_primes(38, 1, 4096));
  ASSERT_GT(plan->rounding_failures(), 0x1p-4);
  ASSERT_LT(plan->rounding_failures(), 1);
  int wrong = 0;
  constexpr int kRuns = 500;
  for (int i = 0; i < kRuns; ++i) {
    const Factors p{parties.uniform(spec, 0), parties.uniform(spec, 0)};
    const Factors q{parties.uniform(spec, 0), parties.uniform(spec, 0)};
    wrong += parties.product(plan, p, q) == expected(p, q) ? 0 : 1;
  }
  const double bound = kRuns * plan->rounding_failures();
  EXPECT_LE(wrong, bound + 4 * std::sqrt(bound));
  EXPECT_GT(wrong, 0) << "or this would not see a failure";
}

TEST(ElementPlans, KeepARunBelowItsLimit) {
  for (const int bits : {8, 32, 64}) {
    for (const std::uint64_t run : {std::uint64_t{0}, std::uint64_t{1} << 20, std::uint64_t{1} << 26}) {
      const auto plan = scheme().elements()->plan({.rows = 8192, .cols = 1, .ring_bits = bits, .run_values = run});
      EXPECT_LE(plan->failures_of_run(), 0x1p-40);
    }
  }
  const auto plan = scheme().elements()->plan({.rows = 8192, .cols = 1, .run_values = 1 << 24});
  EXPECT_LT(static_cast<double>(plan->operand_bytes() + plan->reply_bytes()) / 8192, 280) << plan->describe();
}

TEST(ElementPlans, PutFewValuesSideBySide) {
  const auto few = scheme().elements()->plan({.rows = 4096, .cols = 1});
  const auto many = scheme().elements()->plan({.rows = 4097, .cols = 1});
  EXPECT_LT(few->operand_bytes(), many->operand_bytes() * 6 / 10);
}

TEST(ElementPlans, ExpectTimesThatGrowWithCiphertexts) {
  const auto times = [](std::size_t values, int bits) {
    return scheme().elements()->plan({.rows = values, .cols = 1, .ring_bits = bits})->times();
  };
  const ProductTimes few = times(128, 64);
  for (const double seconds : {few.encrypt, few.multiply, few.open}) {
    EXPECT_GT(seconds, 1e-5);
    EXPECT_LT(seconds, 0.1);
  }
  EXPECT_GT(times(32768, 64).multiply, 3 * times(8192, 64).multiply);
  EXPECT_LT(times(8192, 40).encrypt, times(8192, 64).encrypt);
}

TEST(ElementPlans, RefuseWithTheNumbers) {
  const auto refused = [](const ElementSpec& spec) {
    return message_of<InvalidArgument>([&] { (void)scheme().elements()->plan(spec); });
  };
  EXPECT_THAT(refused({.rows = 8192, .cols = 1, .run_values = std::uint64_t{1} << 60}),
              AllOf(HasSubstr("element-wise product of 8192x1"), HasSubstr("2^-40 is allowed")));
  EXPECT_THAT(refused({.rows = 0, .cols = 1}), HasSubstr("values must be"));
  EXPECT_THAT(refused({.rows = 1, .cols = 1, .ring_bits = 65}), HasSubstr("from 1 to 64 bits"));
}

class HostileElements : public ::testing::Test {
 protected:
  const Elements& elements_ = *scheme().elements();
  Parties parties_{elements_};
  ElementSpec spec_{.rows = 40, .cols = 1, .ring_bits = 32};
  std::shared_ptr<const ElementPlan> plan_ = elements_.plan(spec_);
  const LatticeElementPlan& own_ = LatticeElementPlan::of(*plan_);
  ShareMatrix x_ = parties_.uniform(spec_, 0);
  BufferSink operand_;
  std::unique_ptr<ElementKey> key_ =
      elements_.encrypt(plan_, parties_.coin(), x_, x_, parties_.random(), parties_.pool(), operand_);

  Bytes multiply(const Bytes& operand) {
    BufferSource in(operand);
    return write_to_bytes([&](ByteSink& out) {
      (void)elements_.multiply(*plan_, parties_.coin(), in, x_, x_, parties_.random(), parties_.pool(), out);
    });
  }
  void open(const Bytes& reply) {
    BufferSource in(reply);
    (void)key_->open(in, parties_.pool());
  }
};

TEST_F(HostileElements, TruncationsAndResiduesOutOfRangeAreRefused) {
  const Bytes& good = operand_.bytes();
  SeededRandom seeded(8);
  for (int i = 0; i < 12; ++i) {
    EXPECT_THROW(
        (void)multiply(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(seeded.below(good.size())))),
        ProtocolError);
    Bytes bad = good;
    const std::size_t first = PublicKey::bytes(own_.params()) + sizeof(Seed);
    std::memset(bad.data() + first + seeded.below(bad.size() - first - 512), 0xFF, 512);
    EXPECT_THAT(message_of<ProtocolError>([&] { (void)multiply(bad); }),
                HasSubstr("an operand of an element-wise product"));
  }
  EXPECT_NO_THROW((void)multiply(good));
}

TEST_F(HostileElements, RepliesToOneOperandAreUnrelated) {
  const Bytes first = multiply(operand_.bytes());
  const Bytes second = multiply(operand_.bytes());
  std::size_t same = 0;
  for (std::size_t i = sizeof(KeyId); i < first.size(); ++i) same += first[i] == second[i] ? 1 : 0;
  EXPECT_NEAR(256 * static_cast<double>(same) / static_cast<double>(first.size()), 1, 0.3);
}

TEST_F(HostileElements, RepliesAreOpenedOnce) {
  const Bytes reply = multiply(operand_.bytes());
  open(reply);
  EXPECT_THAT(message_of<InvalidArgument>([&] { open(reply); }), HasSubstr("has done so"));
}

TEST_F(HostileElements, ShortRepliesAreRefusedAndTheKeyIsGone) {
  Bytes reply = multiply(operand_.bytes());
  reply.pop_back();
  EXPECT_THROW(open(reply), ProtocolError);
  EXPECT_THROW(open(reply), InvalidArgument);
}

TEST_F(HostileElements, DigitsOutOfRangeAreRefused) {
  Bytes reply = multiply(operand_.bytes());
  // The digit after the one that is cut travels whole.
  const std::size_t whole = sizeof(KeyId) + 8 * packed_words(own_.params().degree(), own_.reply_bits(own_.dropped()));
  ASSERT_LT(own_.dropped() + 1, own_.params().moduli().size());
  std::memset(reply.data() + whole + 64, 0xFF, 512);
  EXPECT_THAT(message_of<ProtocolError>([&] { open(reply); }), HasSubstr("digit that is not below"));
}

TEST_F(HostileElements, OtherKeysCoinsAndSharesAreNoticed) {
  BufferSink other;
  (void)elements_.encrypt(plan_, parties_.coin(), x_, x_, parties_.random(), parties_.pool(), other);
  EXPECT_THAT(message_of<ProtocolError>([&] { open(multiply(other.bytes())); }), HasSubstr("not this operand's"));
  Coin coin = parties_.coin();
  coin[0] ^= std::byte{1};
  BufferSource in(operand_.bytes());
  BufferSink out;
  EXPECT_THROW((void)elements_.multiply(*plan_, coin, in, x_, x_, parties_.random(), parties_.pool(), out),
               ProtocolError);
  EXPECT_THROW(
      (void)elements_.encrypt(plan_, coin, ShareMatrix(40, 1, 0, 33), x_, parties_.random(), parties_.pool(), out),
      InvalidArgument);
}

}  // namespace
}  // namespace blindfl::he::lattice::elements_test
