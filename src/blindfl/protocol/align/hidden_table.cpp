#include "blindfl/protocol/align/hidden_table.h"

#include <algorithm>
#include <atomic>

#include "blindfl/base/error.h"

namespace blindfl::protocol {

namespace {

/// The polynomial through some points, and random beyond them: Newton's form first, then powers.
class Polynomial {
 public:
  /// `out` gets its coefficients, the constant first.
  Polynomial(std::span<const HiddenEntry> points, std::span<FieldElement> out) : points_(points), out_(out) {}

  /// False if two points are at one node. `out` is then of no use.
  bool interpolate(Random& random) {
    for (std::size_t k = 0; k < out_.size(); ++k) {
      if (k >= points_.size()) {
        out_[k] = random_field_element(random);
      } else if (!add_point(k)) {
        return false;
      }
    }
    expand();
    return true;
  }

 private:
  // Beyond the points, the factors of Newton's form are x itself.
  [[nodiscard]] FieldElement node(std::size_t k) const { return k < points_.size() ? points_[k].key.node : 0; }

  bool add_point(std::size_t k) {
    const FieldElement x = node(k);
    FieldElement value = 0;
    FieldElement factors = 1;
    for (std::size_t j = 0; j < k; ++j) {
      value = field_sum(value, field_product(out_[j], factors));
      factors = field_product(factors, field_difference(x, node(j)));
    }
    if (factors == 0) return false;
    out_[k] = field_product(field_difference(points_[k].value, value), field_inverse(factors));
    return true;
  }

  // c0 + (x - x0)(c1 + (x - x1)(c2 + ...)), from the inside: `out_` from `j` on holds what stands behind c(j-1).
  void expand() {
    for (std::size_t j = out_.size() - 1; j-- > 0;) {
      const FieldElement x = node(j);
      for (std::size_t t = j; t + 1 < out_.size(); ++t) {
        out_[t] = field_difference(out_[t], field_product(x, out_[t + 1]));
      }
    }
  }

  std::span<const HiddenEntry> points_;
  std::span<FieldElement> out_;
};

/// The same entries by bin, and where each bin begins.
struct Binned {
  std::vector<HiddenEntry> entries;
  std::vector<std::size_t> begins;
};

Binned in_bins(std::span<const HiddenEntry> entries, const HiddenShape& shape) {
  Binned binned{std::vector<HiddenEntry>(entries.size()), std::vector<std::size_t>(shape.bins + 1)};
  for (const HiddenEntry& entry : entries) ++binned.begins[shape.bin_of(entry.key) + 1];
  for (std::size_t bin = 0; bin < shape.bins; ++bin) binned.begins[bin + 1] += binned.begins[bin];
  std::vector<std::size_t> next = binned.begins;
  for (const HiddenEntry& entry : entries) binned.entries[next[shape.bin_of(entry.key)]++] = entry;
  return binned;
}

}  // namespace

HiddenShape HiddenShape::of(std::uint64_t keys) {
  if (keys <= kKeysPerBin) return {1, std::max<std::uint64_t>(keys, 1)};
  return {(keys + kKeysPerBin - 1) / kKeysPerBin, kMostPerBin};
}

std::uint64_t HiddenShape::bin_of(const HiddenKey& key) const {
  return high64(static_cast<UInt128>(key.bin) * bins);
}

std::optional<HiddenTable> HiddenTable::of(std::span<const HiddenEntry> entries, Random& random, ThreadPool& pool) {
  const HiddenShape shape = HiddenShape::of(entries.size());
  const Binned binned = in_bins(entries, shape);
  std::vector<Random> of_bins;
  for (std::size_t bin = 0; bin < shape.bins; ++bin) {
    if (binned.begins[bin + 1] - binned.begins[bin] > shape.per_bin) return std::nullopt;
    of_bins.push_back(random.fork());
  }
  std::vector<FieldElement> numbers(shape.numbers());
  std::atomic<bool> distinct = true;
  pool.parallel_for(shape.bins, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t bin = begin; bin < end; ++bin) {
      const auto points =
          std::span(binned.entries).subspan(binned.begins[bin], binned.begins[bin + 1] - binned.begins[bin]);
      Polynomial polynomial(points, std::span(numbers).subspan(bin * shape.per_bin, shape.per_bin));
      if (!polynomial.interpolate(of_bins[bin])) distinct = false;
    }
  });
  if (!distinct) return std::nullopt;
  return HiddenTable(shape, std::move(numbers));
}

HiddenTable::HiddenTable(const HiddenShape& shape, std::vector<FieldElement> numbers)
    : shape_(shape), numbers_(std::move(numbers)) {
  require<InvalidArgument>(numbers_.size() == shape_.numbers(), "a hidden table of this shape has ", shape_.numbers(),
                           " numbers, not ", numbers_.size());
}

FieldElement HiddenTable::at(const HiddenKey& key) const {
  const auto polynomial = std::span(numbers_).subspan(shape_.bin_of(key) * shape_.per_bin, shape_.per_bin);
  // Even powers and odd ones by themselves: products need not wait for each other.
  const FieldElement square = field_product(key.node, key.node);
  FieldElement even = 0;
  FieldElement odd = 0;
  for (std::size_t k = polynomial.size(); k-- > 0;) {
    FieldElement& part = k % 2 == 0 ? even : odd;
    part = field_sum(field_product(part, square), polynomial[k]);
  }
  return field_sum(even, field_product(odd, key.node));
}

void check_field_elements(std::span<const UInt128> numbers) {
  require<ProtocolError>(std::ranges::all_of(numbers, [](UInt128 x) { return x < kFieldPrime; }),
                         "the peer's hidden ids are not all numbers below 2^127 - 1");
}

}  // namespace blindfl::protocol
