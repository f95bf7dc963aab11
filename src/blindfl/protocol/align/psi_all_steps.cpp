#include "blindfl/protocol/align/psi_all_steps.h"

#include <algorithm>
#include <numeric>

#include "blindfl/base/error.h"

namespace blindfl::protocol {

namespace {

constexpr std::size_t kIdsAtOnce = 64;

}  // namespace

StepsOfA::StepsOfA(std::span<const std::string> ids, Random& random) : ids_(ids), key_(random) {}

void StepsOfA::name_own(std::uint64_t begin, std::uint64_t end, ThreadPool& pool) {
  std::vector<std::uint32_t> rows(end - begin);
  std::iota(rows.begin(), rows.end(), static_cast<std::uint32_t>(begin));
  const std::vector<Pseudonym> piece = pseudonyms_of(key_.multiply(hash_to_points(ids_, rows, pool), pool), pool);
  own_.insert(own_.end(), piece.begin(), piece.end());
}

std::optional<HiddenTable> StepsOfA::hide(const ZeroShares& shares, Random& random, ThreadPool& pool) const {
  std::vector<HiddenEntry> entries(own_.size());
  pool.parallel_for(entries.size(), kIdsAtOnce, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      entries[row] = {own_[row].key, field_sum(shares.of(ids_[row]), own_[row].pad)};
    }
  });
  return HiddenTable::of(entries, random, pool);
}

Points StepsOfA::answer(std::span<const Point> blinded, ThreadPool& pool) const {
  return key_.multiply(blinded, pool);
}

std::vector<std::uint32_t> StepsOfA::rows_of(std::span<const PseudonymTag> tags) const {
  std::vector<std::pair<PseudonymTag, std::uint32_t>> known;
  known.reserve(own_.size());
  for (std::uint32_t row = 0; row < own_.size(); ++row) known.emplace_back(own_[row].tag, row);
  std::ranges::sort(known);
  std::vector<bool> seen(own_.size());
  std::vector<std::uint32_t> rows;
  for (const PseudonymTag& tag : tags) {
    const auto found = std::ranges::lower_bound(known, tag, {}, &std::pair<PseudonymTag, std::uint32_t>::first);
    require<ProtocolError>(found != known.end() && found->first == tag,
                           "an id that the peer says all parties have is none of this party's");
    require<ProtocolError>(!seen[found->second], "the peer names an id twice that all parties have");
    seen[found->second] = true;
    rows.push_back(found->second);
  }
  return rows;
}

void StepsOfB::take(std::span<const Point> answers, ThreadPool& pool) {
  const std::vector<Pseudonym> piece = pseudonyms_of(unblinding_.multiply(answers, pool), pool);
  const std::size_t before = shares_.size();
  shares_.resize(before + piece.size());
  pool.parallel_for(piece.size(), kIdsAtOnce, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      shares_[before + i] = field_difference(table_.at(piece[i].key), piece[i].pad);
    }
  });
  for (const Pseudonym& pseudonym : piece) tags_.push_back(pseudonym.tag);
}

void StepsOfB::check_answers() const {
  std::vector<PseudonymTag> sorted = tags_;
  std::ranges::sort(sorted);
  require<ProtocolError>(std::ranges::adjacent_find(sorted) == sorted.end(),
                         "some of the peer's answers are equal: each must come once");
}

std::vector<std::uint32_t> places_of_all(std::span<const std::vector<FieldElement>* const> shares) {
  std::vector<std::uint32_t> places;
  const std::size_t count = shares.empty() ? 0 : shares.front()->size();
  for (const std::vector<FieldElement>* of_one : shares) {
    require<InvalidArgument>(of_one->size() == count, "shares of different lengths do not belong to the same ids");
  }
  for (std::size_t place = 0; place < count; ++place) {
    FieldElement sum = 0;
    for (const std::vector<FieldElement>* of_one : shares) sum = field_sum(sum, (*of_one)[place]);
    if (sum == 0) places.push_back(static_cast<std::uint32_t>(place));
  }
  return places;
}

}  // namespace blindfl::protocol
