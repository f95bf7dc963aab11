#include <algorithm>

#include "blindfl/he/paillier/chain_products.h"

namespace blindfl::he::paillier {

namespace {

/// Entries to write chains for in an estimate.
constexpr std::size_t kSampledEntries = 2048;

class ChainWriter {
 public:
  explicit ChainWriter(ChainProgram& program) : program_(program) {}

  void add(std::uint32_t base, std::uint64_t exponent) {
    heap_.push_back({exponent, static_cast<std::uint32_t>(program_.bases.size())});
    program_.bases.push_back(base);
  }

  void write() {
    std::ranges::make_heap(heap_, less);
    while (heap_.size() > 1 || heap_.front().exponent > 1) {
      std::ranges::pop_heap(heap_, less);
      const Term largest = heap_.back();
      heap_.pop_back();
      if (heap_.empty() || largest.exponent / 2 >= heap_.front().exponent) {
        halve(largest);
      } else {
        join(largest, heap_.front());
      }
    }
    program_.result = heap_.front().slot;
  }

 private:
  struct Term {
    std::uint64_t exponent;
    std::uint32_t slot;
  };
  static bool less(const Term& a, const Term& b) { return a.exponent < b.exponent; }

  void push(Term term) {
    heap_.push_back(term);
    std::ranges::push_heap(heap_, less);
  }
  [[nodiscard]] bool is_base(std::uint32_t slot) const { return slot < program_.bases.size(); }
  std::uint32_t new_slot() {
    if (!free_.empty()) {
      const std::uint32_t slot = free_.back();
      free_.pop_back();
      return slot;
    }
    return static_cast<std::uint32_t>(program_.bases.size() + program_.slots++);
  }

  /// a^x = (a^2)^(x / 2), times a if x is odd.
  void halve(Term term) {
    std::uint32_t to = term.slot;
    if (term.exponent % 2 == 1) {
      push({1, term.slot});
      to = new_slot();
    } else if (is_base(to)) {
      to = new_slot();
    }
    program_.steps.push_back({to, term.slot, term.slot});
    push({term.exponent / 2, to});
  }

  /// a^x b^y = a^(x - y) (a b)^y.
  void join(Term larger, Term& smaller) {
    const std::uint32_t to = is_base(smaller.slot) ? new_slot() : smaller.slot;
    program_.steps.push_back({to, smaller.slot, larger.slot});
    smaller.slot = to;  // its exponent, and so its place, stay
    larger.exponent -= smaller.exponent;
    if (larger.exponent > 0) {
      push(larger);
    } else if (!is_base(larger.slot)) {
      free_.push_back(larger.slot);
    }
  }

  ChainProgram& program_;
  std::vector<Term> heap_;
  std::vector<std::uint32_t> free_;
};

}  // namespace

ChainProgram write_chain(const Scalars& scalars, std::size_t row, bool divisor) {
  ChainProgram program;
  program.row = row;
  program.divisor = divisor;
  ChainWriter writer(program);
  for (const auto& [base, exponent] : scalars.row(row)) {
    if ((exponent < 0) == divisor) writer.add(base, magnitude(exponent));
  }
  if (!program.bases.empty()) writer.write();
  return program;
}

ScalarChoice estimate_chains(const Scalars& scalars, std::size_t groups) {
  std::size_t sampled = 0;
  std::size_t steps = 0;
  std::size_t squarings = 0;
  std::size_t divisors = 0;
  std::size_t quotients = 0;
  const std::size_t stride = std::max<std::size_t>(1, scalars.entries.size() / kSampledEntries);
  for (std::size_t row = 0; row < scalars.rows(); row += stride) {
    const ChainProgram parts[] = {write_chain(scalars, row, false), write_chain(scalars, row, true)};
    for (const auto& part : parts) {
      steps += part.steps.size();
      squarings += static_cast<std::size_t>(
          std::ranges::count_if(part.steps, [](const auto& step) { return step.left == step.right; }));
    }
    sampled += scalars.row(row).size();
    divisors += parts[1].bases.empty() ? 0 : 1;
    quotients += parts[0].bases.empty() || parts[1].bases.empty() ? 0 : 1;
  }

  ScalarChoice choice;
  choice.method = ScalarMethod::kChains;
  if (sampled == 0) return choice;
  const auto scale = [&](std::size_t count) {
    return static_cast<std::size_t>(static_cast<double>(count) * static_cast<double>(scalars.entries.size()) /
                                    static_cast<double>(sampled)) *
           groups;
  };
  choice.products = scale(steps - squarings + quotients);
  choice.squarings = scale(squarings);
  choice.inversion = divisors * groups > 0;
  if (choice.inversion) choice.products += 3 * (scale(divisors) - 1);
  return choice;
}

}  // namespace blindfl::he::paillier
