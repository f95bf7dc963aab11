#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "blindfl/he/paillier/exponent_digits.h"
#include "blindfl/he/paillier/scalar_task.h"

namespace blindfl::he::paillier {

/// Powers of a base, or of its inverse, from 1 up to the largest that is used: the odd ones; or, with combs, all of
/// them of base^(2^(width * window)).
struct PowerTable {
  std::uint32_t base;
  bool inverse;
  std::uint8_t width;  ///< bits of the base's windows
  std::uint8_t window;
  std::uint32_t first;   ///< number of its first power among all tables' powers
  std::uint32_t powers;  ///< at least 1
};

/// Products and squarings.
struct Work {
  std::size_t products = 0;
  std::size_t squarings = 0;
};

/// What a table of odd powers takes: one squaring, then a product for each power but the first.
[[nodiscard]] Work odd_powers_work(std::size_t powers);
/// What a table of all powers takes: even powers are squares.
[[nodiscard]] Work all_powers_work(std::size_t powers);
/// log2 of the power in a table of all powers from which the next window starts.
[[nodiscard]] int last_doubling(std::size_t powers, int width);

/// Windows, tables and counts of the method of tables, for given scalars.
class TablePlan {
 public:
  /// `choice` gives the widest window, and whether digits are balanced, bases inverted, and tables combs.
  TablePlan(const Scalars& scalars, std::size_t groups, const ScalarChoice& choice);

  /// As given, with what it takes.
  [[nodiscard]] const ScalarChoice& choice() const { return choice_; }

  /// The windows of a base, or of its inverse, follow each other.
  [[nodiscard]] const std::vector<PowerTable>& tables() const { return tables_; }
  [[nodiscard]] std::size_t powers() const { return powers_; }

  /// Whether a row has a part to multiply by (0), or to divide by (1).
  [[nodiscard]] bool has_part(std::size_t row, int part) const { return (parts_[row] >> part & 1) != 0; }
  [[nodiscard]] bool divides() const { return divides_; }

  /// Calls f(position, number of the power, part) for each digit of a row.
  template <class F>
  void for_each_factor(const Scalars& scalars, std::size_t row, F&& f) const {
    for (const auto& entry : scalars.row(row)) {
      for_each_power(entry.exponent, widths_[entry.base], [&](int position, int window, bool negative, auto power) {
        f(position, first_[slot(entry.base, window, negative)] + power, part(negative));
      });
    }
  }

 private:
  /// Calls f(position, window, whether it is negative, number of the power in its table) for each digit.
  template <class F>
  void for_each_power(std::int64_t exponent, int width, F&& f) const {
    if (choice_.combs) {
      for_each_window(exponent, width, [&](int window, std::int64_t digit) {
        f(0, window, digit < 0, static_cast<std::uint32_t>(std::abs(digit) - 1));
      });
    } else {
      for_each_digit(exponent, width, choice_.balanced, [&](int position, std::int64_t digit) {
        f(position, 0, digit < 0, static_cast<std::uint32_t>(std::abs(digit) / 2));
      });
    }
  }
  /// Which of all tables that a base may have a digit is looked up in, and which part of its row it belongs to.
  [[nodiscard]] std::size_t slot(std::size_t base, int window, bool negative) const {
    const std::size_t windows = (slots_[base + 1] - slots_[base]) / 2;
    return slots_[base] + (choice_.inverses && negative ? windows : 0) + static_cast<std::size_t>(window);
  }
  [[nodiscard]] int part(bool negative) const { return !choice_.inverses && negative ? 1 : 0; }

  void choose_widths(const Scalars& scalars);
  [[nodiscard]] double cost_of_width(std::span<const std::int64_t> sample, std::size_t uses, int width) const;
  [[nodiscard]] std::uint8_t width_for(std::span<const std::int64_t> sample, std::size_t uses) const;
  void make_slots(const Scalars& scalars);
  void count_rows(const Scalars& scalars, std::vector<std::uint32_t>& sizes);
  void lay_out(std::vector<std::uint32_t>& sizes);
  void count_tables(Work& work, std::size_t& inverted) const;

  ScalarChoice choice_;
  std::vector<std::uint8_t> widths_;  ///< of each base
  std::vector<std::size_t> slots_;    ///< where each base's begin: for each window, then again for the inverse
  std::vector<std::uint32_t> first_;  ///< of each slot's table
  std::vector<PowerTable> tables_;
  std::size_t powers_ = 0;
  std::vector<std::uint8_t> parts_;
  bool divides_ = false;
};

}  // namespace blindfl::he::paillier
