#include "blindfl/prepare/preparation.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <variant>

#include "blindfl/base/error.h"
#include "blindfl/base/saved_state.h"
#include "blindfl/base/text.h"
#include "blindfl/data/row_collector.h"
#include "blindfl/prepare/csv_features.h"
#include "blindfl/prepare/csv_file.h"
#include "blindfl/prepare/labels.h"
#include "blindfl/prepare/libsvm_features.h"
#include "blindfl/prepare/saved.h"

namespace blindfl::prepare {

namespace {

constexpr std::uint32_t kMark = 0x52504642;  // "BFPR"
constexpr std::uint32_t kStateVersion = 2;

PartyShape shape_of(const CsvFeatures& features) {
  return {.numeric = features.width(),
          .nonzeros = features.is_sparse() ? features.most_nonzeros() : 0,
          .fields = features.fields()};
}

PartyShape shape_of(const LibsvmFeatures& features) {
  return {.numeric = features.features, .nonzeros = features.nonzeros};
}

}  // namespace

struct Preparation::Fitted {
  std::variant<CsvFeatures, LibsvmFeatures> features;
  LabelRule rule;

  template <class Features, class Spec>
  [[nodiscard]] static Fitted to(const Spec& spec, const std::filesystem::path& train, std::optional<LabelFit> labels) {
    Features features = Features::fit(spec, train, labels ? &*labels : nullptr);
    return {std::move(features), labels ? labels->finish() : LabelRule()};
  }

  [[nodiscard]] std::unique_ptr<EncodedFile> open(const std::filesystem::path& path, const FixedPointSpec& encoding,
                                                  Labels labels, DigestOfPieces& digest) const {
    if (const auto* csv = std::get_if<CsvFeatures>(&features)) {
      return open_csv(path, *csv, encoding, rule, labels, digest);
    }
    return open_libsvm(path, std::get<LibsvmFeatures>(features), encoding, rule, labels, digest);
  }
};

Preparation::Preparation(Fitted fitted, const FixedPointSpec& encoding)
    : fitted_(std::make_shared<const Fitted>(std::move(fitted))) {
  shape_ = std::visit([](const auto& of) { return shape_of(of); }, fitted_->features);
  shape_.encoding = encoding;
  require<InvalidArgument>(shape_.numeric < IntMatrix::kNoColumn, "private.data: there are ", shape_.numeric,
                           " numeric and one-hot features, and 2^32 - 2 are the most; take fewer hash_buckets");
  require<InvalidArgument>(FixedPoint(encoding).bound() > 0, "private.data.numeric: no number can be encoded");
}

Preparation Preparation::checked(Fitted fitted, const FixedPointSpec& encoding, const std::filesystem::path& train) {
  try {
    Preparation to(std::move(fitted), encoding);
    require<ConfigError>(
        to.fitted_->rule.kind() != LabelRule::Kind::kNone || to.shape_.numeric > 0 || !to.shape_.fields.empty(),
        train.string(),
        ": has no features for the model, and A needs one at least; see private.data.columns and "
        "private.data.default_kind");
    return to;
  } catch (const InvalidArgument& error) {
    fail<ConfigError>(error.what());
  }
}

Preparation Preparation::fit(const CsvSpec& spec, const std::filesystem::path& train) {
  std::optional<LabelFit> labels;
  if (spec.label) labels.emplace(spec.labels, train.string() + ": column '" + *spec.label + "'");
  return checked(Fitted::to<CsvFeatures>(spec, train, std::move(labels)), spec.encoding, train);
}

Preparation Preparation::fit(const LibsvmSpec& spec, const std::filesystem::path& train) {
  std::optional<LabelFit> labels;
  if (spec.labels) labels.emplace(*spec.labels, train.string());
  return checked(Fitted::to<LibsvmFeatures>(spec, train, std::move(labels)), spec.encoding, train);
}

PreparedRows Preparation::read(const std::filesystem::path& path, Labels labels,
                               const std::filesystem::path& scratch) const {
  PreparedRows to;
  DigestOfPieces digest;
  data::RowCollector rows(row_memory_, scratch);
  const std::unique_ptr<EncodedFile> file = fitted_->open(path, shape_.encoding, labels, digest);
  while (auto piece = file->next()) {
    rows.add(std::move(piece->rows));
    std::ranges::move(piece->ids, std::back_inserter(to.ids));
    std::ranges::copy(piece->labels, std::back_inserter(to.labels));
    std::ranges::copy(piece->weights, std::back_inserter(to.weights));
  }
  to.filled = file->filled();
  to.rows = rows.finish(to.labels);
  to.digest = digest.finish();
  return to;
}

std::vector<std::string> Preparation::constant_columns() const {
  const auto* csv = std::get_if<CsvFeatures>(&fitted_->features);
  return csv == nullptr ? std::vector<std::string>() : csv->constant;
}

const std::vector<std::string>& Preparation::classes() const {
  return fitted_->rule.classes();
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
  out.write_u8(static_cast<std::uint8_t>(fitted_->features.index()));
  out.write_u32(static_cast<std::uint32_t>(shape_.encoding.scale));
  out.write_real(shape_.encoding.largest);
  out.write_u8(shape_.encoding.clip ? 1 : 0);
  fitted_->rule.save(out);
  std::visit([&](const auto& features) { features.save(out); }, fitted_->features);
}

Preparation Preparation::load(ByteSource& in) {
  std::optional<Preparation> loaded;
  reading_state([&] {
    require<DataError>(in.read_u32() == kMark && in.read_u32() == kStateVersion,
                       "the saved state is not a preparation of data, or of another version");
    const bool is_libsvm = in.read_flag();
    const std::uint32_t scale = in.read_u32();
    require<DataError>(scale <= FixedPoint::kMaxScale, "the saved preparation has an encoding that cannot be");
    FixedPointSpec encoding{.scale = static_cast<int>(scale)};
    encoding.largest = in.read_real();
    encoding.clip = in.read_flag();
    LabelRule rule = LabelRule::load(in);
    Fitted fitted =
        is_libsvm ? Fitted{LibsvmFeatures::load(in), std::move(rule)} : Fitted{CsvFeatures::load(in), std::move(rule)};
    try {
      loaded = Preparation(std::move(fitted), encoding);
    } catch (const InvalidArgument& error) {
      fail<DataError>("the saved preparation cannot be: ", error.what());
    }
  });
  return std::move(*loaded);
}

}  // namespace blindfl::prepare
