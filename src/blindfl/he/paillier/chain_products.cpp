#include "blindfl/he/paillier/chain_products.h"

#include <algorithm>

#include "blindfl/he/paillier/row_products.h"

namespace blindfl::he::paillier {

namespace {

/// Chains that run side by side: a chain's own steps must wait for each other.
constexpr std::size_t kChainsTogether = 64;
/// Rows of slots for them, unless the lanes would stand idle.
constexpr std::size_t kMostSlots = std::size_t{1} << 15;

class ChainProducts {
 public:
  explicit ChainProducts(const ScalarTask& task) : task_(task) {}
  void run();

 private:
  void write_programs();
  void run_block(std::size_t begin, std::size_t end);
  void deliver(std::size_t chain, const Limb* result, std::vector<Ring::Product>& products);
  void divide();

  [[nodiscard]] const ChainProgram& program(std::size_t chain) const { return programs_[chain / task_.groups]; }
  [[nodiscard]] std::size_t group(std::size_t chain) const { return chain % task_.groups; }
  [[nodiscard]] Limb* output(std::size_t chain) const { return task_.output(program(chain).row, group(chain)); }

  const ScalarTask& task_;
  std::vector<ChainProgram> programs_;     ///< the longest first, so that those that run together end together
  std::vector<std::size_t> divisor_of_;    ///< number of a program's first row among the divisors
  std::vector<std::uint8_t> has_product_;  ///< of each row: whether it has a positive exponent
  std::size_t divisors_ = 0;
  Rows divisor_rows_;
};

void ChainProducts::write_programs() {
  std::vector<ChainProgram> all(2 * task_.rows());
  task_.pool.parallel_for(all.size(), 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) all[i] = write_chain(task_.scalars, i / 2, i % 2 == 1);
  });
  has_product_.resize(task_.rows());
  for (auto& program : all) {
    if (program.bases.empty()) continue;
    if (!program.divisor) has_product_[program.row] = 1;
    programs_.push_back(std::move(program));
  }
  std::ranges::stable_sort(programs_, [](const auto& a, const auto& b) { return a.steps.size() > b.steps.size(); });
  divisor_of_.resize(programs_.size());
  for (std::size_t i = 0; i < programs_.size(); ++i) {
    divisor_of_[i] = divisors_;
    if (programs_[i].divisor) divisors_ += task_.groups;
  }
}

void ChainProducts::run() {
  for (std::size_t row = 0; row < task_.rows() && !task_.accumulate; ++row) {
    if (!task_.scalars.row(row).empty()) continue;
    for (std::size_t g = 0; g < task_.groups; ++g) copy_row(task_.ring, task_.output(row, g), task_.ring.one());
  }
  write_programs();
  if (programs_.empty()) return;
  divisor_rows_ = Rows(task_.ring, divisors_);

  std::size_t slots = 1;
  for (const auto& program : programs_) slots = std::max(slots, program.slots);
  const std::size_t chains = programs_.size() * task_.groups;
  const std::size_t lanes = task_.ring.lanes();
  std::size_t together = std::min(kChainsTogether, (chains - 1) / task_.pool.size() + 1);
  together = std::max(std::min(together, kMostSlots / slots), lanes) / lanes * lanes;
  task_.pool.parallel_for((chains - 1) / together + 1, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t block = begin; block < end; ++block) {
      run_block(block * together, std::min(chains, (block + 1) * together));
    }
  });
  divide();
}

void ChainProducts::run_block(std::size_t begin, std::size_t end) {
  std::size_t slots = 0;
  for (std::size_t chain = begin; chain < end; ++chain) slots = std::max(slots, program(chain).slots);
  Rows rows(task_.ring, (end - begin) * slots);
  const auto slot = [&](std::size_t chain, std::size_t i) { return rows[(chain - begin) * slots + i]; };
  const auto factor = [&](std::size_t chain, std::uint32_t i) -> const Limb* {
    const auto& bases = program(chain).bases;
    return i < bases.size() ? task_.base(bases[i], group(chain)) : slot(chain, i - bases.size());
  };

  std::vector<Ring::Product> products;
  std::vector<Ring::Row> squares;
  std::size_t active = end;
  for (std::size_t s = 0;; ++s) {
    products.clear();
    squares.clear();
    while (active > begin && program(active - 1).steps.size() <= s) --active;
    if (active == begin) break;
    for (std::size_t chain = begin; chain < active; ++chain) {
      const auto& [to, left, right] = program(chain).steps[s];
      Limb* target = slot(chain, to - program(chain).bases.size());
      if (left == right) {
        squares.push_back({target, factor(chain, left)});
      } else {
        products.push_back({target, factor(chain, left), factor(chain, right)});
      }
    }
    task_.ring.multiply(products);
    task_.ring.square(squares, 1);
  }
  products.clear();
  for (std::size_t chain = begin; chain < end; ++chain) {
    deliver(chain, factor(chain, program(chain).result), products);
  }
  task_.ring.multiply(products);
}

void ChainProducts::deliver(std::size_t chain, const Limb* result, std::vector<Ring::Product>& products) {
  if (program(chain).divisor) {
    copy_row(task_.ring, divisor_rows_[divisor_of_[chain / task_.groups] + group(chain)], result);
  } else if (task_.accumulate) {
    products.push_back({output(chain), output(chain), result});
  } else {
    copy_row(task_.ring, output(chain), result);
  }
}

void ChainProducts::divide() {
  std::vector<Quotient> quotients;
  for (std::size_t chain = 0; chain < programs_.size() * task_.groups; ++chain) {
    if (!program(chain).divisor) continue;
    const Limb* divisor = divisor_rows_[divisor_of_[chain / task_.groups] + group(chain)];
    quotients.push_back({output(chain), divisor, !task_.accumulate && has_product_[program(chain).row] == 0});
  }
  divide_rows(task_.ring, quotients, task_.pool);
}

}  // namespace

void multiply_by_chains(const ScalarTask& task) {
  ChainProducts(task).run();
}

}  // namespace blindfl::he::paillier
