#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "blindfl/base/bytes.h"
#include "blindfl/base/random.h"
#include "blindfl/base/thread_pool.h"
#include "blindfl/he/plan.h"
#include "blindfl/he/scheme.h"
#include "blindfl/share/share_matrix.h"

// Element-wise products of two shared matrices, exactly: shares of x y from shares of x and of y, all modulo
// 2^ring_bits.
//
//   x y = x_P y_P + x_Q y_Q + (x_P y_Q + y_P x_Q)
//
//   Q: owner                                    P: multiplier
//     encrypt: y_Q and x_Q  --- operand --->      multiply: x_P [[y_Q]] + y_P [[x_Q]]; keeps its share
//     ElementKey::open      <--- reply -----
//
// As for slots (slots.h), a key serves for one operand and one reply.

namespace blindfl::he {

/// The public facts of such a product, the same at both parties.
struct ElementSpec {
  std::size_t rows = 0;
  std::size_t cols = 0;
  /// Of x, y and the result: at most 64.
  int ring_bits = 64;
  /// Results of all such products of a run together; 0: only this one's. The chance that one of them is wrong, without
  /// anybody noticing, is kept below 2^-kHidingOfRun for the run.
  std::uint64_t run_values = 0;

  [[nodiscard]] std::size_t values() const { return rows * cols; }
  [[nodiscard]] std::string describe() const;
};

/// How a scheme carries it out. Both parties make it from the same spec and get the same plan.
class ElementPlan {
 public:
  ElementPlan(const ElementPlan&) = delete;
  ElementPlan& operator=(const ElementPlan&) = delete;
  virtual ~ElementPlan() = default;

  [[nodiscard]] const ElementSpec& spec() const { return spec_; }
  /// Bytes from Q to P, a fresh public key among them, and back.
  [[nodiscard]] virtual std::uint64_t operand_bytes() const = 0;
  [[nodiscard]] virtual std::uint64_t reply_bytes() const = 0;
  /// As `Plan::times`; loading is part of multiplying.
  [[nodiscard]] virtual ProductTimes times() const = 0;
  /// The chance that any result of the run is wrong is at most this.
  [[nodiscard]] virtual double failures_of_run() const = 0;
  [[nodiscard]] virtual std::string describe() const = 0;

 protected:
  explicit ElementPlan(const ElementSpec& spec) : spec_(spec) {}

 private:
  ElementSpec spec_;
};

/// What the owner keeps until the reply is there: for one reply.
class ElementKey {
 public:
  ElementKey() = default;
  ElementKey(const ElementKey&) = delete;
  ElementKey& operator=(const ElementKey&) = delete;
  virtual ~ElementKey() = default;

  /// Reads a reply of `reply_bytes()` bytes and returns this party's share of x y. The secret is gone afterwards, also
  /// if this throws. Throws ProtocolError if the bytes are not a reply under this key and plan, InvalidArgument if it
  /// was called before.
  [[nodiscard]] ShareMatrix open(ByteSource& reply, ThreadPool& pool);

 private:
  [[nodiscard]] virtual ShareMatrix do_open(ByteSource& reply, ThreadPool& pool) = 0;
  virtual void forget() = 0;

  bool used_ = false;
};

/// What a scheme with element-wise products offers.
class Elements {
 public:
  Elements() = default;
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;
  virtual ~Elements() = default;

  /// Throws InvalidArgument, with the numbers, if a run of so many values would fail too often.
  [[nodiscard]] std::shared_ptr<const ElementPlan> plan(const ElementSpec& spec) const;

  /// Writes `plan.operand_bytes()` bytes: a fresh public key, and this party's shares under it. `coin` as in
  /// `Slots::encrypt`: of both parties, fresh. Reveals: nothing to anyone without the key.
  /// Throws InvalidArgument if the shares are not what the plan is for.
  [[nodiscard]] std::unique_ptr<ElementKey> encrypt(const std::shared_ptr<const ElementPlan>& plan, const Coin& coin,
                                                    const ShareMatrix& x, const ShareMatrix& y, Random& random,
                                                    ThreadPool& pool, ByteSink& out) const;
  /// Reads an operand, writes a reply of `plan.reply_bytes()` bytes, and returns this party's share of x y, at the sum
  /// of their scales. `random` must be fresh. Reveals: to the key's owner its share. Throws ProtocolError if the bytes
  /// are not an operand of this plan and coin.
  [[nodiscard]] ShareMatrix multiply(const ElementPlan& plan, const Coin& coin, ByteSource& operand,
                                     const ShareMatrix& x, const ShareMatrix& y, Random& random, ThreadPool& pool,
                                     ByteSink& reply) const;

 private:
  [[nodiscard]] virtual std::shared_ptr<const ElementPlan> do_plan(const ElementSpec& spec) const = 0;
  [[nodiscard]] virtual std::unique_ptr<ElementKey> do_encrypt(const std::shared_ptr<const ElementPlan>& plan,
                                                               const Coin& coin, const ShareMatrix& x,
                                                               const ShareMatrix& y, Random& random, ThreadPool& pool,
                                                               ByteSink& out) const = 0;
  [[nodiscard]] virtual ShareMatrix do_multiply(const ElementPlan& plan, const Coin& coin, ByteSource& operand,
                                                const ShareMatrix& x, const ShareMatrix& y, Random& random,
                                                ThreadPool& pool, ByteSink& reply) const = 0;
};

}  // namespace blindfl::he
