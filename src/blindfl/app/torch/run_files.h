#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "blindfl/app/job/preparation.h"
#include "blindfl/app/plan/party_shape.h"
#include "blindfl/app/torch/job_model.h"
#include "blindfl/protocol/align/psi.h"
#include "blindfl/protocol/session/mask_key.h"

// What the program keeps in a run's folder besides what blindfl/run and blindfl/train do, all of it checked files of
// mode 0600:
//
//   preparation.bin   how this party's columns become features
//   alignment.bin     this party's rows in the common order
//   model/            model.bin, and copies of preparation.bin and keys.bin: all that scoring needs; alignments/ and
//                     scorings.bin: which files it has scored
//
// and job.yaml, the job that the run began with (job/kept_job.h).

namespace blindfl::app {

void save_preparation(const std::filesystem::path& folder, const Preparation& preparation);
[[nodiscard]] Preparation load_preparation(const std::filesystem::path& folder);

/// The alignments of the training file and, if there is one, of the test file.
struct SavedAlignment {
  protocol::Alignment train;
  std::optional<protocol::Alignment> test;
  Bytes began{};  ///< with several A's: what they know their first agreement on masks by; else empty
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

/// `SavedAlignment::began` alone.
[[nodiscard]] Bytes load_beginning(const std::filesystem::path& folder);

/// What a model in use needs to know, besides its shares.
struct ModelFacts {
  std::string run;  ///< the name that both parties know its run by
  Party party{};
  std::uint64_t step = 0;
  std::uint64_t rows = 0;     ///< of the alignment, whatever they are used for: the planner looks at them
  std::uint64_t trained = 0;  ///< rows that were trained on: at B without placeholders, which A cannot tell
  job::Shared shared{};       ///< as it was trained, and settled
  ShapesOfA shapes_a{};
  PartyShape shape_b{};
  std::size_t place = 0;  ///< at one of several A's: which of them this is
  Bytes began{};          ///< with several A's, as `SavedAlignment::began`

  /// This A's, or of all of them together.
  [[nodiscard]] PartyShape shape_a() const { return party == Party::kA ? shapes_a[place] : shapes_a.together(); }

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
