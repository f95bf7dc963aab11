#include "blindfl/lab/secureml/lattice_triplets.h"

#include <utility>
#include <vector>

#include "blindfl/lab/secureml/steps.h"
#include "blindfl/protocol/session/crossing.h"

namespace blindfl::lab::secureml {

namespace {

constexpr int kLowBits = 2;
/// Of the bits above the lowest two, read as signed.
constexpr int kHighBound = 61;

/// The bits of `transpose(m)` above the lowest two, then, in rows below, the lowest two.
IntMatrix high_and_low(const Words& m) {
  const std::size_t rows = m.cols();
  const std::size_t inner = m.rows();
  std::vector<std::int64_t> values(2 * rows * inner);
  for (std::size_t j = 0; j < inner; ++j) {
    for (std::size_t r = 0; r < rows; ++r) {
      const std::uint64_t word = m.row(j)[r];
      values[r * inner + j] = static_cast<std::int64_t>(word) >> kLowBits;
      values[(rows + r) * inner + j] = static_cast<std::int64_t>(word & ((1 << kLowBits) - 1));
    }
  }
  return IntMatrix::dense(2 * rows, inner, std::move(values), 0, std::uint64_t{1} << kHighBound);
}

/// What products of these rows add up to.
Words put_together(const ShareMatrix& product) {
  const std::size_t rows = product.rows() / 2;
  Words sum(rows, product.cols());
  for (std::size_t i = 0; i < sum.values().size(); ++i) {
    sum.values()[i] = (static_cast<std::uint64_t>(product.values()[i]) << kLowBits) +
                      static_cast<std::uint64_t>(product.values()[rows * product.cols() + i]);
  }
  return sum;
}

}  // namespace

he::ProductSpec triplet_product(std::size_t rows, std::size_t inner, std::size_t cols, std::uint64_t run_values) {
  // Two products, each with its noise 4 times and once.
  return {.rows = 2 * rows,
          .inner = inner,
          .cols = cols,
          .left_bound = std::uint64_t{1} << kHighBound,
          .run_values = run_values,
          .ring_bits = 64,
          .noise_bits = kTripletNoise - kLowBits - 2};
}

LatticeTriplets::LatticeTriplets(protocol::Session& session, std::uint64_t run_values)
    : PairTriplets(session.random()), session_(session), layer_(session.new_layer()), run_values_(run_values) {}

protocol::RepeatedProduct& LatticeTriplets::product(const Shape& shape) {
  auto& known = products_[shape];
  if (!known) {
    known = std::make_unique<protocol::RepeatedProduct>(
        session_, session_.scheme(), protocol::ProductSteps{steps::kTripletOperand, steps::kTripletProduct, layer_},
        [shape, run = run_values_](std::size_t rows) { return triplet_product(rows, shape.inner, shape.cols, run); });
  }
  return *known;
}

Words LatticeTriplets::cross_products(const Words& left_transposed, const Words& v) {
  constexpr auto kOnce = protocol::RepeatedProduct::kOnce;
  const std::size_t rows = left_transposed.cols();
  protocol::RepeatedProduct& cross = product({rows, v.rows(), v.cols()});
  session_.settle();
  cross.take_keys(rows);
  cross.expect_to_multiply(rows);
  cross.expect_to_encrypt(rows);
  const ShareMatrix right = to_shares(v, 0);
  session_.exchange(
      cross.operand_bytes(rows, kOnce), [&] { cross.send_operand(rows, kOnce, right); },
      [&] { cross.receive_operand(rows, kOnce); });
  const IntMatrix left = high_and_low(left_transposed);
  ShareMatrix multiplied;
  ShareMatrix opened;
  session_.exchange(
      cross.reply_bytes(rows), [&] { multiplied = cross.send(rows, left); }, [&] { opened = cross.receive(rows); });
  return put_together(multiplied) + put_together(opened);
}

}  // namespace blindfl::lab::secureml
