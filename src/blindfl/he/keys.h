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
//                                                multiply(X): its share of X M
//     open: its share    <--- reply -----
//
// The shares add up to `X M` modulo 2^ring_bits, but for `Plan::largest_error()`. How they come about is the scheme's:
// under Paillier P draws a mask R, keeps -R and sends [[X M + R]]; under the lattice scheme P keeps one half of a
// ciphertext and sends the other.
//
// The classes are split by who may call them: only a KeyOwner holds a secret. Schemes implement the `do_...` functions;
// what is common to all of them is checked here, in release builds too.
//
// Of schemes with `Scheme::repeats_messages()`, keys, operands, replies and shares follow from their inputs and from
// the stream `random`, bit for bit, whatever the threads and the kernels: for the same stream and the same inputs
// (plan, matrix, keys, what arrived from the peer) they are the same again, also in another process. Callers may then
// pass a stream that repeats (`Random::derived`), if all of these inputs are in its context. They never call `expect`
// or `prepare` of a `KeyOwner` or `Multiplier` that they pass such a stream to; and one on which neither was called
// draws nothing from anywhere but `random`.

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

  /// What the peer needs to multiply under this key: `Scheme::public_key_bytes(set)` bytes.
  [[nodiscard]] virtual Bytes public_key() const = 0;

  /// Writes `[[m]]` in the plan's layout, `plan.operand_bytes()` bytes.
  /// Reveals: nothing but the shape to anyone without the key.
  /// Throws InvalidArgument if `m` is not what the plan was made for.
  void encrypt(const Plan& plan, const ShareMatrix& m, Random& random, ThreadPool& pool, ByteSink& out) const;

  /// Reads a reply of `plan.reply_bytes()` bytes and returns this party's share, in the plan's ring. What hides this
  /// party's key in it is drawn from `random`.
  /// Throws ProtocolError if the bytes are not a reply under this key and plan.
  [[nodiscard]] ShareMatrix open(const Plan& plan, ByteSource& reply, Random& random, ThreadPool& pool) const;

  /// Says that matrices will be encrypted under `plan` again and again, so that `prepare` has something to do. Never
  /// where encryptions are to repeat: what was made ahead is fresh.
  virtual void expect(const Plan& /*plan*/) const {}
  /// Does a small piece of the work of coming encryptions that needs no data, for a party that waits anyway; on any
  /// thread. Returns false if there is nothing to do.
  virtual bool prepare() const { return false; }

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
  [[nodiscard]] virtual ShareMatrix do_open(const Plan& plan, ByteSource& reply, Random& random,
                                            ThreadPool& pool) const = 0;
};

/// An encrypted matrix that passed every check, in the form its multiplier works with.
class Operand {
 public:
  Operand() = default;
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;
  virtual ~Operand() = default;
};

/// A private matrix in the form its multiplier works with.
class LeftMatrix {
 public:
  LeftMatrix() = default;
  LeftMatrix(const LeftMatrix&) = delete;
  LeftMatrix& operator=(const LeftMatrix&) = delete;
  virtual ~LeftMatrix() = default;
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

  /// Writes a reply of `plan.reply_bytes()` bytes and returns this party's share of `x M`, in the plan's ring.
  /// `operand` must come from `load` of this multiplier with a plan of the same layout.
  /// Everything is drawn from `random`, or was drawn by `prepare`, but for masks, where the scheme has any: all bits of
  /// these, and nothing else, come from `masks`, so that the same stream gives the same masks under the same plan,
  /// whatever the threads, the kernels and what `prepare` has made. `random` must be fresh for every call, unless
  /// `Scheme::repeats_messages()`, nothing was prepared, and plan, x, the operand's bytes and the public key are the
  /// same, too: errors and noise that repeat under two encryptions of M cancel out in the difference of two replies,
  /// and what is left tells x. Reveals: to the key's owner its share, and nothing about how it was computed. Throws
  /// InvalidArgument if `x` is not what the plan was made for.
  [[nodiscard]] ShareMatrix multiply(const Plan& plan, const IntMatrix& x, const Operand& operand, Random& random,
                                     Random& masks, ThreadPool& pool, ByteSink& reply) const;
  /// The same with fresh masks.
  [[nodiscard]] ShareMatrix multiply(const Plan& plan, const IntMatrix& x, const Operand& operand, Random& random,
                                     ThreadPool& pool, ByteSink& reply) const {
    return multiply(plan, x, operand, random, random, pool, reply);
  }

  /// What of `multiply` needs `x` and no operand, for a party that has to wait for that; null if there is nothing.
  /// Throws InvalidArgument if `x` is not what the plan was made for.
  [[nodiscard]] std::unique_ptr<const LeftMatrix> prepare_left(const Plan& plan, const IntMatrix& x,
                                                               ThreadPool& pool) const;
  /// `multiply` of the matrix that `left` was made from, by this multiplier and under a plan like this.
  [[nodiscard]] ShareMatrix multiply_prepared(const Plan& plan, const LeftMatrix& left, const Operand& operand,
                                              Random& random, ThreadPool& pool, ByteSink& reply) const {
    return do_multiply_prepared(plan, left, operand, random, pool, reply);
  }

  /// Says that replies under `plan` will be asked for again and again, so that `prepare` has something to do. Never
  /// where replies are to repeat: what was made ahead is fresh.
  virtual void expect(const Plan& /*plan*/) const {}
  /// Does a small piece of the work of coming replies that needs no data, for a party that waits anyway; on any thread.
  /// Returns false if there is nothing to do.
  virtual bool prepare() const { return false; }

  /// This party's side of updates under encryption; null if the scheme has none.
  [[nodiscard]] virtual const UpdateHolder* updates() const { return nullptr; }

 private:
  [[nodiscard]] virtual std::unique_ptr<const Operand> do_load(const Plan& plan, ByteSource& in,
                                                               ThreadPool& pool) const = 0;
  [[nodiscard]] virtual ShareMatrix do_multiply(const Plan& plan, const IntMatrix& x, const Operand& operand,
                                                Random& random, Random& masks, ThreadPool& pool,
                                                ByteSink& reply) const = 0;
  // Of schemes that have something to prepare, and no masks.
  [[nodiscard]] virtual std::unique_ptr<const LeftMatrix> do_prepare_left(const Plan& /*plan*/, const IntMatrix& /*x*/,
                                                                          ThreadPool& /*pool*/) const {
    return nullptr;
  }
  [[nodiscard]] virtual ShareMatrix do_multiply_prepared(const Plan& plan, const LeftMatrix& left,
                                                         const Operand& operand, Random& random, ThreadPool& pool,
                                                         ByteSink& reply) const;
};

}  // namespace blindfl::he
