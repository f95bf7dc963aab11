#include "blindfl/ot/tables/plan.h"

#include <algorithm>
#include <bit>

#include "blindfl/base/error.h"
#include "blindfl/ot/tables/seeds.h"
#include "blindfl/ot/tables/use.h"

namespace blindfl::ot {

namespace {

constexpr std::size_t kFewestBins = 48;
/// What a byte costs, in AES blocks with their additions, of 0.6 ns with vector instructions: as on a fast network. It
/// decides for tables of some hundreds of categories only: bins from 292 on at 128 look-ups.
constexpr double kByteCost = 3;

const TableShape& checked(const TableShape& shape) {
  require<InvalidArgument>(shape.lookups > 0 && shape.categories > 0 && shape.cols > 0,
                           "table: look-ups, categories and columns must be at least 1");
  constexpr std::size_t kRows = TablePlan::kMostRows;
  constexpr std::size_t kCols = TablePlan::kMostCols;
  require<InvalidArgument>(shape.lookups <= kRows && shape.categories <= kRows && shape.cols <= kCols,
                           "table: at most ", kRows, " look-ups or categories and ", kCols, " columns");
  return shape;
}

double as_double(std::uint64_t x) {
  return static_cast<double>(x);
}

}  // namespace

int ForestShape::depth() const {
  return static_cast<int>(std::bit_width(leaves - 1));
}

std::size_t ForestShape::trees_of(std::size_t group) const {
  return std::min(kGroup, trees - group * kGroup);
}

std::size_t ForestShape::leaves_of(std::size_t group) const {
  return leaves - missing + std::min(missing, group * kGroup);
}

std::size_t ForestShape::parents_of(std::size_t group, int level) const {
  const int below = depth() - level;
  return ((leaves_of(group) - 1) >> below) + 1;
}

std::size_t ForestShape::made_leaves_of(std::size_t group) const {
  return 2 * parents_of(group, depth() - 1);
}

std::uint64_t ForestShape::memory() const {
  std::uint64_t made = 0;
  for (std::size_t g = 0; g < groups(); ++g) made += kGroup * made_leaves_of(g);
  return sizeof(Block) * made;
}

double ForestShape::grow_blocks() const {
  double blocks = 0;
  for (std::size_t g = 0; g < groups(); ++g) {
    for (int level = 0; level < depth(); ++level) blocks += 2.0 * kGroup * as_double(parents_of(g, level));
  }
  return blocks;
}

double ForestShape::all_leaves() const {
  double all = 0;
  for (std::size_t g = 0; g < groups(); ++g) all += as_double(kGroup * leaves_of(g));
  return all;
}

TablePlan::TablePlan(const TableShape& shape) : TablePlan(shape, TableWay::kChain) {
  const TablePlan bins(shape, TableWay::kBins);
  if (bins.cost() < cost()) *this = bins;
}

TablePlan::TablePlan(const TableShape& shape, TableWay way) : shape_(checked(shape)), way_(way) {}

std::size_t TablePlan::bins_each() const {
  if (way_ == TableWay::kChain) return 0;
  // From the number of look-ups alone: enough that a batch finds its bins but for some 2^-61, docs/protocols.md.
  return std::max(kFewestBins, (3 * shape_.lookups + 63) / 64 * 8);
}

std::size_t TablePlan::bins() const {
  return BinLayout::kPermutations * bins_each();
}

std::size_t TablePlan::chain_rows() const {
  return way_ == TableWay::kChain ? shape_.categories : bins();
}

ForestShape TablePlan::chain_forest() const {
  const std::size_t first = std::min(ForestShape::kGroup, shape_.lookups);
  return {.trees = shape_.lookups, .leaves = chain_columns(), .missing = shape_.lookups - first};
}

ForestShape TablePlan::bin_forest() const {
  if (way_ == TableWay::kChain) return {};
  return {.trees = bins(), .leaves = (shape_.categories + bins_each() - 1) / bins_each() + 1};
}

std::size_t TablePlan::bin_ots() const {
  return way_ == TableWay::kChain ? 0 : bin_forest().ots() + shape_.categories;
}

std::size_t TablePlan::ots() const {
  return bin_ots() + chain_forest().ots() + chain_columns();
}

std::uint64_t TablePlan::ask_bytes() const {
  const std::size_t seed = way_ == TableWay::kBins ? sizeof(BinSeed) : 0;
  return TableBinding::kTagBytes + seed + (ots() + 7) / 8;
}

std::uint64_t TablePlan::answer_bytes() const {
  const std::size_t bin_levels = way_ == TableWay::kBins ? bin_forest().ots() : 0;
  return TableBinding::kTagBytes + std::uint64_t{2} * sizeof(Block) * (bin_levels + chain_forest().ots());
}

std::uint64_t TablePlan::gather_bytes(std::size_t word_bytes) const {
  const std::uint64_t table = way_ == TableWay::kBins ? shape_.categories : 0;
  return TableBinding::kTagBytes + (table + chain_columns()) * shape_.cols * word_bytes;
}

std::uint64_t TablePlan::scatter_bytes(std::size_t word_bytes) const {
  return TableBinding::kTagBytes + (std::uint64_t{shape_.lookups} + bins()) * shape_.cols * word_bytes;
}

double TablePlan::keys_blocks() const {
  return chain_forest().grow_blocks() + (way_ == TableWay::kBins ? bin_forest().grow_blocks() : 0);
}

double TablePlan::rows_blocks(std::size_t word_bytes) const {
  const double leaves = chain_forest().all_leaves() + (way_ == TableWay::kBins ? bin_forest().all_leaves() : 0);
  return leaves * as_double(row_blocks(shape_.cols, word_bytes));
}

std::uint64_t TablePlan::memory() const {
  if (way_ == TableWay::kChain) return chain_forest().memory();
  // As BinLayout has them: of each leaf its category, and of each category its leaves.
  const ForestShape forest = bin_forest();
  const std::uint64_t places =
      std::uint64_t{forest.trees} * forest.leaves + BinLayout::kPermutations * std::uint64_t{shape_.categories};
  return chain_forest().memory() + forest.memory() + sizeof(std::uint32_t) * places;
}

double TablePlan::cost() const {
  constexpr std::size_t kWide = sizeof(Block);
  const std::uint64_t bytes = ask_bytes() + answer_bytes() + gather_bytes(kWide) + scatter_bytes(kWide);
  return keys_blocks() + 2 * rows_blocks(kWide) + kByteCost * as_double(bytes);
}

}  // namespace blindfl::ot
