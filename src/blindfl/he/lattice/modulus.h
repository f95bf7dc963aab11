#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace blindfl::he::lattice {

/// A prime modulus with everything that arithmetic modulo it needs, for polynomials modulo x^N + 1.
///
/// Products are Montgomery products with R = 2^52 (`a * b / 2^52 mod q`), which suits the vector units' 52-bit
/// multipliers and the portable code alike; one factor of each product is therefore kept in Montgomery form, `a * 2^52
/// mod q`.
class Modulus {
 public:
  static constexpr int kMinBits = 20;
  static constexpr int kMaxBits = 50;
  static constexpr int kRadixBits = 52;

  /// The prime must be below 2^50 and 1 modulo 2 * degree; the degree a power of two from 64 to 32768.
  /// Throws InvalidArgument otherwise.
  Modulus(std::uint64_t prime, std::size_t degree);

  [[nodiscard]] std::uint64_t value() const { return q_; }
  [[nodiscard]] int bits() const { return bits_; }
  [[nodiscard]] std::size_t degree() const { return degree_; }
  /// -1 / q modulo 2^52.
  [[nodiscard]] std::uint64_t negated_inverse() const { return negated_inverse_; }

  [[nodiscard]] std::uint64_t add(std::uint64_t a, std::uint64_t b) const;
  [[nodiscard]] std::uint64_t multiply(std::uint64_t a, std::uint64_t b) const;
  [[nodiscard]] std::uint64_t power(std::uint64_t a, std::uint64_t exponent) const;
  /// `a` must not be 0 modulo q.
  [[nodiscard]] std::uint64_t inverse(std::uint64_t a) const;
  /// a * 2^52 modulo q.
  [[nodiscard]] std::uint64_t to_montgomery(std::uint64_t a) const;

  /// Factors, each with its quotient floor(factor * 2^k / q), after Shoup: a product by it costs two multiplications.
  struct Factors {
    std::vector<std::uint64_t> value;
    std::vector<std::uint64_t> quotient52;
    std::vector<std::uint64_t> quotient64;
    std::vector<double> real;           ///< the factor
    std::vector<double> real_quotient;  ///< the factor divided by q, rounded
  };
  /// Powers of a primitive 2N-th root of unity, in bit-reversed order of the exponent.
  [[nodiscard]] const Factors& roots() const { return roots_; }
  [[nodiscard]] const Factors& inverse_roots() const { return inverse_roots_; }
  /// 1/N and 1/N times inverse_roots()[1]: the last stage of the inverse transform, with its scaling.
  [[nodiscard]] const Factors& last_stage() const { return last_stage_; }
  /// The same times 2^52, to make up for a Montgomery product.
  [[nodiscard]] const Factors& last_stage_times_radix() const { return last_stage_times_radix_; }
  /// 1 / 2^52 and 1 / 4.
  [[nodiscard]] const Factors& one_over_radix() const { return one_over_radix_; }

  /// Those factors, in [0, q), with their quotients.
  [[nodiscard]] Factors factors(std::vector<std::uint64_t> values) const;

  /// The roots of the stages with the shortest butterflies, arranged for vector units.
  struct LaneFactors {
    /// For 8 lanes: for each block of 64 values, the 7 factors of its three stages, each as 8 values and 8 quotients
    /// (of 2^52), one per group of 8 values.
    std::vector<std::uint64_t> whole;
    /// The same for 4 lanes of real numbers: blocks of 16 values, 3 factors.
    std::vector<double> real;
  };
  [[nodiscard]] const LaneFactors& lane_roots() const { return lane_roots_; }
  [[nodiscard]] const LaneFactors& inverse_lane_roots() const { return inverse_lane_roots_; }

  /// `roots` or `inverse_roots`, arranged for a transform of `count` values, a power of two up to the degree. Without
  /// blocks where there are fewer values than a block has.
  [[nodiscard]] static LaneFactors arranged(const Factors& roots, std::size_t count);

 private:
  [[nodiscard]] std::uint64_t primitive_root() const;

  std::uint64_t q_;
  std::size_t degree_;
  int bits_;
  std::uint64_t negated_inverse_ = 0;
  Factors roots_;
  Factors inverse_roots_;
  Factors last_stage_;
  Factors last_stage_times_radix_;
  Factors one_over_radix_;
  LaneFactors lane_roots_;
  LaneFactors inverse_lane_roots_;
};

/// Is `n` prime? Exact for all 64-bit numbers.
[[nodiscard]] bool is_prime(std::uint64_t n);

/// The `count` largest primes of the given number of bits that are 1 modulo 2 * degree, descending.
/// Throws InvalidArgument if there are not that many.
[[nodiscard]] std::vector<std::uint64_t> largest_primes(int bits, std::size_t count, std::size_t degree);

}  // namespace blindfl::he::lattice
