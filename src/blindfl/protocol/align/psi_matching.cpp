#include "blindfl/protocol/align/psi_matching.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "blindfl/base/error.h"

namespace blindfl::protocol {

namespace {

struct PointOfRow {
  Point point;
  std::uint32_t row;
};

// Ascending by point.
std::vector<PointOfRow> sorted(const OwnPoints& own) {
  std::vector<PointOfRow> list(own.points.size());
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = {own.points[i], own.rows[i]};
  std::ranges::sort(list, {}, &PointOfRow::point);
  return list;
}

void append(MatchedPoints& matched, const Point& point, std::uint32_t row) {
  matched.points.push_back(point);
  matched.rows.push_back(row);
}

// Rows at no place first, then all of them, again and again; each time in another order.
class StandIns {
 public:
  StandIns(const std::vector<std::uint32_t>& rows, std::uint32_t count, Random& random)
      : count_(count), random_(random) {
    std::vector<bool> used(count);
    for (const std::uint32_t row : rows) {
      if (row != kNoRow) used[row] = true;
    }
    for (const std::uint32_t row : shuffled(count, random)) {
      if (!used[row]) next_.push_back(row);
    }
  }

  std::uint32_t next() {
    if (next_.empty()) next_ = shuffled(count_, random_);
    require<InvalidArgument>(!next_.empty(), "a party without rows has no placeholders");
    const std::uint32_t row = next_.back();
    next_.pop_back();
    return row;
  }

 private:
  std::uint32_t count_;
  Random& random_;
  std::vector<std::uint32_t> next_;
};

}  // namespace

std::vector<std::uint32_t> shuffled(std::uint32_t count, Random& random) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  for (std::uint32_t left = count; left > 1; --left) std::swap(order[left - 1], order[random.below(left)]);
  return order;
}

void require_distinct(std::span<const std::string> ids) {
  std::unordered_map<std::string_view, std::size_t> first_rows;
  first_rows.reserve(ids.size());
  std::size_t repeated = 0;
  std::pair<std::size_t, std::size_t> rows;
  for (std::size_t row = 0; row < ids.size(); ++row) {
    const auto [first, is_new] = first_rows.try_emplace(ids[row], row);
    if (is_new) continue;
    if (repeated++ == 0) rows = {first->second, row};
  }
  require<DataError>(repeated == 0, repeated, " of ", ids.size(), " ids repeat an earlier one, the first at rows ",
                     rows.first, " and ", rows.second, ": each id must belong to one row");
}

MatchedPoints intersection(const OwnPoints& own, const Points& theirs) {
  Points other = theirs;
  std::ranges::sort(other);
  MatchedPoints matched;
  auto candidate = other.cbegin();
  for (const PointOfRow& mine : sorted(own)) {
    candidate = std::find_if(candidate, other.cend(), [&](const Point& point) { return point >= mine.point; });
    if (candidate == other.cend()) break;
    if (*candidate == mine.point) append(matched, mine.point, mine.row);
  }
  return matched;
}

MatchedPoints rows_of(const OwnPoints& own, const Points& theirs) {
  const std::vector<PointOfRow> mine = sorted(own);
  MatchedPoints matched;
  for (const Point& point : theirs) {
    const auto found = std::ranges::lower_bound(mine, point, {}, &PointOfRow::point);
    append(matched, point, found != mine.end() && found->point == point ? found->row : kNoRow);
  }
  return matched;
}

MatchedPoints union_of(const OwnPoints& own, const Points& others) {
  OwnPoints all = own;
  all.points.insert(all.points.end(), others.begin(), others.end());
  all.rows.resize(all.points.size(), kNoRow);
  MatchedPoints matched;
  for (const PointOfRow& point : sorted(all)) append(matched, point.point, point.row);
  require<ProtocolError>(std::ranges::adjacent_find(matched.points) == matched.points.end(),
                         "the union of the parties' ids holds one twice: what the peer sent does not belong together");
  return matched;
}

Points difference(const Points& points, const Points& without) {
  Points other = without;
  std::ranges::sort(other);
  Points left;
  std::ranges::copy_if(points, std::back_inserter(left),
                       [&](const Point& point) { return !std::ranges::binary_search(other, point); });
  return left;
}

Alignment all_real(std::vector<std::uint32_t> rows) {
  std::vector<bool> real(rows.size(), true);
  return {std::move(rows), std::move(real)};
}

Alignment with_stand_ins(std::vector<std::uint32_t> rows, std::uint32_t count, Random& random) {
  StandIns stand_ins(rows, count, random);
  Alignment alignment{std::move(rows), {}};
  for (std::uint32_t& row : alignment.rows) {
    alignment.real.push_back(row != kNoRow);
    if (row == kNoRow) row = stand_ins.next();
  }
  return alignment;
}

}  // namespace blindfl::protocol
