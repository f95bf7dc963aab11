#pragma once

#include <cstddef>
#include <cstdint>

#include "blindfl/he/paillier/masked_reply.h"
#include "blindfl/he/paillier/params.h"
#include "blindfl/he/paillier/unit_costs.h"

namespace blindfl::he::paillier {

/// What work with encrypted matrices takes, in seconds on one core, from `UnitCosts` and from how many products
/// matrices of random values took.
class ExpectedTimes {
 public:
  explicit ExpectedTimes(const Params& params)
      : cost_(UnitCosts::of(params.key_bits())), row_memory_(params.ciphertext_bytes() / 4 * 5) {}

  [[nodiscard]] double encrypt(std::size_t ciphertexts) const;
  [[nodiscard]] double load(std::size_t ciphertexts) const;
  /// A matrix of `nonzeros` values up to `bound` times an encrypted one: `rows` results from `bases` encrypted rows of
  /// `groups` ciphertexts each.
  [[nodiscard]] double multiply(std::size_t rows, std::size_t bases, std::size_t groups, double nonzeros,
                                std::uint64_t bound) const;
  /// One product for each of so many ciphertexts.
  [[nodiscard]] double add(double ciphertexts) const;
  [[nodiscard]] double write_masked(const ReplyLayout& layout) const;
  [[nodiscard]] double open_masked(const ReplyLayout& layout) const;

  /// Bytes of memory of a ciphertext to compute with: limbs of 52 bits.
  [[nodiscard]] std::uint64_t row_memory() const { return row_memory_; }

 private:
  UnitCosts cost_;
  std::uint64_t row_memory_;
};

/// How many of `rows` rows are expected to have an entry if `nonzeros` fall anywhere.
[[nodiscard]] double expected_rows(std::size_t rows, double nonzeros);

}  // namespace blindfl::he::paillier
