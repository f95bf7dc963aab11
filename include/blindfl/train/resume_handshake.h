#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "blindfl/protocol/session/sessions.h"

// Two short messages by which the parties of a run stay together: what each could resume, and whether it wants to stop.
// Two parties send at once. B with several A's hears all of them first and then answers each alike, since an A hears B
// alone: so all decide alike.

namespace blindfl::train {

/// What a party says between steps.
struct StopVote {
  bool stop = false;    ///< its user wants to stop here
  bool better = false;  ///< from B, after validation: the model has never been better
  bool enough = false;  ///< from B, after validation: no more training
};

void write_vote(const StopVote& vote, ByteSink& out);
/// Throws ProtocolError if what arrives is none.
[[nodiscard]] StopVote read_vote(ByteSource& in);

/// Tells the peers, and returns what they say, all after `step` steps: whether one of them wants to stop, and what B
/// says of validation.
/// Cost: 8 bytes each way and peer. Reveals: the vote; B's, also whether another A wants to stop.
[[nodiscard]] StopVote exchange_votes(const protocol::Sessions& sessions, std::uint64_t step, const StopVote& mine);

/// What a party could resume.
struct RunOffer {
  static constexpr std::size_t kMostSteps = 64;
  std::string run;                   ///< the name of its run; empty if it has none
  std::vector<std::uint64_t> steps;  ///< that it has checkpoints of, the newest first
  /// B has heard several A's, and `steps` are those that all parties have; if there are none, a new run begins, with
  /// the name `run`, or, if that is empty, nothing.
  bool of_all = false;
  /// If nothing begins: whose run is another's, where B has names for its A's (`SessionOptions::peer_name`).
  std::string other{};
  std::string peer{};  ///< what errors call who says it; not sent
};

/// Throws InvalidArgument if the name or the list is too long.
void write_offer(const RunOffer& offer, ByteSink& out);
/// Throws ProtocolError if what arrives is none.
[[nodiscard]] RunOffer read_offer(ByteSource& in);

/// What each peer has, in the order of the sessions.
/// Cost: 640 bytes each way and peer. Reveals: the offer; B's, if there are several A's, what they all have instead.
/// Throws ProtocolError if what arrives is none.
[[nodiscard]] std::vector<RunOffer> exchange_offers(const protocol::Sessions& sessions, const RunOffer& mine);

/// How many checkpoints of `offer` are newer than `step`.
[[nodiscard]] std::size_t newer_than(const RunOffer& offer, std::uint64_t step);

/// What resuming at `step` means for this party, where a peer lacks what it has: "this party has ... up to step 60".
[[nodiscard]] std::string words_of_going_back(const RunOffer& mine, std::span<const RunOffer> theirs,
                                              std::uint64_t step);

/// What a party that resumes says of it.
struct ResumeOptions {
  bool go_back = false;  ///< also behind several checkpoints of this party's, if the peer lacks them
  /// Asks somebody whether to; empty where nobody is there to ask.
  std::function<bool(const std::string& question)> confirm{};
  /// What errors say to do: to go back, and where there is nothing in common.
  std::string way_back = "ResumeOptions::go_back";
  std::string way_out = "name the folder of the same run at both, or begin a new run in another";
};

/// The newest step that all have, of the same run.
/// Nothing: all must begin anew, and lose no step by it. Throws ConfigError, saying what each has, if that would lose
/// steps.
[[nodiscard]] std::optional<std::uint64_t> common_step(const RunOffer& mine, std::span<const RunOffer> theirs,
                                                       const ResumeOptions& options = {});
/// What the run is called that all begin.
[[nodiscard]] std::string name_of_new_run(const protocol::Sessions& sessions, std::span<const RunOffer> theirs);

/// Throws ConfigError, saying what the peers have, if resuming at `step` would set more than one checkpoint of this
/// party's aside and nobody agrees to that.
void confirm_going_back(const ResumeOptions& options, const RunOffer& mine, std::span<const RunOffer> theirs,
                        std::uint64_t step);

}  // namespace blindfl::train
