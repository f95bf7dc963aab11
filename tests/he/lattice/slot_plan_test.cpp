// Layouts, scales, bytes and bounds of products of slots.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "blindfl/he/keys.h"
#include "blindfl/he/lattice/slot_layout.h"
#include "slot_lab.h"
#include "testing/thrown.h"

namespace blindfl::he::lattice::slot_plan_test {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

const LatticeScheme& scheme() {
  static const LatticeScheme made;
  return made;
}

SlotSizes sizes(std::size_t values, std::size_t frequencies, std::size_t functions) {
  return {.slots = 2048,
          .values = values,
          .frequencies = frequencies,
          .functions = functions,
          .operand_bytes = 51200,
          .reply_bytes = 40960};
}

TEST(SlotLayout, HoldsEveryFrequencyOfEveryValueOnce) {
  for (const std::size_t values : {1U, 7U, 128U, 1000U, 2047U, 2048U, 2049U, 10000U}) {
    for (const std::size_t frequencies : {1U, 3U, 16U, 60U}) {
      for (const std::size_t functions : {0U, 1U, 3U}) {
        const auto chunks = slot_layout(sizes(values, frequencies, functions));
        std::size_t next = 0;
        for (const SlotChunk& c : chunks) {
          EXPECT_EQ(c.first, next);
          next += c.count;
          EXPECT_LE(c.count * c.side_by_side, 2048U);
          EXPECT_GE(c.operands * c.side_by_side, frequencies);
          std::size_t held = 0;
          for (std::size_t o = 0; o < c.operands; ++o) held += c.frequencies_of(o, frequencies);
          EXPECT_EQ(held, frequencies);
        }
        EXPECT_EQ(next, values);
      }
    }
  }
}

TEST(SlotLayout, TakesFewBytes) {
  const auto count = [](std::size_t values, std::size_t frequencies, std::size_t functions) {
    const auto chunks = slot_layout(sizes(values, frequencies, functions));
    return std::pair(slot_operands(chunks), slot_replies(chunks, functions));
  };
  EXPECT_EQ(count(128, 10, 1), std::pair(std::size_t{1}, std::size_t{1}));
  EXPECT_EQ(count(128, 16, 1), std::pair(std::size_t{1}, std::size_t{1}));
  EXPECT_EQ(count(1024, 10, 1), std::pair(std::size_t{5}, std::size_t{1}));
  EXPECT_EQ(count(8192, 15, 2), std::pair(std::size_t{60}, std::size_t{8}));
  EXPECT_EQ(count(8192, 15, 0), std::pair(std::size_t{60}, std::size_t{60}));
}

TEST(SlotPlan, StatesItsBytes) {
  const auto plan = scheme().slots()->plan(slot_spec(128, 16));
  EXPECT_EQ(plan->operand_ciphertexts(), 1U);
  EXPECT_EQ(plan->reply_ciphertexts(), 1U);
  EXPECT_EQ(plan->operand_bytes(), 16 + 51200 + 32 + 51200U);
  EXPECT_LE(plan->reply_bytes(), 16 + 41984U);
}

TEST(SlotPlan, ExpectsTimesThatGrowWithCiphertexts) {
  const auto times = [](std::size_t values, std::size_t frequencies, std::size_t functions) {
    return scheme().slots()->plan(slot_spec(values, frequencies, functions))->times();
  };
  const ProductTimes few = times(128, 16, 1);
  for (const double seconds : {few.encrypt, few.multiply, few.open}) {
    EXPECT_GT(seconds, 1e-5);
    EXPECT_LT(seconds, 0.01);
  }
  EXPECT_EQ(times(100, 16, 1).multiply, few.multiply) << "in as many ciphertexts";
  EXPECT_EQ(times(128, 16, 2).encrypt, few.encrypt) << "functions share an operand";
  EXPECT_GT(times(128, 16, 2).multiply, few.multiply);
  EXPECT_GT(times(8192, 16, 1).encrypt, 10 * few.encrypt);
}

TEST(SlotPlan, WrapsOfARunAreRare) {
  for (const std::uint64_t replies : {0ULL, 1ULL, 1000ULL, 1ULL << 20}) {
    for (const std::size_t values : {1U, 128U, 5000U}) {
      SlotSpec spec = slot_spec(values, 12, 2);
      spec.run_replies = replies;
      const auto plan = scheme().slots()->plan(spec);
      EXPECT_LE(plan->wraps_of_run(), 0x1p-40 * 1.000001);
      EXPECT_GE(plan->wraps_of_run(), 0x1p-46) << "scales are as large as they may be";
      EXPECT_LT(plan->deviation(0), plan->largest_error(0));
    }
  }
}

TEST(SlotPlan, LongerRunsHaveLargerErrors) {
  SlotSpec spec = slot_spec(128, 16);
  double last = 0;
  for (const std::uint64_t replies : {1ULL, 1ULL << 8, 1ULL << 16, 1ULL << 22}) {
    spec.run_replies = replies;
    const double deviation = scheme().slots()->plan(spec)->deviation(0);
    EXPECT_GT(deviation, last);
    last = deviation;
  }
}

TEST(SlotPlan, TakesLargerParametersWhereErrorsMustBeSmaller) {
  SlotSpec spec = slot_spec(128, 16);
  spec.run_replies = 1 << 20;
  const auto cheap = scheme().slots()->plan(spec);
  EXPECT_EQ(LatticeSlotPlan::of(*cheap).params().name(), "4096/100");
  spec.error = 1e-6;
  const auto exact = scheme().slots()->plan(spec);
  EXPECT_NE(LatticeSlotPlan::of(*exact).params().name(), "4096/100");
  EXPECT_LE(8 * exact->deviation(0), 1e-6);
  EXPECT_GT(exact->operand_bytes(), cheap->operand_bytes());
}

TEST(SlotPlan, RefusesErrorsThatCannotBeHad) {
  SlotSpec spec = slot_spec(128, 16);
  spec.error = 1e-13;
  spec.run_replies = 1 << 20;
  EXPECT_THAT(message_of<InvalidArgument>([&] { (void)scheme().slots()->plan(spec); }),
              AllOf(HasSubstr("128 values, 16 frequencies"), HasSubstr("1048576 replies"), HasSubstr("at best"),
                    HasSubstr("2^-40"), HasSubstr("1e-13 was asked for")));
}

TEST(SlotPlan, ChecksItsSpec) {
  const auto refused = [](const SlotSpec& spec) {
    return message_of<InvalidArgument>([&] { (void)scheme().slots()->plan(spec); });
  };
  SlotSpec spec = slot_spec(0, 3);
  EXPECT_THAT(refused(spec), HasSubstr("values"));
  spec = slot_spec(3, 0, 0);
  EXPECT_THAT(refused(spec), HasSubstr("frequencies"));
  spec = slot_spec(3, 3);
  spec.functions[0].pop_back();
  EXPECT_THAT(refused(spec), HasSubstr("a coefficient for each"));
  spec = slot_spec(3, 3);
  spec.functions[0][1].re = std::nan("");
  EXPECT_THAT(refused(spec), HasSubstr("at most 2^20"));
  spec.functions[0] = {{}, {}, {}};
  EXPECT_THAT(refused(spec), HasSubstr("0 everywhere"));
  spec = slot_spec(3, 3);
  spec.result_scale = 41;
  EXPECT_THAT(refused(spec), HasSubstr("scale"));
}

TEST(SlotPlan, FreeFrequenciesCostNothing) {
  const Slots& slots = *scheme().slots();
  EXPECT_EQ(slots.free_frequencies(128, 10, 1), 16U);
  EXPECT_EQ(slots.free_frequencies(8192, 10, 1), 10U);
  EXPECT_EQ(slots.free_frequencies(1, 3, 1), kMostFrequencies);
  for (const std::size_t values : {20U, 100U, 700U, 1500U}) {
    const std::size_t most = slots.free_frequencies(values, 9, 1);
    const auto bytes = [&](std::size_t k) {
      const auto plan = slots.plan(slot_spec(values, k));
      return plan->operand_ciphertexts() * 51200 + plan->reply_ciphertexts() * 40960;
    };
    EXPECT_EQ(bytes(most), bytes(9));
    EXPECT_GT(bytes(most + 1), bytes(9));
  }
}

TEST(SlotPlan, CoinsOfOperandsDiffer) {
  Coin session{};
  const Coin first = coin_of_operand(session, 0);
  EXPECT_NE(first, coin_of_operand(session, 1));
  EXPECT_EQ(first, coin_of_operand(session, 0));
  session[3] = std::byte{1};
  EXPECT_NE(first, coin_of_operand(session, 0));
}

TEST(SlotPlan, SchemesWithoutSlotsSaySo) {
  struct None final : Scheme {
    [[nodiscard]] std::string_view name() const override { return "none"; }
    [[nodiscard]] std::string parameters() const override { return {}; }
    [[nodiscard]] std::uint64_t public_key_bytes(const std::string& /*key_set*/) const override { return 0; }
    [[nodiscard]] std::unique_ptr<KeyOwner> generate_keys(const KeySetup& /*setup*/,
                                                          Random& /*random*/) const override {
      return nullptr;
    }
    [[nodiscard]] std::unique_ptr<Multiplier> multiplier(const KeySetup& /*setup*/, ByteView /*key*/) const override {
      return nullptr;
    }
    [[nodiscard]] std::shared_ptr<const Plan> do_plan(const ProductSpec& /*spec*/) const override { return nullptr; }
  };
  EXPECT_THAT(message_of<ConfigError>([&] { (void)slots_of<ConfigError>(None(), "a shared top"); }),
              HasSubstr("a shared top needs element-wise products"));
  EXPECT_NE(slots_of<ConfigError>(scheme(), "a shared top"), nullptr);
}

}  // namespace
}  // namespace blindfl::he::lattice::slot_plan_test
