#include "blindfl/he/paillier/table_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace blindfl::he::paillier {

namespace {

/// Exponents of a base that its window is chosen by; more would say the same.
constexpr std::size_t kSamples = 8;

double cost(const Work& work) {
  return static_cast<double>(work.products) + 0.75 * static_cast<double>(work.squarings);
}

}  // namespace

Work odd_powers_work(std::size_t powers) {
  return {powers - 1, powers > 1 ? 1U : 0U};
}

Work all_powers_work(std::size_t powers) {
  return {(powers - 1) / 2, powers / 2};
}

int last_doubling(std::size_t powers, int width) {
  return std::min(static_cast<int>(std::bit_width(powers)), width) - 1;
}

TablePlan::TablePlan(const Scalars& scalars, std::size_t groups, const ScalarChoice& choice) : choice_(choice) {
  choice_.products = 0;
  choice_.squarings = 0;
  choose_widths(scalars);
  make_slots(scalars);
  std::vector<std::uint32_t> sizes(slots_.back());
  count_rows(scalars, sizes);
  lay_out(sizes);

  Work work{choice_.products, choice_.squarings};
  std::size_t inverted = 0;
  count_tables(work, inverted);
  for (const auto parts : parts_) {
    inverted += parts >> 1;
    work.products += parts == 3 ? 1 : 0;
  }
  choice_.products = work.products * groups;
  choice_.squarings = work.squarings * groups;
  choice_.inversion = inverted * groups > 0;
  if (choice_.inversion) choice_.products += 3 * (inverted * groups - 1);
}

/// What a base takes with a window: its tables, and a product for each digit.
double TablePlan::cost_of_width(std::span<const std::int64_t> sample, std::size_t uses, int width) const {
  std::size_t digits = 0;
  std::array<std::array<std::uint32_t, kDigitPositions>, 2> powers{};
  std::array<int, 2> windows{};
  for (const auto exponent : sample) {
    for_each_power(exponent, width, [&](int /*position*/, int window, bool negative, std::uint32_t power) {
      ++digits;
      const std::size_t side = choice_.inverses && negative ? 1 : 0;
      auto& most = powers[side][static_cast<std::size_t>(window)];
      most = std::max(most, power + 1);
      windows[side] = std::max(windows[side], window + 1);
    });
  }
  double total = windows[1] > 0 ? 3 : 0;
  for (std::size_t side = 0; side < 2; ++side) {
    for (int window = 0; window < windows[side]; ++window) {
      const std::size_t size = std::max(1U, powers[side][static_cast<std::size_t>(window)]);
      total += cost(choice_.combs ? all_powers_work(size) : odd_powers_work(size));
      if (window > 0) total += 0.75;
    }
  }
  return total + static_cast<double>(digits) * static_cast<double>(uses) / static_cast<double>(sample.size());
}

std::uint8_t TablePlan::width_for(std::span<const std::int64_t> sample, std::size_t uses) const {
  std::uint64_t largest = 1;
  for (const auto exponent : sample)
    largest = std::max(largest, magnitude(exponent) >> std::countr_zero(magnitude(exponent)));
  // Windows grow with the logarithm of the uses. What that says for any exponents is near the best for these.
  const double uses_bits = std::log2(static_cast<double>(uses));
  const int guess = static_cast<int>(choice_.combs ? 0.5 * uses_bits + 1.8 : 0.6 * uses_bits + 2.5);
  const int widest = std::clamp(std::min(guess + 1, static_cast<int>(std::bit_width(largest))), 1, choice_.size);
  if (widest == 1) return 1;
  const bool narrower = cost_of_width(sample, uses, widest - 1) < cost_of_width(sample, uses, widest);
  return static_cast<std::uint8_t>(narrower ? widest - 1 : widest);
}

void TablePlan::choose_widths(const Scalars& scalars) {
  std::vector<std::uint32_t> uses(scalars.bases);
  std::vector<std::array<std::int64_t, kSamples>> samples(scalars.bases);
  for (const auto& [base, exponent] : scalars.entries) {
    if (uses[base] < kSamples) samples[base][uses[base]] = exponent;
    ++uses[base];
  }
  widths_.resize(scalars.bases);
  for (std::size_t base = 0; base < scalars.bases; ++base) {
    const auto sample = std::span(samples[base]).first(std::min<std::size_t>(uses[base], kSamples));
    widths_[base] = width_for(sample, uses[base]);
  }
}

void TablePlan::make_slots(const Scalars& scalars) {
  std::vector<std::uint8_t> windows(scalars.bases, 1);
  if (choice_.combs) {
    for (const auto& [base, exponent] : scalars.entries) {
      const int needed = (static_cast<int>(std::bit_width(magnitude(exponent))) - 1) / widths_[base] + 1;
      windows[base] = std::max(windows[base], static_cast<std::uint8_t>(needed));
    }
  }
  slots_.assign(1, 0);
  for (const auto count : windows) slots_.push_back(slots_.back() + 2 * std::size_t{count});
  first_.assign(slots_.back(), 0);
}

/// Products and squarings of the rows themselves, and how far each table must go.
void TablePlan::count_rows(const Scalars& scalars, std::vector<std::uint32_t>& sizes) {
  parts_.assign(scalars.rows(), 0);
  for (std::size_t row = 0; row < scalars.rows(); ++row) {
    std::array<std::size_t, 2> digits{};
    std::array<int, 2> top{};
    for (const auto& entry : scalars.row(row)) {
      for_each_power(entry.exponent, widths_[entry.base], [&](int position, int window, bool negative, auto power) {
        auto& size = sizes[slot(entry.base, window, negative)];
        size = std::max(size, power + 1);
        const auto p = static_cast<std::size_t>(part(negative));
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

void TablePlan::lay_out(std::vector<std::uint32_t>& sizes) {
  for (std::uint32_t base = 0; base < widths_.size(); ++base) {
    const std::size_t windows = (slots_[base + 1] - slots_[base]) / 2;
    for (const bool inverse : {false, true}) {
      const std::size_t begin = slots_[base] + (inverse ? windows : 0);
      std::size_t used = windows;
      while (used > 0 && sizes[begin + used - 1] == 0) --used;
      for (std::size_t window = 0; window < used; ++window) {
        const std::size_t i = begin + window;
        sizes[i] = std::max(1U, sizes[i]);  // the next window is reached through it
        first_[i] = static_cast<std::uint32_t>(powers_);
        tables_.push_back({base, inverse, widths_[base], static_cast<std::uint8_t>(window), first_[i], sizes[i]});
        powers_ += sizes[i];
      }
    }
  }
}

void TablePlan::count_tables(Work& work, std::size_t& inverted) const {
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    const PowerTable& table = tables_[i];
    const Work own = choice_.combs ? all_powers_work(table.powers) : odd_powers_work(table.powers);
    work.products += own.products;
    work.squarings += own.squarings;
    inverted += table.inverse && table.window == 0 ? 1 : 0;
    if (table.window > 0) {
      work.squarings += static_cast<std::size_t>(table.width - last_doubling(tables_[i - 1].powers, table.width));
    }
  }
}

}  // namespace blindfl::he::paillier
