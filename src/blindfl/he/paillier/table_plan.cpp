#include <algorithm>
#include <array>
#include <numeric>

#include "blindfl/he/paillier/table_products.h"

namespace blindfl::he::paillier {

namespace {

/// Exponents of a base that its window is chosen by; more would say the same.
constexpr std::size_t kSamples = 16;

double table_cost(std::uint32_t powers) {
  return powers > 1 ? powers - 1 + 0.75 : 0;
}

}  // namespace

TablePlan::TablePlan(const Scalars& scalars, std::size_t groups, const ScalarChoice& choice) : choice_(choice) {
  choice_.products = 0;
  choice_.squarings = 0;
  choose_widths(scalars);
  std::vector<std::uint32_t> sizes(2 * scalars.bases);
  count_rows(scalars, sizes);
  lay_out(sizes);

  std::size_t inverted = 0;
  for (const auto& table : tables_) {
    choice_.products += table.powers - 1;
    choice_.squarings += table.powers > 1 ? 1 : 0;
    inverted += table.inverse ? 1 : 0;
  }
  for (const auto parts : parts_) {
    inverted += parts >> 1;
    choice_.products += parts == 3 ? 1 : 0;
  }
  choice_.products *= groups;
  choice_.squarings *= groups;
  choice_.inversion = inverted * groups > 0;
  if (choice_.inversion) choice_.products += 3 * (inverted * groups - 1);
}

std::uint8_t TablePlan::width_for(const std::int64_t* exponents, std::size_t count, std::size_t uses) const {
  std::uint8_t best = 1;
  double best_cost = 0;
  for (int width = 1; width <= choice_.size; ++width) {
    std::size_t digits = 0;
    std::array<std::uint32_t, 2> powers{};
    for (std::size_t i = 0; i < count; ++i) {
      for_each_digit(exponents[i], width, choice_.balanced, [&](int /*position*/, std::int64_t digit) {
        ++digits;
        auto& most = powers[side(0, digit)];
        most = std::max(most, static_cast<std::uint32_t>(std::abs(digit) / 2 + 1));
      });
    }
    const double sampled = static_cast<double>(uses) / static_cast<double>(count);
    const double cost =
        static_cast<double>(digits) * sampled + table_cost(powers[0]) + table_cost(powers[1]) + (powers[1] > 0 ? 3 : 0);
    if (width == 1 || cost < best_cost) {
      best = static_cast<std::uint8_t>(width);
      best_cost = cost;
    }
    if (digits == count) break;  // one for each: none wider has fewer
  }
  return best;
}

void TablePlan::choose_widths(const Scalars& scalars) {
  std::vector<std::uint32_t> uses(scalars.bases);
  for (const auto& entry : scalars.entries) ++uses[entry.base];
  std::vector<std::size_t> starts(scalars.bases + 1);
  for (std::size_t base = 0; base < scalars.bases; ++base) {
    starts[base + 1] = starts[base] + std::min<std::size_t>(uses[base], kSamples);
  }
  std::vector<std::int64_t> samples(starts.back());
  std::vector<std::uint8_t> taken(scalars.bases);
  for (const auto& [base, exponent] : scalars.entries) {
    if (taken[base] < kSamples) samples[starts[base] + taken[base]++] = exponent;
  }
  widths_.resize(scalars.bases);
  for (std::size_t base = 0; base < scalars.bases; ++base) {
    widths_[base] = width_for(samples.data() + starts[base], taken[base], uses[base]);
  }
}

/// Products and squarings of the rows themselves, and how far each table must go.
void TablePlan::count_rows(const Scalars& scalars, std::vector<std::uint32_t>& sizes) {
  first_.assign(2 * scalars.bases, 0);
  parts_.assign(scalars.rows(), 0);
  for (std::size_t row = 0; row < scalars.rows(); ++row) {
    std::array<std::size_t, 2> digits{};
    std::array<int, 2> top{};
    for (const auto& entry : scalars.row(row)) {
      for_each_digit(entry.exponent, widths_[entry.base], choice_.balanced, [&](int position, std::int64_t digit) {
        auto& size = sizes[side(entry.base, digit)];
        size = std::max(size, static_cast<std::uint32_t>(std::abs(digit) / 2 + 1));
        const auto p = static_cast<std::size_t>(part(digit));
        ++digits[p];
        top[p] = std::max(top[p], position);
      });
    }
    for (std::size_t p = 0; p < 2; ++p) {
      if (digits[p] == 0) continue;
      parts_[row] = static_cast<std::uint8_t>(parts_[row] | 1U << p);
      choice_.products += digits[p] - 1;
      choice_.squarings += static_cast<std::size_t>(top[p]);
    }
    divides_ = divides_ || digits[1] > 0;
  }
}

void TablePlan::lay_out(const std::vector<std::uint32_t>& sizes) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) continue;
    first_[i] = static_cast<std::uint32_t>(powers_);
    tables_.push_back({static_cast<std::uint32_t>(i / 2), i % 2 == 1, first_[i], sizes[i]});
    powers_ += sizes[i];
  }
}

}  // namespace blindfl::he::paillier
