// What the noise of a reply is, with the secret key in hand: within its bound, and without a trace of the private
// matrix. Looks at replies before they are cut down for sending, so at more than the key's owner ever gets; what it
// does get, the bytes, is looked at in reply_bytes_test.cpp.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "blindfl/he/lattice/key_owner.h"
#include "blindfl/he/lattice/multiplier.h"
#include "blindfl/share/products.h"
#include "he/lattice/probes.h"
#include "testing/matrices.h"

namespace blindfl::he::lattice::noise_test {

namespace {

/// A party with a key and one that multiplies under it, with everything in reach.
class Lab {
 public:
  explicit Lab(bool fresh_encryption = true, bool flooding = true, const ParamsSpec& spec = {})
      : params_(std::make_shared<const Params>(spec)) {
    MultiplierProbe::switch_hiding(multiplier_, fresh_encryption, flooding);
  }

  const Params& params() const { return *params_; }
  const LatticePlan& plan() const { return *plan_; }
  Random& random() { return random_; }

  void encrypt(const ShareMatrix& m, std::size_t rows, std::uint64_t bound) {
    plan_ = std::make_unique<LatticePlan>(*params_, ProductSpec{rows, m.rows(), m.cols(), bound, 0, m.scale(), 128});
    const Bytes bytes = write_to_bytes([&](ByteSink& out) { owner_.encrypt(*plan_, m, random_, pool_, out); });
    BufferSource in(bytes);
    operand_ = multiplier_.load(*plan_, in, pool_);
    m_ = m;
  }

  struct Opened {
    std::vector<double> noise;          ///< of each result, in units of 1 / q
    std::vector<std::uint64_t> second;  ///< the second component modulo the first prime
    ShareMatrix results_share;          ///< what the multiplier keeps
  };
  Opened open(const IntMatrix& x) { return open(x, random_); }
  /// The reply before it is rounded, and as it travels, both from these sources.
  std::vector<ExactTile> exact(const IntMatrix& x, Random random, Random masks) {
    ShareMatrix share(x.rows(), m_.cols(), m_.scale());
    return MultiplierProbe::exact_reply(multiplier_, *plan_, x, *operand_, random, masks, pool_, share);
  }
  Bytes travelling(const IntMatrix& x, Random random, Random masks) {
    return write_to_bytes(
        [&](ByteSink& out) { (void)multiplier_.multiply_and_mask(*plan_, x, *operand_, random, masks, pool_, out); });
  }
  Opened open(const IntMatrix& x, Random& masks) {
    ShareMatrix share(x.rows(), m_.cols(), m_.scale());
    const auto tiles = MultiplierProbe::exact_reply(multiplier_, *plan_, x, *operand_, random_, masks, pool_, share);
    const ShareMatrix expected = blindfl::multiply(x, m_) - share;
    Opened opened{{}, {}, share};
    for (const ExactTile& tile : tiles) {
      add_noise(tile, expected, opened.noise);
      opened.second.insert(opened.second.end(), tile.c1[0].begin(), tile.c1[0].end());
    }
    return opened;
  }

 private:
  // c0 + c1 s, as a fraction of q, minus the plaintext.
  void add_noise(const ExactTile& tile, const ShareMatrix& expected, std::vector<double>& noise) const {
    const double unit = std::exp2(log2_of_modulus(*params_) - 128);
    for (const double v : noise_of(*params_, kernels_, KeyOwnerProbe::key(owner_), plan_->tiling(), tile, expected)) {
      noise.push_back(v * unit);
    }
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

double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double v : values) most = std::max(most, std::abs(v));
  return most;
}

constexpr std::uint64_t kBound = 1 << 20;

IntMatrix filled(std::size_t rows, std::size_t cols, bool alternating, std::uint64_t bound) {
  std::vector<std::int64_t> values(rows * cols, static_cast<std::int64_t>(bound));
  for (std::size_t i = 1; alternating && i < values.size(); i += 2) values[i] = -values[i];
  return IntMatrix::dense(rows, cols, std::move(values), 0, bound);
}

TEST(Noise, OfAReplyStaysWithinItsPlansBoundAndFarBelowTheFlooding) {
  const std::size_t shapes[][3] = {{1, 1, 1}, {128, 62, 1}, {62, 128, 1}, {128, 392, 64}, {16, 3000, 8}, {40, 40, 40}};
  Lab lab(true, false);
  SeededRandom seeded(5);
  for (const auto& [rows, inner, cols] : shapes) {
    for (const std::uint64_t bound : {std::uint64_t{1}, kBound, std::uint64_t{1} << 45}) {
      lab.encrypt(random_share(inner, cols, 0, lab.random()), rows, bound);
      const int bits = lab.plan().tiling().noise_bits;
      double measured = 0;
      for (const IntMatrix& x : {filled(rows, inner, false, bound), filled(rows, inner, true, bound),
                                 testing::random_matrix(IntMatrix::Kind::kDense, rows, inner, 0, bound, seeded)}) {
        measured = std::max(measured, largest(lab.open(x).noise));
      }
      EXPECT_LE(measured, std::exp2(bits)) << lab.plan().spec().describe();
      // The bound is a worst case, not a fantasy: errors add up like their square root, and are seldom 21.
      EXPECT_TRUE(rows * cols < 64 || measured >= std::exp2(bits - 15)) << lab.plan().spec().describe();
      // Flooding is 40 bits larger than what this test itself takes for the largest noise, which the plan's bound
      // covers.
      EXPECT_LE(worst_noise_bits(lab.params(), lab.plan()), bits) << lab.plan().spec().describe();
      EXPECT_GE(log2_of_modulus(lab.params()) - Params::kFloodExponent - worst_noise_bits(lab.params(), lab.plan()), 40)
          << lab.plan().spec().describe();
      if (bound == kBound) {
        std::cout << lab.plan().spec().describe() << ": noise 2^" << std::log2(measured) << ", bound 2^" << bits
                  << ", flooding 2^" << lab.params().log_q() - Params::kFloodExponent << "\n";
      }
    }
  }
}

TEST(Noise, OfAFloodedReplyStaysBelowAQuarterOfAPlaintextsUnit) {
  Lab lab;
  lab.encrypt(random_share(62, 1, 0, lab.random()), 128, kBound);
  const std::vector<double> noise = lab.open(filled(128, 62, false, kBound)).noise;
  const double flooding = std::exp2(log2_of_modulus(lab.params()) - Params::kFloodExponent);
  EXPECT_LE(largest(noise), flooding * (1 + 0x1p-40));
  EXPECT_GE(largest(noise), flooding / 2) << "flooding fills its range";
}

// Masks may repeat, flooding and errors may not: two replies' noise would cancel and leave what tells x.
TEST(Noise, IsFreshUnderTheSameMasks) {
  Lab lab;
  lab.encrypt(random_share(62, 1, 0, lab.random()), 128, kBound);
  std::array<std::byte, KeyStream::kKeyBytes> key{};
  lab.random().fill(key);
  Random masks = Random::derived(key, {});
  Random same_masks = Random::derived(key, {});
  const IntMatrix x = filled(128, 62, false, kBound);
  const Lab::Opened first = lab.open(x, masks);
  const Lab::Opened second = lab.open(x, same_masks);
  EXPECT_EQ(first.results_share, second.results_share);
  const double flooding = std::exp2(log2_of_modulus(lab.params()) - Params::kFloodExponent);
  std::size_t near = 0;
  for (std::size_t i = 0; i < first.noise.size(); ++i) {
    near += std::abs(first.noise[i] - second.noise[i]) < flooding * 0x1p-20 ? 1 : 0;
  }
  EXPECT_EQ(near, 0U);
  EXPECT_NE(first.second, second.second);
}

// What these tests look at is what the product code sends, bit for bit, but for what is rounded off.
TEST(Noise, IsThatOfTheBytesThatTravel) {
  Lab lab(true, true, {.dropped_primes = 0});
  lab.encrypt(random_share(300, 3, 0, lab.random()), 50, kBound);
  std::array<std::byte, KeyStream::kKeyBytes> key{};
  lab.random().fill(key);
  const auto source = [&](std::string_view of) { return Random::derived(key, as_bytes(of)); };
  SeededRandom seeded(8);
  const IntMatrix x = testing::random_matrix(IntMatrix::Kind::kDense, 50, 300, 0, kBound, seeded);
  const std::vector<ExactTile> exact = lab.exact(x, source("noise"), source("masks"));
  const std::vector<ExactTile> read =
      read_reply(lab.params(), lab.plan(), lab.travelling(x, source("noise"), source("masks")));
  ASSERT_EQ(read.size(), exact.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].c1, exact[i].c1) << i;
    ASSERT_EQ(read[i].results.size(), exact[i].results.size());
    for (std::size_t k = 0; k < read[i].results.size(); ++k) {
      Fraction rounded = exact[i].results[k];
      rounded += Fraction::of(0, UInt128{1} << (255 - Params::kReplyBits));
      EXPECT_EQ(read[i].results[k], Fraction::of(rounded.high(), rounded.low() >> 120 << 120)) << i << ", " << k;
    }
  }
}

struct Sample {
  std::vector<double> noise;
  std::vector<std::uint64_t> second;
  std::vector<std::uint64_t> changes;  ///< of the second component from one reply to the next
};

Sample sample(Lab& lab, const IntMatrix& x, std::size_t replies) {
  Sample all;
  const std::uint64_t q = lab.params().moduli()[0].value();
  std::vector<std::uint64_t> last;
  for (std::size_t i = 0; i < replies; ++i) {
    const Lab::Opened opened = lab.open(x);
    all.noise.insert(all.noise.end(), opened.noise.begin(), opened.noise.end());
    all.second.insert(all.second.end(), opened.second.begin(), opened.second.end());
    for (std::size_t k = 0; k < last.size(); ++k) {
      all.changes.push_back(opened.second[k] >= last[k] ? opened.second[k] - last[k] : opened.second[k] + q - last[k]);
    }
    last = opened.second;
  }
  return all;
}

// Two matrices, as different as can be, with the same product: rows of M come in equal pairs, which one of them adds
// with opposite signs and the other leaves out. Chance exceeds a distance of 3.5 once in 2 * exp(-24.5), 5e-11.
double how_far_apart(Lab& lab) {
  constexpr std::size_t kRows = 128;
  constexpr std::size_t kInner = 62;
  constexpr std::size_t kReplies = 40;
  ShareMatrix m = random_share(kInner, 1, 0, lab.random());
  for (std::size_t j = 1; j < kInner; j += 2) m.row(j)[0] = m.row(j - 1)[0];
  lab.encrypt(m, kRows, kBound);
  const IntMatrix heavy = filled(kRows, kInner, true, kBound);
  const IntMatrix empty = IntMatrix::dense(kRows, kInner, std::vector<std::int64_t>(kRows * kInner), 0, kBound);
  EXPECT_EQ(blindfl::multiply(heavy, m), blindfl::multiply(empty, m));
  const Sample a = sample(lab, heavy, kReplies);
  const Sample b = sample(lab, empty, kReplies);
  // Changes must look like fresh uniform values, in which one reply's second component is as good as another's.
  return std::max({distance(a.noise, b.noise), distance(a.second, b.second), distance(a.changes, a.second),
                   distance(b.changes, b.second)});
}

TEST(CircuitPrivacy, RepliesOfDifferentMatricesWithTheSameProductCannotBeToldApart) {
  Lab lab;
  EXPECT_LT(how_far_apart(lab), 3.5);
}

TEST(CircuitPrivacy, WithoutFloodingTheyCan) {
  Lab lab(true, false);
  EXPECT_GT(how_far_apart(lab), 3.5);
}

TEST(CircuitPrivacy, WithoutAFreshEncryptionTheyCan) {
  Lab lab(false, true);
  EXPECT_GT(how_far_apart(lab), 3.5);
}

TEST(Preparing, FillsAStockOfRandomizersAndUsesEachOnce) {
  const auto params = std::make_shared<const Params>(ParamsSpec{});
  Random random;
  const LatticeKeyOwner owner(params, portable_kernels(), random);
  const LatticeMultiplier multiplier(params, portable_kernels(), owner.public_key());
  EXPECT_FALSE(multiplier.prepare()) << "nothing is expected yet";
  const LatticePlan plan(*params, {128, 62, 1, kBound, 0, 32, 128});
  multiplier.expect(plan);
  multiplier.expect(plan);
  EXPECT_TRUE(multiplier.prepare());
  EXPECT_TRUE(multiplier.prepare());
  EXPECT_FALSE(multiplier.prepare()) << "one for each reply that is expected";

  ThreadPool pool;
  const ShareMatrix m = random_share(62, 1, 32, random);
  const Bytes bytes = write_to_bytes([&](ByteSink& out) { owner.encrypt(plan, m, random, pool, out); });
  BufferSource in(bytes);
  const auto operand = multiplier.load(plan, in, pool);
  SeededRandom seeded(1);
  const IntMatrix x = testing::random_matrix(IntMatrix::Kind::kDense, 128, 62, 0, kBound, seeded);
  Bytes last;
  for (int i = 0; i < 4; ++i) {  // two from the stock, two made on the spot
    ShareMatrix kept;
    const Bytes reply = write_to_bytes(
        [&](ByteSink& out) { kept = multiplier.multiply_and_mask(plan, x, *operand, random, pool, out); });
    EXPECT_NE(reply, last);
    BufferSource reply_in(reply);
    EXPECT_EQ(owner.open(plan, reply_in, pool) + kept, blindfl::multiply(x, m));
    last = reply;
    if (i == 0) {
      EXPECT_TRUE(multiplier.prepare()) << "what was used is made again";
    }
  }
}

}  // namespace
}  // namespace blindfl::he::lattice::noise_test
