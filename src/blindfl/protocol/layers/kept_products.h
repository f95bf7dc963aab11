#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "blindfl/base/disk_file.h"
#include "blindfl/base/secret.h"
#include "blindfl/protocol/layers/keep_options.h"
#include "blindfl/protocol/layers/matmul_params.h"
#include "blindfl/share/share_matrix.h"
#include "blindfl/tensor/int_matrix.h"

// Under an open top V_B stays as it was drawn, unless weight decay shrinks it. So X_B V_B of all training rows is made
// once, before the first step, and a step picks the rows of its batch at both parties.

namespace blindfl::protocol {

/// How all training rows are cut into products of one shape. The last has rows of zeros at its end if it is short.
struct RowChunks {
  std::size_t rows = 0;   ///< of the training set
  std::size_t chunk = 0;  ///< rows of a product
  [[nodiscard]] std::size_t count() const { return (rows + chunk - 1) / chunk; }
};

/// `X_B V_B` of so many rows, more than a batch may have.
[[nodiscard]] he::ProductSpec product_of_rows(const MatMulParams& params, std::size_t rows);

/// The chunks that take the least time under `scheme`, as it expects, over 1 Gbit/s; the smallest if several do. They
/// hide as much as a batch does, or as is wanted. Both parties find the same. Throws InvalidArgument if there are no
/// rows, or 2^32 or more.
[[nodiscard]] RowChunks chunks_of(const MatMulParams& params, const he::Scheme& scheme, std::size_t rows);

/// One party's shares of `X_B V_B`, row by row, in memory or in a file.
class KeptProducts {
 public:
  /// None yet, of a matrix of `cols` columns that has this version. Throws ConfigError if a file is needed and cannot
  /// be made.
  KeptProducts(std::size_t rows, std::size_t cols, std::uint64_t version, const KeepOptions& options);

  [[nodiscard]] std::size_t rows() const { return rows_; }
  /// Which V_B these are products of: see Weight::version.
  [[nodiscard]] std::uint64_t version() const { return version_; }
  [[nodiscard]] bool in_file() const { return file_.has_value(); }

  /// The shares of the next rows; what is beyond the last row is padding, and dropped.
  void append(const ShareMatrix& shares);
  /// At B, the features of these rows in the same way: it keeps 8 bytes of each row.
  void append_features(const IntMatrix& x);

  /// The shares of the given rows, then rows of zeros, which stand for rows without features, up to `padded_rows`.
  /// Throws InvalidArgument if there are more than that, or a row does not exist; DataError if the disk does not give
  /// back what it was given.
  [[nodiscard]] ShareMatrix pick(std::span<const std::uint32_t> numbers, std::size_t padded_rows) const;

  /// At B: throws InvalidArgument unless `x` has the features of these rows, then rows of zeros. By what was kept of
  /// them: it finds mistakes, with a chance of 2^-64 to miss one.
  void check_features(const IntMatrix& x, std::span<const std::uint32_t> numbers) const;

 private:
  void check_numbers(std::span<const std::uint32_t> numbers, std::size_t padded_rows) const;

  std::size_t rows_;
  std::size_t cols_;
  std::uint64_t version_;
  int scale_ = 0;
  int ring_bits_ = ShareMatrix::kMostRingBits;
  std::size_t appended_ = 0;
  SecretVector<UInt128> values_;
  std::optional<DiskFile> file_;
  std::vector<std::uint64_t> marks_;  ///< of features, at B
};

}  // namespace blindfl::protocol
