#include "blindfl/app/prepare/preparation.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "blindfl/app/prepare/csv_file.h"
#include "blindfl/app/prepare/file_format.h"
#include "blindfl/app/prepare/saved.h"
#include "blindfl/base/error.h"
#include "blindfl/base/saved_state.h"
#include "blindfl/base/text.h"
#include "blindfl/data/row_collector.h"

namespace blindfl::app {

namespace {

constexpr std::uint32_t kMark = 0x52504642;  // "BFPR"
constexpr std::uint32_t kStateVersion = 2;

void check_job(const job::Job& job, job::FileFormat format) {
  const job::Data& data = job.own.data;
  const bool is_b = job.own.party == job::PartyName::kB;
  require<ConfigError>(is_b || !data.label_column,
                       "private.data.label_column is for B, who has the labels, and this is A; to keep a column out of "
                       "the model, list it with kind: ignore");
  if (format == job::FileFormat::kCsv) {
    require<ConfigError>(!is_b || data.label_column,
                         "private.data.label_column is missing: which column of the CSV file holds the labels");
    return;
  }
  require<ConfigError>(!data.id_column && !data.label_column && !data.weight_column && data.columns.empty(),
                       "private.data: LIBSVM files have no columns with names; leave out id_column, label_column, "
                       "weight_column and columns");
  require<ConfigError>(job.shared.alignment.mode == job::AlignmentMode::kAligned,
                       "private.data.train is a LIBSVM file, which has no ids to align rows by; set "
                       "shared.alignment.mode to aligned, or private.data.format to csv if it is none");
}

std::string where_labels_are(const job::Data& data) {
  return data.train->string() + (data.label_column ? ": column '" + *data.label_column + "'" : "");
}

PartyShape shape_of(const CsvFeatures& features) {
  return {.numeric = features.width(),
          .nonzeros = features.is_sparse() ? features.most_nonzeros() : 0,
          .fields = features.fields()};
}

PartyShape shape_of(const LibsvmFeatures& features) {
  return {.numeric = features.features, .nonzeros = features.nonzeros};
}

}  // namespace

Preparation::Preparation(Features features, LabelRule rule, const FixedPointSpec& encoding)
    : features_(std::move(features)), rule_(std::move(rule)) {
  shape_ = std::visit([](const auto& of) { return shape_of(of); }, features_);
  shape_.encoding = encoding;
  require<InvalidArgument>(shape_.numeric < IntMatrix::kNoColumn, "private.data: there are ", shape_.numeric,
                           " numeric and one-hot features, and 2^32 - 2 are the most; take fewer hash_buckets");
  require<InvalidArgument>(FixedPoint(encoding).bound() > 0, "private.data.numeric: no number can be encoded");
}

std::size_t Preparation::row_memory_of(const job::Resources& resources) {
  constexpr double kShare = 0.25;
  constexpr double kMost = 0x1p60;
  if (!resources.memory) return kRowMemory;
  return static_cast<std::size_t>(std::clamp(*resources.memory * kShare * 0x1p30, 0.0, kMost));
}

Preparation Preparation::fit(const job::Job& job) {
  const job::Data& data = job.own.data;
  require<ConfigError>(data.train.has_value(), "private.data.train is missing: there is nothing to learn from");
  const job::FileFormat format = format_of(*data.train, data);
  check_job(job, format);
  std::optional<LabelFit> labels;
  if (job.own.party == job::PartyName::kB) {
    labels.emplace(job.shared.model, where_labels_are(data), data.label.positive);
  }
  LabelFit* const told = labels ? &*labels : nullptr;
  Features features = format == job::FileFormat::kCsv ? Features(CsvFeatures::fit(job, *data.train, told))
                                                      : Features(LibsvmFeatures::fit(data.libsvm, *data.train, told));
  try {
    Preparation to(std::move(features), labels ? labels->finish() : LabelRule(), data.numeric);
    require<ConfigError>(labels || to.shape_.numeric > 0 || !to.shape_.fields.empty(), data.train->string(),
                         ": has no features for the model, and A needs one at least; see private.data.columns and "
                         "private.data.default_kind");
    to.row_memory_ = row_memory_of(job.own.resources);
    return to;
  } catch (const InvalidArgument& error) {
    fail<ConfigError>(error.what());
  }
}

std::unique_ptr<EncodedFile> Preparation::open(const std::filesystem::path& path, Labels labels) const {
  if (const auto* csv = std::get_if<CsvFeatures>(&features_)) {
    return open_csv(path, *csv, shape_.encoding, rule_, labels);
  }
  return open_libsvm(path, std::get<LibsvmFeatures>(features_), shape_.encoding, rule_, labels);
}

PreparedRows Preparation::read(const std::filesystem::path& path, Labels labels,
                               const std::filesystem::path& scratch) const {
  PreparedRows to;
  data::RowCollector rows(row_memory_, scratch);
  const std::unique_ptr<EncodedFile> file = open(path, labels);
  while (auto piece = file->next()) {
    rows.add(std::move(piece->rows));
    std::ranges::move(piece->ids, std::back_inserter(to.ids));
    std::ranges::copy(piece->labels, std::back_inserter(to.labels));
    std::ranges::copy(piece->weights, std::back_inserter(to.weights));
  }
  to.filled = file->filled();
  to.rows = rows.finish(to.labels);
  return to;
}

std::vector<std::string> Preparation::constant_columns() const {
  const auto* csv = std::get_if<CsvFeatures>(&features_);
  return csv == nullptr ? std::vector<std::string>() : csv->constant;
}

std::string words_of(const std::vector<FilledColumn>& filled) {
  constexpr std::size_t kShown = 20;
  std::string words;
  for (std::size_t i = 0; i < std::min(filled.size(), kShown); ++i) {
    words.append(words.empty() ? "missing cells, filled as in training: " : ", ");
    words.append("'").append(printable(filled[i].name)).append("' ").append(std::to_string(filled[i].cells));
    if (filled[i].is_category) words += " (reserved category)";
  }
  if (filled.size() > kShown) words += " and " + std::to_string(filled.size() - kShown) + " columns more";
  return words;
}

void Preparation::save(ByteSink& out) const {
  out.write_u32(kMark);
  out.write_u32(kStateVersion);
  out.write_u8(static_cast<std::uint8_t>(features_.index()));
  out.write_u32(static_cast<std::uint32_t>(shape_.encoding.scale));
  write_real(out, shape_.encoding.largest);
  out.write_u8(shape_.encoding.clip ? 1 : 0);
  rule_.save(out);
  std::visit([&](const auto& features) { features.save(out); }, features_);
}

Preparation Preparation::load(ByteSource& in) {
  std::optional<Preparation> loaded;
  reading_state([&] {
    require<DataError>(in.read_u32() == kMark && in.read_u32() == kStateVersion,
                       "the saved state is not a preparation of data, or of another version");
    const bool is_libsvm = read_flag(in);
    const std::uint32_t scale = in.read_u32();
    require<DataError>(scale <= FixedPoint::kMaxScale, "the saved preparation has an encoding that cannot be");
    FixedPointSpec encoding{.scale = static_cast<int>(scale)};
    encoding.largest = read_real(in);
    encoding.clip = read_flag(in);
    LabelRule rule = LabelRule::load(in);
    Features features = is_libsvm ? Features(LibsvmFeatures::load(in)) : Features(CsvFeatures::load(in));
    try {
      loaded = Preparation(std::move(features), std::move(rule), encoding);
    } catch (const InvalidArgument& error) {
      fail<DataError>("the saved preparation cannot be: ", error.what());
    }
  });
  return std::move(*loaded);
}

}  // namespace blindfl::app
