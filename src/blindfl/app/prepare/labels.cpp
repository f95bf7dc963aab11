#include "blindfl/app/prepare/labels.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "blindfl/app/prepare/saved.h"
#include "blindfl/base/error.h"
#include "blindfl/data/number.h"

namespace blindfl::app {

namespace {

std::string text_of(double number) {
  std::array<char, 32> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  return {buffer.data(), result.ptr};
}

std::optional<double> number_of(std::string_view text) {
  const auto [parsed, number] = data::parse_real(text);
  return parsed == data::Parsed::kFine ? std::optional(number) : std::nullopt;
}

}  // namespace

LabelRule LabelRule::classes(const std::set<std::string>& distinct) {
  std::map<double, std::string> by_number;
  for (const std::string& text : distinct) {
    const std::optional<double> number = number_of(text);
    if (!number) {
      LabelRule rule(Kind::kWords);
      rule.names_.assign(distinct.begin(), distinct.end());
      return rule;
    }
    by_number.emplace(*number, text);
  }
  LabelRule rule(Kind::kNumbers);
  rule.numbers_.reserve(by_number.size());
  rule.names_.reserve(by_number.size());
  for (auto& [number, text] : by_number) {
    rule.numbers_.push_back(number);
    rule.names_.push_back(std::move(text));
  }
  return rule;
}

std::optional<double> LabelRule::encode(std::string_view text) const {
  if (kind_ != Kind::kWords) {
    const std::optional<double> number = number_of(text);
    return number ? encode(*number) : std::nullopt;
  }
  const auto at = std::ranges::lower_bound(names_, text, std::less<>());
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
  const auto at = std::ranges::lower_bound(numbers_, number);
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
  write_texts(out, names_);
}

LabelRule LabelRule::load(ByteSource& in) {
  const std::uint8_t kind = in.read_u8();
  require<DataError>(kind <= static_cast<std::uint8_t>(Kind::kCounts), "the saved labels are of no known kind");
  LabelRule rule(static_cast<Kind>(kind));
  rule.names_ = read_texts(in, kMostClasses);
  const bool has_classes = rule.kind_ == Kind::kNumbers || rule.kind_ == Kind::kWords;
  bool fine = has_classes == !rule.names_.empty();
  if (rule.kind_ == Kind::kNumbers) {
    rule.numbers_.reserve(rule.names_.size());
    for (const std::string& name : rule.names_) rule.numbers_.push_back(number_of(name).value_or(std::nan("")));
    fine = fine && std::ranges::adjacent_find(rule.numbers_, [](double x, double y) { return !(x < y); }) ==
                       rule.numbers_.end();
    fine = fine && std::isfinite(rule.numbers_.front());
  }
  if (rule.kind_ == Kind::kWords) {
    fine = fine && std::ranges::adjacent_find(rule.names_, std::greater_equal<>()) == rule.names_.end();
  }
  require<DataError>(fine, "the saved classes cannot be: they are not in order, or some are no numbers");
  return rule;
}

LabelFit::LabelFit(const job::Model& model, std::string where)
    : kind_(model.kind), classes_(model.class_count()), where_(std::move(where)) {}

void LabelFit::add(std::string_view text) {
  if (!job::is_classifier(kind_)) return;
  texts_.emplace(text);
  check_count();
}

void LabelFit::add(double number) {
  if (!job::is_classifier(kind_) || !numbers_.insert(number).second) return;
  texts_.insert(text_of(number));
  check_count();
}

void LabelFit::check_count() const {
  require<DataError>(texts_.size() <= LabelRule::kMostClasses, where_, ": more than ", LabelRule::kMostClasses,
                     " different labels, and the model has ", classes_,
                     " classes; are these the labels? For numbers, choose model kind linear or poisson");
}

LabelRule LabelFit::finish() const {
  if (kind_ == job::ModelKind::kLinear) return LabelRule::reals();
  if (kind_ == job::ModelKind::kPoisson) return LabelRule::counts();
  LabelRule rule = LabelRule::classes(texts_);
  const std::size_t count = rule.classes().size();
  require<DataError>(count == classes_, where_, ": ", count, " different labels, and the model has ", classes_,
                     " classes; are these the labels? See shared.model.classes");
  return rule;
}

}  // namespace blindfl::app
