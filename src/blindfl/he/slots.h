#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/base/error.h"
#include "blindfl/base/random.h"
#include "blindfl/base/thread_pool.h"
#include "blindfl/he/plan.h"
#include "blindfl/he/scheme.h"
#include "blindfl/share/share_matrix.h"

// Element-wise private products of unit complex numbers, for functions of shared values. With z = a + b modulo 2^32,
// a at P and b at Q, and e(x) = e^(2 pi i x / 2^32):
//
//   Re sum_j C_j e(m_j z) = Re sum_j (C_j e(m_j a)) e(m_j b),
//
// one complex product for each frequency m_j and value; sums of such terms come close to any smooth function.
//
//   Q: owner                                   P: multiplier
//     encrypt: its phases  --- operand --->      multiply: by its own, C_j among them; keeps its share
//     SlotKey::open        <--- reply -----
//
// Several functions of the same z share an operand, and each takes a reply. Shares are whole numbers, at
// `SlotSpec::result_scale`, that add up to the value but for `SlotPlan::deviation()`: they do not fill the ring of
// 2^128 and hide nothing in it but what they are shares of.
//
// Results must stay shared. Their error is a linear function of keys and errors, and too small a number to hide:
// whoever opens them at full precision gets hints on both parties' secrets. For the same reason a key serves for one
// operand and one reply, so that nothing that is made of its results is ever encrypted under it.

namespace blindfl::he {

/// No product has more.
constexpr std::size_t kMostFrequencies = 1024;

struct ComplexNumber {
  double re = 0;
  double im = 0;
};

/// The public facts of such a product, the same at both parties.
struct SlotSpec {
  std::size_t values = 0;
  /// m_j: multiples of 1 / 2^32 of a turn.
  std::vector<std::uint32_t> frequencies{};
  /// C_j of each function, in the order of the frequencies. None: the products e(m_j z) themselves are wanted.
  std::vector<std::vector<ComplexNumber>> functions{};
  /// Fractional bits of the results.
  int result_scale = 32;
  /// Ciphertexts that all replies of a run have together (`SlotPlan::reply_ciphertexts()` of each); 0: only this one's.
  /// One of them "wraps", and all its results are garbage, with a chance that is kept below 2^-kHidingOfRun for the
  /// run.
  std::uint64_t run_replies = 0;
  /// Above 0: no result may be further off than this, but for what exceeds 8 standard deviations (2^-49 of the
  /// results).
  double error = 0;

  [[nodiscard]] std::string describe() const;
};

/// Throws InvalidArgument, with the spec in the message, unless it has values and frequencies, as many finite
/// coefficients of at most 2^20 for each function, a scale from 0 to 40.
void check_spec(const SlotSpec& spec);

/// How a scheme carries it out. Both parties make it from the same spec and get the same plan.
class SlotPlan {
 public:
  SlotPlan(const SlotPlan&) = delete;
  SlotPlan& operator=(const SlotPlan&) = delete;
  virtual ~SlotPlan() = default;

  [[nodiscard]] const SlotSpec& spec() const { return spec_; }

  /// Bytes from Q to P, a fresh public key among them, and back.
  [[nodiscard]] virtual std::uint64_t operand_bytes() const = 0;
  [[nodiscard]] virtual std::uint64_t reply_bytes() const = 0;
  [[nodiscard]] virtual std::size_t operand_ciphertexts() const = 0;
  [[nodiscard]] virtual std::size_t reply_ciphertexts() const = 0;

  /// The standard deviation of a result's error, of the function of that index (of one part of a product, where there
  /// are no functions).
  [[nodiscard]] virtual double deviation(std::size_t function) const = 0;
  /// No result is further off, unless its ciphertext wraps.
  [[nodiscard]] virtual double largest_error(std::size_t function) const = 0;
  /// As `Plan::times`; loading is part of multiplying.
  [[nodiscard]] virtual ProductTimes times() const = 0;
  /// The chance that any ciphertext of a run wraps is at most this.
  [[nodiscard]] virtual double wraps_of_run() const = 0;
  /// Everything that both parties must agree on, as text.
  [[nodiscard]] virtual std::string describe() const = 0;

 protected:
  explicit SlotPlan(SlotSpec spec) : spec_(std::move(spec)) {}

 private:
  SlotSpec spec_;
};

/// What the owner keeps of its key until the reply is there: for one reply.
class SlotKey {
 public:
  SlotKey() = default;
  SlotKey(const SlotKey&) = delete;
  SlotKey& operator=(const SlotKey&) = delete;
  virtual ~SlotKey() = default;

  /// Reads a reply of `reply_bytes()` bytes and returns this party's shares, as `Slots::multiply`. The secret is gone
  /// afterwards, also if this throws.
  /// Throws ProtocolError if the bytes are not a reply under this key and plan, InvalidArgument if it was called
  /// before.
  [[nodiscard]] std::vector<ShareMatrix> open(ByteSource& reply, ThreadPool& pool);

 private:
  [[nodiscard]] virtual std::vector<ShareMatrix> do_open(ByteSource& reply, ThreadPool& pool) = 0;
  virtual void forget() = 0;

  bool used_ = false;
};

/// What a scheme with slots offers.
class Slots {
 public:
  Slots() = default;
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;
  virtual ~Slots() = default;

  /// Throws InvalidArgument, with the numbers, if the asked-for error cannot be had with so many replies in the run.
  [[nodiscard]] std::shared_ptr<const SlotPlan> plan(const SlotSpec& spec) const;

  /// The most frequencies that a product of so many values can have without a byte more than with `frequencies`.
  [[nodiscard]] virtual std::size_t free_frequencies(std::size_t values, std::size_t frequencies,
                                                     std::size_t functions) const = 0;

  /// Writes `plan.operand_bytes()` bytes: a fresh public key, and the phases of `share` (b modulo 2^32) under it.
  /// `coin` is of both parties, and another for every operand: an owner that chose it alone would read the multiplier's
  /// phases. Reveals: nothing to anyone without the key. Throws InvalidArgument if the share is not of `values` values.
  [[nodiscard]] std::unique_ptr<SlotKey> encrypt(const std::shared_ptr<const SlotPlan>& plan, const Coin& coin,
                                                 std::span<const std::uint32_t> share, Random& random, ThreadPool& pool,
                                                 ByteSink& out) const;

  /// Reads an operand, writes a reply of `plan.reply_bytes()` bytes, and returns this party's shares in the ring of
  /// 2^128: for each function a row of `values` values; without functions two matrices, real and imaginary parts, with
  /// a row for each frequency. `random` must be fresh. Reveals: to the key's owner its share. Throws ProtocolError if
  /// the bytes are not an operand of this plan and coin.
  [[nodiscard]] std::vector<ShareMatrix> multiply(const SlotPlan& plan, const Coin& coin, ByteSource& operand,
                                                  std::span<const std::uint32_t> share, Random& random,
                                                  ThreadPool& pool, ByteSink& reply) const;

 private:
  [[nodiscard]] virtual std::shared_ptr<const SlotPlan> do_plan(const SlotSpec& spec) const = 0;
  [[nodiscard]] virtual std::unique_ptr<SlotKey> do_encrypt(const std::shared_ptr<const SlotPlan>& plan,
                                                            const Coin& coin, std::span<const std::uint32_t> share,
                                                            Random& random, ThreadPool& pool, ByteSink& out) const = 0;
  [[nodiscard]] virtual std::vector<ShareMatrix> do_multiply(const SlotPlan& plan, const Coin& coin,
                                                             ByteSource& operand, std::span<const std::uint32_t> share,
                                                             Random& random, ThreadPool& pool,
                                                             ByteSink& reply) const = 0;
};

/// A coin for operand `number` of a session whose parties tossed `session`: both count their operands alike.
[[nodiscard]] Coin coin_of_operand(const Coin& session, std::uint64_t number);

/// Those of `scheme`. Throws E, saying that `what` ("a shared top") needs them, if it has none.
template <class E>
[[nodiscard]] std::shared_ptr<const Slots> slots_of(const Scheme& scheme, std::string_view what) {
  auto slots = scheme.slots();
  require<E>(slots != nullptr, what, " needs element-wise products of slots, which the scheme '", scheme.name(),
             "' does not have");
  return slots;
}

}  // namespace blindfl::he
