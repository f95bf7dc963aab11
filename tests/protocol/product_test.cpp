#include "blindfl/protocol/session/product.h"

#include <gtest/gtest.h>

#include <set>

#include "blindfl/base/error.h"
#include "blindfl/share/products.h"
#include "testing/matrices.h"
#include "testing/product.h"
#include "testing/schemes.h"
#include "testing/shares.h"
#include "testing/steps.h"
#include "testing/two_parties.h"

namespace blindfl::protocol::product_test {
namespace {

using Kind = IntMatrix::Kind;
constexpr ProductSteps kSteps{steps::kForwardOperand, steps::kForwardProduct, 3};

/// With room for the noise of schemes that hide by it.
he::ProductSpec spec_of(std::size_t rows, std::size_t inner, std::size_t cols, std::uint64_t bound) {
  return {.rows = rows, .inner = inner, .cols = cols, .left_bound = bound, .right_scale = 32, .noise_bits = 40};
}

class SpecOnly final : public he::Plan {
 public:
  explicit SpecOnly(const he::ProductSpec& spec, std::string layout = "", std::string set = "",
                    std::uint64_t operand_bytes = 0, std::uint64_t reply_bytes = 0)
      : Plan(spec),
        layout_(std::move(layout)),
        set_(std::move(set)),
        operand_bytes_(operand_bytes),
        reply_bytes_(reply_bytes) {}
  SpecOnly(const SpecOnly& other)
      : SpecOnly(other.spec(), other.layout_, other.set_, other.operand_bytes_, other.reply_bytes_) {}

  [[nodiscard]] std::uint64_t operand_bytes() const override { return operand_bytes_; }
  [[nodiscard]] std::uint64_t reply_bytes() const override { return reply_bytes_; }
  [[nodiscard]] std::string operand_layout() const override { return layout_; }
  [[nodiscard]] std::string key_set() const override { return set_; }
  [[nodiscard]] he::ProductTimes times(double /*nonzeros*/) const override { return {}; }
  [[nodiscard]] std::uint64_t operand_memory() const override { return 0; }
  [[nodiscard]] he::Exposure exposure_of_value() const override { return {}; }

 private:
  std::string layout_;
  std::string set_;
  std::uint64_t operand_bytes_;
  std::uint64_t reply_bytes_;
};

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
    const auto plan = scheme_->plan(spec_of(20, 30, 4, x.bound()));
    const auto [mine, theirs] =
        parties_.run([&](Session& s) { return testing::product_multiplier(s, *plan, kSteps, x); },
                     [&](Session& s) { return testing::product_owner(s, *plan, kSteps, m); });
    EXPECT_TRUE(testing::within(plan->largest_error(), mine + theirs, multiply(x, m)));
  }
}

TEST_P(Product, TrafficIsWhatThePlanSays) {
  const IntMatrix x = testing::random_matrix(Kind::kDense, 20, 30, 0, 1 << 16, test_random_);
  const ShareMatrix m = random_share(30, 4, 32, random_);
  const auto plan = scheme_->plan(spec_of(20, 30, 4, x.bound()));
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
  const auto plan_a = scheme_->plan(spec_of(8, 5, 2, 100));
  const auto plan_b = scheme_->plan(spec_of(8, 6, 2, 100));
  const auto both = [&](const he::Plan& mine, const IntMatrix& x, const he::Plan& theirs, const ShareMatrix& m) {
    return [&](Session& s) {
      const SchemeKeys& keys = testing::keys_for(s, mine);  // those of both: the plans have as many rows
      send_operand(s, keys, theirs, kSteps, m);
      const auto operand = receive_operand(s, keys, mine, kSteps);
      ShareMatrix multiplied = send_product(s, keys, mine, kSteps, x, operand);
      ShareMatrix opened = receive_product(s, keys, theirs, kSteps);
      return std::pair(std::move(multiplied), std::move(opened));
    };
  };
  const auto [a, b] = parties_.run(both(*plan_a, x_a, *plan_b, m_b), both(*plan_b, x_b, *plan_a, m_a));
  EXPECT_TRUE(testing::within(plan_a->largest_error(), a.first + b.second, multiply(x_a, m_a)));
  EXPECT_TRUE(testing::within(plan_b->largest_error(), b.first + a.second, multiply(x_b, m_b)));
}

TEST_P(Product, RefusesAWrongOperandBeforeAnythingIsSent) {
  const auto plan = scheme_->plan(spec_of(4, 5, 2, 100));
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
  EXPECT_TRUE(testing::within(plan->largest_error(), mine + theirs, multiply(x, m)));
}

TEST_P(Product, FactsTellAnyTwoProductsApart) {
  using Spec = he::ProductSpec;
  void (*const changes[])(Spec&) = {[](Spec&) {},
                                    [](Spec& s) { ++s.rows; },
                                    [](Spec& s) { ++s.inner; },
                                    [](Spec& s) { ++s.cols; },
                                    [](Spec& s) { ++s.left_bound; },
                                    [](Spec& s) { ++s.left_scale; },
                                    [](Spec& s) { ++s.right_scale; },
                                    [](Spec& s) { --s.right_bits; },
                                    [](Spec& s) { s.run_values = 7; },
                                    [](Spec& s) { --s.ring_bits; },
                                    [](Spec& s) { ++s.noise_bits; },
                                    [](Spec& s) { ++s.lifted_bits; }};
  std::set<Bytes> all;
  for (const auto change : changes) {
    Spec spec{4, 5, 2, 100, 8, 32, 64, 0, 100, 2, 30};
    change(spec);
    // A plan that says nothing of its own, so that the spec's fields speak for themselves.
    all.insert(facts_of(*scheme_, SpecOnly(spec)));
  }
  EXPECT_EQ(all.size(), std::size(changes));
  const Spec spec{4, 5, 2, 100, 8, 32, 64, 0, 100, 2, 30};
  for (const SpecOnly& other :
       {SpecOnly(spec, "layout"), SpecOnly(spec, "", "set"), SpecOnly(spec, "", "", 1), SpecOnly(spec, "", "", 0, 1)}) {
    all.insert(facts_of(*scheme_, other));
  }
  EXPECT_EQ(all.size(), std::size(changes) + 4);
  EXPECT_FALSE(all.contains(facts_of(testing::PlainScheme(), SpecOnly(spec))) && GetParam() != "plain");
}

TEST_P(Product, TakesNoKeysOfAnotherSet) {
  const auto few = scheme_->plan(spec_of(4, 5, 2, 100));
  const auto many = scheme_->plan(spec_of(40, 5, 2, 100));
  if (few->key_set() == many->key_set()) GTEST_SKIP() << "one set for both";
  Random random;
  const ShareMatrix m = random_share(5, 2, 32, random);
  parties_.run([&](Session& s) {
    const SchemeKeys& keys = testing::keys_for(s, *few);
    EXPECT_EQ(keys.key_set, few->key_set());
    EXPECT_THROW(send_operand(s, keys, *many, kSteps, m), InvalidArgument);
    EXPECT_THROW((void)receive_operand(s, keys, *many, kSteps), InvalidArgument);
    EXPECT_THROW((void)receive_product(s, keys, *many, kSteps), InvalidArgument);
  });
}

INSTANTIATE_TEST_SUITE_P(Schemes, Product, ::testing::ValuesIn(testing::scheme_names()),
                         [](const auto& scheme) { return scheme.param; });

}  // namespace
}  // namespace blindfl::protocol::product_test
