#include "blindfl/data/vocabulary.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/base/saved_state.h"

namespace blindfl::data {

namespace {

// What a CategoryField has room for, beside the reserved row.
constexpr std::uint64_t kMaxCategories = (std::uint64_t{1} << 32) - 3;
constexpr std::uint32_t kMark = 0x4F564642;  // "BFVO"
constexpr std::uint32_t kStateVersion = 1;
constexpr std::uint8_t kCounted = 0;
constexpr std::uint8_t kHashed = 1;

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x0000'0100'0000'01B3;
  return hash;
}

struct Counted {
  std::string_view name;
  std::size_t count = 0;
};

}  // namespace

void CategoryCounts::add(const CategoryColumn& piece) {
  name_ = piece.name;
  std::vector<std::size_t> counted(piece.dictionary.size());
  for (const std::uint32_t code : piece.codes) {
    if (code == CategoryColumn::kMissing) {
      has_missing_ = true;
    } else {
      ++counted.at(code);
    }
  }
  for (std::size_t i = 0; i < counted.size(); ++i) {
    const std::string& category = piece.dictionary[i];
    require<DataError>(category.size() <= Vocabulary::kMaxNameBytes, "column '", name_, "': a category is longer than ",
                       Vocabulary::kMaxNameBytes, " bytes; this is not a column of categories");
    counts_[category] += counted[i];
  }
}

Vocabulary Vocabulary::fit(const CategoryColumn& column, const VocabularyOptions& options) {
  CategoryCounts counts;
  counts.add(column);
  return fit(counts, options);
}

Vocabulary Vocabulary::fit(const CategoryCounts& counts, const VocabularyOptions& options) {
  require<InvalidArgument>(options.min_count > 0,
                           "vocabulary: what never occurs cannot have a row; min_count is 1 or more");
  std::vector<Counted> counted;
  counted.reserve(counts.counts_.size());
  for (const auto& [name, count] : counts.counts_) {
    if (count >= options.min_count) counted.push_back({.name = name, .count = count});
  }
  std::ranges::sort(counted, [](const Counted& x, const Counted& y) {
    return x.count != y.count ? x.count > y.count : x.name < y.name;
  });
  if (options.most != 0 && counted.size() > options.most) counted.resize(options.most);
  require<DataError>(counted.size() <= kMaxCategories, "column '", counts.name_, "': too many categories");

  Vocabulary vocabulary;
  vocabulary.indices_.reserve(counted.size());
  for (const Counted& c : counted) vocabulary.indices_.emplace(c.name, static_cast<Column>(vocabulary.size()));
  return vocabulary;
}

Vocabulary Vocabulary::hashed(std::size_t buckets) {
  require<InvalidArgument>(buckets > 0 && buckets <= kMaxCategories, "vocabulary: ", buckets,
                           " buckets are too few or too many");
  Vocabulary vocabulary;
  vocabulary.buckets_ = buckets;
  return vocabulary;
}

Vocabulary::Column Vocabulary::index_of(std::string_view category) const {
  if (buckets_ != 0) return static_cast<Column>(1 + fnv1a(category) % buckets_);
  const auto at = indices_.find(category);
  return at == indices_.end() ? CategoryField::kUnknown : at->second;
}

void Vocabulary::save(ByteSink& out) const {
  out.write_u32(kMark);
  out.write_u32(kStateVersion);
  out.write_u8(buckets_ != 0 ? kHashed : kCounted);
  out.write_u64(size() - 1);
  std::vector<std::string_view> names(indices_.size());
  for (const auto& [name, index] : indices_) names[index - 1] = name;
  for (const std::string_view name : names) out.write_text(name);
}

Vocabulary Vocabulary::load(ByteSource& in) {
  Vocabulary vocabulary;
  reading_state([&] {
    require<DataError>(in.read_u32() == kMark && in.read_u32() == kStateVersion,
                       "the saved state is not a vocabulary, or of another version");
    const std::uint8_t kind = in.read_u8();
    require<DataError>(kind == kCounted || kind == kHashed, "the saved vocabulary is of no known kind");
    const std::uint64_t count = in.read_u64();
    require<DataError>(count <= kMaxCategories && (kind == kCounted || count > 0),
                       "the saved vocabulary has a size that cannot be");
    if (kind == kHashed) {
      vocabulary.buckets_ = count;
    } else {
      vocabulary.load_names(in, count);
    }
  });
  return vocabulary;
}

void Vocabulary::load_names(ByteSource& in, std::uint64_t count) {
  require<DataError>(count <= in.remaining() / sizeof(std::uint32_t),
                     "the saved vocabulary is cut short: it lacks some of its categories");
  for (std::uint64_t i = 1; i <= count; ++i) {
    require<DataError>(indices_.emplace(in.read_text(kMaxNameBytes), static_cast<Column>(i)).second,
                       "the saved vocabulary has a category twice");
  }
}

IntMatrix encode_column(const CategoryField& field, const CategoryColumn& column, const Vocabulary& vocabulary) {
  require<InvalidArgument>(field.categories == vocabulary.size(), "field '", field.name, "' has ", field.categories,
                           " categories, and its vocabulary ", vocabulary.size());
  std::vector<IntMatrix::Column> index_of(column.dictionary.size());
  std::ranges::transform(column.dictionary, index_of.begin(),
                         [&](const std::string& name) { return vocabulary.index_of(name); });
  std::vector<IntMatrix::Column> indices(column.codes.size(), CategoryField::kUnknown);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (column.codes[i] != CategoryColumn::kMissing) indices[i] = index_of.at(column.codes[i]);
  }
  return column.has_several() ? encode_categories(field, column.row_starts, indices)
                              : encode_categories(field, indices);
}

}  // namespace blindfl::data
