#include <algorithm>
#include <cmath>
#include <span>

#include "blindfl/he/paillier/bucket_products.h"

namespace blindfl::he::paillier {

BucketPlan::BucketPlan(const Scalars& scalars) : bases_(scalars.bases) {
  RowSums sums(scalars.bases);
  for (std::size_t row = 0; row < scalars.rows(); ++row) {
    sums.for_each(scalars.row(row), [&](std::size_t base, Int128 sum) {
      auto& b = bases_[base];
      b.width = std::max(b.width, static_cast<std::uint8_t>(bit_length(static_cast<UInt128>(sum < 0 ? ~sum : sum))));
      b.negative = b.negative || sum < 0;
    });
  }
  for (auto& base : bases_) {
    if (base.negative) ++base.width;
    base.first = static_cast<std::uint32_t>(elements_);
    elements_ += base.width;
    negatives_ += base.negative ? 1 : 0;
  }
}

namespace {

constexpr int kMostRows = 12;

/// Products for `size` rows: how many elements have any of them, plus what combining the buckets takes.
double group_products(const std::vector<std::size_t>& elements_with, int size) {
  const auto rows = static_cast<double>(elements_with.size() - 1);
  double used = 0;
  for (std::size_t set = 1; set < elements_with.size(); ++set) {
    if (elements_with[set] == 0) continue;
    used += static_cast<double>(elements_with[set]) * (1 - std::pow(1 - static_cast<double>(set) / rows, size));
  }
  const double buckets = std::exp2(size) - 1;
  double full = 1 - std::exp(-used / buckets);  // the part of the buckets that have something
  double products = used - buckets * full;
  for (int k = size - 1; k >= 0; --k) {
    const double half = std::exp2(k);
    products += (half - 1) * full * full + std::max(0.0, half * full - 1);
    full = 1 - (1 - full) * (1 - full);  // of those that the others were folded into
  }
  return products;
}

}  // namespace

ScalarChoice estimate_buckets(const Scalars& scalars, const BucketPlan& plan, std::size_t groups, int size) {
  std::vector<std::size_t> rows_with(plan.elements());
  RowSums sums(scalars.bases);
  for (std::size_t row = 0; row < scalars.rows(); ++row) {
    sums.for_each(scalars.row(row), [&](std::size_t base, Int128 sum) {
      plan.for_each_element(base, sum, [&](std::size_t element) { ++rows_with[element]; });
    });
  }
  std::vector<std::size_t> elements_with(scalars.rows() + 1);
  for (const auto rows : rows_with) ++elements_with[rows];

  ScalarChoice choice;
  choice.method = ScalarMethod::kBuckets;
  double least = 0;
  for (int g = size == 0 ? 1 : size; g <= (size == 0 ? kMostRows : size); ++g) {
    const auto rest = static_cast<int>(scalars.rows() % static_cast<std::size_t>(g));
    const double products =
        static_cast<double>(scalars.rows() / static_cast<std::size_t>(g)) * group_products(elements_with, g) +
        (rest == 0 ? 0 : group_products(elements_with, rest));
    if (g > 1 && g != size && products >= least) continue;
    least = products;
    choice.size = g;
  }
  choice.products = static_cast<std::size_t>(least * static_cast<double>(groups));
  for (const auto& base : plan.bases()) choice.squarings += base.width > 1 ? base.width - 1U : 0U;
  choice.squarings *= groups;
  choice.inversion = plan.negatives() * groups > 0;
  if (choice.inversion) choice.products += 3 * (plan.negatives() * groups - 1);
  return choice;
}

}  // namespace blindfl::he::paillier
