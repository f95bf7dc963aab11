#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "blindfl/ot/tables/tables.h"
#include "ot/ot_pair.h"

namespace blindfl::ot {

using Categories = std::vector<std::uint32_t>;

inline TableUse use_of(std::uint64_t step, unsigned char session = 1) {
  TableUse use;
  use.session.fill(std::byte{session});
  use.chooser = Party::kB;
  use.layer = 3;
  use.step = step;
  return use;
}

/// Pools that are filled as they are needed.
struct TablePools {
  OtPair pair;

  void extend_to(std::size_t ots) {
    if (pair.sender.ready() < ots) pair.extend(tiles_for(ots - pair.sender.ready()));
  }
};

template <class Word>
std::vector<Word> random_words(std::size_t count) {
  std::vector<Word> words(count);
  OtPair::random().fill_integers(std::span(words));
  return words;
}

/// Both parties of one step, with their keys.
struct TablePair {
  TablePair(const TablePlan& plan, const Categories& categories, TablePools& pools, std::uint64_t step = 0,
            const Kernels& chooser_kernels = fastest_kernels(), const Kernels& keeper_kernels = fastest_kernels(),
            TableSeeds* chooser_seeds = nullptr, TableSeeds* keeper_seeds = nullptr)
      : TablePair(
            plan, pools,
            [&] {
              return TableChooser(plan, use_of(step), categories, pools.pair.receiver, OtPair::random(),
                                  chooser_kernels, chooser_seeds);
            },
            [&] { return TableKeeper(plan, use_of(step), pools.pair.sender, keeper_kernels, keeper_seeds); }) {}

  /// With random numbers of the test's choice.
  TablePair(const TablePlan& plan, const TableUse& use, const Categories& categories, TablePools& pools, Random& random)
      : TablePair(
            plan, pools, [&] { return TableChooser(plan, use, categories, pools.pair.receiver, random); },
            [&] { return TableKeeper(plan, use, pools.pair.sender); }, random) {}

  template <class MakeChooser, class MakeKeeper>
  TablePair(const TablePlan& plan, TablePools& pools, const MakeChooser& make_chooser, const MakeKeeper& make_keeper,
            Random& random = OtPair::random())
      : chooser((pools.extend_to(plan.ots()), make_chooser())),
        keeper(make_keeper()),
        ask(chooser.ask()),
        answer(keeper.answer(ask, random)) {
    chooser.take_keys(answer);
  }

  TableChooser chooser;
  TableKeeper keeper;
  Bytes ask;
  Bytes answer;
};

/// What look-ups are, and what rows add up to.
template <class Word>
std::vector<Word> looked_up(const std::vector<Word>& table, const Categories& categories, std::size_t cols) {
  std::vector<Word> rows;
  for (const std::uint32_t c : categories) {
    rows.insert(rows.end(), table.begin() + static_cast<std::ptrdiff_t>(c * cols),
                table.begin() + static_cast<std::ptrdiff_t>((c + 1) * cols));
  }
  return rows;
}

template <class Word>
std::vector<Word> summed_up(const std::vector<Word>& rows, const Categories& categories, const TableShape& shape) {
  std::vector<Word> sums(shape.categories * shape.cols);
  for (std::size_t j = 0; j < categories.size(); ++j) {
    for (std::size_t i = 0; i < shape.cols; ++i) sums[categories[j] * shape.cols + i] += rows[j * shape.cols + i];
  }
  return sums;
}

template <class Word, class Share>
std::vector<Word> added(const Share& a, const Share& b) {
  std::vector<Word> sum(a.begin(), a.end());
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += b[i];
  return sum;
}

}  // namespace blindfl::ot
