#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "blindfl/he/paillier/masked_reply.h"
#include "testing/uniformity.h"

namespace blindfl::he::paillier::testing {

/// Integers that a key's owner opened, next to the values inside: no ring makes masks uniform by itself here, so all of
/// an integer is looked at, also what stands above its mask, and how wide a mask has to be is not asked of the layout.
struct MaskedView {
  /// As the layout has it: masks are uniform below 2^mask_bits.
  int mask_bits = 0;
  /// No value exceeds it: worked out by the test, from the bounds of what is multiplied.
  BigInt largest{};
  /// How many times larger than `largest` masks must be, at least: 2^64, or 2^40 for each value of a run.
  BigInt margin{};
  Integers seen{};
  Integers secret{};

  void add(const BigInt& what_is_seen, const BigInt& what_is_secret) {
    seen.push_back(what_is_seen);
    secret.push_back(what_is_secret);
  }

  /// Masks are wide enough, nothing stands above them, and what does not stand above them is uniform and independent of
  /// the secret: subtracting it leaves something uniform too.
  [[nodiscard]] ::testing::AssertionResult hides_the_secret() const {
    const Integers masks = rest();
    for (const auto& result : {is_wide_enough(), lie_below_the_mask(seen), lie_below_the_mask(masks),
                               look_uniform(seen), look_uniform(masks)}) {
      if (!result) return result;
    }
    return ::testing::AssertionSuccess();
  }

  [[nodiscard]] ::testing::AssertionResult is_wide_enough() const {
    for (const BigInt& v : secret) {
      if (magnitude(v) > largest) return ::testing::AssertionFailure() << "a value exceeds the test's own bound";
    }
    if (largest.sign() > 0 && margin.sign() > 0 && range() >= largest * margin) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "masks of " << mask_bits << " bits for values of up to " << largest.bits()
                                         << " bits, where " << margin.bits() - 1 << " more are needed";
  }

  /// What a key's owner would see above the mask: nothing, of values that are that much smaller.
  [[nodiscard]] ::testing::AssertionResult shows_nothing_above_the_mask() const { return lie_below_the_mask(seen); }

  /// Whether the values come so close to the largest that they would show what can be shown.
  [[nodiscard]] bool reaches_its_bound() const {
    return std::ranges::any_of(secret, [&](const BigInt& v) { return magnitude(v) * BigInt(2) >= largest; });
  }

 private:
  [[nodiscard]] BigInt range() const { return BigInt::power_of_two(static_cast<std::size_t>(mask_bits)); }
  [[nodiscard]] static BigInt magnitude(const BigInt& v) { return v.sign() < 0 ? BigInt(0) - v : v; }
  [[nodiscard]] Integers rest() const {
    Integers masks;
    for (std::size_t i = 0; i < seen.size(); ++i) masks.push_back(seen[i] - secret[i]);
    return masks;
  }

  [[nodiscard]] ::testing::AssertionResult lie_below_the_mask(const Integers& values) const {
    const BigInt end = range();
    const auto outside = std::ranges::count_if(values, [&](const BigInt& v) { return v.sign() < 0 || v >= end; });
    if (outside == 0) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << outside << " of " << values.size()
                                         << " integers show in what is not below 2^" << mask_bits;
  }

  /// The lowest 64 bits, and those right below 2^mask_bits.
  [[nodiscard]] ::testing::AssertionResult look_uniform(const Integers& values) const {
    for (const int from : {0, mask_bits - 64}) {
      std::vector<std::uint64_t> bits;
      for (const BigInt& v : values) {
        BigInt shifted;
        mpz_fdiv_q_2exp(shifted, v, static_cast<mp_bitcnt_t>(std::max(0, from)));
        bits.push_back(low64(low128(shifted)));
      }
      if (!blindfl::testing::looks_uniform<std::uint64_t>(bits)) {
        return ::testing::AssertionFailure() << "the 64 bits from bit " << from << " on are not uniform";
      }
    }
    return ::testing::AssertionSuccess();
  }
};

}  // namespace blindfl::he::paillier::testing
