#include "blindfl/he/paillier/bucket_products.h"

#include <algorithm>

#include "blindfl/he/paillier/row_products.h"

namespace blindfl::he::paillier {

namespace {

/// Rows of elements that are in memory at once, if one group of ciphertexts has no more.
constexpr std::size_t kMostElements = std::size_t{1} << 17;
/// Buckets that are filled together: enough chains for the lanes, and no more than the caches hold.
constexpr std::size_t kBucketsTogether = 1024;
constexpr std::size_t kBasesTogether = 64;
/// A row's last factors, which one chain multiplies; what is more is halved first, so that all lanes work.
constexpr std::size_t kLastFactors = 8;

/// The elements of all bases for some groups of ciphertexts.
class Elements {
 public:
  Elements(const ScalarTask& task, const BucketPlan& plan, std::size_t first_group, std::size_t groups);

  [[nodiscard]] const Limb* const* of_group(std::size_t group) const {
    return rows_of_.data() + group * plan_.elements();
  }

 private:
  void square_up(std::size_t begin, std::size_t end);
  void invert_signs();

  const ScalarTask& task_;
  const BucketPlan& plan_;
  std::size_t first_group_;
  std::size_t groups_;
  Rows rows_;
  Rows signs_;
  std::vector<const Limb*> rows_of_;
};

Elements::Elements(const ScalarTask& task, const BucketPlan& plan, std::size_t first_group, std::size_t groups)
    : task_(task),
      plan_(plan),
      first_group_(first_group),
      groups_(groups),
      rows_(task.ring, groups * plan.elements()),
      signs_(task.ring, groups * plan.negatives()),
      rows_of_(groups * plan.elements()) {
  const std::size_t count = groups * plan.bases().size();
  task.pool.parallel_for((count + kBasesTogether - 1) / kBasesTogether, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t piece = begin; piece < end; ++piece) {
      square_up(piece * kBasesTogether, std::min(count, (piece + 1) * kBasesTogether));
    }
  });
  invert_signs();
}

/// Squares bases [begin, end), counted over groups, side by side, once for each element.
void Elements::square_up(std::size_t begin, std::size_t end) {
  struct Growing {
    std::size_t next;
    std::size_t end;
  };
  std::vector<Growing> growing;
  for (std::size_t i = begin; i < end; ++i) {
    const auto& base = plan_.bases()[i % plan_.bases().size()];
    if (base.width == 0) continue;
    const std::size_t group = i / plan_.bases().size();
    const std::size_t first = group * plan_.elements() + base.first;
    rows_of_[first] = task_.base(i % plan_.bases().size(), first_group_ + group);  // stays where it is
    if (base.width > 1) growing.push_back({first + 1, first + base.width});
  }
  std::vector<Ring::Row> squares;
  while (!growing.empty()) {
    squares.clear();
    for (auto& base : growing) {
      rows_of_[base.next] = rows_[base.next];
      squares.push_back({rows_[base.next], rows_of_[base.next - 1]});
      ++base.next;
    }
    task_.ring.square(squares, 1);
    std::erase_if(growing, [](const Growing& base) { return base.next == base.end; });
  }
}

void Elements::invert_signs() {
  std::vector<Reciprocal> reciprocals;
  for (std::size_t group = 0; group < groups_; ++group) {
    for (const auto& base : plan_.bases()) {
      if (!base.negative) continue;
      const Limb*& element = rows_of_[group * plan_.elements() + base.first + base.width - 1];
      Limb* sign = signs_[reciprocals.size()];
      reciprocals.push_back({sign, element});
      element = sign;
    }
  }
  invert_rows(task_.ring, reciprocals, task_.pool);
}

/// Fills and combines the buckets of some units: a unit is a group of rows for one group of ciphertexts.
class Buckets {
 public:
  Buckets(const ScalarTask& task, const BucketPlan& plan, std::size_t size, std::size_t most_units)
      : task_(task),
        size_(size),
        rows_(task.ring, most_units << size),
        filled_(most_units << size),
        patterns_(task.scalars, plan) {}

  /// Adds a unit. `elements` are its ciphertexts' ones, `group` their number.
  void add(std::size_t first_row, std::size_t group, const Limb* const* elements);
  /// Writes the outputs of all units that were added.
  void run();

 private:
  struct Unit {
    std::size_t first_row;
    std::size_t group;
  };
  struct Result {
    Limb* to;
    std::vector<Limb*> factors;
  };

  void fold(std::size_t half);
  void collect();
  void halve();
  void finish();

  const ScalarTask& task_;
  std::size_t size_;
  Rows rows_;                         ///< 2^size for each unit
  std::vector<std::uint8_t> filled_;  ///< whether there is something in a bucket
  Patterns patterns_;
  std::vector<Unit> units_;
  std::vector<std::vector<const Limb*>> factors_;  ///< of each unit's buckets, one bucket after the other
  std::vector<Ring::Chain> chains_;
  std::vector<Ring::Product> products_;
  std::vector<Result> results_;
};

void Buckets::add(std::size_t first_row, std::size_t group, const Limb* const* elements) {
  const auto& patterns = patterns_.of_rows(first_row, size_);
  // Elements sorted by their patterns: those of a bucket stand together.
  std::vector<std::size_t> ends((std::size_t{1} << size_) + 1);
  for (const auto pattern : patterns) ++ends[pattern + 1U];
  ends[1] = 0;  // elements of no row
  for (std::size_t pattern = 1; pattern < ends.size(); ++pattern) ends[pattern] += ends[pattern - 1];
  const std::size_t unit = units_.size();
  if (factors_.size() <= unit) factors_.emplace_back();
  auto& factors = factors_[unit];
  factors.resize(ends.back());
  for (std::size_t pattern = 1; pattern + 1 < ends.size(); ++pattern) {
    const std::size_t count = ends[pattern + 1] - ends[pattern];
    const std::size_t bucket = (unit << size_) + pattern;
    filled_[bucket] = count > 0 ? 1 : 0;
    if (count > 0) chains_.push_back({rows_[bucket], factors.data() + ends[pattern], count});
  }
  for (std::size_t element = 0; element < patterns.size(); ++element) {
    if (patterns[element] != 0) factors[ends[patterns[element]]++] = elements[element];
  }
  units_.push_back({first_row, group});
}

void Buckets::run() {
  multiply_long_chains(task_.ring, chains_);
  for (std::size_t k = size_; k-- > 1;) fold(std::size_t{1} << k);
  collect();
  halve();
  finish();
  chains_.clear();
  results_.clear();
  units_.clear();
}

/// Buckets whose highest row is the one of bit `half` go into those without it, too; what is left in them is that
/// row's.
void Buckets::fold(std::size_t half) {
  products_.clear();
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    const std::size_t lower = unit << size_;
    for (std::size_t i = lower + 1; i < lower + half; ++i) {
      if (filled_[i + half] == 0) continue;
      if (filled_[i] != 0) {
        products_.push_back({rows_[i], rows_[i], rows_[i + half]});
      } else {
        copy_row(task_.ring, rows_[i], rows_[i + half]);
        filled_[i] = 1;
      }
    }
  }
  task_.ring.multiply(products_);
}

/// After folding, row k is the product of buckets 2^k to 2^(k + 1) - 1.
void Buckets::collect() {
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    for (std::size_t k = 0; k < size_ && units_[unit].first_row + k < task_.rows(); ++k) {
      auto& result = results_.emplace_back();
      result.to = task_.output(units_[unit].first_row + k, units_[unit].group);
      for (std::size_t i = std::size_t{1} << k; i < std::size_t{2} << k; ++i) {
        const std::size_t bucket = (unit << size_) + i;
        if (filled_[bucket] != 0) result.factors.push_back(rows_[bucket]);
      }
    }
  }
}

void Buckets::halve() {
  do {
    products_.clear();
    for (auto& [to, factors] : results_) {
      if (factors.size() <= kLastFactors) continue;
      const std::size_t kept = (factors.size() + 1) / 2;
      for (std::size_t i = kept; i < factors.size(); ++i) {
        products_.push_back({factors[i - kept], factors[i - kept], factors[i]});
      }
      factors.resize(kept);
    }
    task_.ring.multiply(products_);
  } while (!products_.empty());
}

void Buckets::finish() {
  chains_.clear();
  std::vector<const Limb*> factors;
  factors.reserve(results_.size() * (kLastFactors + 1));  // chains point into it
  for (const auto& result : results_) {
    if (task_.accumulate && result.factors.empty()) continue;
    const Limb* const* begin = factors.data() + factors.size();
    if (task_.accumulate) factors.push_back(result.to);
    factors.insert(factors.end(), result.factors.begin(), result.factors.end());
    chains_.push_back({result.to, begin, static_cast<std::size_t>(factors.data() + factors.size() - begin)});
  }
  task_.ring.multiply_chains(chains_);
}

}  // namespace

void multiply_by_buckets(const ScalarTask& task, const BucketPlan& plan, int size) {
  const auto g = static_cast<std::size_t>(size);
  const std::size_t row_groups = (task.rows() + g - 1) / g;
  const std::size_t most = kMostElements / std::max<std::size_t>(1, plan.elements());
  const std::size_t at_once = std::clamp<std::size_t>(most, 1, task.groups);
  const std::size_t together = std::max<std::size_t>(1, kBucketsTogether >> g);
  for (std::size_t first_group = 0; first_group < task.groups; first_group += at_once) {
    const std::size_t groups = std::min(at_once, task.groups - first_group);
    const Elements elements(task, plan, first_group, groups);
    const std::size_t units = groups * row_groups;
    task.pool.parallel_for(units, 1, [&](std::size_t begin, std::size_t end) {
      Buckets buckets(task, plan, g, std::min(together, end - begin));
      for (std::size_t first = begin; first < end; first += together) {
        for (std::size_t unit = first; unit < std::min(end, first + together); ++unit) {
          const std::size_t group = unit / row_groups;
          buckets.add(unit % row_groups * g, first_group + group, elements.of_group(group));
        }
        buckets.run();
      }
    });
  }
}

}  // namespace blindfl::he::paillier
