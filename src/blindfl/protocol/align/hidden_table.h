#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "blindfl/base/random.h"
#include "blindfl/base/thread_pool.h"
#include "blindfl/protocol/align/prime_field.h"

// Values under keys, written so that a reader gets the value of any key that it knows, and cannot tell whether a key is
// in it: of another key it gets another number. What is written is the coefficients of polynomials, one for each bin of
// keys, all of the same degree. Where the values are random and unknown to the reader, so is every number of the table,
// whatever the keys: through fewer points than coefficients go equally many polynomials, wherever the points are.

namespace blindfl::protocol {

/// Where a value stands: a random number for the bin, and one modulo the prime in it. Both must look random to whoever
/// might choose keys.
struct HiddenKey {
  std::uint64_t bin = 0;
  FieldElement node = 0;
};

struct HiddenEntry {
  HiddenKey key;
  FieldElement value = 0;
};

/// How large a table for so many keys is: public.
struct HiddenShape {
  /// Keys in a bin, on average, and at most. 160 more than 256 come into one of at most 2^18 bins with a chance of less
  /// than 2^-41 (Bernstein's inequality).
  static constexpr std::uint64_t kKeysPerBin = 256;
  static constexpr std::uint64_t kMostPerBin = 416;

  std::uint64_t bins = 1;
  std::uint64_t per_bin = 1;  ///< coefficients of each polynomial

  [[nodiscard]] static HiddenShape of(std::uint64_t keys);
  [[nodiscard]] std::uint64_t numbers() const { return bins * per_bin; }
  /// Below `bins`.
  [[nodiscard]] std::uint64_t bin_of(const HiddenKey& key) const;
};

class HiddenTable {
 public:
  /// Nothing if a bin has more keys than it takes, or two keys are equal: with keys that look random it happens less
  /// than once in 2^40 times. Cost: about 600 products modulo the prime for each key.
  [[nodiscard]] static std::optional<HiddenTable> of(std::span<const HiddenEntry> entries, Random& random,
                                                     ThreadPool& pool);
  /// As it arrived. Throws InvalidArgument unless there are `shape.numbers()`.
  HiddenTable(const HiddenShape& shape, std::vector<FieldElement> numbers);

  /// As it travels.
  [[nodiscard]] std::span<const FieldElement> numbers() const { return numbers_; }
  /// The value under that key; any number if there is none. Cost: 416 products modulo the prime.
  [[nodiscard]] FieldElement at(const HiddenKey& key) const;

 private:
  HiddenShape shape_;
  std::vector<FieldElement> numbers_;
};

/// Throws ProtocolError if one of these is no number modulo the prime.
void check_field_elements(std::span<const UInt128> numbers);

}  // namespace blindfl::protocol
