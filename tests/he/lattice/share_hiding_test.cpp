// What hides the multiplier's secrets from the key's owner, and the owner's from the multiplier: noise on either share,
// measured on what the product code really computes. Each party is given all that it could know: the owner its key, M
// and the reply; the multiplier X, the reply before it was cut, and all that it drew. What then is left in the other's
// share is what formulas say, and what hides it is noise. Negative controls show that what is tested for is seen where
// it is missing.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "blindfl/he/lattice/share_noise.h"
#include "he/lattice/probes.h"
#include "testing/matrices.h"

namespace blindfl::he::lattice::share_hiding_test {
namespace {

constexpr std::size_t kRows = 64;
constexpr std::size_t kInner = 60;
constexpr std::uint64_t kBound = 100;
/// Products for what is measured to a tenth: 1.2 percent is a standard deviation, and 3 percent are rounded up.
constexpr int kMany = 1000;

/// Two matrices, as different as can be, with the same product: rows of M come in equal pairs, which one of them adds
/// with opposite signs and the other leaves out.
ShareMatrix pairs(Random& random, int ring_bits) {
  ShareMatrix m = random_share(kInner, 1, 0, random, ring_bits);
  for (std::size_t j = 1; j < kInner; j += 2) m.row(j)[0] = m.row(j - 1)[0];
  return m;
}
IntMatrix heavy() {
  SeededRandom random(3);
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < kRows * kInner / 2; ++i) {
    const std::int64_t v = random.below(2) == 0 ? kBound : -static_cast<std::int64_t>(kBound);
    values.push_back(v);
    values.push_back(-v);
  }
  return IntMatrix::dense(kRows, kInner, std::move(values), 0, kBound);
}
IntMatrix empty() {
  return IntMatrix::dense(kRows, kInner, std::vector<std::int64_t>(kRows * kInner), 0, kBound);
}

ProductSpec spec_in(int ring_bits) {
  return {.rows = kRows, .inner = kInner, .cols = 1, .left_bound = kBound, .ring_bits = ring_bits};
}

/// Many products, taken apart.
struct Sample {
  std::vector<double> nu, cut, kept_exact, opened_exact, kept_noise, opened_noise;
  /// What the owner sees of the multiplier's share: noise, and what it hides.
  [[nodiscard]] std::vector<double> seen_by_owner() const { return sum(kept_noise, nu); }
  [[nodiscard]] std::vector<double> seen_by_multiplier() const { return sum(opened_noise, to_hide()); }
  /// In the owner's share.
  [[nodiscard]] std::vector<double> to_hide() const { return sum(nu, cut); }
  static std::vector<double> sum(std::vector<double> a, const std::vector<double>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  }
};
Sample sample(Lab& lab, const LatticePlan& plan, const IntMatrix& x, int products) {
  Sample all;
  for (int i = 0; i < products; ++i) {
    const ShareMatrix m = pairs(lab.random(), plan.spec().ring_bits);
    const TakenApart one = take_apart(lab, plan, x, m, lab.encrypt(plan, m));
    append(all.nu, one.nu);
    append(all.cut, one.cut);
    append(all.kept_exact, one.kept_exact);
    append(all.opened_exact, one.opened_exact);
    append(all.kept_noise, one.kept_noise);
    append(all.opened_noise, one.opened_noise);
  }
  return all;
}

/// Kullback and Leibler's divergence of noise and shifted noise, half the mean square of what the likelihood ratio
/// differs from 1 by: from noise that was drawn and shifts that there were.
double measured_divergence(const std::vector<double>& noise, const std::vector<double>& shift, int noise_word) {
  double sum = 0;
  for (std::size_t i = 0; i < noise.size(); ++i) {
    const double x = std::ldexp(noise[i], -noise_word);
    if (noise_density(x) < 1e-4) continue;  // edges: a four-hundredth of all of it, and wild in a sample
    const double ratio = noise_density(x + std::ldexp(shift[i], -noise_word)) / noise_density(x);
    sum += (ratio - 1) * (ratio - 1) / 2;
  }
  return sum / static_cast<double>(noise.size());
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum / static_cast<double>(a.size()) / deviation(a) / deviation(b);
}

/// Whether a share is rounded after its noise was added: then where the ciphertext stood between two units says nothing
/// of the rest. In units of what chance gives.
double rounding_shows(const std::vector<double>& between_units, const std::vector<double>& noise) {
  return std::abs(correlation(between_units, noise)) * std::sqrt(static_cast<double>(noise.size()));
}

class ShareHiding : public ::testing::Test {
 protected:
  Lab lab_{parameter_sets()[0]};

  /// A plan in which what is hidden is hundreds of units, and noise some dozens of times that, so that all of it can be
  /// measured: a unit of the result is one of the modulus.
  std::shared_ptr<const LatticePlan> raised(int noise_word, int cut) {
    return lab_.plan(spec_in(100), {.noise_word = noise_word, .cut = cut});
  }
  /// As users get it.
  std::shared_ptr<const LatticePlan> shipped() {
    ProductSpec spec = spec_in(64);
    spec.noise_bits = 30;
    spec.run_values = 1 << 20;
    return lab_.plan(spec);
  }
};

TEST_F(ShareHiding, TheMultipliersShareIsHiddenFromTheOwnerAsFormulasSay) {
  const auto plan = raised(21, 11);
  const double expected = nu_deviation(*lab_.params(), plan->tiling(), plan->spec());
  ASSERT_NEAR(expected / noise_deviation(21), 0.017, 0.003);
  const Sample s = sample(lab_, *plan, heavy(), kMany);
  EXPECT_NEAR(deviation(s.nu) / expected, 1, 0.1);
  EXPECT_NEAR(deviation(s.kept_noise) / noise_deviation(21), 1, 0.03);
  EXPECT_LT(distance_from_noise(s.kept_noise, 21), kFar);
  EXPECT_NEAR(measured_divergence(s.kept_noise, s.nu, 21) / divergence(expected, 21), 1, 0.1);
  EXPECT_LT(std::abs(correlation(s.kept_noise, s.nu)), 6 / std::sqrt(static_cast<double>(s.nu.size())));
}

TEST_F(ShareHiding, TheOwnersShareIsHiddenFromTheMultiplierAsFormulasSay) {
  const auto plan = raised(21, 11);
  const double nu = nu_deviation(*lab_.params(), plan->tiling(), plan->spec());
  const double cut = cut_deviation(*lab_.params(), plan->spec(), 11);
  const Sample s = sample(lab_, *plan, heavy(), kMany);
  EXPECT_NEAR(deviation(s.cut) / cut, 1, 0.1);
  EXPECT_NEAR(deviation(s.to_hide()) / std::hypot(nu, cut), 1, 0.1);
  EXPECT_LT(distance_from_noise(s.opened_noise, 21), kFar);
  EXPECT_NEAR(measured_divergence(s.opened_noise, s.to_hide(), 21) / plan->exposure_of_value().divergence, 1, 0.1);
  EXPECT_LT(std::abs(correlation(s.opened_noise, s.to_hide())), 6 / std::sqrt(static_cast<double>(s.nu.size())));
  EXPECT_LT(std::abs(correlation(s.opened_noise, s.kept_noise)), 6 / std::sqrt(static_cast<double>(s.nu.size())))
      << "each party's noise is its own";
}

// The multiplier knows what it cut off. With the secret in hand, what this makes of the owner's share is foretold to
// the unit.
TEST_F(ShareHiding, WhatIsCutOffReachesTheOwnersShareTimesTheSecret) {
  constexpr int kCut = 11;
  const auto plan = raised(21, kCut);
  const auto whole_plan = lab_.fine(*plan);
  const ShareMatrix m = pairs(lab_.random(), 100);
  const TakenApart one = take_apart(lab_, *plan, heavy(), m, lab_.encrypt(*plan, m));
  const std::vector<std::int64_t> s = secret_of(*lab_.params(), lab_.kernels(), lab_.key());
  const DigitTile cut = read_reply(*plan, one.reply).front();
  const DigitTile whole = read_reply(*whole_plan, one.whole_reply).front();
  EXPECT_EQ(cut.digits[1], whole.digits[1]);
  const std::size_t n = s.size();
  std::vector<std::int64_t> rho;
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_EQ(cut.digits[0][i], whole.digits[0][i] >> kCut);
    const std::uint64_t read =
        std::min((cut.digits[0][i] << kCut) + (1 << (kCut - 1)), lab_.params()->moduli()[0].value() - 1);
    rho.push_back(static_cast<std::int64_t>(read) - static_cast<std::int64_t>(whole.digits[0][i]));
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    const std::size_t at = plan->tiling().result_position(r, 0);
    std::int64_t product = 0;
    for (std::size_t i = 0; i < n; ++i) product += rho[i] * (i <= at ? s[at - i] : -s[n + at - i]);
    EXPECT_NEAR(one.cut[r], static_cast<double>(product), 1 + std::abs(static_cast<double>(product)) * 1e-2) << r;
  }
}

/// The worst of what tells two matrices with the same product apart.
double how_far_apart(const Sample& a, const Sample& b) {
  return std::max(distance(a.seen_by_owner(), b.seen_by_owner()),
                  distance(a.seen_by_multiplier(), b.seen_by_multiplier()));
}

TEST_F(ShareHiding, SharesOfDifferentMatricesWithTheSameProductCannotBeToldApart) {
  const auto plan = shipped();
  const Sample of_heavy = sample(lab_, *plan, heavy(), 100);
  const Sample of_empty = sample(lab_, *plan, empty(), 100);
  EXPECT_LT(how_far_apart(of_heavy, of_empty), kFar);
  for (const Sample* s : {&of_heavy, &of_empty}) {
    EXPECT_LT(distance_from_noise(s->seen_by_owner(), plan->budget().noise_word), kFar);
    EXPECT_LT(distance_from_noise(s->seen_by_multiplier(), plan->budget().noise_word), kFar);
  }
}

TEST_F(ShareHiding, TheyCanBehindTooLittleNoise) {
  const auto plan = raised(9, 0);
  EXPECT_GT(how_far_apart(sample(lab_, *plan, heavy(), 100), sample(lab_, *plan, empty(), 100)), kFar);
}

/// The divergence of a run of 2^20 values, from what was measured on a plan's products.
double run_divergence(const Sample& s, const LatticePlan& plan) {
  return 0x1p20 * divergence(deviation(s.to_hide()), plan.budget().noise_word);
}

TEST_F(ShareHiding, OfARunIsBelowTheBoundAsMeasured) {
  const auto plan = shipped();
  ASSERT_GT(plan->budget().cut, 0);
  EXPECT_LE(run_divergence(sample(lab_, *plan, heavy(), 40), *plan), 0x1p-40);
}
TEST_F(ShareHiding, OfARunIsNotIfTooMuchIsCut) {
  const auto good = shipped();
  NoiseBudget budget = good->budget();
  budget.cut += 4;
  const LatticePlan plan(lab_.params(), good->spec(), good->tiling(), budget);
  EXPECT_GT(run_divergence(sample(lab_, plan, heavy(), 40), plan), 0x1p-40);
}

/// What shares have beside the product.
std::vector<double> beside(Lab& lab, const LatticePlan& plan) {
  std::vector<double> all;
  for (int i = 0; i < 40; ++i) {
    const ShareMatrix m = pairs(lab.random(), plan.spec().ring_bits);
    const auto operand = lab.load(plan, lab.encrypt(plan, m));
    const Lab::Reply reply = lab.multiply(plan, heavy(), *operand);
    const ShareMatrix sum = reply.kept + lab.open(plan, reply.bytes);
    append(all, errors_of(sum, blindfl::multiply(heavy(), m)));
  }
  return all;
}
double both_noises(const std::vector<double>& beside, int noise_word) {
  return deviation(beside) / std::hypot(noise_deviation(noise_word), noise_deviation(noise_word));
}

TEST_F(ShareHiding, BothPartiesAddTheirNoise) {
  const auto plan = shipped();
  const int word = plan->budget().noise_word;
  EXPECT_NEAR(both_noises(beside(lab_, *plan), word), 1, 0.1);
  // Negative controls: without the multiplier's, without the owner's, without both.
  lab_.switch_noise(false, true);
  EXPECT_NEAR(both_noises(beside(lab_, *plan), word), std::sqrt(0.5), 0.1);
  lab_.switch_noise(true, false);
  EXPECT_NEAR(both_noises(beside(lab_, *plan), word), std::sqrt(0.5), 0.1);
  lab_.switch_noise(false, false);
  EXPECT_LT(both_noises(beside(lab_, *plan), word), 1e-4);
}

TEST_F(ShareHiding, NoiseComesBeforeRounding) {
  // Noise of a few units, far more than what is hidden, so that rounding alone could show.
  const auto plan = lab_.plan(spec_in(70), {.noise_word = 1, .cut = 2});
  const Sample s = sample(lab_, *plan, heavy(), 100);
  EXPECT_LT(rounding_shows(s.kept_exact, s.kept_noise), 6);
  EXPECT_LT(rounding_shows(s.opened_exact, s.opened_noise), 6);
  // Negative control: the same ciphertexts, rounded first.
  std::vector<double> after;
  const ShareNoise noise(s.kept_exact.size(), 1, 70, lab_.random());
  for (std::size_t i = 0; i < s.kept_exact.size(); ++i) {
    Fraction f;
    noise.add_to(f, i);
    const double units = static_cast<double>(signed_low_bits(f.rounded(70), 70));
    after.push_back(std::nearbyint(s.kept_exact[i]) + units - s.kept_exact[i]);
  }
  EXPECT_GT(rounding_shows(s.kept_exact, after), 10);
}

TEST_F(ShareHiding, NoiseIsNotDrawnTwice) {
  const auto plan = lab_.plan(spec_in(64), {.noise_word = 20, .cut = 2});
  const ShareMatrix m = pairs(lab_.random(), 64);
  const Bytes operand = lab_.encrypt(*plan, m);
  const TakenApart first = take_apart(lab_, *plan, heavy(), m, operand);
  const TakenApart second = take_apart(lab_, *plan, heavy(), m, operand);
  for (std::size_t i = 0; i < kRows; ++i) {
    EXPECT_NE(first.kept_noise[i], second.kept_noise[i]);
    EXPECT_NE(first.opened_noise[i], second.opened_noise[i]);
    for (std::size_t k = 0; k < i; ++k) EXPECT_GT(std::abs(first.kept_noise[i] - first.kept_noise[k]), 1e-6);
  }
}

}  // namespace
}  // namespace blindfl::he::lattice::share_hiding_test
