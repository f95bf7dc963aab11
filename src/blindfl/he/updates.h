#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/base/error.h"
#include "blindfl/base/random.h"
#include "blindfl/base/thread_pool.h"
#include "blindfl/he/keys.h"
#include "blindfl/he/scheme.h"
#include "blindfl/share/share_matrix.h"
#include "blindfl/tensor/int_matrix.h"

// What updates under encryption need of a scheme beyond products: matrices that stay encrypted with the party that has
// no key, which multiplies with them and adds to them.
//
//   Q: UpdateOwner                              P: UpdateHolder
//     write_encrypted(D)  --- [[D]] --->          read; add: its own share of D; add_transposed_product: M += X^T D
//     open                <--- reply ---          multiply: X M_1, X M_2, ...; write_masked: keeps -R
//
// A reply has several products, whose sum with public factors both parties end with shares of. A scheme that cannot do
// this has none of the three: `updates()` is null.

namespace blindfl::he {

/// The public facts of an encrypted matrix, the same at both parties.
struct EncryptedShape {
  std::size_t rows = 0;
  std::size_t cols = 0;
  int width = 0;  ///< bits of the room that each value has, with the mask that it will travel behind
  int scale = 0;  ///< a value v stands for the real v / 2^scale
  int bits = 0;   ///< no value exceeds 2^bits in magnitude
};

/// A matrix of integers under one key, in the form its scheme computes with. Rows that nobody wrote are 0 and take no
/// memory.
class EncryptedMatrix {
 public:
  virtual ~EncryptedMatrix() = default;

 protected:
  EncryptedMatrix() = default;
  EncryptedMatrix(const EncryptedMatrix&) = default;
  EncryptedMatrix(EncryptedMatrix&&) = default;
  EncryptedMatrix& operator=(const EncryptedMatrix&) = default;
  EncryptedMatrix& operator=(EncryptedMatrix&&) = default;
};

/// The public facts of a masked reply: `parts` products of the same X with as many matrices.
struct UpdateReply {
  std::size_t rows = 0;  ///< of X
  std::size_t cols = 0;
  std::size_t parts = 1;
  int bits = 0;    ///< no value exceeds 2^bits in magnitude
  int hiding = 0;  ///< by how many bits masks are longer
};

/// What becomes of the products of a reply: their sum with public factors, shifted down by `shift` bits (below 0: up),
/// at `scale`. Each party rounds its own part, so that the sum is off by one unit at most.
struct PublicSum {
  std::vector<double> factors;
  int shift = 0;
  int scale = 0;
};

/// The side without the key.
class UpdateHolder {
 public:
  virtual ~UpdateHolder() = default;

  /// Of the key that everything is encrypted under.
  [[nodiscard]] virtual const std::string& key_id() const = 0;
  /// Says that such replies will be written again and again, as `Multiplier::expect` does.
  virtual void expect(const UpdateReply& reply) const = 0;

  [[nodiscard]] virtual std::unique_ptr<EncryptedMatrix> zeros(const EncryptedShape& shape) const = 0;
  /// What `UpdateOwner::write_encrypted` wrote. Throws ProtocolError if it is not that.
  [[nodiscard]] virtual std::unique_ptr<EncryptedMatrix> read(const EncryptedShape& shape, ByteSource& in,
                                                              ThreadPool& pool) const = 0;
  /// `to += factor * share`, in integers, so that both parties' results add up to what the factor makes of the sum.
  virtual void add(EncryptedMatrix& to, const ShareMatrix& share, double factor) const = 0;
  /// `to += transpose(x) * m`, on the rows of `to` that `x` has entries for and no others. That no sum outgrows its
  /// room is the caller's to know.
  virtual void add_transposed_product(EncryptedMatrix& to, const IntMatrix& x, const EncryptedMatrix& m,
                                      ThreadPool& pool) const = 0;

  /// `x` times each of the first `reply.parts` of `matrices`. No row of `x` may have more than `most_terms` entries.
  [[nodiscard]] virtual std::unique_ptr<EncryptedMatrix> multiply(const UpdateReply& reply, const IntMatrix& x,
                                                                  std::size_t most_terms,
                                                                  const std::vector<const EncryptedMatrix*>& matrices,
                                                                  ThreadPool& pool) const = 0;
  /// Masks and re-randomises those products, writes `Updates::reply_bytes` bytes, and returns this party's share of
  /// `sum`. All bits of the masks come from `masks`, as in `Multiplier::multiply`.
  /// Reveals: to the key's owner, masked values.
  [[nodiscard]] virtual ShareMatrix write_masked(const UpdateReply& reply, const EncryptedMatrix& products,
                                                 const PublicSum& sum, Random& random, Random& masks, ThreadPool& pool,
                                                 ByteSink& out) const = 0;

  /// For this party's own files: the rows that were written.
  virtual void save(const EncryptedMatrix& m, ByteSink& out, ThreadPool& pool) const = 0;
  /// What `save` wrote; reads no further. Throws DataError if it is not that.
  [[nodiscard]] virtual std::unique_ptr<EncryptedMatrix> load(const EncryptedShape& shape, ByteSource& in,
                                                              ThreadPool& pool) const = 0;
};

/// The side with the key.
class UpdateOwner {
 public:
  virtual ~UpdateOwner() = default;

  [[nodiscard]] virtual const std::string& key_id() const = 0;
  /// Writes `[[factor * values]]`, `Updates::matrix_bytes` bytes.
  virtual void write_encrypted(const EncryptedShape& shape, const IntMatrix& values, double factor, Random& random,
                               ThreadPool& pool, ByteSink& out) const = 0;
  /// The same for this party's share: see `UpdateHolder::add`.
  virtual void write_encrypted(const EncryptedShape& shape, const ShareMatrix& share, double factor, Random& random,
                               ThreadPool& pool, ByteSink& out) const = 0;
  /// Opens a reply and returns this party's share of `sum`. Throws ProtocolError if it is not one.
  [[nodiscard]] virtual ShareMatrix open(const UpdateReply& reply, const PublicSum& sum, ByteSource& in,
                                         ThreadPool& pool) const = 0;
};

/// What one step of updates does, for who wants to know its price.
struct UpdateWork {
  EncryptedShape weights;  ///< the rows of one matrix that is added to
  UpdateReply reply;
  std::size_t copies = 1;  ///< encrypted derivatives
  double entries = 0;      ///< of X that are not 0
  std::uint64_t bound = 0;
  bool shared = false;  ///< the holder adds a share of its own to the derivatives
};

/// In seconds on one core, from constants and not from the machine at hand, as `ProductTimes`.
struct UpdateCosts {
  double holder = 0;
  double owner = 0;
  std::uint64_t row_memory = 0;    ///< bytes of a row of one matrix at the holder
  std::uint64_t index_memory = 0;  ///< bytes for each row there could be, written or not
};

/// What a scheme that can update under encryption says before there are keys: the same at both parties.
class Updates {
 public:
  virtual ~Updates() = default;

  /// The largest `EncryptedShape::width`.
  [[nodiscard]] virtual int most_width() const = 0;
  /// The width that values of `bits` bits need behind masks that are `hiding` bits longer.
  [[nodiscard]] virtual int masked_width(int bits, int hiding) const = 0;
  [[nodiscard]] virtual std::uint64_t matrix_bytes(const EncryptedShape& shape) const = 0;
  [[nodiscard]] virtual std::uint64_t reply_bytes(const UpdateReply& reply) const = 0;
  /// Writes all that decides which mask a value of such a reply gets: where masks repeat, it must be the same.
  virtual void write_layout(const UpdateReply& reply, ByteSink& out) const = 0;
  [[nodiscard]] virtual UpdateCosts costs(const UpdateWork& work) const = 0;
};

/// Why a layer cannot update `what` ("A's features") under encryption with `scheme`.
[[nodiscard]] std::string no_updates(const Scheme& scheme, std::string_view layer, std::string_view what);

/// Those of `scheme`. Throws E, saying `no_updates`, if it has none.
template <class E>
[[nodiscard]] std::shared_ptr<const Updates> updates_of(const Scheme& scheme, std::string_view layer,
                                                        std::string_view what) {
  auto updates = scheme.updates();
  if (updates == nullptr) fail<E>(no_updates(scheme, layer, what));
  return updates;
}

}  // namespace blindfl::he
