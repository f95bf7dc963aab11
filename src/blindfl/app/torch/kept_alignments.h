#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <string>

#include "blindfl/app/torch/aligned_rows.h"
#include "blindfl/app/torch/run_files.h"
#include "blindfl/protocol/align/alignment_offer.h"

namespace blindfl::app {

using protocol::alignment_id;
using protocol::AlignmentId;
using protocol::AlignmentOffer;
using protocol::kMostOffered;

/// The alignments of files that a model has scored, in its folder, so that who scores a file again does it in the same
/// order. Masks and Z are then the same bit for bit (protocol::RepeatableScoring), and B learns nothing new of A's
/// features; in a fresh order each scoring opens Z at another rounding.
class KeptAlignments {
 public:
  /// `owner` as in `RunFolder::owner`, `model` as in `ModelFacts::name`.
  KeptAlignments(const std::filesystem::path& model_folder, std::string owner, std::string model);

  /// What is kept of this file under this mode of alignment, the newest first; at most `kMostOffered`. A file that was
  /// changed is another file.
  [[nodiscard]] AlignmentOffer of(const MarkedFile& file, job::AlignmentMode mode) const;

  /// Throws DataError, naming the file in the folder and what to do, if it is damaged or not what its name says.
  [[nodiscard]] protocol::Alignment load(const MarkedFile& file, job::AlignmentMode mode, const AlignmentId& id) const;

  /// Keeps it, and forgets the oldest where there are many. Durable when it returns.
  void keep(const MarkedFile& file, job::AlignmentMode mode, const AlignmentId& id,
            const protocol::Alignment& alignment) const;

 private:
  [[nodiscard]] std::filesystem::path path_of(const MarkedFile& file, job::AlignmentMode mode,
                                              const AlignmentId& id) const;
  [[nodiscard]] std::string prefix_of(const MarkedFile& file, job::AlignmentMode mode) const;

  std::filesystem::path folder_;
  std::string owner_;
  std::string model_;
};

/// What an alignment is kept under: at several A's what follows from all their random numbers, for a name that B chose
/// could be that of two orders, and what is opened of both would tell one A's rows from another's. With one A there is
/// no such thing, and `otherwise` is what both know it by.
[[nodiscard]] AlignmentId id_of(const protocol::Alignment& alignment, const std::string& otherwise);

/// The rows of `file` that all parties score, in the order of an earlier scoring if all have kept it, else in a new
/// one, which is kept under `id_of`; with one A, `meeting` is what both know this meeting by. As `align_rows`
/// otherwise, and where the job says that rows are aligned.
[[nodiscard]] protocol::Alignment align_scored(const protocol::Sessions& sessions, const protocol::AlignedPeers& peers,
                                               const job::Job& job, const PreparedRows& rows, const MarkedFile& file,
                                               const KeptAlignments& kept, const std::string& meeting,
                                               std::ostream& out);

}  // namespace blindfl::app
