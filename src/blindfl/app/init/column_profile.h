#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace blindfl::app::init {

/// Marks of missing values that job files do not know by themselves. Looked for where all else is a number.
[[nodiscard]] const std::vector<std::string>& unusual_missing_marks();

/// What the cells of a column have in common. It counts, and keeps no cell.
class ColumnProfile {
 public:
  static constexpr std::array<char, 3> kSeparators = {'|', ';', ','};

  explicit ColumnProfile(std::string name) : name_(std::move(name)) {}

  void add(std::string_view cell);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::size_t cells() const { return cells_; }
  /// Cells that say nothing, unusual marks included if all else is a number.
  [[nodiscard]] std::size_t missing() const { return missing_ + (is_numeric() ? marked_ : 0); }
  /// Different ones among the cells that say something.
  [[nodiscard]] std::size_t distinct() const { return distinct_.size(); }
  /// All cells say something, and something different.
  [[nodiscard]] bool is_unique() const { return cells_ > 1 && missing_ == 0 && distinct() == cells_; }

  /// There are numbers, and all that says something is one, finite or not.
  [[nodiscard]] bool is_numeric() const {
    return numbers_ > 0 && numbers_ + marked_ + missing_ + not_finite_ == cells_;
  }
  /// Infinite ones, and those beyond what a double holds.
  [[nodiscard]] std::size_t not_finite() const { return not_finite_; }
  /// Whole numbers or texts that are different in every row: they name rows, and describe nothing.
  [[nodiscard]] bool names_rows() const { return is_unique() && (!is_numeric() || is_whole()); }
  [[nodiscard]] bool is_whole() const { return is_numeric() && whole_ && not_finite_ == 0; }
  /// 0 and 1, and nothing else.
  [[nodiscard]] bool is_binary() const { return is_whole() && least_ >= 0 && largest_ <= 1; }
  /// Whole numbers that go up by one from row to row.
  [[nodiscard]] bool is_counter() const { return is_whole() && numbers_ == cells_ && cells_ > 2 && counts_up_; }
  [[nodiscard]] double least() const { return least_; }
  [[nodiscard]] double largest() const { return largest_; }
  /// Third moment: 0 for symmetric ones, 2 for exponential ones, more for those with a heavy tail.
  [[nodiscard]] double skewness() const;
  /// Unusual marks of missing values, by their index.
  [[nodiscard]] const std::vector<bool>& marks() const { return marks_; }

  /// Of cells that hold several categories, one of `kSeparators` between them; 0 if it does not look so.
  [[nodiscard]] char separator() const;
  /// The most categories of one cell, with that separator.
  [[nodiscard]] std::size_t most_pieces() const;

 private:
  struct Pieces {
    std::size_t cells = 0;  ///< with more than one
    std::size_t all = 0;
    std::size_t most = 0;
    std::unordered_set<std::size_t> distinct{};
  };
  void add_number(double value);
  void add_pieces(std::string_view cell);

  std::string name_;
  std::size_t cells_ = 0;
  std::size_t missing_ = 0;
  std::size_t marked_ = 0;
  std::size_t numbers_ = 0;
  std::size_t not_finite_ = 0;
  std::unordered_set<std::size_t> distinct_{};  ///< hashes: what was in the cells need not be kept
  std::vector<bool> marks_{};
  std::array<Pieces, kSeparators.size()> pieces_{};
  bool whole_ = true;
  bool counts_up_ = true;
  double least_ = 0;
  double largest_ = 0;
  double last_ = 0;
  double mean_ = 0;
  double second_ = 0;  ///< sums of powers of what is left without the mean
  double third_ = 0;
};

}  // namespace blindfl::app::init
