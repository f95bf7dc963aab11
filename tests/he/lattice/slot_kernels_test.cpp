// Phases, and the transforms between slots and coefficients: exact enough, and the same on every processor.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <numbers>

#include "blindfl/base/error.h"
#include "blindfl/he/lattice/slot_kernels.h"
#include "kernel_set.h"

namespace blindfl::he::lattice::slot_kernels_test {
namespace {

using Reals = AlignedVector<double>;

class AnySlotKernels : public AnyKernels {
 protected:
  const SlotKernels& slots_ = slot_kernels(GetParam());

  AlignedVector<std::uint32_t> random_angles(std::size_t n) {
    AlignedVector<std::uint32_t> angles(n);
    for (auto& a : angles) a = static_cast<std::uint32_t>(random_.next_u64());
    return angles;
  }
};

TEST(SlotKernels, AreFoundForEveryProcessor) {
  for (const Kernels* kernels : available_kernels()) EXPECT_EQ(slot_kernels(kernels->name).name, kernels->name);
  EXPECT_EQ(slot_kernels("none of these").name, "portable");
}

TEST(SlotTables, RefuseOtherDegrees) {
  EXPECT_THROW(SlotTables(64), InvalidArgument);
  EXPECT_THROW(SlotTables(4095), InvalidArgument);
}

TEST(SlotTables, RootsOfUnityMultiplyAsTheyShould) {
  // Beyond what doubles show: squares and products, in pairs of doubles.
  const auto product = [](const UnitPair& a, const UnitPair& b) {
    return UnitPair{minus(times<ScalarArithmetic>(a.cosine, b.cosine), times<ScalarArithmetic>(a.sine, b.sine)),
                    plus(times<ScalarArithmetic>(a.cosine, b.sine), times<ScalarArithmetic>(a.sine, b.cosine))};
  };
  const auto distance = [](const RealPair& a, const RealPair& b) {
    const RealPair d = minus(a, b);
    return std::abs(d.high);
  };
  for (std::size_t i = 0; i < 8192; i += 37) {
    const std::size_t j = (i * i + 5) % 8192;
    const UnitPair found = product(root_of_unity(i, 8192), root_of_unity(j, 8192));
    const UnitPair expected = root_of_unity((i + j) % 8192, 8192);
    EXPECT_LT(distance(found.cosine, expected.cosine), 0x1p-101);
    EXPECT_LT(distance(found.sine, expected.sine), 0x1p-101);
    EXPECT_NEAR(expected.cosine.high, std::cos(2 * std::numbers::pi * static_cast<double>((i + j) % 8192) / 8192),
                1e-14);
    EXPECT_NEAR(expected.sine.high, std::sin(2 * std::numbers::pi * static_cast<double>((i + j) % 8192) / 8192), 1e-14);
  }
}

TEST_P(AnySlotKernels, PhasesAreThoseOfTheAngle) {
  auto angles = random_angles(4096);
  // Ends of quarter turns, and where octants meet.
  for (std::size_t i = 0; i < 256; ++i) {
    angles[i] = static_cast<std::uint32_t>(i / 8) * 0x08000000U + static_cast<std::uint32_t>(i % 8) - 4U;
  }
  Reals re(angles.size());
  Reals im(angles.size());
  slots_.phases(re.data(), im.data(), angles.data(), angles.size());
  for (std::size_t i = 0; i < angles.size(); ++i) {
    const long double t = 2 * std::numbers::pi_v<long double> * static_cast<long double>(angles[i]) / 4294967296.0L;
    ASSERT_NEAR(re[i], static_cast<double>(std::cos(t)), 3e-16) << angles[i];
    ASSERT_NEAR(im[i], static_cast<double>(std::sin(t)), 3e-16) << angles[i];
  }
}

/// Slots of a polynomial, from their definition, in some order: so all of them, sorted.
std::vector<std::pair<double, double>> slots_by_definition(const std::vector<std::int64_t>& m) {
  const std::size_t n = m.size();
  std::vector<std::pair<double, double>> slots;
  for (std::size_t k = 0; k < n / 2; ++k) {
    std::complex<long double> sum;
    for (std::size_t j = 0; j < n; ++j) {
      const long double turn = static_cast<long double>(j * (4 * k + 1) % (2 * n)) / static_cast<long double>(n);
      sum += static_cast<long double>(m[j]) * std::polar(1.0L, std::numbers::pi_v<long double> * turn);
    }
    slots.emplace_back(static_cast<double>(sum.real()), static_cast<double>(sum.imag()));
  }
  std::ranges::sort(slots);
  return slots;
}

TEST_P(AnySlotKernels, SlotsAreValuesAtRootsOfUnity) {
  constexpr std::size_t kDegree = 256;
  const SlotTables tables(kDegree);
  const RealPair unit{0x1p-40, 0};
  std::vector<std::int64_t> m(kDegree);
  AlignedVector<std::uint64_t> digits(kDegree);
  for (std::size_t i = 0; i < kDegree; ++i) {
    m[i] = static_cast<std::int64_t>(random_.below(1 << 20)) - (1 << 19);
    digits[i] = static_cast<std::uint64_t>(m[i]) & ((std::uint64_t{1} << 40) - 1);
  }
  Reals parts[4] = {Reals(128), Reals(128), Reals(128), Reals(128)};
  slots_.decode(tables, {1, {digits.data()}, {unit}},
                {parts[0].data(), parts[1].data(), parts[2].data(), parts[3].data()});
  std::vector<std::pair<double, double>> found;
  for (std::size_t k = 0; k < 128; ++k) found.emplace_back(parts[0][k] * 0x1p40, parts[2][k] * 0x1p40);
  std::ranges::sort(found);
  const auto expected = slots_by_definition(m);
  for (std::size_t k = 0; k < 128; ++k) {
    EXPECT_NEAR(found[k].first, expected[k].first, 1e-6);
    EXPECT_NEAR(found[k].second, expected[k].second, 1e-6);
  }
}

TEST_P(AnySlotKernels, DecodingUndoesEncoding) {
  for (const std::size_t degree : {std::size_t{128}, std::size_t{512}, std::size_t{4096}, std::size_t{8192}}) {
    const SlotTables tables(degree);
    const std::size_t n = tables.slots();
    const auto angles = random_angles(n);
    Reals re(n);
    Reals im(n);
    slots_.phases(re.data(), im.data(), angles.data(), n);
    Reals destroyed_re = re;
    Reals destroyed_im = im;
    AlignedVector<std::int64_t> coefficients(2 * n);
    slots_.encode(tables, destroyed_re.data(), destroyed_im.data(), 0x1p40, coefficients.data());
    AlignedVector<std::uint64_t> digits(2 * n);
    for (std::size_t i = 0; i < 2 * n; ++i) {
      digits[i] = static_cast<std::uint64_t>(coefficients[i]) & ((std::uint64_t{1} << 50) - 1);
    }
    Reals parts[4] = {Reals(n), Reals(n), Reals(n), Reals(n)};
    slots_.decode(tables, {1, {digits.data()}, {{0x1p-50, 0}}},
                  {parts[0].data(), parts[1].data(), parts[2].data(), parts[3].data()});
    for (std::size_t k = 0; k < n; ++k) {
      ASSERT_NEAR(parts[0][k] * 0x1p10, re[k], 1e-9) << degree << " " << k;
      ASSERT_NEAR(parts[2][k] * 0x1p10, im[k], 1e-9) << degree << " " << k;
    }
  }
}

// Shares are uniform, and only their sum is small: what one double holds would not do.
TEST_P(AnySlotKernels, SlotsOfTwoSharesAddUpBeyondDoubles) {
  constexpr std::size_t kDegree = 4096;
  const SlotTables tables(kDegree);
  const std::size_t n = tables.slots();
  AlignedVector<std::uint64_t> low[3];
  AlignedVector<std::uint64_t> high[3];
  constexpr std::uint64_t kMask = (std::uint64_t{1} << 50) - 1;
  for (auto* digits : {&low, &high}) {
    for (auto& part : *digits) part.resize(kDegree);
  }
  for (std::size_t i = 0; i < kDegree; ++i) {
    // The message is 2^20 units at coefficient 7 and 0 elsewhere.
    const UInt128 message = i == 7 ? 1 << 20 : 0;
    const UInt128 a = (static_cast<UInt128>(random_.next_u64() & kMask) << 50) | (random_.next_u64() & kMask);
    const UInt128 b = message - a;
    for (std::size_t p = 0; p < 2; ++p) {
      const UInt128 x = p == 0 ? a : b;
      low[p][i] = low64(x) & kMask;
      high[p][i] = low64(x >> 50) & kMask;
    }
  }
  Reals sums[2] = {Reals(n), Reals(n)};
  std::vector<RealPair> re(n, RealPair{0, 0});
  for (std::size_t p = 0; p < 2; ++p) {
    Reals parts[4] = {Reals(n), Reals(n), Reals(n), Reals(n)};
    slots_.decode(tables, {2, {low[p].data(), high[p].data()}, {{0x1p-100, 0}, {0x1p-50, 0}}},
                  {parts[0].data(), parts[1].data(), parts[2].data(), parts[3].data()});
    for (std::size_t k = 0; k < n; ++k) re[k] = plus(re[k], RealPair{parts[0][k], parts[1][k]});
  }
  double squares = 0;
  double most = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const double slot = (re[k].high + re[k].low) * 0x1p80;  // a cosine
    squares += slot * slot;
    most = std::max(most, std::abs(slot));
  }
  EXPECT_NEAR(squares / static_cast<double>(n), 0.5, 1e-5);
  EXPECT_NEAR(most, 1, 1e-5);
}

TEST_P(AnySlotKernels, AllProcessorsGiveTheSameBits) {
  const SlotTables tables(4096);
  const std::size_t n = tables.slots();
  const auto angles = random_angles(n);
  AlignedVector<std::uint64_t> digits[2] = {AlignedVector<std::uint64_t>(2 * n), AlignedVector<std::uint64_t>(2 * n)};
  for (auto& part : digits) {
    for (auto& d : part) d = random_.next_u64() >> 14;
  }
  const DigitFraction fraction{
      2, {digits[0].data(), digits[1].data()}, {{0x1.00003p-100, 0x1.3p-154}, {0x1.00001p-50, -0x1.7p-104}}};
  const auto run = [&](const SlotKernels& kernels) {
    std::vector<double> all;
    Reals re(n);
    Reals im(n);
    kernels.phases(re.data(), im.data(), angles.data(), n);
    all.insert(all.end(), re.begin(), re.end());
    all.insert(all.end(), im.begin(), im.end());
    AlignedVector<std::int64_t> coefficients(2 * n);
    kernels.encode(tables, re.data(), im.data(), 0x1.3p39, coefficients.data());
    for (const std::int64_t c : coefficients) all.push_back(static_cast<double>(c));
    Reals parts[4] = {Reals(n), Reals(n), Reals(n), Reals(n)};
    kernels.decode(tables, fraction, {parts[0].data(), parts[1].data(), parts[2].data(), parts[3].data()});
    for (const Reals& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  };
  const auto expected = run(portable_slot_kernels());
  const auto found = run(slots_);
  EXPECT_EQ(std::memcmp(expected.data(), found.data(), expected.size() * sizeof(double)), 0);
}

INSTANTIATE_TEST_SUITE_P(Kernels, AnySlotKernels, ::testing::ValuesIn(kernel_names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace blindfl::he::lattice::slot_kernels_test
