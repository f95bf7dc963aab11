// A single output of Z gives A's binary columns away where it is opened at full precision, some of them at 16 bits, and
// none at few bits or of a share.

#include <gtest/gtest.h>

#include <iostream>
#include <numeric>

#include "blindfl/base/error.h"
#include "blindfl/data/batches.h"
#include "blindfl/lab/attacks/attack_data.h"
#include "blindfl/lab/attacks/attack_lattice.h"
#include "blindfl/lab/attacks/lattice_reduction.h"
#include "blindfl/lab/attacks/recorded_view.h"
#include "blindfl/protocol/session/in_process.h"
#include "blindfl/protocol/session/output.h"
#include "testing/plain/plain_scheme.h"

namespace blindfl::lab::attacks::lattice_test {
namespace {

using torch::Tensor;

constexpr std::size_t kColumns = 8;
constexpr std::size_t kRows = 32;

TwoTables people() {
  return synthetic_columns(kRows, kColumns, 0, 7);
}

RecoveredFraction told(const char* name, const Tensor& z, int output_scale) {
  const RecoveredColumns found = attack_lattice(z, output_scale, kColumns, kRows);
  const RecoveredFraction fraction = fraction_of(found, people().a);
  std::cout << name << ", " << output_scale << " fractional bits: " << fraction.recovered << " of " << fraction.of
            << " columns, " << found.columns.size(1) << " found\n";
  return fraction;
}

/// Of a layer with one output where B has no features: what B opens, in words, before it becomes a float tensor.
Tensor opened_words(int output_scale) {
  const TwoTables rows = people();
  const ViewOptions options{.out = 1, .batch = kRows, .initial_deviation = 1, .output_scale = output_scale};
  const nn::FeatureShape shape = shape_of(rows, options);
  const auto [a, b] = protocol::run_in_process(testing::PlainScheme(), [&](protocol::Session& session) {
    nn::MatMul layer(session, shape, options.out, layer_of(options));
    std::vector<std::uint32_t> all(kRows);
    std::iota(all.begin(), all.end(), 0U);
    const nn::SourceOutput output = layer->shares(data::make_batch(own_rows(session.party(), rows, shape), all, kRows));
    return protocol::round_output(output.shares.front().output, output_scale).share;
  });
  return numbers_of(open(a, b));
}

TEST(LatticeReduction, FindsTheShortVectorsOfALattice) {
  LatticeBasis basis = {{1, 0, 0, 1345}, {0, 1, 0, 35}, {0, 0, 1, 154}};
  reduce(basis);
  for (const auto& vector : basis) {
    Int128 squares = 0;
    for (const Int128 x : vector) squares += x * x;
    EXPECT_LT(static_cast<double>(squares), 200);
    EXPECT_TRUE(vector[0] * 1345 + vector[1] * 35 + vector[2] * 154 == vector[3]);
  }
}

/// Of several layers with weights of their own.
std::size_t recovered_in_all(int output_scale) {
  constexpr int kLayers = 4;
  std::size_t recovered = 0;
  for (int i = 0; i < kLayers; ++i) recovered += told("Z", opened_words(output_scale), output_scale).recovered;
  return recovered;
}

TEST(Lattice, GivesMoreColumnsAwayTheFinerZIsOpened) {
  const std::size_t at_full_precision = recovered_in_all(32);
  EXPECT_GE(at_full_precision, 3 * kColumns);  // of 4 times as many: weights may happen to be nearly dependent
  EXPECT_LT(recovered_in_all(16), at_full_precision);
  EXPECT_LT(recovered_in_all(6), kColumns);
}

TEST(Lattice, GivesNoneAwayUnderASharedTop) {
  const Tensor share =
      record_scoring(testing::PlainScheme(), people(),
                     {.out = 1, .batch = kRows, .initial_deviation = 4, .top = protocol::Top::kShared});
  EXPECT_LE(told("B's share", (share / share.abs().max() * 0x1p40).round(), 0).recovered, 1U);
}

TEST(Lattice, RefusesTooFewRowsAndTooLargeNumbers) {
  EXPECT_THROW((void)attack_lattice(torch::ones({32, 1}), 16, 20, 32), InvalidArgument);
  EXPECT_THROW((void)attack_lattice(torch::ones({16, 1}), 16, 8, 32), InvalidArgument);
  EXPECT_THROW((void)attack_lattice(torch::full({32, 1}, 0x1p30), 32, 8, 32), InvalidArgument);
}

}  // namespace
}  // namespace blindfl::lab::attacks::lattice_test
