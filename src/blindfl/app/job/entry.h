#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blindfl/app/job/value.h"
#include "blindfl/prepare/spec.h"
#include "blindfl/tensor/fixed_point.h"

// The one description of a section. Its struct has a function `entries_of`, which names the members and says what they
// mean; parsing, `--set`, the reference, `--help`, the commented job file and the comparison between the parties all
// come from there.

namespace blindfl::app::job {

struct Entry;
struct Entries;

// Sections whose structs are those of other rooms: a template does not find these functions by itself.
[[nodiscard]] Entries entries_of(FixedPointSpec& encoding);
[[nodiscard]] Entries entries_of(prepare::VocabularySpec& vocabulary);
[[nodiscard]] Entries entries_of(prepare::ColumnSpec& column);

/// What a section holds, bound to one object of its struct, which must outlive it.
struct Entries {
  std::vector<Entry> all;

  /// An option of type T (see value.h), a section in this one, or a list of sections. The defaults are those of the
  /// struct.
  template <class T>
  Entries& add(std::string_view name, T& member, std::string_view meaning, Rule rule = {});

  [[nodiscard]] const Entry* find(std::string_view name) const;
};

/// One option of a job file, or one section.
struct Entry {
  enum class Form { kOption, kSection, kList };

  Form form = Form::kOption;
  std::string_view name;
  std::string_view meaning;
  Rule rule;
  TypeWords type;
  bool is_text = false;  ///< `--set` takes it as it is

  /// Sets the option. Throws ConfigError if the node does not fit.
  std::function<void(const YamlNode& node, const Where& where)> read;
  /// The option's value as YAML on one line; nothing if it has none.
  std::function<std::string()> write;

  /// Of a section. Of a list, those of an item that nobody has set.
  Entries entries;
  /// Of a list: makes it empty; adds an item, whose entries are bound until the next is added; all items.
  std::function<void()> clear;
  std::function<Entries()> append;
  std::function<std::vector<Entries>()> items;
};

template <class T>
concept Section = requires(T& section) {
  { entries_of(section) } -> std::same_as<Entries>;
};

template <class T>
struct IsSectionList : std::false_type {};
template <Section T>
struct IsSectionList<std::vector<T>> : std::true_type {};

template <Section T>
void bind_list(Entry& entry, std::vector<T>& list) {
  static T unset{};
  entry.form = Entry::Form::kList;
  entry.type = {.article = "a ", .one = "list of maps", .many = "lists"};
  entry.entries = entries_of(unset);
  entry.clear = [&list] { list.clear(); };
  entry.append = [&list] { return entries_of(list.emplace_back()); };
  entry.items = [&list] {
    std::vector<Entries> all;
    all.reserve(list.size());
    for (T& item : list) all.push_back(entries_of(item));
    return all;
  };
}

template <class T>
Entries& Entries::add(std::string_view name, T& member, std::string_view meaning, Rule rule) {
  Entry entry;
  entry.name = name;
  entry.meaning = meaning;
  entry.rule = std::move(rule);
  if constexpr (Section<T>) {
    entry.form = Entry::Form::kSection;
    entry.entries = entries_of(member);
  } else if constexpr (IsSectionList<T>::value) {
    bind_list(entry, member);
  } else {
    entry.type = Value<T>::type(entry.rule);
    entry.is_text = kIsText<T>;
    entry.read = [&member](const YamlNode& node, const Where& where) { member = Value<T>::read(node, where); };
    entry.write = [&member] { return Value<T>::write(member); };
  }
  all.push_back(std::move(entry));
  return *this;
}

/// What an option or a list says, on one line: `[{name: age, kind: numeric}]`.
[[nodiscard]] std::string flow_text(const Entry& entry);

/// Whether somebody set this option, or anything in this section; `unset` is the same entry where nobody has.
[[nodiscard]] bool is_set(const Entry& entry, const Entry& unset);

/// Names and values, each on one line, of what an item of a list has set.
[[nodiscard]] std::vector<std::pair<std::string_view, std::string>> set_texts(const Entries& item,
                                                                              const Entries& unset);

/// "shared.model" and "kind" make "shared.model.kind".
[[nodiscard]] std::string joined(std::string_view section, std::string_view name);

}  // namespace blindfl::app::job
