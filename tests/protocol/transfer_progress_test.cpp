#include "blindfl/protocol/session/transfer_progress.h"

#include <gtest/gtest.h>

#include <vector>

#include "blindfl/protocol/session/product.h"
#include "testing/schemes.h"
#include "testing/two_parties.h"

namespace blindfl::protocol {
namespace {

constexpr ProductSteps kSteps{net::Step::kForwardOperand, net::Step::kForwardProduct, 3};
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

/// What both parties are told while B sends an operand of `rows` values to A.
std::pair<std::vector<TransferProgress>, std::vector<TransferProgress>> reports_of(std::size_t rows,
                                                                                   std::uint64_t& total) {
  const he::PlainScheme scheme;
  testing::TwoParties parties(scheme, testing::Record::kNo);
  const auto plan = scheme.plan({1, rows, 1, 100, 0, 32, 128});
  total = plan->operand_bytes();
  const ShareMatrix m(rows, 1, 32);
  return parties.run([&](Session& s) {
    std::vector<TransferProgress> reports;
    s.on_progress([&](const TransferProgress& progress) { reports.push_back(progress); });
    if (s.party() == Party::kA) {
      (void)receive_operand(s, s.keys(), *plan, kSteps);
    } else {
      send_operand(s, s.keys(), *plan, kSteps, m);
    }
    return reports;
  });
}

TEST(TransferProgress, OfALongOperandIsReportedAtBothSidesAndEndsAtItsTotal) {
  std::uint64_t total = 0;
  const auto [a, b] = reports_of(18 * kMiB / 16, total);
  for (const auto& reports : {a, b}) {
    ASSERT_GE(reports.size(), 3U);
    ASSERT_LE(reports.size(), 1 + total / TransferMeter::kBetweenReports);
    std::uint64_t before = 0;
    for (const TransferProgress& progress : reports) {
      EXPECT_EQ(progress.total, total);
      EXPECT_GT(progress.bytes, before);
      before = progress.bytes;
    }
    EXPECT_EQ(before, total);
  }
  EXPECT_EQ(a.front().what, "receiving forward operand of layer 3");
  EXPECT_EQ(b.front().what, "sending forward operand of layer 3");
}

TEST(TransferProgress, OfAShortOperandIsNotReported) {
  std::uint64_t total = 0;
  const auto [a, b] = reports_of(1000, total);
  EXPECT_LT(total, TransferMeter::kLeastTotal);
  EXPECT_TRUE(a.empty());
  EXPECT_TRUE(b.empty());
}

TEST(TransferProgress, IsToldEveryFewMebibytesHoweverLargeTheWrites) {
  std::vector<std::uint64_t> seen;
  TransferMeter meter("copying", 10 * kMiB, [&](const TransferProgress& progress) { seen.push_back(progress.bytes); });
  BufferSink inner;
  MeteredSink sink(inner, meter);
  sink.write(Bytes(9 * kMiB));
  for (std::uint64_t i = 0; i < kMiB; i += 1024) sink.write(Bytes(1024));
  EXPECT_EQ(inner.bytes().size(), 10 * kMiB);
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{4 * kMiB, 8 * kMiB, 10 * kMiB}));
}

}  // namespace
}  // namespace blindfl::protocol
