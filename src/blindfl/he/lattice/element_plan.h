#pragma once

#include <memory>
#include <string>
#include <vector>

#include "blindfl/he/elements.h"
#include "blindfl/he/lattice/keys.h"
#include "blindfl/he/lattice/params.h"

// Exact products in slots modulo primes. With t = 1 modulo 2N a polynomial modulo t and x^N + 1 is known by its values
// at N roots of unity modulo t, and polynomials multiply value by value. Products of `ring_bits` bits need more than t:
// the same is done modulo several primes t_1, t_2, ..., with T their product.
//
// P ends with c0, Q with c1 s, and c0 + c1 s = (q / t) m + nu modulo q. Each rounds its own to a multiple of q / t,
// [t c0 / q] and [t c1 s / q]: these add up to m modulo t, exactly, unless (t / q) nu moves a fraction past 1/2. c0 is
// uniform, so that the chance is E|nu| t / q for a coefficient, and one wrong coefficient makes all its slots wrong. As
// in Boyle, Kohl and Scholl (2019). No noise is added and none must be hidden: shares add up to m, so either is m minus
// the other, and has nothing of keys and errors in it.
//
//   nu = X (e + d) + u e_pk + e1 s + rho s       X, plaintexts of both terms, up to t/2; d, roundings of q m / t up to
//   1/2
//
//   E|nu| <= t/2 sqrt(2 N 10.5) + N t/2 + ...    d as if it were always 1/2 with X's sign: nothing is assumed of it
//
// From shares modulo T to shares modulo 2^ring_bits: each party reads its own between -T/2 and T/2. They add up without
// T but for a chance of |v| / T, with |v| < 2^(2 ring_bits - 1).

namespace blindfl::he::lattice {

class LatticeElementPlan final : public ElementPlan {
 public:
  LatticeElementPlan(std::shared_ptr<const Params> params, const ElementSpec& spec, std::vector<std::uint64_t> primes);

  /// The plan with the fewest bytes that fails a run seldom enough. Throws InvalidArgument if there is none.
  [[nodiscard]] static std::shared_ptr<const LatticeElementPlan> choose(
      const std::vector<std::shared_ptr<const Params>>& sets, const ElementSpec& spec);
  /// `plan` as one of this scheme's. Throws InvalidArgument if it is another's.
  [[nodiscard]] static const LatticeElementPlan& of(const ElementPlan& plan);

  [[nodiscard]] const Params& params() const { return *params_; }
  [[nodiscard]] const std::shared_ptr<const Params>& shared_params() const { return params_; }
  /// t_1, t_2, ...
  [[nodiscard]] const std::vector<std::uint64_t>& primes() const { return primes_; }
  /// Of ciphertexts and plaintexts: plans of the same name share tables.
  [[nodiscard]] std::string modulus_name() const;
  /// Ciphertexts that are multiplied for each prime: of y and of x; or one, of y in its first half and x in the second,
  /// where there are few values.
  [[nodiscard]] std::size_t terms() const { return spec().values() > params_->degree() / 2 ? 2 : 1; }
  /// Values lie in chunks of so many.
  [[nodiscard]] std::size_t chunk_values() const { return terms() == 2 ? params_->degree() : params_->degree() / 2; }
  [[nodiscard]] std::size_t chunks() const { return (spec().values() + chunk_values() - 1) / chunk_values(); }
  /// Of a reply's digits the first `dropped()` do not travel, and the next has lost `cut()` bits.
  [[nodiscard]] std::size_t dropped() const { return dropped_; }
  [[nodiscard]] int cut() const { return cut_; }
  /// Bits of a digit of a reply on the wire; 0 for those that do not travel.
  [[nodiscard]] int reply_bits(std::size_t modulus) const;
  [[nodiscard]] std::size_t operand_words() const { return operand_words_; }
  [[nodiscard]] std::size_t reply_words() const { return reply_words_; }

  [[nodiscard]] std::uint64_t operand_bytes() const override;
  [[nodiscard]] std::uint64_t reply_bytes() const override;
  [[nodiscard]] ProductTimes times() const override;
  [[nodiscard]] double failures_of_run() const override { return rounding_failures() + lift_failures(); }
  [[nodiscard]] double rounding_failures() const;
  [[nodiscard]] double lift_failures() const;
  [[nodiscard]] std::string describe() const override;
  /// The coin of a key for this plan: parties with other plans have other keys, and notice.
  [[nodiscard]] Coin bound(const Coin& coin) const;

 private:
  [[nodiscard]] double run_values() const;
  /// The largest mean of |nu| without what is cut off.
  [[nodiscard]] double mean_error() const;
  /// And what a cut of so many bits adds to it.
  [[nodiscard]] double mean_cut(int bits) const;

  std::shared_ptr<const Params> params_;
  std::vector<std::uint64_t> primes_;
  std::size_t dropped_ = 0;
  int cut_ = 0;
  std::size_t operand_words_ = 0;
  std::size_t reply_words_ = 0;
};

}  // namespace blindfl::he::lattice
