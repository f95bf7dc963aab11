#include "blindfl/he/paillier/table_products.h"

#include <algorithm>
#include <array>

#include "blindfl/he/paillier/power_tables.h"
#include "blindfl/he/paillier/row_products.h"

namespace blindfl::he::paillier {

namespace {

/// Rows of tables that are in memory at once, if one group of ciphertexts has no more: some hundred megabytes.
constexpr std::size_t kMostPowers = std::size_t{1} << 17;
/// Outputs that are worked on together: enough to fill the lanes, few enough for the caches.
constexpr std::size_t kOutputsTogether = 128;

/// Works through some outputs, position after position. Kept from one block of outputs to the next for its memory.
class Horner {
 public:
  explicit Horner(const Ring& ring) : ring_(ring) {}

  /// The next output: where its parts go.
  void start(Limb* product, Limb* divisor) {
    accumulators_.push_back({product, false});
    accumulators_.push_back({divisor, false});
  }
  /// A factor of the output that was started last.
  void add(int position, const Limb* factor, int part) {
    const std::size_t accumulator = accumulators_.size() - 2 + static_cast<std::size_t>(part);
    levels_[static_cast<std::size_t>(part)][static_cast<std::size_t>(position)].push_back({accumulator, factor});
  }
  void run() {
    int above = kDigitPositions;  // where nothing has started yet
    for (int position = kDigitPositions - 1; position >= 0; --position) {
      const auto p = static_cast<std::size_t>(position);
      if (levels_[0][p].empty() && levels_[1][p].empty()) continue;
      square(static_cast<std::size_t>(above - position));
      multiply(p);
      above = position;
    }
    square(static_cast<std::size_t>(above));
    accumulators_.clear();
  }

 private:
  struct Factor {
    std::size_t accumulator;
    const Limb* row;
  };
  struct Accumulator {
    Limb* row;
    bool started;
  };

  void square(std::size_t times) {
    if (times == 0) return;
    squares_.clear();
    for (const auto& accumulator : accumulators_) {
      if (accumulator.started) squares_.push_back({accumulator.row, accumulator.row});
    }
    if (!squares_.empty()) ring_.square(squares_, times);
  }

  void multiply(std::size_t position) {
    chains_.clear();
    factors_.clear();
    // At most one accumulator before each factor; chains point into this, so it must not move.
    factors_.reserve(2 * (levels_[0][position].size() + levels_[1][position].size()));
    for (auto& parts : levels_) {
      std::size_t last = accumulators_.size();
      for (const Factor& factor : parts[position]) {
        Accumulator& accumulator = accumulators_[factor.accumulator];
        if (factor.accumulator != last) {
          chains_.push_back({accumulator.row, factors_.data() + factors_.size(), 0});
          if (accumulator.started) factors_.push_back(accumulator.row);
          chains_.back().count = accumulator.started ? 1 : 0;
          accumulator.started = true;
          last = factor.accumulator;
        }
        factors_.push_back(factor.row);
        ++chains_.back().count;
      }
      parts[position].clear();
    }
    multiply_long_chains(ring_, chains_);
  }

  const Ring& ring_;
  std::vector<Accumulator> accumulators_;
  std::array<std::array<std::vector<Factor>, kDigitPositions>, 2> levels_;
  std::vector<Ring::Row> squares_;
  std::vector<Ring::Chain> chains_;
  std::vector<const Limb*> factors_;
};

/// All rows for some groups of ciphertexts.
class TableProducts {
 public:
  TableProducts(const ScalarTask& task, const TablePlan& plan, std::size_t first_group, std::size_t groups)
      : task_(task),
        plan_(plan),
        first_group_(first_group),
        rows_(std::max<std::size_t>(1, task.rows())),
        outputs_(groups * rows_),
        tables_(task, plan, first_group, groups),
        divisors_(task.ring, plan.divides() ? outputs_ : 0) {}

  void run() {
    // Fewer in a block if else a thread had none.
    const std::size_t together = std::min(kOutputsTogether, (outputs_ - 1) / task_.pool.size() + 1);
    task_.pool.parallel_for((outputs_ - 1) / together + 1, 1, [&](std::size_t begin, std::size_t end) {
      Horner horner(task_.ring);
      for (std::size_t block = begin; block < end; ++block) {
        evaluate(horner, block * together, std::min(outputs_, (block + 1) * together));
      }
    });
    if (plan_.divides()) divide();
  }

 private:
  [[nodiscard]] std::size_t row_of(std::size_t output) const { return output % rows_; }
  [[nodiscard]] Limb* output(std::size_t i) const { return task_.output(row_of(i), first_group_ + i / rows_); }

  void evaluate(Horner& horner, std::size_t begin, std::size_t end) {
    Rows sums(task_.ring, task_.accumulate ? end - begin : 0);
    std::vector<Ring::Product> products;
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t row = row_of(i);
      Limb* to = task_.accumulate ? sums[i - begin] : output(i);
      horner.start(to, plan_.divides() ? divisors_[i] : nullptr);
      const Limb* const* powers = tables_.of_group(i / rows_);
      plan_.for_each_factor(task_.scalars, row, [&](int position, std::size_t power, int part) {
        horner.add(position, powers[power], part);
      });
      if (task_.accumulate && plan_.has_part(row, 0)) products.push_back({output(i), output(i), to});
      if (!task_.accumulate && task_.scalars.row(row).empty()) copy_row(task_.ring, to, task_.ring.one());
    }
    horner.run();
    task_.ring.multiply(products);
  }

  void divide() {
    std::vector<Quotient> quotients;
    for (std::size_t i = 0; i < outputs_; ++i) {
      const std::size_t row = row_of(i);
      if (!plan_.has_part(row, 1)) continue;
      quotients.push_back({output(i), divisors_[i], !task_.accumulate && !plan_.has_part(row, 0)});
    }
    divide_rows(task_.ring, quotients, task_.pool);
  }

  const ScalarTask& task_;
  const TablePlan& plan_;
  std::size_t first_group_;
  std::size_t rows_;     ///< at least one: `multiply_by_tables` sees to it
  std::size_t outputs_;  ///< of these groups, group after group
  PowerTables tables_;
  Rows divisors_;
};

}  // namespace

void multiply_by_tables(const ScalarTask& task, const TablePlan& plan) {
  if (task.rows() == 0) return;
  const std::size_t at_once =
      std::clamp<std::size_t>(kMostPowers / std::max<std::size_t>(1, plan.powers()), 1, task.groups);
  for (std::size_t group = 0; group < task.groups; group += at_once) {
    TableProducts(task, plan, group, std::min(at_once, task.groups - group)).run();
  }
}

}  // namespace blindfl::he::paillier
