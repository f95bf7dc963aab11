#include "blindfl/prepare/libsvm_features.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/data/libsvm.h"
#include "blindfl/prepare/saved.h"
#include "blindfl/tensor/int_matrix_builder.h"

namespace blindfl::prepare {

namespace {

constexpr std::size_t kMostFeatures = IntMatrix::kNoColumn - 1;
/// A row of more is never stored with all its zeros.
constexpr std::size_t kMostDense = kPieceCells;

class LibsvmFile final : public EncodedFile {
 public:
  LibsvmFile(const std::filesystem::path& path, const LibsvmFeatures& features, const FixedPointSpec& encoding,
             const LabelRule& rule, Labels labels, DigestOfPieces& digest)
      : features_(features),
        encoding_(encoding),
        fixed_(encoding),
        rule_(rule),
        labels_(rule.kind() == LabelRule::Kind::kNone ? Labels::kNone : labels),
        reader_(path,
                {.cols = features.features,
                 .index_base = features.first_index,
                 .optional_labels = labels_ == Labels::kNone},
                &digest) {}

  [[nodiscard]] std::optional<EncodedPiece> next() override;

 private:
  void add_row(const data::Table& table, std::size_t row, IntMatrixBuilder& to) const;
  [[nodiscard]] std::vector<double> encode_labels(const std::vector<double>& raw);

  LibsvmFeatures features_;
  FixedPointSpec encoding_;
  FixedPoint fixed_;
  const LabelRule& rule_;
  Labels labels_;
  data::LibsvmReader reader_;
  bool begun_ = false;
  std::optional<double> placeholder_{};  ///< what stands for no label
  std::string placed_at_{};              ///< where it was seen first
};

std::optional<EncodedPiece> LibsvmFile::next() {
  const std::size_t most_rows = rows_of_piece(features_.sparse ? 1 : features_.features);
  const auto table = reader_.next({.rows = most_rows, .entries = kPieceCells});
  if (!table) return std::nullopt;
  IntMatrixBuilder rows({.kind = features_.sparse ? IntMatrix::Kind::kCsr : IntMatrix::Kind::kDense,
                         .cols = features_.features,
                         .scale = fixed_.scale(),
                         .bound = fixed_.bound()},
                        table->rows(), features_.sparse ? table->stored() : table->rows() * features_.features);
  for (std::size_t r = 0; r < table->rows(); ++r) add_row(*table, r, rows);
  EncodedPiece piece{.rows = {.features = rows.finish(), .labels = {}}};
  if (labels_ != Labels::kNone) piece.labels = encode_labels(table->labels());
  return piece;
}

void LibsvmFile::add_row(const data::Table& table, std::size_t row, IntMatrixBuilder& to) const {
  table.for_each_in_row(row, [&](std::size_t column, double x) {
    // The reader knows how many there are, unless there are none.
    if (column >= features_.features) {
      fail<DataError>(reader_.where(row), ": index ", column + features_.first_index, ": beyond the training file's ",
                      features_.features, " features; leave it out, or train again with private.data.libsvm.features");
    }
    if (!encoding_.clip && std::abs(x) > encoding_.largest) {
      fail<DataError>(reader_.where(row), ": index ", column + features_.first_index,
                      ": beyond private.data.numeric.largest, which is ", encoding_.largest,
                      "; raise it, rescale the feature, or set private.data.numeric.clip");
    }
    const std::int64_t value = fixed_.encode(x, row, column);
    if (value != 0) to.add(column, value);
  });
  if (features_.nonzeros != 0 && to.stored_in_row() > features_.nonzeros) {
    fail<DataError>(reader_.where(row), ": more than ", features_.nonzeros,
                    " values that are not 0, for which the training file left no room; leave the row out, or train "
                    "again with it in the training file");
  }
  to.end_row();
}

std::vector<double> LibsvmFile::encode_labels(const std::vector<double>& raw) {
  std::vector<double> labels;
  labels.reserve(raw.size());
  for (std::size_t r = 0; r < raw.size(); ++r) {
    const std::optional<double> label = rule_.encode(raw[r]);
    const bool is_first = !std::exchange(begun_, true);
    if (is_first && !label && labels_ == Labels::kIfThere) {
      placeholder_ = raw[r];
      placed_at_ = reader_.where(r);
    }
    if (placeholder_) {
      require<DataError>(raw[r] == *placeholder_, placed_at_, ": ", rule_.fault());
    } else {
      if (!label) fail<DataError>(reader_.where(r), ": ", rule_.fault());
      labels.push_back(*label);
    }
  }
  return labels;
}

}  // namespace

LibsvmFeatures LibsvmFeatures::fit(const LibsvmSpec& spec, const std::filesystem::path& path, LabelFit* labels) {
  const std::size_t declared = spec.features.value_or(0);
  require<ConfigError>(declared <= kMostFeatures, "private.data.libsvm.features must be ", kMostFeatures, " at most");
  data::LibsvmReader reader(path,
                            {.cols = declared, .index_base = spec.first_index, .optional_labels = labels == nullptr});
  LibsvmFeatures to{.features = 0, .first_index = spec.first_index};
  std::size_t most = 0;
  double stored = 0;
  double rows = 0;
  while (const auto table = reader.next({.rows = kPieceRows, .entries = kPieceCells})) {
    to.features = table->cols();
    rows += static_cast<double>(table->rows());
    for (std::size_t r = 0; r < table->rows(); ++r) {
      std::size_t in_row = 0;
      table->for_each_in_row(r, [&](std::size_t, double x) { in_row += x != 0 ? 1 : 0; });
      most = std::max(most, in_row);
      stored += static_cast<double>(in_row);
      if (labels != nullptr) labels->add(table->labels()[r]);
    }
  }
  to.sparse = 2 * stored <= rows * static_cast<double>(to.features) || to.features > kMostDense;
  to.nonzeros = to.sparse ? with_room(most, to.features) : 0;
  return to;
}

std::size_t LibsvmFeatures::with_room(std::size_t most, std::size_t features) {
  constexpr std::size_t kSteps = 8;  // from one power of two to the next
  const std::size_t more = std::max<std::size_t>(most + (most + 3) / 4, 1);
  const std::size_t step = std::max<std::size_t>(std::bit_floor(more) / kSteps, 1);
  return std::min((more + step - 1) / step * step, features);
}

void LibsvmFeatures::save(ByteSink& out) const {
  out.write_u64(features);
  out.write_u64(first_index);
  out.write_u8(sparse ? 1 : 0);
  out.write_u64(nonzeros);
}

LibsvmFeatures LibsvmFeatures::load(ByteSource& in) {
  LibsvmFeatures to;
  to.features = read_count(in, kMostFeatures);
  to.first_index = read_count(in, 1);
  to.sparse = in.read_flag();
  to.nonzeros = read_count(in, to.features);
  require<DataError>(to.sparse || (to.nonzeros == 0 && to.features <= kMostDense),
                     "the saved preparation has features that cannot be");
  return to;
}

std::unique_ptr<EncodedFile> open_libsvm(const std::filesystem::path& path, const LibsvmFeatures& features,
                                         const FixedPointSpec& encoding, const LabelRule& rule, Labels labels,
                                         DigestOfPieces& digest) {
  return std::make_unique<LibsvmFile>(path, features, encoding, rule, labels, digest);
}

}  // namespace blindfl::prepare
