#pragma once

#include <cstddef>
#include <cstdint>

#include "blindfl/tensor/int_matrix.h"
#include "mpz_paillier.h"

// One mini-batch of MatMul for A's features as the paper has it, in plain GMP: every value a ciphertext of its own,
// encrypted with r^n.
//
//   B: [[V_A]]_B, anew for the rows that the last batch changed: for this measurement, those that this one has.
//   A: [[X V_A + R]]_B: a power for each entry of X that is not 1 and each output, a mask for each value.
//   B: decrypts; [[dZ]]_B, value by value.
//   A: [[X^T dZ + R]]_B, for the rows that the batch has.
//   B: decrypts.

namespace blindfl::bench {

struct PaperStep {
  double at_a = 0;  ///< milliseconds
  double at_b = 0;
  double sent_by_a = 0;  ///< bytes
  double sent_by_b = 0;
  /// Of the work that was done to measure it; the rest follows from how many operations of each kind there are.
  double measured = 1;
};

/// Measures, in about as many seconds, or as many as the whole takes if that is less. Checks what B decrypts.
/// Throws Error if that is wrong.
[[nodiscard]] PaperStep measure_paper_step(const MpzPaillier& key, const IntMatrix& x, std::size_t out, double seconds,
                                           Random& random);

}  // namespace blindfl::bench
