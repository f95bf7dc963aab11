#include "blindfl/he/paillier/scalar_products.h"

#include <algorithm>
#include <bit>

#include "blindfl/base/error.h"
#include "blindfl/he/paillier/bucket_products.h"
#include "blindfl/he/paillier/chain_products.h"
#include "blindfl/he/paillier/scalar_task.h"
#include "blindfl/he/paillier/table_products.h"

namespace blindfl::he::paillier {

namespace {

constexpr std::uint64_t kLargestExponent = std::uint64_t{1} << 62;

void check(const Scalars& scalars) {
  const auto& starts = scalars.row_starts;
  require<InvalidArgument>(!starts.empty() && starts.front() == 0 && starts.back() == scalars.entries.size() &&
                               std::ranges::is_sorted(starts),
                           "scalars: rows that are none");
  for (const auto& [base, exponent] : scalars.entries) {
    require<InvalidArgument>(base < scalars.bases, "scalars: an entry of base ", base, " of ", scalars.bases);
    require<InvalidArgument>(magnitude(exponent) <= kLargestExponent, "scalars: an exponent beyond 2^62");
  }
}

/// Scalars without zeros, and with bases numbered anew, so that work and memory go by the entries alone: a batch uses
/// some hundred of what may be a million features.
struct Compact {
  Scalars scalars;
  std::vector<std::uint32_t> bases;  ///< what the bases' numbers were
};

std::vector<std::uint32_t> used_bases(const Scalars& scalars) {
  std::vector<std::uint32_t> bases;
  bases.reserve(scalars.entries.size());
  for (const auto& entry : scalars.entries) {
    if (entry.exponent != 0) bases.push_back(entry.base);
  }
  std::ranges::sort(bases);
  bases.erase(std::unique(bases.begin(), bases.end()), bases.end());
  return bases;
}

Compact compact(const Scalars& scalars) {
  Compact result;
  result.bases = used_bases(scalars);
  result.scalars.bases = result.bases.size();
  result.scalars.row_starts.reserve(scalars.rows() + 1);
  result.scalars.row_starts.push_back(0);
  result.scalars.entries.reserve(scalars.entries.size());
  for (std::size_t row = 0; row < scalars.rows(); ++row) {
    for (const auto& [base, exponent] : scalars.row(row)) {
      if (exponent == 0) continue;
      const auto at = std::ranges::lower_bound(result.bases, base) - result.bases.begin();
      result.scalars.entries.push_back({static_cast<std::uint32_t>(at), exponent});
    }
    result.scalars.row_starts.push_back(result.scalars.entries.size());
  }
  return result;
}

/// The best of the ways with tables. Ways that cannot pay are not tried, for counting takes time as well.
ScalarChoice choose_tables(const Scalars& scalars, std::size_t groups, bool powers_of_two) {
  const auto count = [&](bool balanced, bool inverses, bool combs) {
    return TablePlan(scalars, groups, {ScalarMethod::kTables, combs ? 6 : 8, balanced, combs, inverses}).choice();
  };
  const auto better = [](const ScalarChoice& a, const ScalarChoice& b) { return b.cost() < a.cost() ? b : a; };
  ScalarChoice best = count(false, false, false);
  const bool signs = best.inversion;
  if (signs) best = better(best, count(false, true, false));
  if (powers_of_two) return best;  // their only digit is 1 in any case
  if (best.squarings > best.products / 4 && scalars.entries.size() > 4 * scalars.bases) {
    best = better(best, count(false, false, true));
    if (signs) best = better(best, count(false, true, true));
  }
  if (!best.combs && scalars.entries.size() > 2 * scalars.bases) {
    if (!signs || !best.inverses) best = better(best, count(true, false, false));
    if (!signs || best.inverses) best = better(best, count(true, true, false));
  }
  return best;
}

ScalarChoice choose_for(const Scalars& scalars, std::size_t groups) {
  const bool powers_of_two = std::ranges::all_of(
      scalars.entries, [](const auto& entry) { return std::has_single_bit(magnitude(entry.exponent)); });
  ScalarChoice best = choose_tables(scalars, groups, powers_of_two);
  const auto prefer = [&](const ScalarChoice& other, double margin) {
    if (other.cost() < margin * best.cost()) best = other;
  };
  // Buckets move more memory for each product.
  prefer(choose_buckets(scalars, groups), powers_of_two ? 0.9 : 1);
  if (!powers_of_two) prefer(estimate_chains(scalars, groups), 1);
  return best;
}

void run(const ScalarTask& task, const ScalarChoice& choice) {
  switch (choice.method) {
    case ScalarMethod::kTables:
      require<InvalidArgument>(choice.size >= 1 && choice.size <= 8, "scalars: windows of ", choice.size, " bits");
      require<InvalidArgument>(!choice.combs || !choice.balanced, "scalars: combs of balanced digits");
      return multiply_by_tables(task, TablePlan(task.scalars, task.groups, choice));
    case ScalarMethod::kBuckets:
      require<InvalidArgument>(choice.size >= 1 && choice.size <= 12, "scalars: groups of ", choice.size, " rows");
      return multiply_by_buckets(task, BucketPlan(task.scalars), choice.size);
    case ScalarMethod::kChains:
      return multiply_by_chains(task);
  }
}

}  // namespace

ScalarChoice choose(const Scalars& scalars, std::size_t groups) {
  check(scalars);
  return choose_for(compact(scalars).scalars, groups);
}

void multiply_scalars(const Ring& ring, const Scalars& scalars, const Limb* const* bases, std::size_t groups,
                      Limb* const* outputs, bool accumulate, ThreadPool& pool, std::optional<ScalarChoice> forced) {
  check(scalars);
  if (scalars.rows() == 0 || groups == 0) return;
  const Compact compacted = compact(scalars);
  std::vector<const Limb*> used(compacted.bases.size() * groups);
  for (std::size_t i = 0; i < used.size(); ++i) used[i] = bases[compacted.bases[i / groups] * groups + i % groups];
  const ScalarTask task{ring, compacted.scalars, used.data(), groups, outputs, accumulate, pool};
  run(task, forced ? *forced : choose_for(compacted.scalars, groups));
}

}  // namespace blindfl::he::paillier
