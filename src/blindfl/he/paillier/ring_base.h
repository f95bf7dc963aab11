#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "blindfl/base/aligned.h"
#include "blindfl/he/paillier/ring.h"

namespace blindfl::he::paillier {

/// What all kernels share: numbers and bytes in and out, and what is done in which order.
///
/// It is compiled for any processor, and with all its functions out of line, unlike the kernels' loops (ring_loops.h):
/// of an inline function that two files have in common, the linker keeps the one or the other.
class RingBase : public Ring {
 public:
  ~RingBase() override;

  [[nodiscard]] std::string_view kernels() const final;
  [[nodiscard]] const BigInt& modulus() const final;
  [[nodiscard]] std::size_t stride() const final;
  [[nodiscard]] std::size_t lanes() const final;
  [[nodiscard]] const Limb* one() const final;

  void multiply_chains(std::span<const Chain> chains) const final;
  void power(std::span<const Row> rows, const BigInt& exponent) const final;

  void write_digit(Limb* to, const BigInt& x) const final;
  void write(Limb* to, const BigInt& x) const final;
  [[nodiscard]] BigInt read(const Limb* row) const final;
  void to_bytes(const Limb* rows, std::size_t count, std::byte* out) const final;
  [[nodiscard]] bool from_bytes(Limb* rows, std::size_t count, const std::byte* in) const final;

 protected:
  /// How kernels keep numbers: in limbs of `limb_bits`, `digit_limbs` of them for a digit. A row is its two digits, one
  /// right after the other. Montgomery's radix is R = 2^(limb_bits * digit_limbs).
  struct Form {
    std::string_view kernels;
    int limb_bits;
    std::size_t digit_limbs;
    std::size_t lanes;
  };
  RingBase(const BigInt& m, const Form& form);

  /// The digit m.
  [[nodiscard]] const Limb* modulus_digit() const;
  /// -1/m modulo 2^64.
  [[nodiscard]] Limb negated_inverse() const;
  /// R^2 modulo m^2 in plain digits: a product with it brings plain digits into Montgomery's form.
  [[nodiscard]] const Limb* squared_radix() const;

  static constexpr int kWindowBits = 5;

  /// As `multiply_chains`, for chains of at least two factors, the longest first.
  virtual void multiply_sorted(std::span<const Chain> chains) const = 0;
  /// to = from^exponent. `windows` are the exponent's digits of `kWindowBits`, at least one, the most significant
  /// first.
  virtual void power_windows(std::span<const Row> rows, std::span<const std::uint8_t> windows) const = 0;
  /// Rows of plain digits, in place, into Montgomery's form; and back, to digits below m.
  virtual void enter(Limb* rows, std::size_t count) const = 0;
  virtual void leave(Limb* to, const Limb* rows, std::size_t count) const = 0;

 private:
  void write_limbs(Limb* to, std::size_t limbs, const BigInt& x) const;
  void write_plain_digits(Limb* row, const BigInt& x) const;
  void copy_row(Limb* to, const Limb* from) const;

  Form form_;
  BigInt m_;
  BigInt m_squared_;
  std::size_t stride_;
  Limb negated_inverse_;
  // m may be a secret prime.
  AlignedSecret<Limb> constants_;  // the rows of 1 and of R^2, the digit m
  AlignedSecret<Limb> m_words_;    // m in words of 64 bits
};

// For moduli of the sizes that `make_ring` lets through; null for others.

/// Kernels for any processor, in GMP's arithmetic on limbs of 64 bits.
[[nodiscard]] std::unique_ptr<const Ring> make_portable_ring(const BigInt& m);
/// Kernels for AVX-512 with IFMA (52-bit multiply-add), 8 rows at once, and whether this processor can run them.
[[nodiscard]] std::unique_ptr<const Ring> make_ifma_ring(const BigInt& m);
[[nodiscard]] bool ifma_is_supported();

}  // namespace blindfl::he::paillier
