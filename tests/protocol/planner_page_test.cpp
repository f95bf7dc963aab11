// The tables of docs/appendix/planner.md that are computed, line by line: a cost that changes shows here that the page
// must.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <sstream>
#include <string>
#include <vector>

#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/he/paillier/paillier_scheme.h"
#include "blindfl/protocol/layers/oblivious_product.h"
#include "blindfl/protocol/plan/embed_planner.h"
#include "blindfl/protocol/session/party_cost.h"

namespace blindfl::protocol::planner_page_test {
namespace {

constexpr std::size_t kBatch = 128;
constexpr std::size_t kDimension = 8;

std::string page() {
  std::ifstream in(std::filesystem::path(__FILE__).parent_path().parent_path().parent_path() / "docs" / "appendix" /
                   "planner.md");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Two digits that count, and the unit.
std::string two_digits(double value, const std::vector<std::string>& units, double step) {
  std::size_t unit = 0;
  while (value >= 0.995 * step && unit + 1 < units.size()) {
    value /= step;
    ++unit;
  }
  const int digits = static_cast<int>(std::floor(std::log10(value)));
  const double place = std::pow(10.0, digits - 1);
  std::ostringstream text;
  text << std::fixed << std::setprecision(std::max(0, 1 - digits)) << std::round(value / place) * place << " "
       << units[unit];
  return text.str();
}
std::string milliseconds(double seconds) {
  return seconds >= 0.995 ? two_digits(seconds, {"s"}, 1000) : two_digits(seconds * 1e3, {"ms"}, 1000);
}
std::string kilobytes(double bytes) {
  return two_digits(bytes / 1e3, {"kB", "MB", "GB"}, 1000);
}
double both(const StepCost& step) {
  return step.seconds_a + step.seconds_b;
}
std::string cell(const StepCost& step) {
  return milliseconds(both(step)) + ", " + kilobytes(static_cast<double>(step.bytes()));
}

std::string with_commas(std::size_t n) {
  std::string digits = std::to_string(n);
  if (n < 10000) return digits;
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

EmbedMatMulSpec layer_of(std::size_t categories, std::size_t most, std::string_view scheme, Update update) {
  EmbedMatMulSpec spec;
  spec.fields_a.push_back({.field = {.categories = categories, .most = most}, .update = update});
  spec.fields_a.front().scheme = scheme;
  spec.dimension = kDimension;
  spec.out = 16;
  spec.batch = kBatch;
  spec.sgd = {.learning_rate = 0.1, .steps = 10000};
  return spec;
}

class PlannerPage : public ::testing::Test {
 protected:
  [[nodiscard]] StepCost over(const he::Scheme& scheme, std::size_t categories, std::size_t most,
                              Update update = Update::kExchanged) const {
    const EmbedMatMulParams params(layer_of(categories, most, scheme.name(), update));
    return cost_of_field(params, Party::kA, params.fields(Party::kA).front(), scheme).step;
  }
  [[nodiscard]] static StepCost by_ot(std::size_t categories, std::size_t most) {
    const EmbedMatMulParams params(layer_of(categories, most, kByOt, Update::kExchanged));
    return cost_of_ot_field(params, Party::kA, params.fields(Party::kA).front()).step;
  }
  void expect_line(const std::string& line) const {
    EXPECT_NE(page_.find("\n" + line + "\n"), std::string::npos) << "docs/appendix/planner.md lacks:\n" << line;
  }

  /// For links from fast to slow: o(blivious transfer), l(attice), p(aillier), under e(ncryption).
  [[nodiscard]] std::string chosen(std::size_t categories, std::size_t most) const {
    std::string letters;
    for (const Link& link : {Link{.bits_per_second = 10e9, .round_trip = 1e-4},
                             {.bits_per_second = 1e9, .round_trip = 1e-3},
                             {.bits_per_second = 100e6, .round_trip = 50e-3},
                             {.bits_per_second = 10e6, .round_trip = 50e-3}}) {
      const EmbedPlan plan =
          plan_embed(layer_of(categories, most, "", Update::kExchanged), {}, {&lattice_, &paillier_}, link);
      const EmbedField& field = plan.spec.fields_a.front();
      if (!letters.empty()) letters += ", ";
      letters += field.update == Update::kEncrypted ? "e" : field.by_ot() ? "o" : field.scheme.substr(0, 1);
    }
    return letters;
  }

  he::LatticeScheme lattice_;
  he::PaillierScheme paillier_;
  std::string page_ = page();
};

TEST_F(PlannerPage, SaysWhatAFieldCosts) {
  for (const std::size_t n : {3, 100, 1000, 10'000, 1'000'000}) {
    expect_line("| " + with_commas(n) + " | " + cell(by_ot(n, 1)) + " | " + cell(over(lattice_, n, 1)) + " | " +
                cell(over(paillier_, n, 1)) + " | " + cell(over(paillier_, n, 1, Update::kEncrypted)) + " | " +
                chosen(n, 1) + " |");
  }
}

TEST_F(PlannerPage, SaysWhatSeveralCategoriesOfARowCost) {
  for (const std::size_t n : {100, 1000, 10'000, 100'000}) {
    for (const std::size_t most : {2, 3, 5, 10}) {
      expect_line("| " + with_commas(n) + " | " + std::to_string(most) + " | " + cell(by_ot(n, most)) + " | " +
                  cell(over(lattice_, n, most)) + " | " + chosen(n, most) + " |");
    }
  }
}

TEST_F(PlannerPage, SaysWhatObliviousTransferTakes) {
  const auto nanoseconds = static_cast<int>(std::lround(kOtSeconds * 1e9));
  EXPECT_NE(page_.find("AES block of trees and rows and " + std::to_string(nanoseconds) + " ns for"),
            std::string::npos);
}

}  // namespace
}  // namespace blindfl::protocol::planner_page_test
