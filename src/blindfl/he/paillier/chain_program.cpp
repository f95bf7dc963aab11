#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "blindfl/he/paillier/chain_products.h"

namespace blindfl::he::paillier {

namespace {

/// Of each length, entries and rows to write chains for in an estimate.
constexpr std::size_t kSampledEntries = 512;
constexpr std::size_t kSampledRows = 16;

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
    if (exponent != 0 && (exponent < 0) == divisor) writer.add(base, magnitude(exponent));
  }
  if (!program.bases.empty()) writer.write();
  return program;
}

namespace {

/// Rows of about the same length, and what chains for some of them take.
class LengthClass {
 public:
  struct Counts {
    double products = 0;  ///< with one for each quotient
    double squarings = 0;
    double divisors = 0;
  };

  void add(std::size_t length) {
    ++rows_;
    entries_ += length;
  }
  /// To be called for each row that was added; takes a few of them.
  void sample(const Scalars& scalars, std::size_t row) {
    const std::size_t stride = std::max({std::size_t{1}, entries_ / kSampledEntries, rows_ / kSampledRows});
    if (seen_++ % stride != 0 || scalars.row(row).empty()) return;
    const ChainProgram parts[] = {write_chain(scalars, row, false), write_chain(scalars, row, true)};
    for (const auto& part : parts) {
      for (const auto& step : part.steps) ++(step.left == step.right ? counts_.squarings : counts_.products);
    }
    if (!parts[1].bases.empty()) {
      ++counts_.divisors;
      if (!parts[0].bases.empty()) ++counts_.products;
    }
    sampled_ += scalars.row(row).size();
  }
  void add_to(Counts& all) const {
    if (sampled_ == 0) return;
    const double scale = static_cast<double>(entries_) / static_cast<double>(sampled_);
    all.products += scale * counts_.products;
    all.squarings += scale * counts_.squarings;
    all.divisors += scale * counts_.divisors;
  }

 private:
  std::size_t rows_ = 0;
  std::size_t entries_ = 0;
  std::size_t seen_ = 0;
  std::size_t sampled_ = 0;
  Counts counts_;
};

LengthClass& class_of(std::array<LengthClass, 64>& classes, const Scalars& scalars, std::size_t row) {
  return classes[static_cast<std::size_t>(std::bit_width(scalars.row(row).size()))];
}

}  // namespace

ScalarChoice estimate_chains(const Scalars& scalars, std::size_t groups) {
  // What an entry takes goes by the length of its row: some rows stand for all of about their length.
  std::array<LengthClass, 64> classes{};
  for (std::size_t row = 0; row < scalars.rows(); ++row) class_of(classes, scalars, row).add(scalars.row(row).size());
  for (std::size_t row = 0; row < scalars.rows(); ++row) class_of(classes, scalars, row).sample(scalars, row);

  LengthClass::Counts all;
  for (const auto& c : classes) c.add_to(all);
  ScalarChoice choice;
  choice.method = ScalarMethod::kChains;
  const auto total = [&](double count) { return static_cast<std::size_t>(std::llround(count)) * groups; };
  choice.products = total(all.products);
  choice.squarings = total(all.squarings);
  choice.inversion = total(all.divisors) > 0;
  if (choice.inversion) choice.products += 3 * (total(all.divisors) - 1);
  return choice;
}

}  // namespace blindfl::he::paillier
