#include "blindfl/prepare/csv_columns.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/base/text.h"
#include "blindfl/prepare/saved.h"

namespace blindfl::prepare {

namespace {

constexpr std::size_t kMostPerRow = std::size_t{1} << 16;

void check_column(const ColumnSpec& column, const CsvSpec& spec) {
  const bool is_category = *column.kind == data::ColumnKind::kCategory || *column.kind == data::ColumnKind::kCategories;
  const auto check = [&](bool fine, const auto&... parts) {
    require<ConfigError>(fine, "private.data.columns: column '", column.name, "' ", parts...);
  };
  check(!is_category || column.one_hot || spec.embeddings,
        "holds categories, and this kind of model takes numbers: list it with one_hot: true, or with kind: ignore, or "
        "choose model kind wdl, dlrm or deepfm");
  check(!is_category || !column.one_hot || spec.encoding.largest >= 1,
        "becomes features that are 0 or 1, and private.data.numeric.largest has no room for them; make it 1 at least");
  check(
      *column.kind != data::ColumnKind::kCategories || (column.most_per_row > 0 && column.most_per_row <= kMostPerRow),
      "needs a most_per_row between 1 and ", kMostPerRow);
  check(*column.kind != data::ColumnKind::kCategories || !column.separator.empty(),
        "has an empty separator between its categories; name one, as separator: \";\"");
}

/// What is named as id, label or weight and is not there: perhaps a column that is not listed is meant.
std::string absent_names(const CsvSpec& spec, std::span<const std::string> names) {
  std::string text;
  for (const auto& [option, name] : {std::pair{"id_column", &spec.id}, std::pair{"label_column", &spec.label},
                                     std::pair{"weight_column", &spec.weight}}) {
    if (!*name || std::ranges::find(names, **name) != names.end()) continue;
    text.append(text.empty() ? "" : ", and ").append("no column '").append(printable(**name));
    text.append("', which private.data.").append(option).append(" names");
  }
  return text;
}

/// A column that nobody spoke of could be the label, an id, or what the peer must not learn from.
void check_all_listed(const std::vector<std::string>& unlisted, const CsvSpec& spec, std::span<const std::string> all,
                      const std::filesystem::path& path) {
  constexpr std::size_t kShown = 20;
  if (unlisted.empty()) return;
  std::string names;
  for (std::size_t i = 0; i < std::min(unlisted.size(), kShown); ++i) {
    names.append(i == 0 ? "'" : ", '").append(printable(unlisted[i])).append("'");
  }
  if (unlisted.size() > kShown) names += " and " + std::to_string(unlisted.size() - kShown) + " more";
  const std::string absent = absent_names(spec, all);
  require<ConfigError>(absent.empty(), path.string(), ": has ", absent, "; it has ", names,
                       ", which private.data.columns does not list");
  fail<ConfigError>(path.string(), ": private.data.columns does not list ", names,
                    "; list each with its kind, kind: ignore to leave it out, or say in private.data.default_kind what "
                    "all of them are");
}

}  // namespace

CsvColumn CsvColumn::of(const ColumnSpec& column) {
  const bool several = column.kind == data::ColumnKind::kCategories;
  return {.name = column.name,
          .kind = *column.kind,
          .one_hot = column.one_hot,
          .optional = column.missing != data::Missing::kError,
          .separator = column.separator,
          .most = several ? column.most_per_row : 1,
          .pooling = column.pooling};
}

void CsvColumn::save(ByteSink& out) const {
  write_text(out, name);
  out.write_u8(static_cast<std::uint8_t>(kind));
  out.write_u8(one_hot ? 1 : 0);
  out.write_u8(optional ? 1 : 0);
  write_text(out, separator);
  out.write_u64(most);
  out.write_u8(pooling == Pooling::kMean ? 1 : 0);
}

CsvColumn CsvColumn::load(ByteSource& in) {
  CsvColumn column;
  column.name = read_text(in);
  const std::uint8_t kind = in.read_u8();
  column.kind = static_cast<data::ColumnKind>(kind);
  column.one_hot = in.read_flag();
  column.optional = in.read_flag();
  column.separator = read_text(in);
  column.most = read_count(in, kMostPerRow);
  column.pooling = in.read_flag() ? Pooling::kMean : Pooling::kSum;
  const bool several = column.kind == data::ColumnKind::kCategories;
  const bool known = column.is_numeric() || column.kind == data::ColumnKind::kCategory || several;
  require<DataError>(known && column.most > 0 && (several || column.most == 1) &&
                         (!several || !column.separator.empty()) && (!column.is_numeric() || !column.one_hot),
                     "the saved preparation has a column that cannot be");
  return column;
}

std::vector<ColumnSpec> feature_columns(const CsvSpec& spec, const std::filesystem::path& path,
                                        std::span<const std::string> names) {
  std::map<std::string_view, const ColumnSpec*> listed;
  for (const ColumnSpec& column : spec.columns) listed.emplace(column.name, &column);
  std::vector<ColumnSpec> columns;
  columns.reserve(names.size());
  std::vector<std::string> unlisted;
  for (const std::string& name : names) {
    const auto at = listed.find(name);
    const bool is_listed = at != listed.end();
    ColumnSpec column = is_listed ? *at->second : ColumnSpec{.name = name};
    if (is_listed) listed.erase(at);
    if (name == spec.id || name == spec.label || name == spec.weight) continue;
    if (!is_listed && !spec.default_kind) unlisted.push_back(name);
    column.kind = column.kind.value_or(spec.default_kind.value_or(data::ColumnKind::kNumeric));
    if (column.kind == data::ColumnKind::kIgnored) continue;
    if (is_listed || spec.default_kind) check_column(column, spec);
    columns.push_back(std::move(column));
  }
  require<DataError>(listed.empty(), path.string(), ": has no column '", listed.empty() ? "" : listed.begin()->first,
                     "', which private.data.columns lists; check its header, and private.data.header");
  check_all_listed(unlisted, spec, names, path);
  return columns;
}

}  // namespace blindfl::prepare
