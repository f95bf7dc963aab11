#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/base/random.h"
#include "blindfl/base/secret.h"
#include "blindfl/mpc/bit_products.h"
#include "blindfl/mpc/bit_shares.h"
#include "blindfl/mpc/cost.h"
#include "blindfl/mpc/table_ot.h"
#include "blindfl/ot/material_tag.h"
#include "blindfl/ot/pool.h"
#include "blindfl/share/share_matrix.h"

// Whether shared numbers are negative, as shared bits: the comparison of Rathee et al., "CrypTFlow2: Practical 2-Party
// Secure Inference", CCS 2020, by tables of 4-bit blocks.
//
// A number of k bits is x + y modulo 2^k, x at the sender, y at the receiver. Its top bit is the XOR of their top bits
// and of the carry out of the k - 1 bits below, and there is a carry if ~x < y there. Each block of 4 of these bits is
// one entry of a table (table_ot.h): for every value of y's block the sender lists whether x's block is smaller, and
// whether it is equal, under random bits, which are its own shares. Then neighbours are put together, level by level:
// smaller = smaller above + equal above times smaller below; equal = equal above times equal below (bit_products.h).
//
//   receiver                                                sender
//   start(): its indices, masked          ------->          next(): tables, and its first opening
//   next(): its openings of two levels    <------>          next(): its openings of two levels ... until done()
//
// Why it is safe. All that travels is masked: indices and openings by random bits that only their sender knows, entries
// that the receiver did not choose by pads that it does not know, and the one that it chose by the sender's random
// shares. So each view is a number of uniform bits, whatever the values are: nothing is learnt, also not the result.

namespace blindfl::mpc {

/// This party's share modulo 2^bits, for secrets that fit there: local, exact, and what a comparison starts with.
/// Throws InvalidArgument if the ring is narrower, or for more than 64 bits.
[[nodiscard]] SecretVector<std::uint64_t> low_words(const ShareMatrix& share, int bits);

/// How many numbers are compared, of how many bits; and all that follows from it. Both parties use the same.
class ComparisonPlan {
 public:
  static constexpr int kBlockBits = 4;

  /// Numbers modulo 2^bits, read as signed. Throws InvalidArgument if `bits` is not from 2 to 64, or
  /// there are none.
  ComparisonPlan(int bits, std::size_t count);

  [[nodiscard]] int bits() const { return bits_; }
  [[nodiscard]] std::size_t count() const { return count_; }
  /// Blocks of the bits below the top, the lowest first. The lowest has no use for "equal".
  [[nodiscard]] const std::vector<TableShape>& blocks() const { return blocks_; }
  /// Pairs of neighbours in each level, from the blocks up.
  [[nodiscard]] const std::vector<std::size_t>& levels() const { return levels_; }
  [[nodiscard]] std::size_t pairs() const;
  /// What a party opens in a level.
  [[nodiscard]] std::uint64_t level_bytes(std::size_t level) const;
  [[nodiscard]] std::uint64_t table_bytes() const;
  /// The receiver's first message.
  [[nodiscard]] std::uint64_t index_bytes() const;
  [[nodiscard]] Cost cost() const;
  bool operator==(const ComparisonPlan& other) const { return bits_ == other.bits_ && count_ == other.count_; }

 private:
  int bits_;
  std::size_t count_;
  std::vector<TableShape> blocks_;
  std::vector<std::size_t> levels_;
};

/// What one party prepares before there are values. Used by one comparison.
class ComparisonMaterial {
 public:
  /// Takes what the plan's cost says from the pools, on both sides in the same order. Throws InvalidArgument if one has
  /// too few: extend it first.
  ComparisonMaterial(const ComparisonPlan& plan, Role role, ot::RandomOtSender& sender, ot::RandomOtReceiver& receiver,
                     Random& random);
  ComparisonMaterial(ComparisonMaterial&&) = default;
  ComparisonMaterial& operator=(ComparisonMaterial&&) = default;
  ComparisonMaterial(const ComparisonMaterial&) = delete;
  ComparisonMaterial& operator=(const ComparisonMaterial&) = delete;
  ~ComparisonMaterial() = default;

  [[nodiscard]] const ComparisonPlan& plan() const { return plan_; }
  [[nodiscard]] Role role() const { return role_; }
  /// Whether a comparison used it up, or it was moved elsewhere. There is no plan without blocks.
  [[nodiscard]] bool used() const { return table_senders_.empty() && table_receivers_.empty(); }

 private:
  friend class Comparison;

  ComparisonPlan plan_;
  Role role_;
  ot::MaterialTag tag_;
  std::vector<TableSender> table_senders_;
  std::vector<TableReceiver> table_receivers_;
  // The sender's shares: "smaller" of block j at bit j, "equal" at kEqualBit + j.
  SecretVector<std::uint64_t> shares_;
  std::vector<SharedFactorTriples> triples_;
};

/// One party's side. Messages alternate: the receiver's `start()` is the first, and each goes to the peer's `next()`.
class Comparison {
 public:
  /// Throws InvalidArgument if the material was used before.
  explicit Comparison(ComparisonMaterial&& material);

  /// Begins with this party's shares, of which the plan's lowest bits count. The receiver sends what comes back; at the
  /// sender that is empty. Throws InvalidArgument if there are more or fewer than the plan says, or it began before.
  [[nodiscard]] Bytes start(std::span<const std::uint64_t> shares);
  /// Takes the peer's message; returns what to send, or nothing at the end. Throws ProtocolError, and can be called
  /// again with the right one, if the message is not as long as it must be, has bits where none may be, or
  /// is of other random OTs;
  /// InvalidArgument if none is expected.
  [[nodiscard]] Bytes next(ByteView message);
  /// Bytes of the message that `next` expects.
  [[nodiscard]] std::uint64_t expected_bytes() const;
  [[nodiscard]] bool done() const { return stage_ == Stage::kDone; }
  /// Shares of 1 for numbers that are not negative, 0 for those that are. Once, when done.
  [[nodiscard]] BitShares take();

 private:
  enum class Stage { kNew, kTables, kLevels, kDone, kTaken };

  void open_tables(std::vector<SecretVector<std::uint32_t>> tables);
  void write_tables(ByteSource& in, ByteSink& out);
  void set_blocks(std::span<const std::uint64_t> shares);
  void open_level(ByteSink& out);
  [[nodiscard]] std::vector<BitShares> read_openings(ByteSource& in, std::size_t level) const;
  void close_level(std::span<const BitShares> peer);
  void finish_levels(std::span<const std::vector<BitShares>> peer, ByteSink& out);
  [[nodiscard]] bool levels_left() const { return level_ < material_.plan_.levels().size(); }

  ComparisonMaterial material_;
  Stage stage_ = Stage::kNew;
  SecretVector<std::uint64_t> below_;  // the bits below the top; at the sender, of the complement
  BitShares top_;
  std::vector<BitShares> smaller_;
  std::vector<BitShares> equal_;
  std::size_t level_ = 0;
  std::size_t triples_used_ = 0;
  std::vector<BitProducts> open_;  // of the level that this party has opened and the peer not yet
};

}  // namespace blindfl::mpc
