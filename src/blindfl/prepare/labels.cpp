#include "blindfl/prepare/labels.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/base/number_text.h"
#include "blindfl/data/number.h"
#include "blindfl/prepare/saved.h"

namespace blindfl::prepare {

namespace {

std::optional<double> number_of(std::string_view text) {
  const auto [parsed, number] = data::parse_real(text);
  return parsed == data::Parsed::kFine ? std::optional(number) : std::nullopt;
}

}  // namespace

LabelRule LabelRule::classes(const std::set<std::string>& distinct, const std::optional<std::string>& positive) {
  std::map<double, std::string> by_number;
  bool are_numbers = true;
  for (const std::string& text : distinct) {
    const std::optional<double> number = number_of(text);
    are_numbers = are_numbers && number.has_value();
    if (number) by_number.emplace(*number, text);
  }
  LabelRule rule(are_numbers ? Kind::kNumbers : Kind::kWords);
  if (are_numbers) {
    for (auto& [number, text] : by_number) {
      rule.numbers_.push_back(number);
      rule.names_.push_back(std::move(text));
    }
  } else {
    rule.names_.assign(distinct.begin(), distinct.end());
  }
  if (positive) rule.choose_positive(*positive);
  return rule;
}

void LabelRule::choose_positive(const std::string& positive) {
  const std::optional<double> label = encode(positive);
  require<ConfigError>(names_.size() == 2 && label,
                       "private.data.label.positive is none of the two labels of the training file; write it as the "
                       "file does");
  if (*label == 0) swap_classes();
}

void LabelRule::swap_classes() {
  std::ranges::reverse(names_);
  std::ranges::reverse(numbers_);
  swapped_ = true;
}

std::optional<double> LabelRule::encode(std::string_view text) const {
  if (kind_ != Kind::kWords) {
    const std::optional<double> number = number_of(text);
    return number ? encode(*number) : std::nullopt;
  }
  const auto at = swapped_ ? std::ranges::find(names_, text) : std::ranges::lower_bound(names_, text, std::less<>());
  if (at == names_.end() || *at != text) return std::nullopt;
  return static_cast<double>(at - names_.begin());
}

std::optional<double> LabelRule::encode(double number) const {
  switch (kind_) {
    case Kind::kNone:
    case Kind::kWords:
      return std::nullopt;
    case Kind::kReals:
      return number;
    case Kind::kCounts:
      return number >= 0 && number == std::floor(number) ? std::optional(number) : std::nullopt;
    case Kind::kNumbers:
      break;
  }
  const auto at = swapped_ ? std::ranges::find(numbers_, number) : std::ranges::lower_bound(numbers_, number);
  if (at == numbers_.end() || *at != number) return std::nullopt;
  return static_cast<double>(at - numbers_.begin());
}

std::string_view LabelRule::fault() const {
  switch (kind_) {
    case Kind::kNone:
      return "there should be no label";
    case Kind::kReals:
      return "the label is not a finite number";
    case Kind::kCounts:
      return "the label is not a whole number from 0 on, which a count is";
    case Kind::kNumbers:
    case Kind::kWords:
      break;
  }
  return "the label is none of those that the training file has";
}

void LabelRule::save(ByteSink& out) const {
  out.write_u8(static_cast<std::uint8_t>(kind_));
  std::vector<std::string> ascending = names_;
  if (swapped_) std::ranges::reverse(ascending);
  write_texts(out, ascending);
  out.write_u8(swapped_ ? 1 : 0);
}

LabelRule LabelRule::load(ByteSource& in) {
  const std::uint8_t kind = in.read_u8();
  require<DataError>(kind <= static_cast<std::uint8_t>(Kind::kCounts), "the saved labels are of no known kind");
  LabelRule rule(static_cast<Kind>(kind));
  rule.load_names(in);
  const bool swapped = in.read_flag();
  require<DataError>(!swapped || rule.names_.size() == 2, "the saved classes cannot be: the positive one is none");
  if (swapped) rule.swap_classes();
  return rule;
}

void LabelRule::load_names(ByteSource& in) {
  names_ = read_texts(in, kMostClasses);
  const bool has_classes = kind_ == Kind::kNumbers || kind_ == Kind::kWords;
  bool fine = has_classes == !names_.empty();
  if (kind_ == Kind::kNumbers) {
    numbers_.reserve(names_.size());
    for (const std::string& name : names_) numbers_.push_back(number_of(name).value_or(std::nan("")));
    fine = fine && std::ranges::adjacent_find(numbers_, [](double x, double y) { return !(x < y); }) == numbers_.end();
    fine = fine && std::isfinite(numbers_.front());
  }
  if (kind_ == Kind::kWords) {
    fine = fine && std::ranges::adjacent_find(names_, std::greater_equal<>()) == names_.end();
  }
  require<DataError>(fine, "the saved classes cannot be: they are not in order, or some are no numbers");
}

LabelFit::LabelFit(LabelSpec spec, std::string where) : spec_(std::move(spec)), where_(std::move(where)) {}

void LabelFit::add(std::string_view text) {
  if (spec_.kind != LabelSpec::Kind::kClasses) return;
  texts_.emplace(text);
  check_count();
}

void LabelFit::add(double number) {
  if (spec_.kind != LabelSpec::Kind::kClasses || !numbers_.insert(number).second) return;
  texts_.insert(exact_text(number));
  check_count();
}

void LabelFit::check_count() const {
  require<DataError>(texts_.size() <= LabelRule::kMostClasses, where_, ": more than ", LabelRule::kMostClasses,
                     " different labels, and the model has ", spec_.classes,
                     " classes; are these the labels? For numbers, choose model kind linear or poisson");
}

LabelRule LabelFit::finish() const {
  if (spec_.kind == LabelSpec::Kind::kReals) return LabelRule::reals();
  if (spec_.kind == LabelSpec::Kind::kCounts) return LabelRule::counts();
  const std::size_t count = LabelRule::classes(texts_).classes().size();
  require<DataError>(count == spec_.classes, where_, ": ", count, " different labels, and the model has ",
                     spec_.classes, " classes; are these the labels? See shared.model.classes");
  return LabelRule::classes(texts_, spec_.positive);
}

}  // namespace blindfl::prepare
