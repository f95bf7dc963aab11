#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blindfl/prepare/preparation.h"
#include "testing/batches.h"
#include "testing/scratch_folder.h"

namespace blindfl::prepare::testing {

/// A training file, and what its owner says of it.
template <class Spec>
struct Source {
  std::filesystem::path train;
  Spec spec{};

  [[nodiscard]] Preparation fit() const { return Preparation::fit(spec, train); }
  /// All rows of the training file.
  [[nodiscard]] PreparedRows rows(const blindfl::testing::ScratchFolder& scratch) const {
    return fit().read(train, Labels::kIfThere, scratch.path());
  }
};
using Csv = Source<CsvSpec>;
using Libsvm = Source<LibsvmSpec>;

/// B's: the label is in column y.
inline Csv csv_of_b(std::filesystem::path train, LabelSpec labels = {}) {
  CsvSpec spec;
  spec.missing = {"", "NA", "N/A", "NaN", "nan", "None", "null", "NULL", "?"};
  spec.label = "y";
  spec.labels = std::move(labels);
  spec.default_kind = data::ColumnKind::kNumeric;
  return {std::move(train), std::move(spec)};
}

inline Csv csv_of_a(std::filesystem::path train) {
  Csv source = csv_of_b(std::move(train));
  source.spec.label.reset();
  return source;
}

inline Libsvm libsvm_of_a(std::filesystem::path train) {
  return {std::move(train)};
}

inline Libsvm libsvm_of_b(std::filesystem::path train) {
  Libsvm source = libsvm_of_a(std::move(train));
  source.spec.labels.emplace();
  return source;
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

}  // namespace blindfl::prepare::testing
