#include "blindfl/he/paillier/power_tables.h"

#include <algorithm>

#include "blindfl/he/paillier/row_products.h"

namespace blindfl::he::paillier {

namespace {

/// Tables that grow side by side: the powers of one must wait for each other.
constexpr std::size_t kTablesTogether = 64;

}  // namespace

PowerTables::PowerTables(const ScalarTask& task, const TablePlan& plan, std::size_t first_group, std::size_t groups)
    : task_(task),
      plan_(plan),
      first_group_(first_group),
      groups_(groups),
      rows_(task.ring, groups * plan.powers()),
      powers_(groups * plan.powers()) {
  for (std::size_t i = 0; i < powers_.size(); ++i) powers_[i] = rows_[i];
  std::vector<Growing> all;
  for (std::size_t group = 0; group < groups; ++group) {
    const std::size_t offset = group * plan.powers();
    for (const PowerTable& table : plan.tables()) {
      if (table.window > 0) {
        ++all.back().end;
        continue;
      }
      all.push_back({&table, &table + 1, offset});
      // The base itself stays where it is.
      if (!table.inverse) powers_[offset + table.first] = task.base(table.base, first_group + group);
    }
  }
  invert_bases();
  task.pool.parallel_for((all.size() + kTablesTogether - 1) / kTablesTogether, 1,
                         [&](std::size_t begin, std::size_t end) {
                           for (std::size_t i = begin * kTablesTogether; i < end * kTablesTogether && i < all.size();
                                i += kTablesTogether) {
                             build(std::span(all).subspan(i, std::min(kTablesTogether, all.size() - i)));
                           }
                         });
}

void PowerTables::invert_bases() {
  std::vector<Reciprocal> reciprocals;
  for (std::size_t group = 0; group < groups_; ++group) {
    for (const auto& table : plan_.tables()) {
      if (!table.inverse || table.window > 0) continue;
      reciprocals.push_back(
          {rows_[group * plan_.powers() + table.first], task_.base(table.base, first_group_ + group)});
    }
  }
  invert_rows(task_.ring, reciprocals, task_.pool);
}

void PowerTables::build(std::span<Growing> all) {
  if (!plan_.choice().combs) {
    build_odd_powers(all);
    return;
  }
  std::vector<Growing> growing(all.begin(), all.end());
  while (!growing.empty()) {
    build_all_powers(growing);
    start_next_window(growing);
  }
}

/// Squares first, then power after power.
void PowerTables::build_odd_powers(std::span<const Growing> all) {
  Rows squares(task_.ring, all.size());
  std::vector<Ring::Row> to_square;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].table->powers > 1) to_square.push_back({squares[i], powers_[all[i].offset + all[i].table->first]});
  }
  task_.ring.square(to_square, 1);
  std::vector<Ring::Product> products;
  std::size_t k = 1;
  do {
    products.clear();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::size_t power = all[i].offset + all[i].table->first + k;
      if (all[i].table->powers > k) products.push_back({rows_[power], powers_[power - 1], squares[i]});
    }
    task_.ring.multiply(products);
    ++k;
  } while (!products.empty());
}

/// Of one window: even powers are squares, odd ones the power before times the first.
void PowerTables::build_all_powers(std::span<const Growing> all) {
  std::vector<Ring::Product> products;
  std::vector<Ring::Row> squares;
  std::size_t most = 1;
  for (const auto& [table, end, offset] : all) most = std::max<std::size_t>(most, table->powers);
  for (std::size_t power = 2; power <= most; ++power) {
    products.clear();
    squares.clear();
    for (const auto& [table, end, offset] : all) {
      const std::size_t first = offset + table->first;
      if (table->powers < power) continue;
      if (power % 2 == 0) {
        squares.push_back({rows_[first + power - 1], powers_[first + power / 2 - 1]});
      } else {
        products.push_back({rows_[first + power - 1], powers_[first + power - 2], powers_[first]});
      }
    }
    task_.ring.multiply(products);
    task_.ring.square(squares, 1);
  }
}

/// Squares up to the first power of each next window; leaves out what has none.
void PowerTables::start_next_window(std::vector<Growing>& all) {
  std::erase_if(all, [](const Growing& g) { return g.table + 1 == g.end; });
  std::vector<Ring::Row> squares;
  int done = 0;
  do {
    squares.clear();
    for (const auto& [table, end, offset] : all) {
      const int doubling = last_doubling(table->powers, table->width);
      if (done >= table->width - doubling) continue;
      Limb* to = rows_[offset + (table + 1)->first];
      const std::size_t from = offset + table->first + (std::size_t{1} << doubling) - 1;
      squares.push_back({to, done == 0 ? powers_[from] : to});
    }
    task_.ring.square(squares, 1);
    ++done;
  } while (!squares.empty());
  for (auto& growing : all) ++growing.table;
}

}  // namespace blindfl::he::paillier
