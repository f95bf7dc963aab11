#include "blindfl/he/paillier/paillier_plan.h"

#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "he/paillier/masked_view.h"

namespace blindfl::he::paillier::paillier_plan_test {
namespace {

/// The largest `X M` there can be, over the integers: both factors as large as they may be, in each of the terms.
BigInt largest_product(const ProductSpec& spec) {
  return BigInt(static_cast<std::int64_t>(spec.inner)) * BigInt(static_cast<std::int64_t>(spec.left_bound)) *
         BigInt::power_of_two(static_cast<std::size_t>(spec.right_bits - 1));
}

TEST(PaillierPlan, HasMasks64BitsLongerThanAnyProduct) {
  for (const int key_bits : {2048, 3072}) {
    const Params params({.key_bits = key_bits});
    // The inner dimension and the bound on both sides of a power of two.
    for (const std::size_t inner : {1U, 2U, 3U, 63U, 64U, 65U, 1023U, 1024U, 1'000'000U}) {
      for (const std::uint64_t bound : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3},
                                        (std::uint64_t{1} << 20) - 1, std::uint64_t{1} << 20, std::uint64_t{1} << 45}) {
        for (const int right_bits : {2, 41, 128}) {
          const ProductSpec spec{128, inner, 20, bound, 16, 32, right_bits};
          const ReplyLayout reply = PaillierPlan(params, spec).reply();
          const BigInt largest = largest_product(spec);
          EXPECT_TRUE((testing::MaskedView{reply.mask_bits, largest, BigInt::power_of_two(64)}.is_wide_enough()))
              << spec.describe();
          // Value and mask stay inside their slot, whatever their signs.
          EXPECT_LE(BigInt::power_of_two(static_cast<std::size_t>(reply.mask_bits)) + largest,
                    BigInt::power_of_two(static_cast<std::size_t>(reply.slots.width() - 1)))
              << spec.describe();
        }
      }
    }
  }
}

}  // namespace
}  // namespace blindfl::he::paillier::paillier_plan_test
