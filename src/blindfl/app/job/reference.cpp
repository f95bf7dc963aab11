#include "blindfl/app/job/reference.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "blindfl/app/cli/suggestion.h"
#include "blindfl/app/job/job.h"
#include "blindfl/app/job/lines.h"
#include "blindfl/base/error.h"

namespace blindfl::app::job {

namespace {

constexpr std::string_view kIntroduction = R"(# Parameters

Every option of a job file. `blindfl parameters --markdown` prints this page from the structs that hold the options; a test
compares the two.

A job file is YAML, one per party. The section `shared` must be the same at both, which is compared before anything else
happens; `private` is each party's own:

```yaml
shared:
  model: {kind: mlp, hidden: [64, 16]}
  training: {epochs: 5, learning_rate: 0.1}
  alignment: {mode: aligned}
private:
  party: b
  data: {train: loans.csv, id_column: customer, label_column: defaulted, default_kind: numeric}
  link: {dial: "a.example.com:7000", certificate: keys/b.crt, key: keys/b.key, peer: keys/a.crt}
```

`--set shared.training.epochs=20` on the command line wins over the file; lists are written `[64, 16]`. Relative paths begin at
the folder of the job file, those after `--set` where the program runs. A file has no anchors, aliases or tags, and no key twice.
)";

constexpr std::size_t kTextWidth = 120;
constexpr std::size_t kNameWidth = 20;

/// A section, or what the items of a list may say, with its whole key.
struct Table {
  std::string key;
  std::string_view meaning;
  const Entries* entries;
};

void collect(const Entries& entries, const std::string& key, std::string_view meaning, std::vector<Table>& tables) {
  const auto is_option = [](const Entry& entry) { return entry.form != Entry::Form::kSection; };
  if (std::ranges::any_of(entries.all, is_option)) tables.push_back({key, meaning, &entries});
  for (const Entry& entry : entries.all) {
    const std::string inner = joined(key, entry.name);
    if (entry.form == Entry::Form::kSection) collect(entry.entries, inner, entry.meaning, tables);
    if (entry.form == Entry::Form::kList) collect(entry.entries, inner + "[]", entry.meaning, tables);
  }
}

void write_table(std::string& page, const Table& table) {
  page.append("\n## ").append(table.key).append("\n\n");
  std::string meaning(table.meaning);
  meaning.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(meaning.front())));
  page.append(meaning).append(".\n\n| key | type | default | meaning |\n|---|---|---|---|\n");
  for (const Entry& entry : table.entries->all) {
    if (entry.form == Entry::Form::kSection) continue;
    const std::string text = flow_text(entry);
    const std::string standard = entry.rule.needed ? "needed"
                                 : text.empty()    ? std::string(entry.rule.otherwise)
                                                   : "`" + text + "`";
    page.append("| `").append(entry.name).append("` | ").append(entry.type.one).append(" | ").append(standard);
    page.append(" | ").append(entry.meaning).append(" |\n");
  }
}

void write_text(std::string& page, const Entry& entry) {
  std::string name = "  " + std::string(entry.name);
  name.resize(std::max(kNameWidth + 2, name.size() + 1), ' ');
  for (const std::string& line : broken_into_lines(explanation(entry, flow_text(entry)), kTextWidth - name.size())) {
    page.append(name).append(line).append("\n");
    name.assign(name.size(), ' ');
  }
}

/// Whether an option is `only`, or in it.
bool is_part(std::string_view key, std::string_view only) {
  if (only.empty() || key == only) return true;
  return key.starts_with(only) && (key[only.size()] == '.' || key[only.size()] == '[');
}

[[noreturn]] void refuse(std::string_view only, const std::vector<std::string>& keys) {
  const std::string_view meant = nearest(only, std::vector<std::string_view>(keys.begin(), keys.end()));
  std::string advice;
  if (!meant.empty()) advice.append("; did you mean ").append(meant).append("?");
  fail<ConfigError>("there is no '", excerpt(only), "' in a job file", advice);
}

}  // namespace

std::string explanation(const Entry& entry, std::string_view standard) {
  std::string text(entry.meaning);
  text.append(" (").append(entry.type.one);
  if (entry.rule.needed) {
    text += "; needed";
  } else if (!entry.rule.otherwise.empty()) {
    text.append("; if left out: ").append(entry.rule.otherwise);
  } else if (!standard.empty()) {
    text.append("; default: ").append(standard);
  }
  return text + ")";
}

std::string reference_page() {
  Job job;
  const Entries entries = entries_of(job);
  std::vector<Table> tables;
  collect(entries, {}, {}, tables);
  std::string page(kIntroduction);
  for (const Table& table : tables) write_table(page, table);
  return page;
}

std::string reference_text(std::string_view only) {
  Job job;
  const Entries entries = entries_of(job);
  std::vector<Table> tables;
  collect(entries, {}, {}, tables);
  std::string page;
  std::vector<std::string> keys;
  for (const Table& table : tables) {
    keys.push_back(table.key);
    std::string section;
    for (const Entry& entry : table.entries->all) {
      if (entry.form == Entry::Form::kSection) continue;
      keys.push_back(joined(table.key, entry.name));
      if (is_part(keys.back(), only)) write_text(section, entry);
    }
    if (section.empty()) continue;
    page.append(page.empty() ? "" : "\n").append(table.key).append(": ").append(table.meaning).append("\n");
    page.append(section);
  }
  if (page.empty()) refuse(only, keys);
  return page;
}

}  // namespace blindfl::app::job
