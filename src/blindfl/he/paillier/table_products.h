#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "blindfl/he/paillier/exponent_digits.h"
#include "blindfl/he/paillier/scalar_task.h"

// Straus' method with tables that all rows share. Exponents are cut into odd digits, each at a position of its own
// (exponent_digits.h); a base's table has its odd powers up to the largest digit in use. A row is then worked through
// position after position, from the highest: multiply by what has a digit there, square, and on.
//
// A row's digits cost one product each wherever they stand, and its squarings are shared by all its entries. Each base
// has a window of its own, as wide as pays for how often and with what exponents it is used.

namespace blindfl::he::paillier {

/// Windows, tables and counts for given scalars.
class TablePlan {
 public:
  /// `choice` gives the widest window, and whether digits are balanced and bases inverted.
  TablePlan(const Scalars& scalars, std::size_t groups, const ScalarChoice& choice);

  /// As given, with what it takes.
  [[nodiscard]] const ScalarChoice& choice() const { return choice_; }

  /// The odd powers of a base or of its inverse, up to the largest that is used: 1, 3, ...
  struct Table {
    std::uint32_t base;
    bool inverse;
    std::uint32_t first;   ///< number of its first power among all tables' powers
    std::uint32_t powers;  ///< at least 1
  };
  [[nodiscard]] const std::vector<Table>& tables() const { return tables_; }
  [[nodiscard]] std::size_t powers() const { return powers_; }

  /// Whether a row has a part to multiply by (0), or to divide by (1).
  [[nodiscard]] bool has_part(std::size_t row, int part) const { return (parts_[row] >> part & 1) != 0; }
  [[nodiscard]] bool divides() const { return divides_; }

  /// Calls f(position, number of the power, part) for each digit of a row.
  template <class F>
  void for_each_factor(const Scalars& scalars, std::size_t row, F&& f) const {
    for (const auto& entry : scalars.row(row)) {
      for_each_digit(entry.exponent, widths_[entry.base], choice_.balanced, [&](int position, std::int64_t digit) {
        const auto power = static_cast<std::uint32_t>(std::abs(digit) / 2);
        f(position, first_[side(entry.base, digit)] + power, part(digit));
      });
    }
  }

 private:
  /// Which table a digit is looked up in, and which part of its row it belongs to.
  [[nodiscard]] std::size_t side(std::size_t base, std::int64_t digit) const {
    return 2 * base + (choice_.inverses && digit < 0 ? 1 : 0);
  }
  [[nodiscard]] int part(std::int64_t digit) const { return !choice_.inverses && digit < 0 ? 1 : 0; }

  void choose_widths(const Scalars& scalars);
  [[nodiscard]] std::uint8_t width_for(const std::int64_t* exponents, std::size_t count, std::size_t uses) const;
  void count_rows(const Scalars& scalars, std::vector<std::uint32_t>& sizes);
  void lay_out(const std::vector<std::uint32_t>& sizes);

  ScalarChoice choice_;
  std::vector<std::uint8_t> widths_;  ///< of each base
  std::vector<std::uint32_t> first_;  ///< of each side of a base
  std::vector<Table> tables_;
  std::size_t powers_ = 0;
  std::vector<std::uint8_t> parts_;
  bool divides_ = false;
};

/// Does what `task` asks for, as `plan` says.
void multiply_by_tables(const ScalarTask& task, const TablePlan& plan);

}  // namespace blindfl::he::paillier
