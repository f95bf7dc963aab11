#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "blindfl/base/aligned.h"
#include "blindfl/he/paillier/ring_base.h"

// The kernels' loops, once for all processors. A ring is `RingOf<Digits>`, compiled in a file of its own with that
// processor's flags, where `Digits`, in an unnamed namespace, says how to do arithmetic on a few residues at once:
//
//   kName, kLimbBits, kLimbs, kLanes      the kernels' name; how a digit is kept; residues worked on at once
//   kSelected                             entries of a table that are best read in one pass
//   Number                                kLanes residues
//   Digits(m, negated_inverse, squared_radix)
//   load, store, broadcast                kLanes rows; only the first few, for `store`; one row in all lanes
//   multiply, square                      products of residues; the result may be an operand
//   add_plaintext                         times (1 + value m), for values as `Ring::write_digit` puts them
//   leave                                 out of Montgomery's form, digits below m
//   select                                kSelected entries of a table, by reading the whole of it
//
// Nothing here takes a branch, or an address, from a residue or an exponent.

namespace blindfl::he::paillier {

template <class Digits>
class RingOf final : public RingBase {
 public:
  explicit RingOf(const BigInt& m)
      : RingBase(m, {Digits::kName, Digits::kLimbBits, Digits::kLimbs, kLanes}),
        digits_(modulus_digit(), negated_inverse(), squared_radix()) {}

  void multiply(std::span<const Product> products) const override {
    for (std::size_t i = 0; i < products.size(); i += kLanes) {
      const Group group(products.size(), i);
      const Limb* left[kLanes];
      const Limb* right[kLanes];
      Limb* to[kLanes];
      for (std::size_t l = 0; l < kLanes; ++l) {
        const Product& product = products[group.entry(l)];
        left[l] = product.left;
        right[l] = product.right;
        to[l] = product.to;
        const Product& next = products[group.next(l)];
        prefetch(next.left);
        prefetch(next.right);
      }
      Number a;
      Number b;
      digits_.load(a, left);
      digits_.load(b, right);
      digits_.multiply(a, a, b);
      digits_.store(to, group.count, a);
    }
  }

  void square(std::span<const Row> rows, std::size_t times) const override {
    change(rows, [&](Number& x) {
      for (std::size_t i = 0; i < times; ++i) digits_.square(x, x);
    });
  }

  void add_plaintext(std::span<const Plaintext> rows) const override {
    for (std::size_t i = 0; i < rows.size(); i += kLanes) {
      const Group group(rows.size(), i);
      const Limb* from[kLanes];
      const Limb* values[kLanes];
      Limb* to[kLanes];
      for (std::size_t l = 0; l < kLanes; ++l) {
        const Plaintext& row = rows[group.entry(l)];
        from[l] = row.from;
        values[l] = row.value;
        to[l] = row.to;
      }
      Number x;
      digits_.load(x, from);
      digits_.add_plaintext(x, values);
      digits_.store(to, group.count, x);
    }
  }

 private:
  using Number = typename Digits::Number;
  static constexpr std::size_t kLanes = Digits::kLanes;

  /// The entries that the lanes work on. Lanes beyond the last entry work on it too, and their results are dropped.
  struct Group {
    Group(std::size_t entries, std::size_t first)
        : begin(first), last(entries - 1), count(entries - first < kLanes ? entries - first : kLanes) {}
    [[nodiscard]] std::size_t entry(std::size_t lane) const { return begin + lane < last ? begin + lane : last; }
    [[nodiscard]] std::size_t next(std::size_t lane) const { return entry(lane + kLanes); }
    std::size_t begin;
    std::size_t last;
    std::size_t count;
  };

  static void prefetch(const Limb* row) {
    for (std::size_t i = 0; i < 2 * Digits::kLimbs; i += 8) __builtin_prefetch(row + i, 0, 2);
  }

  /// Loads the `from` of `kLanes` rows at a time, lets `body` change them, and stores them to their `to`.
  template <class RowAt, class Body>
  void change(std::size_t count, const RowAt& row_at, const Body& body) const {
    for (std::size_t i = 0; i < count; i += kLanes) {
      const Group group(count, i);
      const Limb* from[kLanes];
      Limb* to[kLanes];
      for (std::size_t l = 0; l < kLanes; ++l) {
        const Row row = row_at(group.entry(l));
        from[l] = row.from;
        to[l] = row.to;
        prefetch(row_at(group.next(l)).from);
      }
      Number x;
      digits_.load(x, from);
      body(x);
      digits_.store(to, group.count, x);
    }
  }
  template <class Body>
  void change(std::span<const Row> rows, const Body& body) const {
    change(
        rows.size(), [&](std::size_t i) { return rows[i]; }, body);
  }

  void multiply_sorted(std::span<const Chain> chains) const override {
    const Limb* ones = one();
    for (std::size_t i = 0; i < chains.size(); i += kLanes) {
      const Group group(chains.size(), i);
      const auto factor = [&](const Chain& chain, std::size_t k) { return k < chain.count ? chain.factors[k] : ones; };
      const std::size_t longest = chains[i].count;
      const Limb* rows[kLanes];
      Number product;
      Number x;
      for (std::size_t l = 0; l < kLanes; ++l) rows[l] = chains[group.entry(l)].factors[0];
      digits_.load(product, rows);
      for (std::size_t k = 1; k < longest; ++k) {
        for (std::size_t l = 0; l < kLanes; ++l) {
          rows[l] = factor(chains[group.entry(l)], k);
          if (k + 1 < longest) {
            prefetch(factor(chains[group.entry(l)], k + 1));
          } else {
            prefetch(chains[group.next(l)].factors[0]);
            prefetch(chains[group.next(l)].factors[1]);
          }
        }
        digits_.load(x, rows);
        digits_.multiply(product, product, x);
      }
      Limb* to[kLanes];
      for (std::size_t l = 0; l < kLanes; ++l) to[l] = chains[group.entry(l)].to;
      digits_.store(to, group.count, product);
    }
  }

  void power_windows(std::span<const Row> rows, std::span<const std::uint8_t> windows) const override {
    constexpr std::size_t kEntries = std::size_t{1} << kWindowBits;
    AlignedSecret<Number> table(kEntries);
    AlignedSecret<Number> selected(Digits::kSelected);
    digits_.broadcast(table[0], one());
    change(rows, [&](Number& x) {
      table[1] = x;
      for (std::size_t i = 2; i < kEntries; ++i) {
        if (i % 2 == 0) {
          digits_.square(table[i], table[i / 2]);
        } else {
          digits_.multiply(table[i], table[i - 1], x);
        }
      }
      for (std::size_t w = 0; w < windows.size(); ++w) {
        const std::size_t ready = w % Digits::kSelected;
        if (ready == 0) select(selected.data(), table, windows.subspan(w));
        if (w == 0) {
          x = selected[0];
          continue;
        }
        for (int i = 0; i < kWindowBits; ++i) digits_.square(x, x);
        digits_.multiply(x, x, selected[ready]);
      }
    });
  }

  static void select(Number* to, const AlignedSecret<Number>& table, std::span<const std::uint8_t> windows) {
    std::uint8_t indices[Digits::kSelected] = {};
    for (std::size_t i = 0; i < Digits::kSelected && i < windows.size(); ++i) indices[i] = windows[i];
    Digits::select(to, table.data(), table.size(), indices);
  }

  void enter(Limb* rows, std::size_t count) const override {
    Number by;
    digits_.broadcast(by, squared_radix());
    const auto row_at = [&](std::size_t i) { return Row{rows + i * stride(), rows + i * stride()}; };
    change(count, row_at, [&](Number& x) { digits_.multiply(x, x, by); });
  }

  void leave(Limb* to, const Limb* rows, std::size_t count) const override {
    const auto row_at = [&](std::size_t i) { return Row{to + i * stride(), rows + i * stride()}; };
    change(count, row_at, [&](Number& x) { digits_.leave(x); });
  }

  Digits digits_;
};

}  // namespace blindfl::he::paillier
