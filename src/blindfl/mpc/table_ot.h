#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/base/secret.h"
#include "blindfl/mpc/bit_shares.h"
#include "blindfl/ot/pool.h"

// 1-out-of-2^b oblivious transfer of a table's entry, from b random OTs for each: the receiver learns the entry at an
// index of its own, the sender does not learn the index. As Naor and Pinkas, "Oblivious Transfer and Polynomial
// Evaluation", STOC 1999, with masks in place of a function for each entry, since small entries leave room:
//
// Entry v stands at its own place, bits w v to w v + w - 1, of a word of 2^b w <= 32 bits. The pad of the word, at the
// place of v, is the XOR over the index bits j of the bits there of random OT j's pad K_j^{v_j}. The receiver, whose
// random choices r are an index, knows all K_j^{r_j}, and so the pad at place r, whole. It sends y - r for the index y
// that it wants (XOR); the sender exchanges places v and v - (y - r) of its pad, and sends the table under it.
//
// Why it is safe. At a place v other than r some K_j^{1 - r_j}, unknown to the receiver, is in the pad, with bits that
// no other place uses: all other pads together are uniform (places that shared bits would not be: XORs of four pads
// would vanish). y - r tells the sender nothing, since r is random. Bits beyond the table's are not sent: for entries
// that do not fill a byte they would be pads that the receiver knows, under what the sender knows.
// Each pad is used once.

namespace blindfl::mpc {

/// 2^index_bits entries of entry_bits bits.
struct TableShape {
  int index_bits;
  int entry_bits;

  [[nodiscard]] constexpr std::size_t entries() const { return std::size_t{1} << index_bits; }
  /// 2, 4, 8, 16 or 32.
  [[nodiscard]] constexpr std::size_t word_bits() const { return entries() * static_cast<std::size_t>(entry_bits); }
  /// Bytes of `count` tables; words of less than a byte are put together.
  [[nodiscard]] constexpr std::size_t bytes(std::size_t count) const { return bytes_for_bits(count * word_bits()); }
};

class TableSender {
 public:
  /// Takes `count` random OTs for each bit of the index. Throws InvalidArgument for a shape that is not from 1 to 4
  /// bits of index and 1 or 2 of entry, or if the pool has too few.
  TableSender(const TableShape& shape, std::size_t count, ot::RandomOtSender& pool);
  TableSender(TableSender&&) = default;
  TableSender& operator=(TableSender&&) = default;
  TableSender(const TableSender&) = delete;
  TableSender& operator=(const TableSender&) = delete;
  ~TableSender() = default;

  /// Sends table i, whose entry v is at bits entry_bits * v, ..., under what is left of the pads; bits of `tables`
  /// beyond the table's are ignored. `shifts` are the receiver's. Cost: shape.bytes(count). Throws InvalidArgument if
  /// it was called before, or there are more or fewer than `count`.
  void encrypt(std::span<const std::uint32_t> shifts, std::span<const std::uint32_t> tables, ByteSink& out);

 private:
  TableShape shape_;
  SecretVector<std::uint32_t> pads_;
};

class TableReceiver {
 public:
  TableReceiver(const TableShape& shape, std::size_t count, ot::RandomOtReceiver& pool);
  TableReceiver(TableReceiver&&) = default;
  TableReceiver& operator=(TableReceiver&&) = default;
  TableReceiver(const TableReceiver&) = delete;
  TableReceiver& operator=(const TableReceiver&) = delete;
  ~TableReceiver() = default;

  /// What to send for the indices whose bit j are `index[j]`: a plane for each bit. Throws InvalidArgument if it was
  /// called before, or planes are not as the shape says.
  void choose(std::span<const BitShares> index, ByteSink& out);
  /// The sender's message as words. Throws ProtocolError if bytes are missing, or a bit behind the last table is set.
  [[nodiscard]] SecretVector<std::uint32_t> read(ByteSource& in) const;
  /// The entries, in the lowest bits, of the words that were read. `indices` as in `choose`. Throws InvalidArgument
  /// before `choose`, or if it was called before.
  [[nodiscard]] SecretVector<std::uint32_t> open(std::span<const std::uint32_t> indices,
                                                 SecretVector<std::uint32_t> words);

 private:
  TableShape shape_;
  std::size_t count_;
  std::vector<BitShares> choices_;
  SecretVector<std::uint32_t> pads_;  // of the chosen entry
  bool chosen_ = false;
  bool opened_ = false;
};

}  // namespace blindfl::mpc
