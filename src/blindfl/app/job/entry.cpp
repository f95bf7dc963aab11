#include "blindfl/app/job/entry.h"

#include <algorithm>

namespace blindfl::app::job {

namespace {

std::string braced(const std::vector<std::pair<std::string_view, std::string>>& texts) {
  std::string all;
  for (const auto& [name, text] : texts) all.append(all.empty() ? "" : ", ").append(name).append(": ").append(text);
  return "{" + all + "}";
}

}  // namespace

const Entry* Entries::find(std::string_view name) const {
  const auto found = std::ranges::find(all, name, &Entry::name);
  return found == all.end() ? nullptr : &*found;
}

std::string flow_text(const Entry& entry) {
  if (entry.form == Entry::Form::kOption) return entry.write();
  std::string text;
  for (const Entries& item : entry.items()) {
    text.append(text.empty() ? "" : ", ").append(braced(set_texts(item, entry.entries)));
  }
  return "[" + text + "]";
}

std::vector<std::pair<std::string_view, std::string>> set_texts(const Entries& item, const Entries& unset) {
  std::vector<std::pair<std::string_view, std::string>> texts;
  for (std::size_t i = 0; i < item.all.size(); ++i) {
    const Entry& entry = item.all[i];
    if (!is_set(entry, unset.all[i])) continue;
    const bool is_section = entry.form == Entry::Form::kSection;
    texts.emplace_back(entry.name,
                       is_section ? braced(set_texts(entry.entries, unset.all[i].entries)) : flow_text(entry));
  }
  return texts;
}

bool is_set(const Entry& entry, const Entry& unset) {
  if (entry.form == Entry::Form::kSection) {
    for (std::size_t i = 0; i < entry.entries.all.size(); ++i) {
      if (is_set(entry.entries.all[i], unset.entries.all[i])) return true;
    }
    return false;
  }
  return entry.rule.needed || flow_text(entry) != flow_text(unset);
}

std::string joined(std::string_view section, std::string_view name) {
  std::string key(section);
  if (!key.empty()) key += '.';
  return key.append(name);
}

}  // namespace blindfl::app::job
