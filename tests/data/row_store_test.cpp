#include "blindfl/data/row_store.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/base/random.h"
#include "blindfl/data/row_bytes.h"
#include "blindfl/data/row_collector.h"
#include "testing/batches.h"
#include "testing/matrices.h"
#include "testing/scratch_folder.h"

namespace blindfl::data::row_store_test {
namespace {

using blindfl::testing::expect_same;
using blindfl::testing::random_matrix;
using blindfl::testing::ScratchFolder;
using Kind = IntMatrix::Kind;

/// Pieces of rows with features of `kind` and two fields.
std::vector<Dataset> pieces_of(Kind kind, std::uint64_t bound, std::uint64_t seed = 1) {
  SeededRandom random(seed);
  std::vector<Dataset> pieces;
  for (const std::size_t rows : {5U, 1U, 30U, 17U}) {
    pieces.push_back({.features = random_matrix(kind, rows, 12, kind == Kind::kOneHot ? 0 : 16, bound, random),
                      .labels = {},
                      .fields = {random_matrix(Kind::kOneHot, rows, 9, 0, 1, random),
                                 random_matrix(Kind::kCsr, rows, 20, 20, 1U << 20U, random)}});
  }
  return pieces;
}

std::vector<double> some_labels() {
  std::vector<double> labels(53);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<double>(i % 3);
  return labels;
}

std::unique_ptr<RowSource> collected(const std::vector<Dataset>& pieces, std::size_t budget,
                                     const ScratchFolder& scratch, std::vector<double> labels = some_labels()) {
  RowCollector collector(budget, scratch.path());
  for (const Dataset& piece : pieces) collector.add(piece);
  return collector.finish(std::move(labels));
}

TEST(RowStore, GivesTheBatchesOfRowsInMemory) {
  const ScratchFolder scratch;
  for (const Kind kind : {Kind::kDense, Kind::kCsr, Kind::kOneHot}) {
    for (const std::uint64_t bound : {std::uint64_t{1} << 20, std::uint64_t{1} << 31, FixedPoint::kMaxBound}) {
      const auto pieces = pieces_of(kind, bound);
      const auto in_memory = collected(pieces, std::size_t{1} << 30, scratch);
      const auto in_file = collected(pieces, 0, scratch);
      EXPECT_NE(dynamic_cast<const RowsInMemory*>(in_memory.get()), nullptr);
      EXPECT_NE(dynamic_cast<const RowStore*>(in_file.get()), nullptr);
      EXPECT_EQ(in_file->rows(), 53U);
      expect_same(*in_memory, *in_file);
    }
  }
}

TEST(RowStore, HoldsPartiesWithoutNumbersCategoriesOrLabels) {
  const ScratchFolder scratch;
  auto no_numbers = pieces_of(Kind::kDense, 100);
  for (Dataset& piece : no_numbers) piece.features = {};
  auto no_fields = pieces_of(Kind::kCsr, 100);
  for (Dataset& piece : no_fields) piece.fields.clear();
  auto nothing = pieces_of(Kind::kDense, 100);
  for (Dataset& piece : nothing) {
    piece = {.features = IntMatrix::dense(piece.rows(), 0, {}, 16, 100), .labels = {}};
  }
  for (const auto& pieces : {no_numbers, no_fields, nothing}) {
    expect_same(*collected(pieces, std::size_t{1} << 30, scratch, {}), *collected(pieces, 0, scratch, {}));
  }
}

TEST(RowStore, LeavesNoFileBehind) {
  const ScratchFolder scratch;
  const auto store = collected(pieces_of(Kind::kDense, 100), 0, scratch);
  EXPECT_EQ(scratch.count(), 0) << "the file has no name even while it is used";
  EXPECT_EQ(store->batch(std::vector<std::uint32_t>{52, 0, 52}, 4).rows, 3U);
}

TEST(RowStore, RefusesRowsThatDoNotExistAndBatchesThatAreTooSmall) {
  const ScratchFolder scratch;
  const auto store = collected(pieces_of(Kind::kCsr, 100), 0, scratch);
  EXPECT_THROW((void)store->batch(std::vector<std::uint32_t>{53}, 4), InvalidArgument);
  EXPECT_THROW((void)store->batch(std::vector<std::uint32_t>{1, 2}, 1), InvalidArgument);
}

TEST(RowStoreWriter, RefusesRowsUnlikeThoseBefore) {
  const ScratchFolder scratch;
  RowStoreWriter writer(scratch.path());
  writer.append(pieces_of(Kind::kDense, 100).front());
  EXPECT_THROW(writer.append(pieces_of(Kind::kCsr, 100).front()), InvalidArgument);
  EXPECT_THROW(writer.append(pieces_of(Kind::kDense, 101).front()), InvalidArgument);
  auto fewer = pieces_of(Kind::kDense, 100).front();
  fewer.fields.pop_back();
  EXPECT_THROW(writer.append(fewer), InvalidArgument);
  EXPECT_THROW((void)writer.finish({1, 2}), InvalidArgument);
  EXPECT_EQ(writer.finish()->rows(), 5U);
}

TEST(RowStoreWriter, SaysThatThereIsNoFolder) {
  const ScratchFolder scratch;
  EXPECT_THROW(RowStoreWriter(scratch / "nowhere"), ConfigError);
}

TEST(RowCollector, HoldsNoMoreRowsThanFit) {
  const ScratchFolder scratch;
  SeededRandom random(1);
  const IntMatrix hundred = random_matrix(Kind::kDense, 100, 10, 16, 1000, random);  // 8000 bytes
  RowCollector collector(50'000, scratch.path());
  for (std::size_t i = 1; i <= 100; ++i) {
    collector.add({.features = hundred, .labels = {}});
    EXPECT_EQ(collector.rows(), i * 100);
    EXPECT_EQ(collector.rows_in_memory(), i <= 6 ? i * 100 : 0);
  }
  const auto rows = collector.finish();
  EXPECT_EQ(rows->rows(), 10'000U);
  std::vector<std::uint32_t> last(100);
  std::iota(last.begin(), last.end(), 9'900U);
  expect_same(rows->batch(last, 100).features, hundred);
}

TEST(RowCollector, RefusesLabelsThatDoNotFit) {
  const ScratchFolder scratch;
  EXPECT_THROW((void)collected(pieces_of(Kind::kDense, 100), 0, scratch, {1}), InvalidArgument);
  EXPECT_THROW((void)collected(pieces_of(Kind::kDense, 100), 1U << 30U, scratch, {1}), InvalidArgument);
  RowCollector empty(0, scratch.path());
  EXPECT_EQ(empty.finish()->rows(), 0U);
}

TEST(RowBytes, RefuseToBeDamaged) {
  IntMatrixBuilder sparse({.kind = Kind::kCsr, .cols = 4, .scale = 0, .bound = 9});
  const Bytes count_only(4, std::byte{1});
  ByteView in = count_only;
  EXPECT_THROW(read_row(in, sparse), DataError);
  IntMatrixBuilder dense({.kind = Kind::kDense, .cols = 1, .scale = 0, .bound = 9});
  in = count_only;
  read_row(in, dense);
  EXPECT_THROW((void)dense.finish(), InvalidArgument) << "beyond the bound";
}

}  // namespace
}  // namespace blindfl::data::row_store_test
