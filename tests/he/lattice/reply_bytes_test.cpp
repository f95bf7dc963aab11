// What others can make of the bytes that are really written: of replies nothing at all, of operands and keys neither.
// Replies are read by this test itself, with the secret key in hand. Negative controls show that what is tested for is
// seen where it is missing.

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "blindfl/base/error.h"
#include "blindfl/he/lattice/sampler.h"
#include "blindfl/share/products.h"
#include "he/lattice/probes.h"
#include "testing/matrices.h"
#include "testing/uniformity.h"

namespace blindfl::he::lattice::reply_bytes_test {
namespace {

constexpr std::uint64_t kBound = 1 << 20;
constexpr int kRing = 64;

/// A lab with one product.
class Exchange : public Lab {
 public:
  explicit Exchange(const ParamsSpec& spec = parameter_sets()[0]) : Lab(spec) {}

  [[nodiscard]] const LatticePlan& plan() const { return *plan_; }
  [[nodiscard]] const LatticeOperand& operand() const { return dynamic_cast<const LatticeOperand&>(*operand_); }
  [[nodiscard]] const Bytes& operand_bytes() const { return operand_bytes_; }

  /// In the plan of users, or with nothing cut off: errors are smaller than what is.
  void encrypt(const ShareMatrix& m, std::size_t rows, bool cut = true) {
    const ProductSpec spec{
        .rows = rows, .inner = m.rows(), .cols = m.cols(), .left_bound = kBound, .ring_bits = kRing, .noise_bits = 40};
    plan_ = Lab::plan(spec);
    if (!cut) {
      NoiseBudget budget = plan_->budget();
      budget.cut = 0;
      plan_ = std::make_shared<const LatticePlan>(params(), spec, plan_->tiling(), budget);
    }
    operand_bytes_ = Lab::encrypt(*plan_, m);
    operand_ = load(*plan_, operand_bytes_);
  }
  using Lab::encrypt;

  Reply reply(const IntMatrix& x) { return multiply(*plan_, x, *operand_); }
  std::vector<DigitTile> tiles(const IntMatrix& x) { return read_reply(*plan_, reply(x).bytes); }
  [[nodiscard]] IntMatrix filled(std::int64_t value) const {
    const std::size_t size = plan_->spec().rows * plan_->spec().inner;
    return IntMatrix::dense(plan_->spec().rows, plan_->spec().inner, std::vector<std::int64_t>(size, value), 0, kBound);
  }
  [[nodiscard]] IntMatrix nothing() const { return filled(0); }

  Residues transformed(Residues polynomial, std::size_t modulus) const {
    kernels().forward(polynomial.data(), params()->moduli()[modulus]);
    return polynomial;
  }

 private:
  std::shared_ptr<const LatticePlan> plan_;
  Bytes operand_bytes_;
  std::unique_ptr<const Operand> operand_;
};

TEST(ReplyBytes, AreUniformWhateverWasMultiplied) {
  std::size_t digits_cut = 0;
  for (const ParamsSpec& set : parameter_sets()) {
    Exchange exchange(set);
    exchange.encrypt(random_share(62, 1, 0, exchange.random(), kRing), 60);
    ASSERT_GT(exchange.plan().budget().cut, 0);
    for (const std::int64_t value : {std::int64_t{0}, std::int64_t{1}, -static_cast<std::int64_t>(kBound)}) {
      std::vector<std::vector<double>> digits(set.prime_bits.size());
      for (int i = 0; i < 4; ++i) {
        for (const DigitTile& tile : exchange.tiles(exchange.filled(value))) {
          for (std::size_t l = 0; l < digits.size(); ++l) {
            for (const std::uint64_t d : tile.digits[l]) digits[l].push_back(static_cast<double>(d));
          }
        }
      }
      for (std::size_t l = 0; l < digits.size(); ++l) {
        if (exchange.plan().reply_bits(l) == 0) {
          ++digits_cut;
          continue;
        }
        const std::uint64_t most = exchange.params()->moduli()[l].value() >> exchange.plan().cut_of(l);
        EXPECT_LT(distance_from_uniform(digits[l], 0, static_cast<double>(most)), kFar) << value << ", digit " << l;
      }
    }
  }
  EXPECT_GT(digits_cut, 0U) << "of some sets the lowest digit does not travel";
}

// The first component never leaves: a reply has room for the second, and for nothing else.
TEST(ReplyBytes, HoldOneComponentAndNotTheOther) {
  Exchange exchange;
  exchange.encrypt(random_share(62, 1, 0, exchange.random(), kRing), 60);
  const std::size_t tiles = exchange.plan().reply_order().size();
  EXPECT_EQ(exchange.plan().reply_bytes(),
            16 + tiles * 4096 * (100 - static_cast<std::size_t>(exchange.plan().budget().cut)) / 8);
  EXPECT_EQ(exchange.plan().operand_bytes() - 48, exchange.plan().tiling().inner_tiles * 4096 * 100 / 8U);
}

/// Results and shares of the same inputs twice.
TEST(ReplyBytes, AndSharesAreUnrelatedIfTheSameIsAskedTwice) {
  Exchange exchange;
  exchange.encrypt(random_share(62, 20, 0, exchange.random(), kRing), 128);
  const IntMatrix x = exchange.filled(kBound);
  const Lab::Reply first = exchange.reply(x);
  const Lab::Reply second = exchange.reply(x);
  EXPECT_NE(first.bytes, second.bytes);
  const auto words = [](const ShareMatrix& share) {
    std::vector<std::uint64_t> low;
    for (const UInt128 v : share.values()) low.push_back(low64(v));
    return low;
  };
  for (const ShareMatrix& share :
       {first.kept, second.kept, first.kept - second.kept, exchange.open(exchange.plan(), first.bytes)}) {
    EXPECT_TRUE(testing::looks_uniform<std::uint64_t>(words(share)));
  }
}

/// Coefficients in which two second components are as good as equal: what is cut off, and errors, differ.
std::size_t near(const Params& params, const Residues& a, const Residues& b, std::int64_t within = 64) {
  const auto q = static_cast<std::int64_t>(params.moduli()[0].value());
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::int64_t d = std::abs(static_cast<std::int64_t>(a[i]) - static_cast<std::int64_t>(b[i]));
    count += std::min(d, q - d) < within ? 1 : 0;
  }
  return count;
}

/// Tiles of replies to a matrix without entries, so that there is nothing but what re-randomises them: several tiles in
/// each reply, some randomness made ahead, some on the spot.
std::vector<DigitTile> tiles_of_nothing(Exchange& exchange) {
  exchange.encrypt(random_share(500, 9, 0, exchange.random(), kRing), 40, /*cut=*/false);
  EXPECT_GE(exchange.plan().reply_order().size(), 2U);
  exchange.multiplier().expect(exchange.plan());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(exchange.multiplier().prepare());
  std::vector<DigitTile> tiles;
  for (int i = 0; i < 3; ++i) append(tiles, exchange.tiles(exchange.nothing()));
  return tiles;
}

TEST(ReplyBytes, AreReRandomisedAnewInEveryTile) {
  Exchange exchange;
  const std::vector<DigitTile> tiles = tiles_of_nothing(exchange);
  const auto q = static_cast<double>(exchange.params()->moduli()[0].value());
  std::vector<double> all;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    for (const std::uint64_t v : tiles[i].digits[0]) all.push_back(static_cast<double>(v));
    for (std::size_t k = 0; k < i; ++k) {
      EXPECT_EQ(near(*exchange.params(), tiles[i].digits[0], tiles[k].digits[0]), 0U) << i << ", " << k;
    }
  }
  EXPECT_LT(distance_from_uniform(all, 0, q), kFar);
}
TEST(ReplyBytes, WithoutAFreshEncryptionHaveTheSameSecondComponents) {
  Exchange exchange;
  MultiplierProbe::switch_fresh_encryption(exchange.multiplier(), false);
  const std::vector<DigitTile> tiles = tiles_of_nothing(exchange);
  EXPECT_EQ(near(*exchange.params(), tiles[0].digits[0], tiles[1].digits[0]), exchange.params()->degree());
}
TEST(ReplyBytes, WithARandomiserThatIsUsedTwiceHaveTheSameSecondComponents) {
  Exchange exchange;
  exchange.encrypt(random_share(62, 1, 0, exchange.random(), kRing), 60, /*cut=*/false);
  exchange.multiplier().expect(exchange.plan());
  exchange.multiplier().expect(exchange.plan());
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(exchange.multiplier().prepare());
  MultiplierProbe::repeat_next_randomizer(exchange.multiplier());
  const auto first = exchange.tiles(exchange.filled(1));
  const auto second = exchange.tiles(exchange.filled(1));
  EXPECT_EQ(near(*exchange.params(), first[0].digits[0], second[0].digits[0]), exchange.params()->degree());
}

// A message may be repeated, and only as a whole: what was made ahead takes its errors and noise with it, and leaves
// every other tile the stream that it would have had.
TEST(ReplyBytes, OfAStreamThatRepeatsAreTheSameOrUnrelated) {
  Exchange exchange;
  exchange.encrypt(random_share(500, 9, 0, exchange.random(), kRing), 40, /*cut=*/false);
  const std::size_t tiles = exchange.plan().reply_order().size();
  ASSERT_GE(tiles, 2U);
  std::array<std::byte, KeyStream::kKeyBytes> key{};
  exchange.random().fill(key);
  const auto reply = [&] {
    Random random = Random::derived(key, {});
    return exchange.multiply(exchange.plan(), exchange.filled(3), exchange.operand(), random);
  };
  const Lab::Reply first = reply();
  EXPECT_EQ(reply().bytes, first.bytes);
  EXPECT_EQ(reply().kept, first.kept);
  exchange.multiplier().expect(exchange.plan());
  ASSERT_TRUE(exchange.multiplier().prepare());
  const Lab::Reply ahead = reply();
  const auto of_first = read_reply(exchange.plan(), first.bytes);
  const auto of_ahead = read_reply(exchange.plan(), ahead.bytes);
  const Modulus& m = exchange.params()->moduli()[0];
  const Residues a = exchange.public_key().a;
  for (std::size_t i = 0; i < tiles; ++i) {
    for (std::size_t k = 0; k < tiles; ++k) {
      const bool same = of_first[i].digits == of_ahead[k].digits;
      EXPECT_EQ(same, i == k && i > 0) << i << ", " << k;
      if (same) continue;
      EXPECT_EQ(near(*exchange.params(), of_first[i].digits[0], of_ahead[k].digits[0]), 0U) << i << ", " << k;
    }
  }
  // The tile with what was made ahead has an error of its own: else the difference would be a multiple of the key.
  Residues difference = exchange.transformed(of_first[0].digits[0], 0);
  const Residues other = exchange.transformed(of_ahead[0].digits[0], 0);
  for (std::size_t i = 0; i < difference.size(); ++i) {
    difference[i] = m.add(difference[i], m.value() - other[i]);
    if (a[i] != 0) difference[i] = m.multiply(difference[i], m.inverse(a[i]));
  }
  const auto quotient = coefficients(*exchange.params(), exchange.kernels(), difference, 0);
  EXPECT_FALSE(std::ranges::all_of(quotient, [](std::int64_t v) { return std::abs(v) <= 2; }));
}

/// A second component divided by the public key's. Without an error that is what re-randomised it, and then whoever
/// guesses the private matrix can tell whether the guess is right.
std::vector<std::int64_t> divided_by_key(const Exchange& exchange, const Residues& c1) {
  const Modulus& m = exchange.params()->moduli()[0];
  const Residues a = exchange.public_key().a;
  Residues quotient = exchange.transformed(c1, 0);
  for (std::size_t i = 0; i < quotient.size(); ++i) {
    if (a[i] != 0) quotient[i] = m.multiply(quotient[i], m.inverse(a[i]));
  }
  return coefficients(*exchange.params(), exchange.kernels(), quotient, 0);
}
bool is_ternary(const std::vector<std::int64_t>& values) {
  return std::ranges::all_of(values, [](std::int64_t v) { return std::abs(v) <= 1; });
}

TEST(ReplyBytes, AreNotBareMultiplesOfThePublicKey) {
  Exchange exchange;
  exchange.encrypt(random_share(62, 1, 0, exchange.random(), kRing), 60, /*cut=*/false);
  for (const DigitTile& tile : exchange.tiles(exchange.nothing())) {
    EXPECT_FALSE(is_ternary(divided_by_key(exchange, tile.digits[0])));
  }
  // Negative control: a u, without the error.
  AlignedSecret<std::int64_t> u(exchange.params()->degree());
  SecretResidues words(exchange.params()->degree());
  sample_ternary(exchange.kernels(), exchange.random(), u, words);
  const Modulus& m = exchange.params()->moduli()[0];
  const Residues a = exchange.public_key().a;
  Residues bare(u.size());
  exchange.kernels().lift(bare.data(), u.data(), u.size(), m);
  bare = exchange.transformed(bare, 0);
  for (std::size_t i = 0; i < bare.size(); ++i) bare[i] = m.multiply(bare[i], a[i]);
  exchange.kernels().inverse(bare.data(), m, m.last_stage());
  EXPECT_TRUE(is_ternary(divided_by_key(exchange, bare)));
}

/// Centred binomial of 42 coins: never beyond 21, a mean of 0 and a variance of 10.5, within what so many of them allow
/// (6.5 standard deviations).
void expect_errors(const std::vector<std::int64_t>& errors, const std::string& what) {
  double sum = 0;
  double squares = 0;
  std::int64_t most = 0;
  for (const std::int64_t e : errors) {
    most = std::max(most, std::abs(e));
    sum += static_cast<double>(e);
    squares += static_cast<double>(e) * static_cast<double>(e);
  }
  const auto n = static_cast<double>(errors.size());
  EXPECT_LE(most, 21) << what;
  EXPECT_LT(std::abs(sum / n), 6.5 * std::sqrt(10.5 / n)) << what;
  EXPECT_LT(std::abs(squares / n - 10.5), 6.5 * 10.5 * std::sqrt(2 / n)) << what;
}

TEST(ReplyBytes, HaveTheErrorOfAFreshEncryption) {
  for (const ParamsSpec& set : parameter_sets()) {
    Exchange exchange(set);
    exchange.encrypt(random_share(62, 1, 0, exchange.random(), kRing), 60, /*cut=*/false);
    ASSERT_EQ(exchange.plan().reply_order().size(), 1U);
    const PublicKey key = exchange.public_key();
    const std::size_t n = exchange.params()->degree();
    exchange.multiplier().expect(exchange.plan());
    std::vector<std::int64_t> last;
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(exchange.multiplier().prepare());
      const std::vector<Residues> u = MultiplierProbe::next_randomizer(exchange.multiplier());
      const DigitTile tile = exchange.tiles(exchange.nothing()).front();
      std::vector<std::vector<std::int64_t>> errors;
      for (std::size_t l = 0; l < set.prime_bits.size(); ++l) {
        const Modulus& m = exchange.params()->moduli()[l];
        Residues rest = exchange.transformed(residues_of(*exchange.params(), tile.digits, l), l);
        for (std::size_t k = 0; k < n; ++k) {
          rest[k] = m.add(rest[k], m.value() - m.multiply(u[l][k], key.a[l * n + k]));
        }
        errors.push_back(coefficients(*exchange.params(), exchange.kernels(), rest, l));
      }
      for (const auto& modulo_another : errors) EXPECT_EQ(modulo_another, errors[0]);
      expect_errors(errors[0], "a reply");
      EXPECT_NE(errors[0], last) << "drawn anew for each";
      last = errors[0];
    }
  }
}

TEST(OperandBytes, HaveTheErrorsOfFreshEncryptions) {
  Exchange exchange;
  const std::size_t n = exchange.params()->degree();
  const PublicKey key = exchange.public_key();
  exchange.encrypt(ShareMatrix(62, 1, 0, kRing), 60);
  const LatticeOperand& operand = exchange.operand();
  ASSERT_EQ(operand.inner_tiles * operand.col_tiles, 1U);
  for (std::size_t l = 0; l < exchange.params()->moduli().size(); ++l) {
    const Modulus& m = exchange.params()->moduli()[l];
    const std::uint64_t* s = exchange.key().s.data() + l * n;  // in Montgomery form
    const std::uint64_t one_over_radix = m.inverse(m.power(2, Modulus::kRadixBits));
    const auto opened = [&](const std::uint64_t* first, const std::uint64_t* second) {
      Residues sum(n);
      for (std::size_t k = 0; k < n; ++k) {
        sum[k] = m.add(first[k], m.multiply(second[k], m.multiply(s[k], one_over_radix)));
      }
      return coefficients(*exchange.params(), exchange.kernels(), sum, l);
    };
    expect_errors(opened(key.b.data() + l * n, key.a.data() + l * n), "a public key");
    expect_errors(
        opened(operand.values.data() + operand.offset(l, 0, 0, 0), operand.values.data() + operand.offset(l, 0, 0, 1)),
        "an encryption of zeros");
  }
}

/// The difference of two operands' first components modulo the first prime, as coefficients. Under one seed the
/// secret cancels out, and what is left are errors: enough of these, averaged, give the secret.
std::vector<std::int64_t> difference_of(const Exchange& exchange, const Residues& a, const Residues& b) {
  const Modulus& m = exchange.params()->moduli()[0];
  Residues difference(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) difference[i] = m.add(a[i], m.value() - b[i]);
  return coefficients(*exchange.params(), exchange.kernels(), difference, 0);
}
std::size_t small_ones(const std::vector<std::int64_t>& values) {
  return static_cast<std::size_t>(std::ranges::count_if(values, [](std::int64_t v) { return std::abs(v) < 64; }));
}

TEST(OperandBytes, HaveASeedOfTheirOwn) {
  Exchange exchange;
  const ShareMatrix m = random_share(62, 1, 0, exchange.random(), kRing);
  const auto first_component = [&] {
    exchange.encrypt(m, 60);
    const std::uint64_t* values = exchange.operand().values.data();
    return Residues(values, values + exchange.params()->degree());
  };
  const Residues first = first_component();
  const Bytes bytes = exchange.operand_bytes();
  const Residues second = first_component();
  EXPECT_FALSE(std::equal(bytes.begin() + 16, bytes.begin() + 48, exchange.operand_bytes().begin() + 16)) << "seeds";
  EXPECT_EQ(small_ones(difference_of(exchange, first, second)), 0U);
  // Negative control: the first operand with errors drawn anew, under its own seed.
  AlignedSecret<std::int64_t> error(first.size());
  SecretResidues words(first.size());
  sample_error(exchange.kernels(), exchange.random(), error, words);
  const Modulus& modulus = exchange.params()->moduli()[0];
  Residues again(first.size());
  exchange.kernels().lift(again.data(), error.data(), error.size(), modulus);
  again = exchange.transformed(again, 0);
  for (std::size_t i = 0; i < again.size(); ++i) again[i] = modulus.add(again[i], first[i]);
  EXPECT_EQ(small_ones(difference_of(exchange, first, again)), first.size());
}

// Tiles of one operand must not share their public half either.
TEST(OperandBytes, HaveAPublicHalfForEachTileAndPrime) {
  Exchange exchange;
  exchange.encrypt(random_share(5000, 9, 0, exchange.random(), kRing), 3);
  const LatticeOperand& operand = exchange.operand();
  ASSERT_GE(operand.inner_tiles * operand.col_tiles, 2U);
  std::vector<Residues> halves;
  for (std::size_t l = 0; l < 2; ++l) {
    for (std::size_t c = 0; c < operand.col_tiles; ++c) {
      for (std::size_t j = 0; j < operand.inner_tiles; ++j) {
        Residues half;
        for (std::size_t block = 0; block < operand.blocks; ++block) {
          const std::uint64_t* from = operand.values.data() + operand.offset(l, block, c, 1) + j * kBlock;
          half.insert(half.end(), from, from + kBlock);
        }
        halves.push_back(std::move(half));
      }
    }
  }
  for (std::size_t i = 0; i < halves.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) EXPECT_EQ(near(*exchange.params(), halves[i], halves[k], 4), 0U) << i << k;
  }
}

// `a` is not the owner's choice: under another coin the key is another one, and so is everything under it.
TEST(PublicKeyBytes, AreOfTheCoinThatBothPartiesTossed) {
  const auto params = std::make_shared<const Params>(parameter_sets()[0]);
  const Kernels& kernels = *available_kernels().front();
  Random random;
  Coin coin{};
  Coin other{};
  other[31] = std::byte{1};
  const LatticeKeyOwner owner(params, kernels, coin, random);
  const PublicKey key(*params, kernels, coin, owner.public_key());
  EXPECT_THROW(PublicKey(*params, kernels, other, owner.public_key()), ProtocolError) << "made from another coin";
  // An owner that lies about it.
  Bytes forged = owner.public_key();
  std::ranges::copy(setup_id(*params, other), forged.begin());
  const PublicKey deceived(*params, kernels, other, forged);
  EXPECT_EQ(key.b, deceived.b);
  EXPECT_NE(key.id, deceived.id);
  EXPECT_EQ(near(*params, key.a, deceived.a, 4), 0U);
  EXPECT_TRUE(testing::looks_uniform<std::uint32_t>(std::vector<std::uint32_t>(key.a.begin(), key.a.end())));
  const LatticeMultiplier multiplier(params, kernels, other, forged);
  const auto plan = LatticePlan::choose(
      {params}, {.rows = 3, .inner = 3, .cols = 1, .left_bound = 1, .ring_bits = 40, .noise_bits = 20});
  ThreadPool pool(1);
  const Bytes bytes =
      write_to_bytes([&](ByteSink& out) { owner.encrypt(*plan, ShareMatrix(3, 1, 0, 40), random, pool, out); });
  BufferSource in(bytes);
  EXPECT_THROW((void)multiplier.load(*plan, in, pool), ProtocolError);
}

TEST(Preparing, FillsAStockOfRandomizersAndUsesEachOnce) {
  Exchange exchange;
  EXPECT_FALSE(exchange.multiplier().prepare()) << "nothing is expected yet";
  const ShareMatrix m = random_share(62, 1, 0, exchange.random(), kRing);
  exchange.encrypt(m, 60);
  ASSERT_EQ(exchange.plan().reply_order().size(), 1U);
  exchange.multiplier().expect(exchange.plan());
  exchange.multiplier().expect(exchange.plan());
  EXPECT_TRUE(exchange.multiplier().prepare());
  EXPECT_TRUE(exchange.multiplier().prepare());
  EXPECT_FALSE(exchange.multiplier().prepare()) << "one for each reply that is expected";
  const IntMatrix x = exchange.filled(7);
  std::vector<Lab::Reply> replies;
  for (int i = 0; i < 4; ++i) {  // two from the stock, two made on the spot
    replies.push_back(exchange.reply(x));
    const ShareMatrix sum = exchange.open(exchange.plan(), replies.back().bytes) + replies.back().kept;
    for (const double e : errors_of(sum, blindfl::multiply(x, m))) {
      EXPECT_LE(std::abs(e), exchange.plan().largest_error());
    }
    for (int k = 0; k < i; ++k) EXPECT_NE(replies[i].bytes, replies[k].bytes);
    if (i == 0) {
      EXPECT_TRUE(exchange.multiplier().prepare()) << "what was used is made again";
    }
  }
}

}  // namespace
}  // namespace blindfl::he::lattice::reply_bytes_test
