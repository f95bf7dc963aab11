#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "blindfl/he/exposure.h"
#include "blindfl/share/share_matrix.h"
#include "blindfl/tensor/int_matrix.h"

namespace blindfl::he {

/// What the messages and shares of a run give away of what they hide is meant to be below 2^-kHidingOfRun: a
/// statistical distance where masks are uniform, a Kullback-Leibler divergence where noise is smooth. The same bound
/// holds for the chance that any lift of a run fails.
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

  // What becomes of the result. Opened: the ring needs room for its range only, and what is rounded off before it is
  // opened may be noise. Shared: the same, and where each party reads its share as a signed number (`lifted`), the ring
  // needs room for the chance that this fails.

  /// The shares add up to `X M` modulo 2^ring_bits. M is needed in this ring only.
  int ring_bits = 128;
  /// What they add up to may be off by less than 2^noise_bits units of `result_scale()`: schemes that hide by noise use
  /// all of it. 0: not at all.
  int noise_bits = 0;
  /// Above 0: the shares will be lifted, and no result exceeds 2^lifted_bits.
  int lifted_bits = 0;

  /// The bits that a value must be hidden by so that `kHidingOfRun` are left for the run.
  [[nodiscard]] int wanted_hiding() const;
  /// The chance that lifting one value fails; 0 if none is lifted.
  [[nodiscard]] double lift_failure() const;
  /// Bits of M, read as signed, that the product needs.
  [[nodiscard]] int needed_right_bits() const { return right_bits < ring_bits ? right_bits : ring_bits; }
  [[nodiscard]] int result_scale() const { return left_scale + right_scale; }
  [[nodiscard]] std::string describe() const;
};

/// The ring that results of `value_bits` bits must be shared in so that no lift of the run fails but with a chance
/// below 2^-kHidingOfRun.
[[nodiscard]] int ring_for_lifts(int value_bits, std::uint64_t run_values);

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

  /// Which of the scheme's keys the product is computed under.
  [[nodiscard]] virtual std::string key_set() const { return {}; }
  /// What the two shares of one value give away.
  [[nodiscard]] virtual Exposure exposure_of_value() const = 0;
  /// The same of all values of one product.
  [[nodiscard]] Exposure exposure_of_product() const;
  /// What the shares add up to is never further from `X M` than this many units of `result_scale()`.
  [[nodiscard]] virtual double largest_error() const { return 0; }

 protected:
  explicit Plan(const ProductSpec& spec) : spec_(spec) {}

 private:
  ProductSpec spec_;
};

/// Throws InvalidArgument, with the spec in the message, unless it describes a product that cannot overflow: positive
/// dimensions, a left bound of at most 2^62, sizes that can be counted, a ring that leaves room for lifts, and, where M
/// is bounded, `X * M` below 2^127.
void check_spec(const ProductSpec& spec);

/// Throw InvalidArgument if an operand is not what the plan was made for.
void check_left(const Plan& plan, const IntMatrix& x);
void check_right(const Plan& plan, const ShareMatrix& m);

}  // namespace blindfl::he
