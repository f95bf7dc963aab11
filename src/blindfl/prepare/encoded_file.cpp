#include "blindfl/prepare/encoded_file.h"

#include <algorithm>
#include <utility>

namespace blindfl::prepare {

std::size_t rows_of_piece(std::size_t cells) {
  return std::clamp<std::size_t>(kPieceCells / std::max<std::size_t>(cells, 1), 1, kPieceRows);
}

FeatureRows::FeatureRows(std::size_t width, bool sparse, const FixedPoint& encoding)
    : width_(width), sparse_(sparse), encoding_(encoding) {
  if (!sparse_) values_.resize(width_);
}

void FeatureRows::add(std::size_t column, std::int64_t value) {
  if (!sparse_) {
    values_[rows_ * width_ + column] = value;
  } else if (value != 0) {
    columns_.push_back(static_cast<IntMatrix::Column>(column));
    values_.push_back(value);
  }
}

void FeatureRows::end_row() {
  ++rows_;
  row_starts_.push_back(columns_.size());
  if (!sparse_) values_.resize((rows_ + 1) * width_);
}

IntMatrix FeatureRows::finish() {
  if (sparse_) {
    return IntMatrix::csr(rows_, width_, std::move(row_starts_), std::move(columns_), std::move(values_),
                          encoding_.scale(), encoding_.bound());
  }
  values_.resize(rows_ * width_);
  return IntMatrix::dense(rows_, width_, std::move(values_), encoding_.scale(), encoding_.bound());
}

}  // namespace blindfl::prepare
