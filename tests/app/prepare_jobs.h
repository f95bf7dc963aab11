#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blindfl/app/prepare/preparation.h"
#include "testing/batches.h"
#include "testing/scratch_folder.h"

namespace blindfl::app::testing {

/// B's job: a model, and a file with the label in column y.
inline job::Job job_of_b(std::filesystem::path train, job::ModelKind kind = job::ModelKind::kWdl) {
  job::Job job;
  job.shared.model.kind = kind;
  job.own.party = job::PartyName::kB;
  job.own.data.train = std::move(train);
  job.own.data.format = job::FileFormat::kCsv;
  job.own.data.label_column = "y";
  job.own.data.default_kind = data::ColumnKind::kNumeric;
  return job;
}

inline job::Job job_of_a(std::filesystem::path train, job::ModelKind kind = job::ModelKind::kWdl) {
  job::Job job = job_of_b(std::move(train), kind);
  job.own.party = job::PartyName::kA;
  job.own.data.label_column.reset();
  return job;
}

inline job::Job libsvm_job(std::filesystem::path train, job::ModelKind kind = job::ModelKind::kLr) {
  job::Job job = job_of_b(std::move(train), kind);
  job.own.data.format = job::FileFormat::kLibsvm;
  job.own.data.label_column.reset();
  return job;
}

/// All rows of the training file.
inline PreparedRows train_rows(const job::Job& job, const blindfl::testing::ScratchFolder& scratch) {
  return Preparation::fit(job).read(*job.own.data.train, Labels::kIfThere, scratch.path());
}

/// The numeric features of all rows, decoded.
inline std::vector<std::vector<double>> numbers_of(const PreparedRows& prepared) {
  const data::Batch batch = blindfl::testing::all_rows(*prepared.rows);
  const double unit = 1.0 / static_cast<double>(std::uint64_t{1} << static_cast<unsigned>(batch.features.scale()));
  std::vector<std::vector<double>> rows(batch.features.rows(), std::vector<double>(batch.features.cols()));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    batch.features.for_each_in_row(r,
                                   [&](std::size_t c, std::int64_t v) { rows[r][c] = static_cast<double>(v) * unit; });
  }
  return rows;
}

inline Bytes saved(const Preparation& preparation) {
  return write_to_bytes([&](ByteSink& out) { preparation.save(out); });
}

inline Preparation loaded(ByteView bytes) {
  BufferSource in(bytes);
  return Preparation::load(in);
}

}  // namespace blindfl::app::testing
