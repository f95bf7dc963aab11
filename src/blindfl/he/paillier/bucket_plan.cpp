#include <algorithm>
#include <array>
#include <cmath>

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

const std::vector<std::uint16_t>& Patterns::of_rows(std::size_t first_row, std::size_t size) {
  std::ranges::fill(patterns_, 0);
  for (std::size_t k = 0; k < size && first_row + k < scalars_.rows(); ++k) {
    sums_.for_each(scalars_.row(first_row + k), [&](std::size_t base, Int128 sum) {
      plan_.for_each_element(base, sum, [&](std::size_t element) {
        patterns_[element] = static_cast<std::uint16_t>(patterns_[element] | 1U << k);
      });
    });
  }
  return patterns_;
}

namespace {

constexpr int kMostRows = 12;

double binomial(int n, int k) {
  static const auto table = [] {
    std::array<std::array<double, kMostRows + 1>, kMostRows + 1> result{};
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i][0] = 1;
      for (std::size_t j = 1; j <= i; ++j) result[i][j] = result[i - 1][j - 1] + result[i - 1][j];
    }
    return result;
  }();
  return table[static_cast<std::size_t>(n)][static_cast<std::size_t>(k)];
}

/// How often rows have an element, for elements that the same number of rows have.
struct Density {
  double elements;
  double rows;  ///< the part of all rows
};

std::vector<Density> densities(const Scalars& scalars, const BucketPlan& plan) {
  std::vector<std::size_t> rows_with(plan.elements());
  RowSums sums(scalars.bases);
  for (std::size_t row = 0; row < scalars.rows(); ++row) {
    sums.for_each(scalars.row(row), [&](std::size_t base, Int128 sum) {
      plan.for_each_element(base, sum, [&](std::size_t element) { ++rows_with[element]; });
    });
  }
  std::vector<std::size_t> elements_with(scalars.rows() + 1);
  for (const auto rows : rows_with) ++elements_with[rows];
  std::vector<Density> result;
  for (std::size_t rows = 1; rows < elements_with.size(); ++rows) {
    if (elements_with[rows] == 0) continue;
    result.push_back(
        {static_cast<double>(elements_with[rows]), static_cast<double>(rows) / static_cast<double>(scalars.rows())});
  }
  return result;
}

/// What filling and combining the buckets of `size` rows takes, on average if rows have elements independently of each
/// other. Then all patterns of k rows are alike, and it is enough to follow one of each k.
double group_products(const std::vector<Density>& densities, int size) {
  const auto g = static_cast<std::size_t>(size);
  std::array<double, kMostRows + 1> filled{};  // by k: how many elements a bucket has, then whether it has any
  for (const auto& [elements, rows] : densities) {
    double probability = elements * std::pow(1 - rows, size);
    const double ratio = rows / (1 - rows);
    for (std::size_t k = 1; k <= g; ++k) {
      probability = rows == 1 ? (k == g ? elements : 0) : probability * ratio;
      filled[k] += probability;
    }
  }
  double products = 0;
  for (int k = 1; k <= size; ++k) {
    double& bucket = filled[static_cast<std::size_t>(k)];
    const double any = 1 - std::exp(-bucket);
    products += binomial(size, k) * (bucket - any);
    bucket = any;
  }
  for (int others = size - 1; others >= 0; --others) {
    double factors = 0;
    for (int k = 0; k <= others; ++k) {
      const auto i = static_cast<std::size_t>(k);
      const double count = binomial(others, k);
      factors += count * filled[i + 1];
      if (k == 0) continue;
      products += count * filled[i] * filled[i + 1];
      filled[i] = 1 - (1 - filled[i]) * (1 - filled[i + 1]);
    }
    products += std::max(0.0, factors - 1);
  }
  return products;
}

double rows_products(const std::vector<Density>& densities, std::size_t rows, int size) {
  const auto g = static_cast<std::size_t>(size);
  const std::size_t full = rows / g;
  const auto rest = static_cast<int>(rows % g);
  const double last = rest == 0 ? 0 : group_products(densities, rest);
  return static_cast<double>(full) * group_products(densities, size) + last;
}

ScalarChoice make_choice(const BucketPlan& plan, std::size_t groups, int size, double products) {
  ScalarChoice choice;
  choice.method = ScalarMethod::kBuckets;
  choice.size = size;
  choice.products = static_cast<std::size_t>(products * static_cast<double>(groups));
  for (const auto& base : plan.bases()) choice.squarings += base.width > 1 ? base.width - 1U : 0U;
  choice.squarings *= groups;
  choice.inversion = plan.negatives() * groups > 0;
  if (choice.inversion) choice.products += 3 * (plan.negatives() * groups - 1);
  return choice;
}

}  // namespace

ScalarChoice estimate_buckets(const Scalars& scalars, const BucketPlan& plan, std::size_t groups, int size) {
  return make_choice(plan, groups, size, rows_products(densities(scalars, plan), scalars.rows(), size));
}

ScalarChoice choose_buckets(const Scalars& scalars, std::size_t groups) {
  const BucketPlan plan(scalars);
  const auto found = densities(scalars, plan);
  int best = 1;
  double least = rows_products(found, scalars.rows(), 1);
  for (int size = 2; size <= kMostRows && plan.elements() >> size > 0; ++size) {
    const double products = rows_products(found, scalars.rows(), size);
    if (products >= least) continue;
    best = size;
    least = products;
  }
  return make_choice(plan, groups, best, least);
}

}  // namespace blindfl::he::paillier
