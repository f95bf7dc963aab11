#include "blindfl/app/torch/align_run.h"

#include <algorithm>
#include <ostream>

#include "blindfl/app/job/preparation.h"
#include "blindfl/app/torch/aligned_rows.h"
#include "blindfl/app/torch/job_session.h"
#include "blindfl/app/torch/scores_file.h"
#include "blindfl/base/atomic_file.h"
#include "blindfl/base/error.h"
#include "blindfl/data/frame.h"

namespace blindfl::app {

namespace {

std::vector<std::string> read_ids(const job::Data& data) {
  data::FrameSpec spec;
  spec.format = csv_format(data);
  spec.columns = {{.name = data.id_column.value_or(""), .kind = data::ColumnKind::kId}};
  return data::read_frame(*data.train, spec).ids;
}

}  // namespace

void align_files(const job::Job& job, const std::filesystem::path& list, std::ostream& out) {
  require<ConfigError>(job.shared.alignment.mode != job::AlignmentMode::kAligned,
                       "shared.alignment.mode is aligned: rows are taken as they are; set it to intersection, for "
                       "instance, at both parties");
  require<ConfigError>(job.own.data.train.has_value(), "private.data.train is missing: the file to align");
  require_place(list, "--out");
  PreparedRows rows;
  rows.ids = read_ids(job.own.data);
  check_ids(rows.ids, *job.own.data.train);
  JobSession connection(job, {.command = "align"}, out);
  const protocol::Alignment alignment = connection.telling([&] {
    (void)connection.agree_between_as("alignment");
    return align_rows(connection.sessions(), connection.aligned_peers(), job, rows, "training rows", out);
  });
  connection.finish();

  AtomicFile file(list, Readers::kOwner);
  file.write(as_bytes("row,id,real\n"));
  for (std::size_t i = 0; i < alignment.size(); ++i) {
    const std::size_t row = alignment.rows[i];
    file.write(
        as_bytes(std::to_string(row + 1) + "," + csv_cell(rows.ids[row]) + (alignment.real[i] ? ",1\n" : ",0\n")));
  }
  file.commit();
  out << "real rows: " << std::ranges::count(alignment.real, true) << "\nlist: " << list.string() << "\n";
}

}  // namespace blindfl::app
