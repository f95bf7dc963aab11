#include "blindfl/app/init/column_profile.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "blindfl/app/job/own.h"
#include "blindfl/data/number.h"

namespace blindfl::app::init {

namespace {

std::size_t hash_of(std::string_view text) {
  return std::hash<std::string_view>{}(text);
}

bool is_missing(std::string_view cell) {
  static const std::vector<std::string> usual = job::Data{}.missing;
  return std::ranges::find(usual, cell) != usual.end();
}

}  // namespace

const std::vector<std::string>& unusual_missing_marks() {
  static const std::vector<std::string> marks = {"n/a", "na", "none", "-", ".", "#N/A"};
  return marks;
}

void ColumnProfile::add(std::string_view cell) {
  ++cells_;
  if (is_missing(cell)) {
    ++missing_;
    return;
  }
  distinct_.insert(hash_of(cell));
  const auto [parsed, value] = data::parse_real(cell);
  if (parsed == data::Parsed::kFine) {
    add_number(value);
    return;
  }
  if (parsed == data::Parsed::kOutOfRange) ++not_finite_;
  const auto& marks = unusual_missing_marks();
  if (const auto mark = std::ranges::find(marks, cell); mark != marks.end()) {
    ++marked_;
    marks_.resize(marks.size());
    marks_[static_cast<std::size_t>(mark - marks.begin())] = true;
  }
  add_pieces(cell);
}

void ColumnProfile::add_number(double value) {
  least_ = numbers_ == 0 ? value : std::min(least_, value);
  largest_ = numbers_ == 0 ? value : std::max(largest_, value);
  whole_ = whole_ && value == std::floor(value);
  counts_up_ = counts_up_ && (numbers_ == 0 || value == last_ + 1);
  last_ = value;
  ++numbers_;
  const auto n = static_cast<double>(numbers_);
  const double step = (value - mean_) / n;
  const double term = (value - mean_) * step * (n - 1);
  third_ += term * step * (n - 2) - 3 * step * second_;
  second_ += term;
  mean_ += step;
}

void ColumnProfile::add_pieces(std::string_view cell) {
  for (std::size_t i = 0; i < kSeparators.size(); ++i) {
    Pieces& pieces = pieces_[i];
    std::size_t count = 0;
    std::string_view rest = cell;
    while (!rest.empty()) {
      const std::string_view piece = rest.substr(0, rest.find(kSeparators[i]));
      rest.remove_prefix(std::min(piece.size() + 1, rest.size()));
      if (piece.empty()) continue;
      pieces.distinct.insert(hash_of(piece));
      ++count;
    }
    pieces.all += count;
    pieces.most = std::max(pieces.most, count);
    if (count > 1) ++pieces.cells;
  }
}

double ColumnProfile::skewness() const {
  if (numbers_ < 3 || !(second_ > 0)) return 0;
  const double skew = std::sqrt(static_cast<double>(numbers_)) * third_ / std::pow(second_, 1.5);
  return std::isfinite(skew) ? skew : 0;
}

char ColumnProfile::separator() const {
  const std::size_t present = cells_ - missing_;
  for (std::size_t i = 0; i < kSeparators.size(); ++i) {
    const Pieces& pieces = pieces_[i];
    // Sentences have commas too, but their pieces hardly come again.
    if (pieces.cells * 10 >= present && pieces.cells > 1 && pieces.distinct.size() * 3 <= pieces.all) {
      return kSeparators[i];
    }
  }
  return 0;
}

std::size_t ColumnProfile::most_pieces() const {
  const auto found = std::ranges::find(kSeparators, separator());
  return found == kSeparators.end() ? 0 : pieces_[static_cast<std::size_t>(found - kSeparators.begin())].most;
}

}  // namespace blindfl::app::init
