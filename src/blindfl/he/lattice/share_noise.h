#pragma once

#include <cstddef>
#include <span>

#include "blindfl/base/int128.h"
#include "blindfl/base/random.h"
#include "blindfl/base/secret.h"
#include "blindfl/he/lattice/fraction.h"
#include "blindfl/he/lattice/kernels.h"

namespace blindfl::he::lattice {

/// What a party adds to its share of each value before it is rounded, so that neither the errors of a product nor, in
/// the key owner's share, its key can be told from it: the sum of four uniform words, each below 2^`word_bits` units of
/// the result, around 0. Smooth: hiding behind it costs the square of what it costs behind one uniform word
/// (docs/protocols.md, "Hiding"). No branch depends on what is drawn.
class ShareNoise {
 public:
  /// Words have 64 bits, and their lowest must stay far below a unit of the result: what noise does not reach is not
  /// hidden.
  static constexpr int kLargestWord = 60;

  /// For `values` values in a ring of `ring_bits` bits.
  ShareNoise(std::size_t values, int word_bits, int ring_bits, Random& random)
      : words_(kWords * values), places_(ring_bits + 64 - word_bits) {
    random.fill_integers(std::span(words_));
  }

  /// Of a value, in units of 2^-places().
  [[nodiscard]] Int128 of(std::size_t value) const { return ShareSum::noise_of(words_.data() + kWords * value); }
  [[nodiscard]] int places() const { return places_; }
  /// Four of each value, side by side.
  [[nodiscard]] std::span<const std::uint64_t> words() const { return words_; }
  void add_to(Fraction& f, std::size_t value) const { f.add_shifted(of(value), places_); }

 private:
  static constexpr std::size_t kWords = ShareSum::kNoiseWords;

  SecretVector<std::uint64_t> words_;
  int places_;
};

}  // namespace blindfl::he::lattice
