// Gradients that are lifted from their ring: a run is held to the derivatives that the ring was chosen for.

#include "blindfl/protocol/layers/lifted_gradient.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "blindfl/base/error.h"
#include "protocol/matmul_fixture.h"
#include "testing/thrown.h"

namespace blindfl::protocol::lifted_gradient_test {
namespace {

using ::testing::HasSubstr;

TEST(LiftBudget, IsSpentOnce) {
  LiftBudget budget("first", 10);
  budget.spend(6);
  const std::string message = testing::message_of<InvalidArgument>([&] { budget.spend(5); });
  EXPECT_THAT(message, HasSubstr("layer 'first'"));
  EXPECT_THAT(message, HasSubstr("derivative.largest"));
  budget.spend(4);  // what was refused is not counted
  EXPECT_THROW(budget.spend(0.001), InvalidArgument);
}

TEST(LiftBudget, IsSavedWithWhatIsSpent) {
  LiftBudget budget("first", 10);
  budget.spend(6);
  const Bytes saved = write_to_bytes([&](ByteSink& out) { budget.save(out); });
  LiftBudget resumed("first", 10);
  BufferSource in(saved);
  resumed.load(in);
  EXPECT_THROW(resumed.spend(5), InvalidArgument);
  resumed.spend(4);
}

TEST(LiftBudget, TakesNoAmountThatCannotBe) {
  LiftBudget budget("first", 10);
  for (const double bad : {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    const Bytes saved = write_to_bytes([&](ByteSink& out) { out.write_u64(std::bit_cast<std::uint64_t>(bad)); });
    BufferSource in(saved);
    EXPECT_THROW(budget.load(in), DataError);
  }
}

/// B's derivatives of a batch, all of them `value`.
Derivative all_of(const MatMulSpec& spec, double value) {
  return encode_derivative(FixedPoint(spec.derivative), spec.batch, spec.out,
                           std::vector<double>(spec.batch * spec.out, value));
}

TEST(LiftBudget, StopsATrainingWhoseDerivativesAreTooLarge) {
  MatMulSpec spec = small_spec(4, 3, 2, 8);
  spec.sgd.momentum = 0.9;
  spec.run.passes = 4;
  const auto train = [&](double derivative, int steps) {
    const auto scheme = testing::make_scheme("plain");
    MatMulPair pair(*scheme, spec);
    SeededRandom random(1);
    const IntMatrix x_a = random_features(spec.features_a, IntMatrix::Kind::kDense, spec.batch, spec.in_a, random);
    const IntMatrix x_b = random_features(spec.features_b, IntMatrix::Kind::kDense, spec.batch, spec.in_b, random);
    for (int i = 0; i < steps; ++i) (void)pair.backward(x_a, x_b, all_of(spec, derivative));
  };
  train(1.0, 4);
  train(-2.0, 2);
  EXPECT_THROW(train(-2.0, 3), InvalidArgument);
  spec.run.passes = 6;
  train(-2.0, 3);
}

}  // namespace
}  // namespace blindfl::protocol::lifted_gradient_test
