#include "blindfl/app/job/reader.h"

#include <algorithm>
#include <utility>

#include "blindfl/app/cli/suggestion.h"
#include "blindfl/base/error.h"
#include "blindfl/base/utf8.h"

namespace blindfl::app::job {

namespace {

constexpr std::string_view kCommandLine = "--set";
const Rule kNoRule;

std::string section_name(std::string_view key) {
  return key.empty() ? "a job" : std::string(key);
}

bool is_synonym(const Entry& entry, std::string_view name) {
  return std::ranges::find(entry.rule.synonyms, name) != entry.rule.synonyms.end();
}

/// The whole key of the first option or section for which `is_it` holds; empty if there is none.
template <class IsIt>
std::string find_anywhere(const Entries& section, const std::string& key, const IsIt& is_it) {
  for (const Entry& entry : section.all) {
    std::string inner = joined(key, entry.name);
    if (is_it(entry)) return inner;
    if (entry.form != Entry::Form::kSection) continue;
    if (std::string found = find_anywhere(entry.entries, inner, is_it); !found.empty()) return found;
  }
  return {};
}

/// Whoever writes `label: y` means `label_column`, and not the section `label`.
void check_not_cut_short(const Entries& section, const Entry& entry, const YamlNode& node, const std::string& place,
                         const std::string& key) {
  if (entry.form != Entry::Form::kSection || node.kind != YamlNode::Kind::kScalar) return;
  const std::string begin = std::string(entry.name) + "_";
  const auto meant = std::ranges::find_if(section.all, [&](const Entry& each) { return each.name.starts_with(begin); });
  require<ConfigError>(meant == section.all.end(), place, ": ", key, " is a map of options; did you mean ",
                       meant == section.all.end() ? std::string_view() : meant->name, "?");
}

/// An option's value from the command line.
YamlNode parse_value(const Entry& entry, std::string_view text, std::string_view key) {
  const bool in_quotes = text.starts_with('"') || text.starts_with('\'');
  if (entry.is_text && !in_quotes) {
    require<ConfigError>(is_utf8(text), kCommandLine, ": ", key, " is not UTF-8");
    return {.kind = text.empty() ? YamlNode::Kind::kNull : YamlNode::Kind::kScalar, .text = std::string(text)};
  }
  return parse_yaml(text, std::string(kCommandLine).append(" ").append(key));
}

}  // namespace

const std::string& Given::place(std::string_view key) const {
  for (std::string_view outer = key; !outer.empty();) {
    const auto found = places_.find(outer);
    if (found != places_.end()) return found->second;
    const std::size_t cut = outer.find_last_of(".[");
    outer = cut == std::string_view::npos ? std::string_view() : outer.substr(0, cut);
  }
  return source_;
}

void Given::forget_items(const std::string& list) {
  std::erase_if(places_, [&](const auto& each) { return each.first.starts_with(list + "["); });
}

void Reader::read(const YamlNode& document, const Origin& origin) {
  require<ConfigError>(document.kind != YamlNode::Kind::kNull, origin.source,
                       ": is empty; `blindfl parameters` lists what a job file may say");
  read_section(root_, {}, document, origin);
}

void Reader::read_entry(const Entry& entry, const std::string& key, const YamlNode& node, const Origin& origin) {
  switch (entry.form) {
    case Entry::Form::kOption:
      entry.read(node, {.origin = origin, .key = key, .rule = entry.rule});
      break;
    case Entry::Form::kSection:
      read_section(entry.entries, key, node, origin);
      break;
    case Entry::Form::kList:
      read_list(entry, key, node, origin);
      break;
  }
}

void Reader::read_section(const Entries& section, const std::string& key, const YamlNode& node, const Origin& origin) {
  const Where where{.origin = origin, .key = section_name(key), .rule = kNoRule};
  if (node.kind != YamlNode::Kind::kMap) where.refuse(node, {.article = "a ", .one = "map of options", .many = {}});
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    const std::string place = where.place(node.keys[i].position);
    const Entry& entry = find(section, key, node.keys[i].text, place);
    const std::string inner = joined(key, entry.name);
    // A section whose lines are all comments says nothing.
    if (entry.form == Entry::Form::kSection && node.items[i].kind == YamlNode::Kind::kNull) continue;
    given_.add(inner, place);
    check_not_cut_short(section, entry, node.items[i], place, inner);
    read_entry(entry, inner, node.items[i], origin);
  }
}

void Reader::read_list(const Entry& entry, const std::string& key, const YamlNode& node, const Origin& origin) {
  const Where where{.origin = origin, .key = key, .rule = entry.rule};
  where.check_list(node, entry.type);
  entry.clear();
  given_.forget_items(key);
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const std::string item_key = where.item(i).key;
    const Entries item = entry.append();
    given_.add(item_key, where.place(node.items[i].position));
    read_section(item, item_key, node.items[i], origin);
    check_complete(item, item_key);
  }
}

const Entry& Reader::find(const Entries& section, const std::string& key, std::string_view name,
                          const std::string& place) const {
  const Entry* const found = section.find(name);
  require<ConfigError>(found != nullptr, place, ": there is no '", excerpt(name), "' in ", section_name(key),
                       advice(section, name));
  return *found;
}

std::string Reader::advice(const Entries& section, std::string_view name) const {
  const auto is_called = [&](const Entry& entry) { return is_synonym(entry, name); };
  std::vector<std::string_view> names;
  for (const Entry& entry : section.all) names.push_back(entry.name);
  std::string meant;
  if (const auto found = std::ranges::find_if(section.all, is_called); found != section.all.end()) meant = found->name;
  if (meant.empty()) meant = nearest(name, names);
  if (meant.empty()) meant = find_anywhere(root_, {}, [&](const Entry& entry) { return entry.name == name; });
  if (meant.empty()) meant = find_anywhere(root_, {}, is_called);
  if (!meant.empty()) return "; did you mean " + meant + "?";
  std::string all;
  for (const std::string_view each : names) all.append(all.empty() ? "" : ", ").append(each);
  return "; there is: " + all;
}

const Entry& Reader::find_path(std::string_view path) const {
  const Entries* section = &root_;
  std::string key;
  while (true) {
    const std::string_view name = path.substr(0, path.find_first_of(".["));
    const Entry& entry = find(*section, key, name, std::string(kCommandLine));
    key = joined(key, name);
    if (name.size() == path.size()) return entry;
    require<ConfigError>(entry.form != Entry::Form::kList, kCommandLine, ": ", key,
                         " is a list: give all of it, as in ", kCommandLine, " '", key, "=[{...}, {...}]'");
    require<ConfigError>(entry.form == Entry::Form::kSection, kCommandLine, ": ", key, " is one value, and has no '",
                         excerpt(path.substr(name.size() + 1)), "'");
    section = &entry.entries;
    path.remove_prefix(name.size() + 1);
  }
}

void Reader::assign(std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  require<ConfigError>(equals != std::string_view::npos && equals > 0, kCommandLine,
                       " needs KEY=VALUE, as in --set shared.training.epochs=5");
  const std::string key(assignment.substr(0, equals));
  const Entry& entry = find_path(key);
  const Origin origin{.source = std::string(kCommandLine), .has_lines = false};
  given_.add(key, origin.source);
  read_entry(entry, key, parse_value(entry, assignment.substr(equals + 1), key), origin);
}

void Reader::check_complete(const Entries& section, const std::string& key) const {
  for (const Entry& entry : section.all) {
    const std::string inner = joined(key, entry.name);
    if (entry.form == Entry::Form::kSection) check_complete(entry.entries, inner);
    if (!entry.rule.needed || given_.has(inner)) continue;
    fail<ConfigError>(given_.place(key), ": ", inner, " is missing: ", entry.meaning, " (", entry.type.one, ")");
  }
}

}  // namespace blindfl::app::job
