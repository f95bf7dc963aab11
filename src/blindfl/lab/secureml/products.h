#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "blindfl/lab/secureml/triplets.h"
#include "blindfl/protocol/session/session.h"

// Products of shared matrices, as SecureML has them: L on the left was opened once less its mask, E = L - U; a product
// opens F = R - V, and
//
//   L R = E (R_A - F) + L_A F + Z_A  +  E R_B + L_B F + Z_B
//
// the first half at A, the second at B.

namespace blindfl::lab::secureml {

/// A shared matrix that stands on the left of products.
class LeftMatrix {
 public:
  [[nodiscard]] std::size_t rows() const { return share_.rows(); }
  [[nodiscard]] std::size_t cols() const { return share_.cols(); }
  /// This party's share.
  [[nodiscard]] const Words& share() const { return share_; }
  /// The whole of it, less a mask that nobody knows.
  [[nodiscard]] const Words& opened() const { return opened_; }
  [[nodiscard]] const LeftMask& mask() const { return mask_; }

 private:
  friend class Products;
  LeftMatrix(Words share, Words opened, LeftMask mask)
      : share_(std::move(share)), opened_(std::move(opened)), mask_(std::move(mask)) {}

  Words share_;
  Words opened_;
  LeftMask mask_;
};

/// Between the parties of a session. Both do the same.
class Products {
 public:
  /// Both must outlive it.
  Products(protocol::Session& session, TripletSource& triplets)
      : session_(session), triplets_(triplets), layer_(session.new_layer()) {}

  /// Takes this party's share of a matrix that will stand on the left. Cost: a mask; as many bytes as the share has,
  /// each way, one flight. Reveals: nothing: the matrix less a mask.
  [[nodiscard]] LeftMatrix left(Words share);
  /// This party's share of `L R`, or of `transpose(L) R`, of the given rows of L: with all bits of both factors behind
  /// the point. Cost: a triplet; as many bytes as the share of R has, each way, one flight. Reveals: nothing.
  [[nodiscard]] Words product(const LeftMatrix& left, std::span<const std::uint32_t> rows, Form form,
                              const Words& right);
  /// All rows.
  [[nodiscard]] Words product(const LeftMatrix& left, Form form, const Words& right) {
    const std::vector<std::uint32_t> rows = all_rows(left.rows());
    return product(left, rows, form, right);
  }
  /// The matrix will not stand on the left again.
  void drop(LeftMatrix left) { triplets_.drop(std::move(left.mask_)); }

 private:
  [[nodiscard]] Words open(Words difference);

  protocol::Session& session_;
  TripletSource& triplets_;
  std::uint32_t layer_;
};

/// Shares of a matrix of which each party has some columns, A's first: each party sends the other a share of its own.
/// Cost: 8 bytes for each value, one flight. Reveals: nothing.
/// Throws InvalidArgument if a party's rows are not as many as it says.
[[nodiscard]] Words share_columns(protocol::Session& session, const Words& mine, std::size_t peers_cols);
/// Shares of a matrix that B has. A passes its shape.
[[nodiscard]] Words share_of_b(protocol::Session& session, const Words& mine);
[[nodiscard]] Words share_of_b(protocol::Session& session, std::size_t rows, std::size_t cols);

}  // namespace blindfl::lab::secureml
