#include "blindfl/he/paillier/paillier_plan.h"

#include <algorithm>

#include "blindfl/base/error.h"
#include "blindfl/base/int128.h"
#include "blindfl/he/paillier/expected_times.h"

namespace blindfl::he::paillier {

namespace {

/// Of `X M`, over the integers: it is not reduced modulo 2^128 before it is opened.
int result_bits(const ProductSpec& spec) {
  return spec.needed_right_bits() - 1 + bit_length(spec.left_bound) + bit_length(spec.inner);
}

ReplyLayout make_reply(const Params& params, const ProductSpec& spec) {
  const int hiding = std::max(PaillierPlan::kLeastHiding, spec.wanted_hiding());
  const int width = ReplyLayout::slot_bits(result_bits(spec), hiding);
  require<InvalidArgument>(width <= params.plaintext_bits(), spec.describe(), ": results of ", width,
                           " bits with their masks do not fit in a Paillier plaintext of ", params.plaintext_bits(),
                           " bits. Lower the range of the features, or take longer keys");
  return {params, spec.rows, spec.cols, result_bits(spec), hiding};
}

}  // namespace

PaillierPlan::PaillierPlan(const Params& params, const ProductSpec& spec)
    : Plan(spec), params_(params), reply_(make_reply(params, spec)) {
  operand_ = {spec.inner, spec.cols, reply_.slots, spec.right_scale, spec.needed_right_bits() - 1};
  // Slots follow from the bounds: plans that agree in them can share an operand.
  layout_ = "paillier " + std::to_string(spec.inner) + "x" + std::to_string(spec.cols) + " slots of " +
            std::to_string(reply_.slots.width());
}

std::uint64_t PaillierPlan::operand_bytes() const {
  return kIdBytes + static_cast<std::uint64_t>(operand_.rows) * operand_.groups() * params_.ciphertext_bytes();
}

std::uint64_t PaillierPlan::reply_bytes() const {
  return kIdBytes + static_cast<std::uint64_t>(reply_.ciphertexts()) * params_.ciphertext_bytes();
}

ProductTimes PaillierPlan::times(double nonzeros) const {
  const ExpectedTimes expected(params_);
  const std::size_t ciphertexts = operand_.rows * operand_.groups();
  return {.encrypt = expected.encrypt(ciphertexts),
          .load = expected.load(ciphertexts),
          .multiply = expected.multiply(spec().rows, spec().inner, operand_.groups(), nonzeros, spec().left_bound) +
                      expected.write_masked(reply_),
          .open = expected.open_masked(reply_)};
}

std::uint64_t PaillierPlan::operand_memory() const {
  return static_cast<std::uint64_t>(operand_.rows) * operand_.groups() * ExpectedTimes(params_).row_memory();
}

}  // namespace blindfl::he::paillier
