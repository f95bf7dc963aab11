#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "blindfl/app/job/preparation.h"
#include "blindfl/app/plan/party_shape.h"
#include "blindfl/app/torch/job_model.h"
#include "blindfl/base/secret.h"
#include "blindfl/net/channel.h"
#include "blindfl/nn/federated_optimizer.h"
#include "blindfl/protocol/align/psi.h"
#include "blindfl/protocol/session/mask_key.h"
#include "blindfl/run/run_folder.h"

// What the program keeps in a run's folder besides what blindfl/run does, all of it checked files of mode 0600:
//
//   preparation.bin   how this party's columns become features
//   alignment.bin     this party's rows in the common order
//   keys.bin          secret keys of what the peer holds encrypted; only with updates under encryption
//   checkpoints/      all that training needs to resume; superseded/ has those that a resume went back behind
//   model/            model.bin, and copies of preparation.bin and keys.bin: all that scoring needs; alignments/ and
//                     scorings.bin: which files it has scored
//
// and job.yaml, the job that the run began with (job/kept_job.h).

namespace blindfl::app {

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
};

void save_checkpoint(const run::RunFolder& folder, const TrainingState& state, const JobModel& model,
                     const nn::FederatedOptimizer& optimizer);
/// Throws DataError, naming the file and what to do, if it is damaged, or another run's, party's or model's.
[[nodiscard]] TrainingState load_checkpoint(const run::RunFolder& folder, std::uint64_t step, JobModel& model,
                                            nn::FederatedOptimizer& optimizer);
/// Removes old checkpoints: all but the newest `keep` and those of `needed` steps.
void remove_checkpoints(const run::RunFolder& folder, std::size_t keep, const std::vector<std::uint64_t>& needed);
/// Moves checkpoints of later steps than `step`, which both parties resume after, to checkpoints/superseded, where the
/// `keep` that were written last stay, and all that are moved now: the peer will have other shares when it gets to
/// those steps again, and shares of two attempts do not fit together, but work is not thrown away because a peer says
/// that it lacks it.
void supersede_checkpoints_after(const run::RunFolder& folder, std::uint64_t step, std::size_t keep);

void save_preparation(const std::filesystem::path& folder, const Preparation& preparation);
[[nodiscard]] Preparation load_preparation(const std::filesystem::path& folder);

using SavedKeys = std::shared_ptr<const SecretVector<std::byte>>;
/// Nothing is written if the session has no keys that must last.
void save_keys(const std::filesystem::path& folder, const protocol::Session& session);
/// Null if there are none.
[[nodiscard]] SavedKeys load_keys(const std::filesystem::path& folder);

/// The alignments of the training file and, if there is one, of the test file.
struct SavedAlignment {
  protocol::Alignment train;
  std::optional<protocol::Alignment> test;
};
/// A data file, and what tells it from itself after a change.
struct MarkedFile {
  std::filesystem::path path;
  std::size_t rows = 0;
  Bytes digest;  ///< SHA-256

  /// Reads the file. Throws DataError if it cannot be read.
  [[nodiscard]] static MarkedFile of(const std::filesystem::path& path, std::size_t rows);
};
void save_alignment(const std::filesystem::path& folder, const SavedAlignment& alignment, const MarkedFile& train,
                    const std::optional<MarkedFile>& test);
/// The files are as they are now. Throws DataError, naming the file, if it has changed since the run began.
[[nodiscard]] SavedAlignment load_alignment(const std::filesystem::path& folder, const MarkedFile& train,
                                            const std::optional<MarkedFile>& test);

/// What a model in use needs to know, besides its shares.
struct ModelFacts {
  std::string run;  ///< the name that both parties know its run by
  Party party{};
  std::uint64_t step = 0;
  std::uint64_t rows = 0;     ///< of the alignment, whatever they are used for: the planner looks at them
  std::uint64_t trained = 0;  ///< rows that were trained on: at B without placeholders, which A cannot tell
  job::Shared shared{};       ///< as it was trained, and settled
  PartyShape shape_a{};
  PartyShape shape_b{};

  /// For the labels of files that belong to the model.
  [[nodiscard]] std::string owner() const { return "party " + std::string(name_of(party)) + " of run " + run; }
  /// What both parties know this very state of the weights by.
  [[nodiscard]] std::string name() const { return run + "-" + std::to_string(step); }
};

void save_model(const std::filesystem::path& folder, const ModelFacts& facts, const protocol::MaskKey& masks,
                const JobModel& model);
/// Only the facts, for building the model before its shares are loaded.
[[nodiscard]] ModelFacts load_model_facts(const std::filesystem::path& folder);
/// Fills a model that was built from the facts, and returns the secret of its masks.
[[nodiscard]] protocol::MaskKey load_model(const std::filesystem::path& folder, JobModel& model);

}  // namespace blindfl::app
