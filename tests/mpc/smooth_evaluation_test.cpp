// Functions and element-wise products of shared values between two parties, through real ciphertexts.

#include "blindfl/mpc/smooth_evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "blindfl/base/error.h"
#include "blindfl/mpc/shared_elements.h"
#include "mpc/shared_fixture.h"
#include "testing/thrown.h"

namespace blindfl::mpc::smooth_evaluation_test {
namespace {

/// Fitted once: that takes longer than all that is tested with it.
std::shared_ptr<const SmoothPlan> tanh_plan(std::size_t rows, std::size_t cols) {
  static const SmoothFunction fitted =
      SmoothFunction::fit({.functions = {Smooth::kTanh, Smooth::kTanhSlope}, .low = -8, .high = 8, .error = 1e-3});
  return std::make_shared<const SmoothPlan>(lattice().slots(), fitted,
                                            SmoothSpec{.rows = rows, .cols = cols, .run_replies = 10'000});
}

std::vector<double> on_grid(std::size_t count) {
  std::vector<double> z = normal_values(count, 2, 8);
  for (double& v : z) v = std::ldexp(std::floor(std::ldexp(std::clamp(v, -8.0, 7.9), 20)), -20);
  return z;
}

class SmoothBetweenParties : public ::testing::TestWithParam<Party> {
 protected:
  SharedParties parties_;
};

TEST_P(SmoothBetweenParties, IsAsExactAsStated) {
  const auto plan = tanh_plan(32, 4);
  const auto z = on_grid(128);
  const SharedPair shares = shared(32, 4, z, 20);
  PartyCost cost;
  const auto [a, b] = parties_.run([&](Session& s) {
    SmoothEvaluation evaluation(s, plan, GetParam());
    if (s.party() == Party::kA) cost = evaluation.cost();
    return evaluation.evaluate(shares.of(s.party()));
  });
  EXPECT_EQ(cost.a_bytes + cost.b_bytes, plan->operand_bytes() + plan->reply_bytes());
  ASSERT_EQ(a.size(), 2U);
  for (std::size_t f = 0; f < 2; ++f) {
    const auto found = SharedPair{a[f], b[f]}.reals();
    const Smooth function = f == 0 ? Smooth::kTanh : Smooth::kTanhSlope;
    for (std::size_t i = 0; i < z.size(); ++i) EXPECT_NEAR(found[i], value_of(function, z[i]), plan->error(f));
  }
}

TEST_P(SmoothBetweenParties, CostsWhatItSaysAndNeverRepeats) {
  const auto plan = tanh_plan(8, 2);
  const SharedPair shares = shared(8, 2, on_grid(16), 20);
  PartyCost cost;
  parties_.run([&](Session& s) {
    SmoothEvaluation evaluation(s, plan, GetParam());
    if (s.party() == Party::kA) cost = evaluation.cost();
    s.settle();
    (void)evaluation.evaluate(shares.of(s.party()));
    (void)evaluation.evaluate(shares.of(s.party()));
  });
  const auto all = parties_.counted();
  EXPECT_EQ(all.a_bytes, 2 * cost.a_bytes);
  EXPECT_EQ(all.b_bytes, 2 * cost.b_bytes);
  for (const net::Step step : {net::Step(steps::kFunctionOperand), net::Step(steps::kFunctionReply)}) {
    std::vector<Bytes> sent = parties_.payloads(Party::kA, step);
    const auto of_b = parties_.payloads(Party::kB, step);
    sent.insert(sent.end(), of_b.begin(), of_b.end());
    ASSERT_EQ(sent.size(), 2U);
    EXPECT_NE(sent[0], sent[1]);
    // Fresh keys and coins: also the public key that an operand begins with is another.
    EXPECT_FALSE(std::equal(sent[0].begin(), sent[0].begin() + 16, sent[1].begin()));
  }
}

TEST_P(SmoothBetweenParties, TakesOneRoundTrip) {
  const auto plan = tanh_plan(8, 2);
  const SharedPair shares = shared(8, 2, on_grid(16), 20);
  std::pair<std::unique_ptr<SmoothEvaluation>, std::unique_ptr<SmoothEvaluation>> evaluation;
  const auto of = [&](Session & s) -> auto& {
    return s.party() == Party::kA ? evaluation.first : evaluation.second;
  };
  parties_.run([&](Session& s) {
    of(s) = std::make_unique<SmoothEvaluation>(s, plan, GetParam());
    s.settle();
  });
  parties_.start_counting();
  parties_.run([&](Session& s) { (void)of(s)->evaluate(shares.of(s.party())); });
  EXPECT_EQ(parties_.counted(), evaluation.first->cost());
}

INSTANTIATE_TEST_SUITE_P(Owners, SmoothBetweenParties, ::testing::Values(Party::kA, Party::kB),
                         [](const auto& test) { return std::string(name_of(test.param)); });

TEST(SmoothOfParties, ThatDisagreeStopBeforeAnythingIsSent) {
  SharedParties parties;
  const SharedPair shares = shared(4, 2, on_grid(8), 20);
  EXPECT_THAT(testing::message_of<ConfigError>([&] {
                parties.run([&](Session& s) {
                  SmoothEvaluation evaluation(s, tanh_plan(4, 2), s.party());
                  (void)evaluation.evaluate(shares.of(s.party()));
                });
              }),
              ::testing::HasSubstr("owner"));
  EXPECT_TRUE(parties.payloads(Party::kA, steps::kFunctionOperand).empty());
}

TEST(SmoothOfParties, WhoseOperandsAreOutOfStepGetAnError) {
  SharedParties parties;
  const SharedPair shares = shared(4, 2, on_grid(8), 20);
  EXPECT_THROW(parties.run([&](Session& s) {
    SmoothEvaluation evaluation(s, tanh_plan(4, 2), Party::kB);
    if (s.party() == Party::kA) (void)s.next_operand_coin();
    (void)evaluation.evaluate(shares.of(s.party()));
  }),
               ProtocolError);
  EXPECT_TRUE(parties.payloads(Party::kA, steps::kFunctionReply).empty());
}

TEST(PreparedBetweenParties, NeedsOneFlightOnceThereAreValues) {
  SharedParties parties;
  const SmoothFunction function = tanh_plan(1, 1)->function();
  const auto plan =
      std::make_shared<const PreparationPlan>(lattice().slots(), function, SmoothSpec{.rows = 8, .cols = 4});
  std::pair<std::unique_ptr<PreparedEvaluation>, std::unique_ptr<PreparedEvaluation>> evaluation;
  const auto of = [&](Session & s) -> auto& {
    return s.party() == Party::kA ? evaluation.first : evaluation.second;
  };
  parties.run([&](Session& s) {
    of(s) = std::make_unique<PreparedEvaluation>(s, plan, function, Party::kA);
    s.settle();
  });
  parties.start_counting();
  parties.run([&](Session& s) { of(s)->prepare(); });
  EXPECT_EQ(parties.counted(), evaluation.first->cost_ahead());
  const auto z = on_grid(32);
  const SharedPair shares = shared(8, 4, z, 20);
  for (const bool ahead : {true, false}) {
    parties.start_counting();
    const auto [a, b] = parties.run([&](Session& s) { return of(s)->evaluate(shares.of(s.party())); });
    const PartyCost cost = evaluation.first->cost();
    EXPECT_EQ(parties.counted(), ahead ? cost : cost + evaluation.first->cost_ahead());
    for (std::size_t f = 0; f < 2; ++f) {
      const auto found = SharedPair{a[f], b[f]}.reals();
      for (std::size_t i = 0; i < z.size(); ++i) {
        EXPECT_NEAR(found[i], value_of(f == 0 ? Smooth::kTanh : Smooth::kTanhSlope, z[i]),
                    plan->error(function.parts()[f]));
      }
    }
  }
  // The same z twice, under other random numbers.
  for (const Party party : {Party::kA, Party::kB}) {
    const auto sent = parties.payloads(party, steps::kInputDifference);
    ASSERT_EQ(sent.size(), 2U);
    EXPECT_NE(sent[0], sent[1]);
  }
  parties.run([&](Session& s) {
    of(s)->prepare();
    of(s)->forget();
    EXPECT_EQ(of(s)->prepared(), 0U);
  });
}

TEST(ElementsOfParties, MultiplyExactly) {
  SharedParties parties;
  const auto x = normal_values(60, 3, 1);
  const auto y = normal_values(60, 3, 2);
  const SharedPair shares_x = shared(12, 5, x, 24);
  const SharedPair shares_y = shared(12, 5, y, 20);
  const auto exact_x = shares_x.reals();
  const auto exact_y = shares_y.reals();
  for (const Party owner : {Party::kA, Party::kB}) {
    PartyCost cost;
    parties.start_counting();
    const SharedPair product = parties.shares([&](Session& s) {
      SharedElements elements(s, {.rows = 12, .cols = 5, .ring_bits = 64, .run_values = 1 << 20}, owner);
      EXPECT_LE(elements.plan().failures_of_run(), 0x1p-40);
      if (s.party() == Party::kA) cost = elements.cost();
      return elements.product(shares_x.of(s.party()), shares_y.of(s.party()));
    });
    const PartyCost counted = parties.counted();
    EXPECT_EQ(counted.a_bytes, cost.a_bytes);
    EXPECT_EQ(counted.b_bytes, cost.b_bytes);
    EXPECT_EQ(product.a.scale(), 44);
    const auto found = product.reals();
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(found[i], exact_x[i] * exact_y[i]);
  }
  const auto operands = parties.payloads(Party::kB, steps::kElementOperand);
  ASSERT_EQ(operands.size(), 1U);
  EXPECT_NE(operands[0], parties.payloads(Party::kA, steps::kElementOperand)[0]);
}

TEST(ElementsOfParties, RefuseOtherShapesBeforeAnythingIsSent) {
  SharedParties parties;
  SharedElements elements(parties.session(Party::kA), {.rows = 2, .cols = 3}, Party::kA);
  EXPECT_THROW((void)elements.product(ShareMatrix(2, 3, 20), ShareMatrix(3, 2, 20)), InvalidArgument);
  EXPECT_THROW((void)elements.product(ShareMatrix(2, 3, 20, 32), ShareMatrix(2, 3, 20)), InvalidArgument);
  EXPECT_TRUE(parties.payloads(Party::kA, steps::kElementOperand).empty());
}

}  // namespace
}  // namespace blindfl::mpc::smooth_evaluation_test
