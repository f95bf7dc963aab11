#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "blindfl/app/cli/command.h"
#include "blindfl/app/init/guess.h"
#include "blindfl/app/init/questions.h"
#include "blindfl/app/init/sample.h"
#include "blindfl/app/job/job.h"

namespace blindfl::app::init {

/// One party's part of a job, as far as its data and somebody's answers tell.
struct PartyDraft {
  Party party = Party::kA;
  std::filesystem::path data{};
  std::optional<std::filesystem::path> test{};
  Sample sample{};
  std::optional<std::string> id{};
  std::optional<std::string> label{};
  std::optional<std::string> weight{};
  std::vector<ColumnGuess> columns{};

  [[nodiscard]] bool is_a() const { return party == Party::kA; }
  /// The column of the labels, or a LIBSVM file's; null at A.
  [[nodiscard]] const ColumnProfile* labels() const;
  [[nodiscard]] bool has_categories() const;
};

/// Looks at a party's data, and asks what it cannot see. Options: --id, --label, --weight, --kind, --format,
/// --delimiter, --no-header.
/// Throws UsageError, naming the flag and the candidates, for what is missing or names no column; DataError if the file
/// is unusable.
[[nodiscard]] PartyDraft draft_party(Party party, const std::filesystem::path& data,
                                     const std::optional<std::filesystem::path>& test, const Arguments& arguments,
                                     Questions& questions);

/// The sections about data, for a job file in `folder`: paths that were relative begin there.
[[nodiscard]] job::Data data_of(const PartyDraft& draft, job::ModelKind model, const std::filesystem::path& folder);

/// A path as a job file in `folder` writes it.
[[nodiscard]] std::filesystem::path seen_from(const std::filesystem::path& folder, const std::filesystem::path& path);

/// A table of the columns: what each was taken for, and why. Counts, and never what a cell holds.
void describe(const PartyDraft& draft, job::ModelKind model, std::ostream& out);

}  // namespace blindfl::app::init
