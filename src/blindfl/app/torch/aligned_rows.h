#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "blindfl/app/job/job.h"
#include "blindfl/app/job/preparation.h"
#include "blindfl/base/bytes.h"
#include "blindfl/data/row_source.h"
#include "blindfl/protocol/align/psi_all.h"

namespace blindfl::app {

/// Rows in the order of an alignment, or some of them. A row that is a placeholder for one that this party lacks does
/// not count: see `data::Batch::counts`.
class AlignedRows final : public data::RowSource {
 public:
  /// `weights`, if any, are those of the rows of `rows`; both must outlive this. A placeholder's weight is 0.
  AlignedRows(const data::RowSource& rows, protocol::Alignment alignment, std::span<const double> weights = {});

  [[nodiscard]] std::size_t rows() const override { return alignment_.size(); }
  [[nodiscard]] data::Batch batch(std::span<const std::uint32_t> chosen, std::size_t batch_size) const override;

  [[nodiscard]] const protocol::Alignment& alignment() const { return alignment_; }
  /// What is given for each row of the source, in the order of the alignment; placeholders have that of the row that
  /// they are.
  [[nodiscard]] std::vector<double> in_order(const std::vector<double>& values) const;
  /// How many of the rows are no placeholders.
  [[nodiscard]] std::size_t real() const;
  /// Only these.
  [[nodiscard]] AlignedRows only_real() const;

 private:
  const data::RowSource& rows_;
  protocol::Alignment alignment_;
  std::span<const double> weights_;
};

/// Some places of an alignment, in the given order.
[[nodiscard]] protocol::Alignment select_places(const protocol::Alignment& all, std::span<const std::uint32_t> places);

/// Throws DataError, naming the file and the rows, if an id occurs twice.
void check_ids(const std::vector<std::string>& ids, const std::filesystem::path& path);

/// At one of several A's: what is opened from here on is of `what` in this order, the same at all A's, or is noise to B
/// (`protocol::bind_outputs`). Elsewhere, nothing.
void bind_order(const protocol::Sessions& sessions, const std::string& what, ByteView order);

/// The same of an alignment that several A's have made: by what all know it by.
void bind_alignment(const protocol::Sessions& sessions, const std::string& what, const protocol::Alignment& alignment);

/// Finds the rows that all parties have, as the job says: by private set intersection of ids, or as they are. Rows
/// that are said to be aligned are compared by a digest of their ids, by B with each A, if both have any. `peers` are
/// several A's, if there are.
/// Reveals, of aligned rows with ids: that digest, which is of this session. Whoever can guess all ids can try it out.
/// Throws DataError if the parties have nothing in common, an id occurs twice, or the rows are said to be aligned and
/// their ids are not the same in the same order; ConfigError if there are not as many of them at both, or,
/// before anything is computed, if the peer has more ids than the job's limits allow.
[[nodiscard]] protocol::Alignment align_rows(const protocol::Sessions& sessions, const protocol::AlignedPeers& peers,
                                             const job::Job& job, const PreparedRows& rows, const std::string& what,
                                             std::ostream& out);

void write_alignment(const protocol::Alignment& alignment, ByteSink& out);
/// Throws DataError if it is not an alignment of a file with `rows` rows.
[[nodiscard]] protocol::Alignment read_alignment(ByteSource& in, std::size_t rows);

}  // namespace blindfl::app
