#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "blindfl/base/secret.h"
#include "blindfl/net/channel.h"
#include "blindfl/nn/federated_module.h"
#include "blindfl/nn/federated_optimizer.h"
#include "blindfl/protocol/session/sessions.h"
#include "blindfl/run/run_folder.h"

// Checkpoints: all that one party needs to resume training after a step, in its run's folder. As secret as the shares
// in them, and of use only with the peer's of the same step of the same attempt.

namespace blindfl::train {

/// Where training is, besides the model.
struct TrainingState {
  std::uint64_t step = 0;
  double seconds = 0;            ///< of work so far
  std::uint64_t best_step = 0;   ///< 0: none was judged
  std::optional<double> best{};  ///< what B measured then; never at A
  std::uint64_t not_better = 0;  ///< epochs since then
  bool enough = false;           ///< validation said so
  net::Traffic sent{};           ///< so far
  net::Traffic received{};
  std::uint64_t range_checks = 0;  ///< that found all values inside
};

/// Durable when it returns, and whole or not there whenever the process is killed.
void save_checkpoint(const run::RunFolder& folder, const TrainingState& state, const nn::FederatedModule& model,
                     const nn::FederatedOptimizer& optimizer);
/// Both parties load at the same point. Cost and what the next forward pass throws: see `nn::load_state`.
/// Throws DataError, naming the file and what to do, if it is damaged, or another run's, party's or model's.
[[nodiscard]] TrainingState load_checkpoint(const run::RunFolder& folder, std::uint64_t step,
                                            nn::FederatedModule& model, nn::FederatedOptimizer& optimizer);
/// Removes old checkpoints: all but the newest `keep` and those of `needed` steps.
void remove_checkpoints(const run::RunFolder& folder, std::size_t keep, const std::vector<std::uint64_t>& needed);
/// Moves checkpoints of later steps than `step`, which both parties resume after, to checkpoints/superseded, where the
/// `keep` that were written last stay, and all that are moved now: the peer will have other shares when it gets to
/// those steps again, and shares of two attempts do not fit together, but work is not thrown away because a peer says
/// that it lacks it.
void supersede_checkpoints_after(const run::RunFolder& folder, std::uint64_t step, std::size_t keep);

/// What a session is opened with again (`SessionOptions::saved_keys`), for what the peer holds encrypted under them.
using SavedKeys = std::shared_ptr<const SecretVector<std::byte>>;
/// A file for each session, unless it has no keys that must last: keys.bin, keys-2.bin, ...
void save_keys(const std::filesystem::path& folder, const protocol::Sessions& sessions);
/// Those of the session with that peer, in the order of the sessions; null if there are none.
[[nodiscard]] SavedKeys load_keys(const std::filesystem::path& folder, std::size_t peer = 1);

}  // namespace blindfl::train
