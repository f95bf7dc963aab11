#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/prepare/spec.h"

namespace blindfl::prepare {

/// What labels are, and which number each becomes. Private to B.
class LabelRule {
 public:
  enum class Kind : std::uint8_t {
    kNone,     ///< there are none: A's rule
    kNumbers,  ///< classes that are numbers, so that 1 and +1.0 are one
    kWords,    ///< classes that are words
    kReals,
    kCounts,  ///< 0, 1, 2, ...
  };
  static constexpr std::size_t kMostClasses = 10000;

  LabelRule() = default;
  [[nodiscard]] static LabelRule reals() { return LabelRule(Kind::kReals); }
  [[nodiscard]] static LabelRule counts() { return LabelRule(Kind::kCounts); }
  /// Numbers if all of them are, else words; in their order they are 0, 1, 2, ..., but of two the positive one is 1:
  /// the second, unless `positive` names the first. Throws ConfigError if it names neither.
  [[nodiscard]] static LabelRule classes(const std::set<std::string>& distinct,
                                         const std::optional<std::string>& positive = std::nullopt);

  [[nodiscard]] Kind kind() const { return kind_; }
  /// One for each class, as the training file has it, in the order of their numbers; none if labels are numbers.
  [[nodiscard]] const std::vector<std::string>& classes() const { return names_; }

  /// None if it is no label.
  [[nodiscard]] std::optional<double> encode(std::string_view text) const;
  [[nodiscard]] std::optional<double> encode(double number) const;
  /// What is wrong with one that is none.
  [[nodiscard]] std::string_view fault() const;

  void save(ByteSink& out) const;
  /// Throws DataError if `in` is not what `save()` wrote.
  [[nodiscard]] static LabelRule load(ByteSource& in);

 private:
  explicit LabelRule(Kind kind) : kind_(kind) {}
  void load_names(ByteSource& in);
  void choose_positive(const std::string& positive);
  void swap_classes();

  Kind kind_ = Kind::kNone;
  std::vector<std::string> names_;
  std::vector<double> numbers_;  ///< of `names_`
  bool swapped_ = false;         ///< there are two, and the first is the positive one: `names_` descends
};

/// Learns the rule from the labels of the training file, of which it keeps one of each.
class LabelFit {
 public:
  /// `where` begins the errors: the file and, if it has one, the column.
  LabelFit(LabelSpec spec, std::string where);

  /// Throw DataError if there are more different ones than any model has classes.
  void add(std::string_view text);
  void add(double number);

  /// Throws DataError, with the counts, if there are not as many classes as the model has; ConfigError if the positive
  /// one is none of them.
  [[nodiscard]] LabelRule finish() const;

 private:
  void check_count() const;

  LabelSpec spec_;
  std::string where_;
  std::set<std::string> texts_;
  std::set<double> numbers_;
};

}  // namespace blindfl::prepare
