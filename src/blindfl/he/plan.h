#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "blindfl/share/share_matrix.h"
#include "blindfl/tensor/int_matrix.h"

namespace blindfl::he {

/// The chance that the masked replies of a run tell anything of what they hide is meant to be below 2^-kHidingOfRun.
constexpr int kHidingOfRun = 40;

/// The public facts of a private product `X * M`, known to both parties before anything is sent.
struct ProductSpec {
  std::size_t rows = 0;          ///< of X, and of the result
  std::size_t inner = 0;         ///< columns of X, rows of M
  std::size_t cols = 0;          ///< of M, and of the result
  std::uint64_t left_bound = 0;  ///< no value of X exceeds this in magnitude
  int left_scale = 0;
  int right_scale = 0;
  /// Values of M, read as signed, fit in this many bits. 128: any element of the ring, as shares are.
  int right_bits = 128;
  /// Values that the masked replies of this product open in a whole run, times the products that share the run. What
  /// hides a value is made for all of them: `kHidingOfRun` bits plus the logarithm of this. 0: not said; then for one
  /// value.
  std::uint64_t run_values = 0;

  /// The bits that a value must be hidden by so that `kHidingOfRun` are left for the run.
  [[nodiscard]] int wanted_hiding() const;
  [[nodiscard]] int result_scale() const { return left_scale + right_scale; }
  [[nodiscard]] std::string describe() const;
};

/// Seconds that the steps of a product take on one core, as its scheme expects. From constants and not from the machine
/// at hand, so that both parties expect the same; docs/appendix/planner.md says how far they are off.
struct ProductTimes {
  double encrypt = 0;   ///< the key's owner
  double load = 0;      ///< the multiplier
  double multiply = 0;  ///< the multiplier, what it prepares while it waits included
  double open = 0;      ///< the key's owner
};

/// How one scheme carries out one product. Both parties make it from the same spec and get the same plan, so each knows
/// the exact size of every message before it arrives.
class Plan {
 public:
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  virtual ~Plan() = default;

  [[nodiscard]] const ProductSpec& spec() const { return spec_; }

  /// Bytes of the encrypted matrix, from the key's owner to the multiplier.
  [[nodiscard]] virtual std::uint64_t operand_bytes() const = 0;
  /// Bytes of the masked product, back to the key's owner.
  [[nodiscard]] virtual std::uint64_t reply_bytes() const = 0;
  /// Names the arrangement of the encrypted matrix: an operand made for one plan serves every plan with the same name.
  [[nodiscard]] virtual std::string operand_layout() const = 0;

  /// Of a product whose X has `nonzeros` values that are not 0, anywhere in it.
  [[nodiscard]] virtual ProductTimes times(double nonzeros) const = 0;
  /// Bytes of memory that the multiplier keeps an encrypted matrix in.
  [[nodiscard]] virtual std::uint64_t operand_memory() const = 0;

  /// The chance that one value of a reply tells anything of how it was computed is below 2^-hiding_bits(): by how much
  /// its mask exceeds what it hides, or flooding the noise.
  [[nodiscard]] virtual int hiding_bits() const = 0;
  /// The chance that any value of one reply does: a sum over its values.
  [[nodiscard]] double exposure_of_reply() const;

 protected:
  explicit Plan(const ProductSpec& spec) : spec_(spec) {}

 private:
  ProductSpec spec_;
};

/// Throws InvalidArgument, with the spec in the message, unless it describes a product that cannot overflow: positive
/// dimensions, a left bound of at most 2^62, sizes that can be counted, and, where M is bounded, `X * M` below 2^127.
void check_spec(const ProductSpec& spec);

/// Throw InvalidArgument if an operand is not what the plan was made for.
void check_left(const Plan& plan, const IntMatrix& x);
void check_right(const Plan& plan, const ShareMatrix& m);

}  // namespace blindfl::he
