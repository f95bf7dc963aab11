#include "blindfl/he/plan.h"

#include <cmath>
#include <sstream>

#include "blindfl/base/error.h"
#include "blindfl/share/products.h"

namespace blindfl::he {

int ProductSpec::wanted_hiding() const {
  return kHidingOfRun + (run_values > 1 ? bit_length(run_values - 1) : 0);
}

double ProductSpec::lift_failure() const {
  return lifted_bits > 0 ? std::ldexp(1.0, lifted_bits - ring_bits) : 0;
}

int ring_for_lifts(int value_bits, std::uint64_t run_values) {
  return value_bits + ProductSpec{.run_values = run_values}.wanted_hiding();
}

Exposure& Exposure::operator+=(const Exposure& other) {
  distance += other.distance;
  divergence += other.divergence;
  lift_failure += other.lift_failure;
  return *this;
}

double Exposure::total_distance() const {
  return distance + std::sqrt(divergence / 2);
}

Exposure Plan::exposure_of_product() const {
  return static_cast<double>(spec_.rows) * static_cast<double>(spec_.cols) * exposure_of_value();
}

std::string ProductSpec::describe() const {
  std::ostringstream text;
  text << rows << " x " << inner << " x " << cols << ", left values below 2^" << bit_length(left_bound) << " at scale "
       << left_scale << ", right values of " << right_bits << " bits at scale " << right_scale << ", results modulo 2^"
       << ring_bits << " with " << noise_bits << " bits of noise";
  return text.str();
}

void check_spec(const ProductSpec& spec) {
  constexpr std::uint64_t kMostValues = std::uint64_t{1} << 40;
  const auto countable = [](std::size_t a, std::size_t b) { return a <= kMostValues / b; };
  require<InvalidArgument>(spec.rows > 0 && spec.inner > 0 && spec.cols > 0, "product of ", spec.describe(),
                           ": an empty matrix has no product");
  require<InvalidArgument>(
      countable(spec.rows, spec.inner) && countable(spec.inner, spec.cols) && countable(spec.rows, spec.cols),
      "product of ", spec.describe(), ": more than 2^40 values in one matrix");
  require<InvalidArgument>(spec.left_bound > 0 && spec.left_bound <= FixedPoint::kMaxBound, "product of ",
                           spec.describe(), ": the left bound must be between 1 and 2^62");
  require<InvalidArgument>(spec.right_bits > 0 && spec.right_bits <= 128, "product of ", spec.describe(),
                           ": right values must have between 1 and 128 bits");
  require<InvalidArgument>(spec.left_scale >= 0 && spec.right_scale >= 0 && spec.result_scale() <= 126, "product of ",
                           spec.describe(), ": the scales do not fit in 126 bits");
  require<InvalidArgument>(
      spec.ring_bits > 0 && spec.ring_bits <= 128 && spec.noise_bits >= 0 && spec.noise_bits < spec.ring_bits,
      "product of ", spec.describe(), ": a ring has 1 to 128 bits, and fewer of noise");
  require<InvalidArgument>(spec.lifted_bits == 0 || spec.ring_bits >= ring_for_lifts(spec.lifted_bits, spec.run_values),
                           "product of ", spec.describe(), ": results of ", spec.lifted_bits,
                           " bits cannot be lifted often enough from such a ring: it takes ",
                           ring_for_lifts(spec.lifted_bits, spec.run_values),
                           " bits. Lower the scale or range of features or derivative, or the length of the run");
  require<InvalidArgument>(spec.lifted_bits == 0 || spec.noise_bits <= spec.lifted_bits, "product of ", spec.describe(),
                           ": more noise than result makes lifts fail more often than results of ", spec.lifted_bits,
                           " bits do");
  if (spec.right_bits >= spec.ring_bits) return;  // shares wrap around by design
  const UInt128 right_bound = static_cast<UInt128>(1) << (spec.right_bits - 1);
  require<InvalidArgument>(product_bits(spec.inner, spec.left_bound, right_bound) <= 127, "product of ",
                           spec.describe(), ": could overflow 2^127");
}

void check_left(const Plan& plan, const IntMatrix& x) {
  const ProductSpec& spec = plan.spec();
  require<InvalidArgument>(x.rows() == spec.rows && x.cols() == spec.inner, "product of ", spec.describe(),
                           ": the left operand is ", x.rows(), " x ", x.cols());
  require<InvalidArgument>(x.bound() <= spec.left_bound, "product of ", spec.describe(),
                           ": the left operand exceeds the plan's bound");
  require<InvalidArgument>(x.scale() == spec.left_scale, "product of ", spec.describe(),
                           ": the left operand is at scale ", x.scale());
}

void check_right(const Plan& plan, const ShareMatrix& m) {
  const ProductSpec& spec = plan.spec();
  require<InvalidArgument>(m.rows() == spec.inner && m.cols() == spec.cols, "product of ", spec.describe(),
                           ": the right operand is ", m.rows(), " x ", m.cols());
  require<InvalidArgument>(m.scale() == spec.right_scale, "product of ", spec.describe(),
                           ": the right operand is at scale ", m.scale());
  require<InvalidArgument>(m.ring_bits() == spec.ring_bits, "product of ", spec.describe(),
                           ": the right operand is in a ring of ", m.ring_bits(), " bits");
  if (spec.right_bits >= spec.ring_bits) return;
  // Adding half the range maps the allowed values, and only them, below 2^right_bits.
  const UInt128 half = static_cast<UInt128>(1) << (spec.right_bits - 1);
  UInt128 beyond = 0;
  for (const UInt128 v : m.values()) beyond |= low_bits(v + half, spec.ring_bits) >> spec.right_bits;
  require<InvalidArgument>(beyond == 0, "product of ", spec.describe(), ": a right value has more bits than that");
}

}  // namespace blindfl::he
