#pragma once

#include <memory>

#include "blindfl/base/bytes.h"
#include "blindfl/base/random.h"
#include "blindfl/base/thread_pool.h"
#include "blindfl/he/plan.h"

// What a private product needs of an encryption scheme, and no more. Q owns the matrix M and the key, P owns X:
//
//   Q: KeyOwner                                P: Multiplier
//     encrypt(M)         --- operand --->        load
//                                                multiply_and_mask(X): keeps -R
//     open: X M + R      <--- reply -----
//
// The classes are split by who may call them: only a KeyOwner holds a secret. Schemes implement the `do_...` functions;
// what is common to all of them is checked here, in release builds too.

namespace blindfl::he {

// What some schemes offer beyond products: he/updates.h.
class UpdateHolder;
class UpdateOwner;

/// The side that holds the secret key.
class KeyOwner {
 public:
  KeyOwner() = default;
  KeyOwner(const KeyOwner&) = delete;
  KeyOwner& operator=(const KeyOwner&) = delete;
  virtual ~KeyOwner() = default;

  /// What the peer needs to multiply under this key: `Scheme::public_key_bytes()` bytes.
  [[nodiscard]] virtual Bytes public_key() const = 0;

  /// Writes `[[m]]` in the plan's layout, `plan.operand_bytes()` bytes.
  /// Reveals: nothing but the shape to anyone without the key.
  /// Throws InvalidArgument if `m` is not what the plan was made for.
  void encrypt(const Plan& plan, const ShareMatrix& m, Random& random, ThreadPool& pool, ByteSink& out) const;

  /// Reads a reply of `plan.reply_bytes()` bytes and returns `X M + R`.
  /// Throws ProtocolError if the bytes are not a reply under this key and plan.
  [[nodiscard]] ShareMatrix open(const Plan& plan, ByteSource& reply, ThreadPool& pool) const;

  /// Whether what is encrypted under these keys may outlive a session, so that they must be saved with it.
  [[nodiscard]] virtual bool can_be_saved() const { return false; }
  /// Writes the secret key: for this party's own files, which only it may read. `Scheme::load_keys` reads it.
  /// Throws InvalidArgument if these keys cannot be saved.
  virtual void save(ByteSink& out) const;

  /// This party's side of updates under encryption; null if the scheme has none.
  [[nodiscard]] virtual const UpdateOwner* updates() const { return nullptr; }

 private:
  virtual void do_encrypt(const Plan& plan, const ShareMatrix& m, Random& random, ThreadPool& pool,
                          ByteSink& out) const = 0;
  [[nodiscard]] virtual ShareMatrix do_open(const Plan& plan, ByteSource& reply, ThreadPool& pool) const = 0;
};

/// An encrypted matrix that passed every check, in the form its multiplier works with.
class Operand {
 public:
  Operand() = default;
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;
  virtual ~Operand() = default;
};

/// The side that multiplies under the peer's public key.
class Multiplier {
 public:
  Multiplier() = default;
  Multiplier(const Multiplier&) = delete;
  Multiplier& operator=(const Multiplier&) = delete;
  virtual ~Multiplier() = default;

  /// Reads an encrypted matrix of `plan.operand_bytes()` bytes.
  /// Throws ProtocolError if the bytes are not an operand under the peer's key in this layout.
  [[nodiscard]] std::unique_ptr<const Operand> load(const Plan& plan, ByteSource& in, ThreadPool& pool) const;

  /// Writes `[[x M + R]]` for a mask `R`, re-randomised, `plan.reply_bytes()` bytes, and returns `-R`.
  /// `operand` must come from `load` of this multiplier with a plan of the same layout.
  /// All bits of `R`, and nothing else, are drawn from `masks`: the same stream gives the same `R` under the same plan,
  /// whatever the threads, the kernels and what `prepare` has made. What re-randomises comes from `random`, which must
  /// be fresh: errors and flooding that repeat under two encryptions of M cancel out in the difference of two replies,
  /// and what is left tells x. Reveals: to the key's owner, who decrypts it, a masked value and nothing about how it
  /// was computed. Throws InvalidArgument if `x` is not what the plan was made for.
  [[nodiscard]] ShareMatrix multiply_and_mask(const Plan& plan, const IntMatrix& x, const Operand& operand,
                                              Random& random, Random& masks, ThreadPool& pool, ByteSink& reply) const;
  /// The same with a fresh mask.
  [[nodiscard]] ShareMatrix multiply_and_mask(const Plan& plan, const IntMatrix& x, const Operand& operand,
                                              Random& random, ThreadPool& pool, ByteSink& reply) const {
    return multiply_and_mask(plan, x, operand, random, random, pool, reply);
  }

  /// Says that replies under `plan` will be asked for again and again, so that `prepare` has something to do.
  virtual void expect(const Plan& /*plan*/) const {}
  /// Does a small piece of the work of coming replies that needs no data, for a party that waits anyway; on any thread.
  /// Returns false if there is nothing to do.
  virtual bool prepare() const { return false; }

  /// This party's side of updates under encryption; null if the scheme has none.
  [[nodiscard]] virtual const UpdateHolder* updates() const { return nullptr; }

 private:
  [[nodiscard]] virtual std::unique_ptr<const Operand> do_load(const Plan& plan, ByteSource& in,
                                                               ThreadPool& pool) const = 0;
  [[nodiscard]] virtual ShareMatrix do_multiply_and_mask(const Plan& plan, const IntMatrix& x, const Operand& operand,
                                                         Random& random, Random& masks, ThreadPool& pool,
                                                         ByteSink& reply) const = 0;
};

}  // namespace blindfl::he
