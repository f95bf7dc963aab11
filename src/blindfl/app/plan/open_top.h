#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "blindfl/app/job/job.h"
#include "blindfl/app/plan/party_shape.h"
#include "blindfl/base/error.h"
#include "blindfl/run/disclosure.h"

// What B sees of a job's top, and what A must accept. An open top shows B the outputs Z of the source layers, and from
// them A's binary features follow (SECURITY.md). It is A's data that is at stake, so A decides: `private.accept` of A's
// own job. Under a shared top B sees finished scores alone, and A is asked only where these are finer than usual.

namespace blindfl::app {

/// What there is to know of a job's model to say what B could work out, as far as the shapes are known: `b` is nothing
/// before the peer has told its own. `place` says which of several A's this party is, if it is one.
[[nodiscard]] run::DisclosureFacts open_top_facts(const job::Shared& shared, const ShapesOfA& a,
                                                  const std::optional<PartyShape>& b,
                                                  std::optional<std::size_t> place = {});
/// Which of the A's a party is, for the above: nothing at B. `place` is 0 at an only A.
[[nodiscard]] inline std::optional<std::size_t> place_among_as(Party party, std::size_t place) {
  return party == Party::kA ? std::optional(place) : std::nullopt;
}
/// At A, before it has met anybody.
[[nodiscard]] run::DisclosureFacts open_top_facts(const job::Job& job, const PartyShape& own);

/// What is about to be opened: rows once in each epoch, or rows of a file once.
enum class Opens { kTrainingRows, kScoredRows };

/// Which of (a), (b) and "B has no features" apply, with the job's numbers, in one line.
[[nodiscard]] std::string open_top_line(const run::DisclosureFacts& facts, Opens opens = Opens::kTrainingRows);

/// A has not accepted what its job opens to B. Its lines are shown one below the other.
class ConsentError : public ConfigError {
 public:
  explicit ConsentError(std::vector<std::string> lines);
  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

/// At A: throws ConsentError unless the job accepts an open top, with what B could work out given these shapes, and
/// what to do, in three lines; or, under a shared top, fine scores, if that is what they are. At B there is nothing to
/// accept.
void require_consent(const job::Own& own, const run::DisclosureFacts& facts, Opens opens = Opens::kTrainingRows);

/// What `plan` says at A: what B would see, and whether A's job accepts it. One line.
[[nodiscard]] std::string consent_line(const job::Own& own, const run::DisclosureFacts& facts);

/// What A is told where B sees its part of a layer without that of another A or, with one A, without B's own, under an
/// open top, and where it has few features, of which scores tell, under a shared one; nothing otherwise, and at B.
[[nodiscard]] std::vector<std::string> part_warnings(const job::Own& own, const run::DisclosureFacts& facts);

/// What a party is told whose shares of the initial weights follow from a number in its job; nothing otherwise.
[[nodiscard]] std::optional<std::string> seed_warning(const job::Own& own);

/// Whose shares of the initial weights follow from a number, as far as this party knows: its own.
[[nodiscard]] std::optional<Party> seeded_party(const job::Own& own);

}  // namespace blindfl::app
