#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/base/random.h"
#include "blindfl/base/thread_pool.h"
#include "blindfl/protocol/align/hidden_table.h"
#include "blindfl/protocol/align/pseudonyms.h"
#include "blindfl/protocol/align/psi_points.h"
#include "blindfl/protocol/align/zero_shares.h"

// The steps of psi_all.h at an A, and those of B with one A, without a link.

namespace blindfl::protocol {

/// An A's.
class StepsOfA {
 public:
  /// `ids` must outlive this.
  StepsOfA(std::span<const std::string> ids, Random& random);

  /// Names the ids from `begin` to `end`. Call it for all of them, from the first to the last.
  void name_own(std::uint64_t begin, std::uint64_t end, ThreadPool& pool);
  /// Message 111: its shares for all its ids, under their pseudonyms. Nothing, with a chance of 2^-40, if they do not
  /// fit: then begin again with other steps.
  [[nodiscard]] std::optional<HiddenTable> hide(const ZeroShares& shares, Random& random, ThreadPool& pool) const;
  /// Message 112: B's blinded ids times the secret number.
  [[nodiscard]] Points answer(std::span<const Point> blinded, ThreadPool& pool) const;
  /// The rows that B means by these: message 113 or 114. Throws ProtocolError if one is not of this party's ids, or
  /// comes twice.
  [[nodiscard]] std::vector<std::uint32_t> rows_of(std::span<const PseudonymTag> tags) const;

 private:
  std::span<const std::string> ids_;
  BlindingKey key_;
  std::vector<Pseudonym> own_;  ///< of each row
};

/// B's with one A: what it finds for its own ids, in the order in which it sent them.
class StepsOfB {
 public:
  StepsOfB(HiddenTable table, BlindingKey unblinding) : table_(std::move(table)), unblinding_(std::move(unblinding)) {}

  /// Takes the next answers.
  void take(std::span<const Point> answers, ThreadPool& pool);
  /// Throws ProtocolError if two answers were equal: call it after the last.
  void check_answers() const;

  /// This A's share for each of B's ids, if it has the id; any number if not.
  [[nodiscard]] const std::vector<FieldElement>& shares() const { return shares_; }
  /// What this A knows each of B's ids by.
  [[nodiscard]] const std::vector<PseudonymTag>& tags() const { return tags_; }

 private:
  HiddenTable table_;
  BlindingKey unblinding_;
  std::vector<FieldElement> shares_;
  std::vector<PseudonymTag> tags_;
};

/// The places of the ids whose shares of all A's add up to 0. Throws InvalidArgument if the lists differ in length.
[[nodiscard]] std::vector<std::uint32_t> places_of_all(std::span<const std::vector<FieldElement>* const> shares);

}  // namespace blindfl::protocol
