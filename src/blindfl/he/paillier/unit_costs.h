#pragma once

namespace blindfl::he::paillier {

/// What operations cost, in microseconds each, on one core with IFMA: measured by bench_paillier, see
/// docs/appendix/benchmarks.md. Plans are made from these, not from the machine at hand: both parties make the same.
struct UnitCosts {
  double multiply;   ///< two ciphertexts: the sum of their plaintexts
  double square;     ///< one with itself
  double encrypt;    ///< by the key's owner
  double randomize;  ///< a fresh encryption of 0, for the eyes of the key's owner
  double decrypt;

  static constexpr UnitCosts of(int key_bits) {
    if (key_bits >= 3072) return {1.3, 0.95, 150, 530, 910};
    if (key_bits >= 2048) return {0.6, 0.42, 50, 165, 290};
    return {0.17, 0.13, 12, 40, 45};
  }
};

}  // namespace blindfl::he::paillier
