#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "blindfl/base/aligned.h"
#include "blindfl/base/bytes.h"
#include "blindfl/he/paillier/big_int.h"

// Residues modulo m^2, where Paillier's ciphertexts live (m = n), and where the key's owner computes (m = p, m = q).
//
// A residue is kept in Montgomery's form, times R modulo m^2, in two digits: x0 + x1 m. A product then takes five
// blocks of digit products where plain arithmetic modulo m^2 takes eight: REDC(x0 y0), whose quotient comes for free,
// and REDC(x0 y1 + x1 y0 - quotient).
//
// Kernels differ in radix and in how many residues they work on at once; which ones run is chosen at run time.

namespace blindfl::he::paillier {

using Limb = std::uint64_t;

/// Arithmetic modulo m^2 on rows of limbs: `stride()` limbs each, aligned to 64 bytes, in the kernels' own form.
///
/// All functions may be called from several threads at once. Time depends on counts and shapes, never on residues.
/// Within one call, no row may be written that another entry reads or writes; an entry may write where it reads itself.
class Ring {
 public:
  Ring() = default;
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  virtual ~Ring() = default;

  [[nodiscard]] virtual std::string_view kernels() const = 0;
  [[nodiscard]] virtual const BigInt& modulus() const = 0;  ///< m
  [[nodiscard]] virtual std::size_t stride() const = 0;     ///< limbs of a row, a multiple of 8
  /// Rows that are worked on at once: counts that are multiples of it waste nothing.
  [[nodiscard]] virtual std::size_t lanes() const = 0;
  /// The row of 1.
  [[nodiscard]] virtual const Limb* one() const = 0;

  struct Product {
    Limb* to;
    const Limb* left;
    const Limb* right;
  };
  /// to = left * right.
  virtual void multiply(std::span<const Product> products) const = 0;

  struct Chain {
    Limb* to;
    const Limb* const* factors;
    std::size_t count;  ///< 0: to = 1
  };
  /// to = the product of the factors. Fast for chains of different lengths too.
  virtual void multiply_chains(std::span<const Chain> chains) const = 0;

  struct Row {
    Limb* to;
    const Limb* from;
  };
  /// to = from^(2^times).
  virtual void square(std::span<const Row> rows, std::size_t times) const = 0;

  /// to = from^exponent, the same secret exponent for all: a fixed window, whose table is read as a whole at each step.
  /// Throws InvalidArgument if it is negative.
  virtual void power(std::span<const Row> rows, const BigInt& exponent) const = 0;

  struct Plaintext {
    Limb* to;
    const Limb* from;
    const Limb* value;  ///< a number below m, as `write_digit` puts it
  };
  /// to = from * (1 + value m): adds a plaintext to a ciphertext.
  virtual void add_plaintext(std::span<const Plaintext> rows) const = 0;

  // Between rows and numbers. `stride() / 2` limbs hold a digit.

  /// Writes a number in [0, m) as one plain digit. Throws InvalidArgument for another.
  virtual void write_digit(Limb* to, const BigInt& x) const = 0;
  /// Writes a number in [0, m^2) as a row. Throws InvalidArgument for another.
  virtual void write(Limb* to, const BigInt& x) const = 0;
  /// The number in [0, m^2) that a row stands for.
  [[nodiscard]] virtual BigInt read(const Limb* row) const = 0;

  /// Bytes of a row on the wire: two digits, little-endian, `digit_bytes()` each, not in Montgomery's form.
  [[nodiscard]] std::size_t digit_bytes() const { return (modulus().bits() + 7) / 8; }
  [[nodiscard]] std::size_t row_bytes() const { return 2 * digit_bytes(); }
  /// Writes rows as bytes, in the one canonical form that tells nothing of how they were computed.
  /// `rows` stand `stride()` limbs apart; `out` has `row_bytes()` for each.
  virtual void to_bytes(const Limb* rows, std::size_t count, std::byte* out) const = 0;
  /// Reads rows. Returns false if a digit is m or more; what was written to `rows` then has no meaning.
  [[nodiscard]] virtual bool from_bytes(Limb* rows, std::size_t count, const std::byte* in) const = 0;
};

/// Rows in memory, one after the other. Cleared when freed: rows modulo p^2 give p away, and powers of h what was
/// re-randomised with them.
class Rows {
 public:
  using Storage = AlignedSecret<Limb>;

  Rows() = default;
  Rows(const Ring& ring, std::size_t count) : stride_(ring.stride()), limbs_(count * ring.stride()) {}
  [[nodiscard]] std::size_t count() const { return stride_ == 0 ? 0 : limbs_.size() / stride_; }
  [[nodiscard]] Limb* operator[](std::size_t i) { return limbs_.data() + i * stride_; }
  [[nodiscard]] const Limb* operator[](std::size_t i) const { return limbs_.data() + i * stride_; }

 private:
  std::size_t stride_ = 0;
  Storage limbs_;
};

/// What kernels this processor can run, the best first: "ifma", "portable".
[[nodiscard]] const std::vector<std::string_view>& available_kernels();

/// Arithmetic modulo m^2 for an odd m of 512, 1024, 1536, 2048 or 3072 bits, or one bit less.
/// Throws InvalidArgument if this processor cannot run the kernels, or for another m.
[[nodiscard]] std::shared_ptr<const Ring> make_ring(const BigInt& m, std::string_view kernels);

}  // namespace blindfl::he::paillier
