#include "blindfl/data/row_collector.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "blindfl/base/error.h"

namespace blindfl::data {

namespace {

/// Bytes of memory that a matrix takes.
std::size_t memory_of(const IntMatrix& matrix) {
  switch (matrix.kind()) {
    case IntMatrix::Kind::kOneHot:
      return matrix.rows() * sizeof(IntMatrix::Column);
    case IntMatrix::Kind::kCsr:
      return (matrix.rows() + 1) * sizeof(std::size_t) +
             matrix.stored() * (sizeof(IntMatrix::Column) + sizeof(std::int64_t));
    case IntMatrix::Kind::kDense:
      break;
  }
  return matrix.stored() * sizeof(std::int64_t);
}

std::size_t memory_of(const Dataset& rows) {
  std::size_t bytes = memory_of(rows.features);
  for (const IntMatrix& field : rows.fields) bytes += memory_of(field);
  return bytes;
}

/// One matrix of those that `part` finds in the pieces, which it takes from there: no row is in memory twice for long.
template <class Part>
IntMatrix join(std::vector<Dataset>& pieces, const Part& part) {
  if (pieces.size() == 1) return std::exchange(part(pieces.front()), {});
  std::size_t rows = 0;
  std::size_t stored = 0;
  for (Dataset& piece : pieces) {
    rows += part(piece).rows();
    stored += part(piece).stored();
  }
  IntMatrixBuilder joined(MatrixFormat::of(part(pieces.front())), rows, stored);
  for (Dataset& piece : pieces) joined.append(std::exchange(part(piece), {}));
  return joined.finish();
}

}  // namespace

RowCollector::RowCollector(std::size_t budget, std::filesystem::path scratch)
    : budget_(budget), scratch_(std::move(scratch)) {}

void RowCollector::add(Dataset piece) {
  constexpr std::size_t kMaxRows = std::numeric_limits<std::uint32_t>::max();
  if (piece.rows() == 0) return;
  require<DataError>(piece.rows() <= kMaxRows - rows_, "too many rows: 2^32 - 1 are the most");
  rows_ += piece.rows();
  if (writer_) {
    writer_->append(piece);
    return;
  }
  bytes_ += memory_of(piece);
  pieces_.push_back(std::move(piece));
  if (bytes_ <= budget_) return;
  writer_.emplace(scratch_);
  for (Dataset& kept : pieces_) writer_->append(std::exchange(kept, {}));
  pieces_.clear();
}

std::size_t RowCollector::rows_in_memory() const {
  return writer_ ? 0 : rows_;
}

std::unique_ptr<RowSource> RowCollector::finish(std::vector<double> labels) {
  require<InvalidArgument>(labels.empty() || labels.size() == rows_, "row collector: ", labels.size(), " labels for ",
                           rows_, " rows");
  if (writer_) return writer_->finish(std::move(labels));
  Dataset all{.features = {}, .labels = std::move(labels)};
  if (!pieces_.empty()) {
    const std::size_t fields = pieces_.front().fields.size();
    all.features = joined_features();
    all.fields.reserve(fields);
    for (std::size_t i = 0; i < fields; ++i) all.fields.push_back(joined_field(i));
  }
  pieces_.clear();
  return std::make_unique<RowsInMemory>(std::move(all));
}

IntMatrix RowCollector::joined_features() {
  return join(pieces_, [](Dataset& piece) -> IntMatrix& { return piece.features; });
}

IntMatrix RowCollector::joined_field(std::size_t field) {
  return join(pieces_, [field](Dataset& piece) -> IntMatrix& { return piece.fields.at(field); });
}

}  // namespace blindfl::data
