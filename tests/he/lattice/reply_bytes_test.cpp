// What the key's owner can make of the bytes that `multiply_and_mask` really writes: nothing but the masked product.
// Replies are read by this test itself, with the secret key in hand. Negative controls show that what is tested for
// is seen where it is missing.

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "blindfl/he/lattice/sampler.h"
#include "blindfl/share/products.h"
#include "he/lattice/probes.h"
#include "testing/matrices.h"

namespace blindfl::he::lattice::reply_bytes_test {
namespace {

constexpr std::uint64_t kBound = 1 << 20;

// Chance exceeds this distance of Kolmogorov and Smirnov's once in 2 * exp(-24.5), 5e-11.
constexpr double kFar = 3.5;

/// All primes in the reply: what is rounded off otherwise is larger than the errors that some tests look for.
const ParamsSpec kNothingDropped{.dropped_primes = 0};

class Exchange {
 public:
  explicit Exchange(const ParamsSpec& spec = {}, bool fresh_encryption = true, bool flooding = true)
      : params_(std::make_shared<const Params>(spec)) {
    MultiplierProbe::switch_hiding(multiplier_, fresh_encryption, flooding);
  }

  const Params& params() const { return *params_; }
  const Kernels& kernels() const { return kernels_; }
  const LatticePlan& plan() const { return *plan_; }
  const LatticeMultiplier& multiplier() const { return multiplier_; }
  const LatticeOperand& operand() const { return dynamic_cast<const LatticeOperand&>(*operand_); }
  const SecretKey& key() const { return KeyOwnerProbe::key(owner_); }
  PublicKey public_key() const { return {*params_, kernels_, owner_.public_key()}; }
  Random& random() { return random_; }

  void encrypt(const ShareMatrix& m, std::size_t rows) {
    m_ = m;
    plan_ = std::make_unique<LatticePlan>(*params_, ProductSpec{rows, m.rows(), m.cols(), kBound, 0, 0, 128});
    const Bytes bytes = write_to_bytes([&](ByteSink& out) { owner_.encrypt(*plan_, m, random_, pool_, out); });
    BufferSource in(bytes);
    operand_ = multiplier_.load(*plan_, in, pool_);
  }

  /// A reply as it travels, read.
  struct Reply {
    std::vector<ExactTile> tiles;
    std::vector<double> noise;  ///< of each result, in units of 2^-130 of the modulus: what flooding is as large as
    ShareMatrix kept;           ///< by the multiplier
  };
  Reply reply(const IntMatrix& x) { return reply(x, random_); }
  Reply reply(const IntMatrix& x, Random& masks) {
    Reply made;
    const Bytes bytes = write_to_bytes([&](ByteSink& out) {
      made.kept = multiplier_.multiply_and_mask(*plan_, x, *operand_, random_, masks, pool_, out);
    });
    EXPECT_EQ(bytes.size(), plan_->reply_bytes());
    made.tiles = read_reply(*params_, *plan_, bytes);
    const ShareMatrix masked = blindfl::multiply(x, m_) - made.kept;
    for (const ExactTile& tile : made.tiles) {
      for (const double v : noise_of(*params_, kernels_, key(), plan_->tiling(), tile, masked)) {
        made.noise.push_back(4 * v);
      }
    }
    return made;
  }
  Reply of_nothing() { return reply(IntMatrix::dense(plan_->spec().rows, m_.rows(), zeros(), 0, kBound)); }

  /// A transformed polynomial modulo one prime, as signed coefficients.
  std::vector<std::int64_t> coefficients(Residues transformed, std::size_t modulus) const {
    const Modulus& m = params_->moduli()[modulus];
    kernels_.inverse(transformed.data(), m, m.last_stage());
    std::vector<std::int64_t> values;
    for (const std::uint64_t v : transformed) {
      values.push_back(v > m.value() / 2 ? static_cast<std::int64_t>(v) - static_cast<std::int64_t>(m.value())
                                         : static_cast<std::int64_t>(v));
    }
    return values;
  }
  Residues transformed(Residues polynomial, std::size_t modulus) const {
    kernels_.forward(polynomial.data(), params_->moduli()[modulus]);
    return polynomial;
  }

 private:
  [[nodiscard]] std::vector<std::int64_t> zeros() const {
    return std::vector<std::int64_t>(plan_->spec().rows * m_.rows());
  }

  std::shared_ptr<const Params> params_;
  const Kernels& kernels_ = *available_kernels().front();
  Random random_;
  ThreadPool pool_{2};
  LatticeKeyOwner owner_{params_, kernels_, random_};
  LatticeMultiplier multiplier_{params_, kernels_, owner_.public_key()};
  std::unique_ptr<LatticePlan> plan_;
  std::unique_ptr<const Operand> operand_;
  ShareMatrix m_;
};

/// Two matrices, as different as can be, with the same product: rows of M come in equal pairs, which one of them adds
/// with opposite signs and the other leaves out.
constexpr std::size_t kRows = 128;
constexpr std::size_t kInner = 62;

void encrypt_pairs(Exchange& exchange) {
  ShareMatrix m = random_share(kInner, 1, 0, exchange.random());
  for (std::size_t j = 1; j < kInner; j += 2) m.row(j)[0] = m.row(j - 1)[0];
  exchange.encrypt(m, kRows);
}
IntMatrix heavy() {
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < kRows * kInner; ++i)
    values.push_back(i % 2 == 0 ? kBound : -static_cast<std::int64_t>(kBound));
  return IntMatrix::dense(kRows, kInner, std::move(values), 0, kBound);
}
IntMatrix empty() {
  return IntMatrix::dense(kRows, kInner, std::vector<std::int64_t>(kRows * kInner), 0, kBound);
}

std::vector<double> noise(Exchange& exchange, const IntMatrix& x) {
  constexpr int kReplies = 16;
  std::vector<double> all;
  for (int i = 0; i < kReplies; ++i) {
    const std::vector<double> some = exchange.reply(x).noise;
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

/// Uniform in [-2^-130, 2^-130), from end to end: rounding adds a hundredth of that.
bool is_flooded(const std::vector<double>& noise) {
  const auto [least, most] = std::ranges::minmax(noise);
  return least > -1.02 && most < 1.02 && distance_from_uniform(noise, -1, 1) < kFar;
}

TEST(ReplyBytes, AreFloodedWhateverWasMultiplied) {
  Exchange exchange;
  encrypt_pairs(exchange);
  const std::vector<double> of_heavy = noise(exchange, heavy());
  const std::vector<double> of_empty = noise(exchange, empty());
  EXPECT_TRUE(is_flooded(of_heavy));
  EXPECT_TRUE(is_flooded(of_empty));
  EXPECT_LT(distance(of_heavy, of_empty), kFar);
  // What was seen of the flooding is 40 bits above the largest noise that this product could have had.
  double seen = 0;
  for (const double v : of_heavy) seen = std::max(seen, std::abs(v));
  EXPECT_GE(
      log2_of_modulus(exchange.params()) - 130 + std::log2(seen) - worst_noise_bits(exchange.params(), exchange.plan()),
      40);
}
TEST(ReplyBytes, WithoutFloodingShowTheirNoise) {
  Exchange exchange({}, /*fresh_encryption=*/true, /*flooding=*/false);
  encrypt_pairs(exchange);
  EXPECT_FALSE(is_flooded(noise(exchange, heavy())));
}

// Masks may repeat, flooding may not: two replies' noise would cancel and leave what tells x.
TEST(ReplyBytes, AreFloodedAnewUnderTheSameMasks) {
  Exchange exchange;
  encrypt_pairs(exchange);
  std::array<std::byte, KeyStream::kKeyBytes> key{};
  exchange.random().fill(key);
  std::vector<double> changes;
  for (int i = 0; i < 4; ++i) {
    Random masks = Random::derived(key, {});
    Random same_masks = Random::derived(key, {});
    const Exchange::Reply first = exchange.reply(heavy(), masks);
    const Exchange::Reply second = exchange.reply(heavy(), same_masks);
    EXPECT_EQ(first.kept, second.kept);
    for (std::size_t k = 0; k < first.noise.size(); ++k) changes.push_back(first.noise[k] - second.noise[k]);
  }
  // The difference of two uniform numbers d has the distribution function 1/2 + d/2 - sign(d) d^2/8 for |d| <= 2.
  for (double& d : changes) d = 0.5 + d / 2 - std::copysign(d * d / 8, d);
  EXPECT_LT(distance_from_uniform(changes, 0, 1), kFar);
}

/// Coefficients in which two second components are as good as equal: what is rounded off, and errors, differ.
std::size_t near(const Exchange& exchange, const ExactTile& a, const ExactTile& b) {
  const auto q = static_cast<std::int64_t>(exchange.params().moduli()[0].value());
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.c1[0].size(); ++i) {
    const std::int64_t d = std::abs(static_cast<std::int64_t>(a.c1[0][i]) - static_cast<std::int64_t>(b.c1[0][i]));
    count += std::min(d, q - d) < 64 ? 1 : 0;
  }
  return count;
}

/// Tiles of replies to a matrix without entries, so that there is nothing but what re-randomises them: several tiles in
/// each reply, some randomness made ahead, some on the spot.
std::vector<ExactTile> tiles_of_nothing(Exchange& exchange) {
  exchange.encrypt(random_share(500, 9, 0, exchange.random()), 40);
  EXPECT_GE(exchange.plan().tiling().row_tiles, 2U);
  exchange.multiplier().expect(exchange.plan());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(exchange.multiplier().prepare());
  std::vector<ExactTile> tiles;
  for (int i = 0; i < 2; ++i) {
    for (ExactTile& tile : exchange.of_nothing().tiles) tiles.push_back(std::move(tile));
  }
  return tiles;
}

TEST(ReplyBytes, AreReRandomisedAnewInEveryTile) {
  Exchange exchange;
  const std::vector<ExactTile> tiles = tiles_of_nothing(exchange);
  const auto q = static_cast<double>(exchange.params().moduli()[0].value());
  std::vector<double> all;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    for (const std::uint64_t v : tiles[i].c1[0]) all.push_back(static_cast<double>(v));
    for (std::size_t k = 0; k < i; ++k) EXPECT_EQ(near(exchange, tiles[i], tiles[k]), 0U) << i << ", " << k;
  }
  EXPECT_LT(distance_from_uniform(all, 0, q), kFar);
}
TEST(ReplyBytes, WithoutAFreshEncryptionHaveTheSameSecondComponents) {
  Exchange exchange({}, /*fresh_encryption=*/false);
  const std::vector<ExactTile> tiles = tiles_of_nothing(exchange);
  EXPECT_EQ(near(exchange, tiles[0], tiles[1]), exchange.params().degree());
}

/// A second component divided by the public key's. Without an error that is what re-randomised it, and then whoever
/// guesses the private matrix can tell whether the guess is right.
std::vector<std::int64_t> divided_by_key(const Exchange& exchange, const Residues& c1) {
  const Modulus& m = exchange.params().moduli()[0];
  const Residues a = exchange.public_key().a;
  Residues quotient = exchange.transformed(c1, 0);
  for (std::size_t i = 0; i < quotient.size(); ++i) {
    if (a[i] != 0) quotient[i] = m.multiply(quotient[i], m.inverse(a[i]));
  }
  return exchange.coefficients(quotient, 0);
}
bool is_ternary(const std::vector<std::int64_t>& values) {
  return std::ranges::all_of(values, [](std::int64_t v) { return std::abs(v) <= 1; });
}

TEST(ReplyBytes, AreNotBareMultiplesOfThePublicKey) {
  Exchange exchange(kNothingDropped);
  encrypt_pairs(exchange);
  for (const ExactTile& tile : exchange.of_nothing().tiles) {
    EXPECT_FALSE(is_ternary(divided_by_key(exchange, tile.c1[0])));
  }
  // Negative control: a u, without the error.
  AlignedSecret<std::int64_t> u(exchange.params().degree());
  SecretResidues words(exchange.params().degree());
  sample_ternary(exchange.kernels(), exchange.random(), u, words);
  const Modulus& m = exchange.params().moduli()[0];
  const Residues a = exchange.public_key().a;
  Residues bare(u.size());
  exchange.kernels().lift(bare.data(), u.data(), u.size(), m);
  bare = exchange.transformed(bare, 0);
  for (std::size_t i = 0; i < bare.size(); ++i) bare[i] = m.multiply(bare[i], a[i]);
  exchange.kernels().inverse(bare.data(), m, m.last_stage());
  EXPECT_TRUE(is_ternary(divided_by_key(exchange, bare)));
}

/// Centred binomial of 42 coins: never beyond 21, a mean of 0 and a variance of 10.5, within what 8192 of them allow
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
  Exchange exchange(kNothingDropped);
  encrypt_pairs(exchange);
  ASSERT_EQ(exchange.plan().tiling().row_tiles * exchange.plan().tiling().col_tiles, 1U);
  const PublicKey key = exchange.public_key();
  const std::size_t n = exchange.params().degree();
  exchange.multiplier().expect(exchange.plan());
  std::vector<std::int64_t> last;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(exchange.multiplier().prepare());
    const std::vector<Residues> u = MultiplierProbe::next_randomizer(exchange.multiplier());
    const ExactTile tile = exchange.of_nothing().tiles.front();
    std::vector<std::vector<std::int64_t>> errors;
    for (std::size_t l = 0; l < exchange.params().moduli().size(); ++l) {
      const Modulus& m = exchange.params().moduli()[l];
      Residues rest = exchange.transformed(tile.c1[l], l);
      for (std::size_t k = 0; k < n; ++k) {
        rest[k] = m.add(rest[k], m.value() - m.multiply(u[l][k], key.a[l * n + k]));
      }
      errors.push_back(exchange.coefficients(rest, l));
    }
    for (const auto& modulo_another : errors) EXPECT_EQ(modulo_another, errors[0]);
    expect_errors(errors[0], "a reply");
    EXPECT_NE(errors[0], last) << "drawn anew for each";
    last = errors[0];
  }
}

TEST(OperandBytes, HaveTheErrorsOfFreshEncryptions) {
  Exchange exchange;
  const std::size_t n = exchange.params().degree();
  const PublicKey key = exchange.public_key();
  exchange.encrypt(ShareMatrix(kInner, 1, 0), kRows);
  const LatticeOperand& operand = exchange.operand();
  ASSERT_EQ(operand.inner_tiles * operand.col_tiles, 1U);
  for (std::size_t l = 0; l < exchange.params().moduli().size(); ++l) {
    const Modulus& m = exchange.params().moduli()[l];
    const std::uint64_t* s = exchange.key().s.data() + l * n;  // in Montgomery form
    const std::uint64_t one_over_radix = m.inverse(m.power(2, Modulus::kRadixBits));
    const auto opened = [&](const std::uint64_t* first, const std::uint64_t* second) {
      Residues sum(n);
      for (std::size_t k = 0; k < n; ++k) {
        sum[k] = m.add(first[k], m.multiply(second[k], m.multiply(s[k], one_over_radix)));
      }
      return exchange.coefficients(sum, l);
    };
    expect_errors(opened(key.b.data() + l * n, key.a.data() + l * n), "a public key");
    expect_errors(
        opened(operand.values.data() + operand.offset(l, 0, 0, 0), operand.values.data() + operand.offset(l, 0, 0, 1)),
        "an encryption of zeros");
  }
}

}  // namespace
}  // namespace blindfl::he::lattice::reply_bytes_test
