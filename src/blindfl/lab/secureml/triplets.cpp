#include "blindfl/lab/secureml/triplets.h"

namespace blindfl::lab::secureml {

LeftMask PairTriplets::mask(std::size_t rows, std::size_t cols) {
  return {next_mask_++, random_words(rows, cols, random_)};
}

Triplet PairTriplets::triplet(const TripletSpec& spec) {
  check(spec);
  Words left = select_rows(spec.mask.share(), spec.rows);
  if (spec.form == Form::kPlain) left = transpose(left);
  Words v = random_words(spec.inner(), spec.cols, random_);
  Words z = multiply_transposed(left, v) + cross_products(left, v);
  return {std::move(v), std::move(z)};
}

}  // namespace blindfl::lab::secureml
