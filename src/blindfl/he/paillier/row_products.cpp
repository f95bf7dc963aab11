#include "blindfl/he/paillier/row_products.h"

#include <algorithm>
#include <deque>
#include <vector>

#include "blindfl/he/paillier/big_int.h"
#include "blindfl/he/paillier/scalar_task.h"

namespace blindfl::he::paillier {

namespace {

/// Products that are worth waking another thread for.
constexpr std::size_t kProductGrain = 64;

/// Chains cut into pieces of about `piece` factors: first the pieces, then the products of each chain's pieces.
void multiply_pieces(const Ring& ring, std::span<const Ring::Chain> chains, std::size_t piece) {
  std::size_t most = 0;
  for (const auto& chain : chains) most += chain.count / piece;
  Rows rows(ring, most);
  std::vector<const Limb*> results(most);
  std::vector<Ring::Chain> first;
  std::vector<Ring::Chain> second;
  std::size_t used = 0;
  for (const auto& chain : chains) {
    const std::size_t pieces = chain.count / piece;
    if (pieces < 2) {
      first.push_back(chain);
      continue;
    }
    second.push_back({chain.to, results.data() + used, pieces});
    for (std::size_t i = 0; i < pieces; ++i, ++used) {
      const std::size_t begin = chain.count * i / pieces;
      const std::size_t end = chain.count * (i + 1) / pieces;
      first.push_back({rows[used], chain.factors + begin, end - begin});
      results[used] = rows[used];
    }
  }
  ring.multiply_chains(first);
  ring.multiply_chains(second);
}

/// Montgomery's trick as a tree: products of pairs up to a single one, which is inverted; then down again, where a
/// product's inverse times one factor is the other factor's inverse.
class InverseTree {
 public:
  InverseTree(const Ring& ring, std::span<const Reciprocal> rows, ThreadPool& pool)
      : ring_(ring), rows_(rows), pool_(pool), levels_(1) {
    for (const auto& row : rows) levels_[0].push_back(row.from);
  }

  void run() {
    while (levels_.back().size() > 1) up();
    Rows& root = memory_.emplace_back(ring_, 1);
    ring_.write(root[0], inverse(ring_.read(levels_.back()[0]), ring_.modulus() * ring_.modulus()));
    inverses_ = {root[0]};
    for (std::size_t level = levels_.size() - 1; level > 0; --level) down(level - 1);
    // A row that never found another to pair with.
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (inverses_[i] != rows_[i].to) copy_row(ring_, rows_[i].to, inverses_[i]);
    }
  }

 private:
  void up() {
    const auto& below = levels_.back();
    const std::size_t pairs = below.size() / 2;
    Rows& rows = memory_.emplace_back(ring_, pairs);
    std::vector<const Limb*> above(pairs);
    products_.clear();
    for (std::size_t i = 0; i < pairs; ++i) {
      above[i] = rows[i];
      products_.push_back({rows[i], below[2 * i], below[2 * i + 1]});
    }
    if (below.size() % 2 == 1) above.push_back(below.back());
    multiply_in_parallel(ring_, products_, pool_);
    levels_.push_back(std::move(above));
  }

  void down(std::size_t l) {
    const auto& level = levels_[l];
    Rows& rows = memory_.emplace_back(ring_, l == 0 ? 0 : level.size());
    std::vector<const Limb*> next(level.size());
    products_.clear();
    for (std::size_t i = 0; i < level.size(); ++i) {
      if ((i ^ 1) == level.size()) {  // the odd one out went up as it was
        next[i] = inverses_[i / 2];
        continue;
      }
      Limb* to = l == 0 ? rows_[i].to : rows[i];
      products_.push_back({to, inverses_[i / 2], level[i ^ 1]});
      next[i] = to;
    }
    multiply_in_parallel(ring_, products_, pool_);
    inverses_ = std::move(next);
  }

  const Ring& ring_;
  std::span<const Reciprocal> rows_;
  ThreadPool& pool_;
  std::vector<std::vector<const Limb*>> levels_;
  std::vector<const Limb*> inverses_;  ///< of the last level that was worked on
  std::vector<Ring::Product> products_;
  std::deque<Rows> memory_;
};

}  // namespace

void multiply_long_chains(const Ring& ring, std::span<const Ring::Chain> chains) {
  // Four chains for each lane keep the lanes busy, if their lengths are alike.
  const std::size_t enough = 4 * ring.lanes();
  std::size_t factors = 0;
  for (const auto& chain : chains) factors += chain.count;
  const std::size_t piece = std::max<std::size_t>(4, factors / enough);
  const bool cut = std::ranges::any_of(chains, [&](const auto& chain) { return chain.count >= 2 * piece; });
  if (ring.lanes() > 1 && chains.size() < enough && cut) {
    multiply_pieces(ring, chains, piece);
  } else {
    ring.multiply_chains(chains);
  }
}

void multiply_in_parallel(const Ring& ring, std::span<const Ring::Product> products, ThreadPool& pool) {
  pool.parallel_for(products.size(), kProductGrain,
                    [&](std::size_t begin, std::size_t end) { ring.multiply(products.subspan(begin, end - begin)); });
}

void invert_rows(const Ring& ring, std::span<const Reciprocal> rows, ThreadPool& pool) {
  if (!rows.empty()) InverseTree(ring, rows, pool).run();
}

void divide_rows(const Ring& ring, std::span<const Quotient> rows, ThreadPool& pool) {
  Rows inverses(ring, rows.size());
  std::vector<Reciprocal> reciprocals;
  std::vector<Ring::Product> products;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Quotient& row = rows[i];
    reciprocals.push_back({row.reciprocal ? row.to : inverses[i], row.divisor});
    if (!row.reciprocal) products.push_back({row.to, row.to, inverses[i]});
  }
  invert_rows(ring, reciprocals, pool);
  multiply_in_parallel(ring, products, pool);
}

}  // namespace blindfl::he::paillier
