#include "blindfl/app/init/guess.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <span>
#include <sstream>

namespace blindfl::app::init {

namespace {

using data::ColumnKind;
using job::ModelKind;

constexpr std::size_t kFewCodes = 50;          // a number with more values is no code
constexpr std::size_t kManyCategories = 1000;  // rare ones among so many are better thrown together
constexpr std::size_t kMostClasses = 20;       // whole numbers with more values are no classes
constexpr double kHeavySkew = 3;
constexpr double kMostCount = 1000;

std::string lower(std::string_view text) {
  std::string result;
  for (const char c : text) result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

/// The words of a name: "customer_id", "Customer ID" and "customerId" have two.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  bool was_lower = false;
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    const bool is_break = std::isalnum(letter) == 0;
    if ((is_break || (was_lower && std::isupper(letter) != 0)) && !words.back().empty()) words.emplace_back();
    if (!is_break) words.back() += c;
    was_lower = std::islower(letter) != 0;
  }
  for (std::string& word : words) word = lower(word);
  return words;
}

bool has_word(std::string_view name, std::span<const std::string_view> known) {
  const std::vector<std::string> words = words_of(name);
  return std::ranges::any_of(words,
                             [&](const std::string& word) { return std::ranges::find(known, word) != known.end(); });
}

bool is_one_of(std::string_view name, std::span<const std::string_view> known) {
  return std::ranges::find(known, lower(name)) != known.end();
}

constexpr std::array<std::string_view, 13> kIdWords = {"id",  "uid", "uuid", "guid", "ids",   "key",  "userid",
                                                       "ssn", "pk",  "idx",  "sid",  "index", "rowid"};
constexpr std::array<std::string_view, 19> kLabels = {
    "label", "labels",  "target",  "y",         "class", "outcome",  "income",    "response", "churn", "survived",
    "click", "clicked", "default", "defaulted", "fraud", "is_fraud", "diagnosis", "price",    "rating"};
constexpr std::array<std::string_view, 10> kCodeWords = {"code", "type",     "category", "cat",   "group",
                                                         "zip",  "postcode", "region",   "class", "id"};
constexpr std::array<std::string_view, 8> kCountWords = {"count",  "counts", "claims", "visits",
                                                         "number", "num",    "n",      "frequency"};

template <class... Parts>
std::string words(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

std::string missing_words(const ColumnProfile& profile) {
  std::string text = profile.missing() == 0 ? std::string() : words(", ", profile.missing(), " missing");
  if (profile.is_numeric() && profile.not_finite() > 0) {
    text += words(", ", profile.not_finite(), " NOT FINITE: `train` will refuse them");
  }
  return text;
}

ColumnGuess ignored(prepare::ColumnSpec column, std::string why) {
  column.kind = ColumnKind::kIgnored;
  return {std::move(column), std::move(why)};
}

ColumnGuess category(prepare::ColumnSpec column, const ColumnProfile& profile, std::string why) {
  column.kind = ColumnKind::kCategory;
  if (profile.distinct() > kManyCategories) {
    column.vocabulary.min_count = 2;
    why += "; what occurs once counts as unknown";
  }
  return {std::move(column), std::move(why)};
}

ColumnGuess several(prepare::ColumnSpec column, const ColumnProfile& profile) {
  column.kind = ColumnKind::kCategories;
  column.separator = profile.separator();
  // Room for rows that were not looked at.
  column.most_per_row = std::max<std::size_t>(16, 2 * profile.most_pieces());
  return {std::move(column), words("several in a cell, up to ", profile.most_pieces(), missing_words(profile))};
}

ColumnGuess number(prepare::ColumnSpec column, const ColumnProfile& profile) {
  column.kind = ColumnKind::kNumeric;
  if (profile.is_binary()) return {std::move(column), words("0 and 1", missing_words(profile))};
  if (profile.least() >= 0 && profile.skewness() > kHeavySkew) {
    column.transform = prepare::Transform::kLog;
    return {std::move(column), words("numbers, few of them very large", missing_words(profile))};
  }
  column.transform = prepare::Transform::kStandardise;
  return {std::move(column), words(profile.is_whole() ? "whole numbers" : "numbers", missing_words(profile))};
}

/// The smallest power of two that is not below `x`.
double power_above(double x) {
  return std::exp2(std::ceil(std::log2(std::max(x, 1.0))));
}

}  // namespace

ColumnGuess guess_column(const ColumnProfile& profile) {
  prepare::ColumnSpec column;
  column.name = profile.name();
  const std::size_t present = profile.cells() - profile.missing();
  if (present == 0) return ignored(std::move(column), "says nothing");
  if (profile.distinct() <= 1 && profile.missing() == 0) return ignored(std::move(column), "the same in all rows");
  if (profile.names_rows()) {
    return ignored(std::move(column), profile.is_counter() ? "counts the rows" : "different in every row, as ids are");
  }
  if (profile.is_numeric()) {
    const bool is_code = profile.is_whole() && !profile.is_binary() && profile.distinct() <= kFewCodes &&
                         has_word(profile.name(), kCodeWords);
    if (is_code) return category(std::move(column), profile, words("codes, ", profile.distinct(), " distinct"));
    return number(std::move(column), profile);
  }
  if (profile.separator() != 0) return several(std::move(column), profile);
  const bool nearly_unique = present >= 20 && profile.distinct() * 2 > present;
  if (nearly_unique)
    return ignored(std::move(column), words("text, ", profile.distinct(), " distinct: hardly repeats"));
  return category(std::move(column), profile, words("text, ", profile.distinct(), " distinct", missing_words(profile)));
}

Candidates id_candidates(const Sample& sample) {
  Candidates candidates;
  for (const ColumnProfile& profile : sample.columns) {
    if (profile.names_rows() && profile.separator() == 0) candidates.names.push_back(profile.name());
  }
  if (candidates.names.size() != 1) return candidates;
  const std::string& only = candidates.names.front();
  const ColumnProfile& first = sample.columns.front();
  const bool leads = sample.columns.size() > 1 && first.name() == only && !first.is_numeric();
  if (has_word(only, kIdWords) || leads) candidates.sure = only;
  return candidates;
}

Candidates label_candidates(const Sample& sample, const std::optional<std::string>& id) {
  Candidates candidates;
  for (const ColumnProfile& profile : sample.columns) {
    if (profile.name() != id && is_called_like_a_label(profile.name())) candidates.names.push_back(profile.name());
  }
  if (candidates.names.size() == 1) candidates.sure = candidates.names.front();
  return candidates;
}

bool is_called_like_a_label(std::string_view name) {
  return is_one_of(name, kLabels);
}

ModelGuess guess_model(const ColumnProfile& labels, bool has_categories) {
  const std::size_t distinct = labels.distinct();
  const bool counts = labels.is_whole() && labels.least() >= 0 && has_word(labels.name(), kCountWords) && distinct > 2;
  if (distinct == 2) {
    return {has_categories ? ModelKind::kWdl : ModelKind::kLr, std::nullopt,
            has_categories ? "labels of two classes, and columns of categories" : "labels of two classes"};
  }
  const bool classes = !labels.is_numeric() || (labels.is_whole() && distinct <= kMostClasses && !counts);
  if (classes) {
    return {ModelKind::kMlr, std::max<std::size_t>(distinct, 2), words("labels of ", distinct, " classes")};
  }
  if (counts || (labels.is_whole() && labels.least() >= 0 && labels.largest() <= kMostCount)) {
    return {ModelKind::kPoisson, std::nullopt, "labels that count something"};
  }
  return {ModelKind::kLinear, std::nullopt, "labels that are numbers"};
}

double largest_derivative(ModelKind kind, const ColumnProfile& labels) {
  const double usual = job::Training{}.derivative.largest;
  // Those of linear regression are standardised before they are trained on.
  if (kind != ModelKind::kPoisson || !labels.is_numeric()) return usual;
  constexpr double kMost = 0x1p24;
  return std::clamp(power_above(4 * std::max(std::abs(labels.least()), std::abs(labels.largest()))), usual, kMost);
}

FixedPointSpec guess_encoding(const Sample& sample, const std::vector<ColumnGuess>& columns) {
  FixedPointSpec encoding;
  if (sample.sparse) {
    if (sample.sparse->binary) return {.scale = 0, .largest = 1, .clip = false};
    encoding.largest = std::max(encoding.largest, std::min(power_above(sample.sparse->largest), 0x1p20));
    encoding.clip = !sample.whole;
    return encoding;
  }
  bool binary = true;
  double most_equal = 1;  // a cell of several categories may say one of them again
  for (const ColumnGuess& guess : columns) {
    const prepare::ColumnSpec& column = guess.column;
    if (column.kind == ColumnKind::kIgnored) continue;
    if (column.kind == ColumnKind::kCategories)
      most_equal = std::max(most_equal, static_cast<double>(column.most_per_row));
    const ColumnProfile* profile = sample.find(column.name);
    // A missing number becomes a mean, which is no binary one.
    const bool fills = column.kind == ColumnKind::kNumeric && profile != nullptr && profile->missing() > 0;
    binary = binary && column.transform == prepare::Transform::kNone && !fills;
  }
  if (binary) return {.scale = 0, .largest = most_equal, .clip = false};
  encoding.largest = std::max(encoding.largest, most_equal);
  return encoding;
}

}  // namespace blindfl::app::init
