#include "blindfl/protocol/session/product.h"

#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "blindfl/share/products.h"
#include "testing/matrices.h"
#include "testing/product.h"
#include "testing/schemes.h"
#include "testing/steps.h"
#include "testing/two_parties.h"

namespace blindfl::protocol::product_test {
namespace {

using Kind = IntMatrix::Kind;
constexpr ProductSteps kSteps{steps::kForwardOperand, steps::kForwardProduct, 3};

class Product : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<he::Scheme> scheme_ = testing::make_scheme(GetParam());
  testing::TwoParties parties_{*scheme_};
  SeededRandom test_random_{7};
  Random random_;
};

TEST_P(Product, SharesSumToTheMatrixProduct) {
  for (const Kind kind : {Kind::kDense, Kind::kCsr, Kind::kOneHot}) {
    const IntMatrix x = testing::random_matrix(kind, 20, 30, 0, 1 << 16, test_random_);
    const ShareMatrix m = random_share(30, 4, 32, random_);
    const auto plan = scheme_->plan({20, 30, 4, x.bound(), 0, 32, 128});
    const auto [mine, theirs] =
        parties_.run([&](Session& s) { return testing::product_multiplier(s, *plan, kSteps, x); },
                     [&](Session& s) { return testing::product_owner(s, *plan, kSteps, m); });
    EXPECT_EQ(mine + theirs, multiply(x, m));
  }
}

TEST_P(Product, TrafficIsWhatThePlanSays) {
  const IntMatrix x = testing::random_matrix(Kind::kDense, 20, 30, 0, 1 << 16, test_random_);
  const ShareMatrix m = random_share(30, 4, 32, random_);
  const auto plan = scheme_->plan({20, 30, 4, x.bound(), 0, 32, 128});
  parties_.run([&](Session& s) { (void)testing::product_multiplier(s, *plan, kSteps, x); },
               [&](Session& s) { (void)testing::product_owner(s, *plan, kSteps, m); });
  const net::Traffic operand{1, plan->operand_bytes()};
  const net::Traffic reply{1, plan->reply_bytes()};
  EXPECT_EQ(parties_.recording(Party::kB).sent().at(kSteps.operand), operand);
  EXPECT_EQ(parties_.recording(Party::kA).received().at(kSteps.operand), operand);
  EXPECT_EQ(parties_.recording(Party::kA).sent().at(kSteps.reply), reply);
  EXPECT_EQ(parties_.recording(Party::kB).received().at(kSteps.reply), reply);
}

TEST_P(Product, RunsBothWaysAtTheSameTime) {
  const IntMatrix x_a = testing::random_matrix(Kind::kDense, 8, 5, 0, 100, test_random_);
  const IntMatrix x_b = testing::random_matrix(Kind::kCsr, 8, 6, 0, 100, test_random_);
  const ShareMatrix m_a = random_share(5, 2, 32, random_);
  const ShareMatrix m_b = random_share(6, 2, 32, random_);
  const auto plan_a = scheme_->plan({8, 5, 2, 100, 0, 32, 128});
  const auto plan_b = scheme_->plan({8, 6, 2, 100, 0, 32, 128});
  const auto both = [&](const he::Plan& mine, const IntMatrix& x, const he::Plan& theirs, const ShareMatrix& m) {
    return [&](Session& s) {
      send_operand(s, s.keys(), theirs, kSteps, m);
      const auto operand = receive_operand(s, s.keys(), mine, kSteps);
      ShareMatrix multiplied = send_product(s, s.keys(), mine, kSteps, x, *operand);
      ShareMatrix opened = receive_product(s, s.keys(), theirs, kSteps);
      return std::pair(std::move(multiplied), std::move(opened));
    };
  };
  const auto [a, b] = parties_.run(both(*plan_a, x_a, *plan_b, m_b), both(*plan_b, x_b, *plan_a, m_a));
  EXPECT_EQ(a.first + b.second, multiply(x_a, m_a));
  EXPECT_EQ(b.first + a.second, multiply(x_b, m_b));
}

TEST_P(Product, RefusesAWrongOperandBeforeAnythingIsSent) {
  const auto plan = scheme_->plan({4, 5, 2, 100, 0, 32, 128});
  const IntMatrix too_large = testing::random_matrix(Kind::kDense, 4, 5, 0, 101, test_random_);
  Session& a = parties_.session(Party::kA);
  Session& b = parties_.session(Party::kB);
  EXPECT_THROW((void)testing::product_multiplier(a, *plan, kSteps, too_large), InvalidArgument);
  EXPECT_THROW((void)testing::product_owner(b, *plan, kSteps, ShareMatrix(5, 3, 32)), InvalidArgument);
  EXPECT_FALSE(parties_.recording(Party::kB).sent().contains(kSteps.operand));
  // The mistake did not cost the link.
  const IntMatrix x = testing::random_matrix(Kind::kDense, 4, 5, 0, 100, test_random_);
  const ShareMatrix m = random_share(5, 2, 32, random_);
  const auto [mine, theirs] = parties_.run([&](Session& s) { return testing::product_multiplier(s, *plan, kSteps, x); },
                                           [&](Session& s) { return testing::product_owner(s, *plan, kSteps, m); });
  EXPECT_EQ(mine + theirs, multiply(x, m));
}

INSTANTIATE_TEST_SUITE_P(Schemes, Product, ::testing::ValuesIn(testing::scheme_names()),
                         [](const auto& scheme) { return scheme.param; });

}  // namespace
}  // namespace blindfl::protocol::product_test
