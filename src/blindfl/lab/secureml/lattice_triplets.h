#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <tuple>

#include "blindfl/lab/secureml/triplets.h"
#include "blindfl/protocol/layers/repeated_product.h"

namespace blindfl::lab::secureml {

/// Z may be off by less than 2^kTripletNoise units, a quarter of what truncation leaves: the lattice hides by noise,
/// and has no room for exact results.
constexpr int kTripletNoise = 11;

/// The private product of a share U, rows x inner, and the peer's V. A left operand has at most 62 bits with its sign:
/// U goes in as 4 times the bits above the lowest two, and these in rows of their own. `run_values`: what all triplets
/// of a run open.
[[nodiscard]] he::ProductSpec triplet_product(std::size_t rows, std::size_t inner, std::size_t cols,
                                              std::uint64_t run_values);

/// Triplets by two private products of the house under the session's default scheme, both at the same time. Each party
/// encrypts its V afresh for each triplet.
///
/// Cost: `he::Plan`'s operand and reply, each way, two flights; keys at the first. Reveals: nothing beyond what
/// he/plan.h says of `run_values`.
class LatticeTriplets final : public PairTriplets {
 public:
  /// Both parties make it at the same point, for at most so many values of all their products. `session` must outlive
  /// it.
  LatticeTriplets(protocol::Session& session, std::uint64_t run_values);

  [[nodiscard]] double largest_error() const override { return 1 << kTripletNoise; }

 private:
  struct Shape {
    std::size_t rows;
    std::size_t inner;
    std::size_t cols;
    bool operator<(const Shape& other) const {
      return std::tie(rows, inner, cols) < std::tie(other.rows, other.inner, other.cols);
    }
  };
  [[nodiscard]] Words cross_products(const Words& left_transposed, const Words& v) override;
  [[nodiscard]] protocol::RepeatedProduct& product(const Shape& shape);

  protocol::Session& session_;
  std::uint32_t layer_;
  std::uint64_t run_values_;
  std::map<Shape, std::unique_ptr<protocol::RepeatedProduct>> products_;
};

}  // namespace blindfl::lab::secureml
