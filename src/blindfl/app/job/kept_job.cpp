#include "blindfl/app/job/kept_job.h"

#include <algorithm>
#include <array>
#include <optional>

#include "blindfl/app/job/reader.h"
#include "blindfl/base/disk_file.h"
#include "blindfl/base/error.h"

namespace blindfl::app::job {

namespace {

constexpr std::size_t kShownValue = 120;

/// Options of `private` by which a run is another, and what is in them that may change.
constexpr std::array<std::string_view, 3> kPrivate = {"private.party", "private.data", "private.top"};
constexpr std::array<std::string_view, 3> kFiles = {"private.data.train", "private.data.test", "private.data.score"};

void write_options(const Entries& section, std::size_t indent, std::string& text) {
  for (const Entry& entry : section.all) {
    if (entry.form == Entry::Form::kSection) {
      text.append(indent, ' ').append(entry.name).append(":\n");
      write_options(entry.entries, indent + 2, text);
      continue;
    }
    const std::string value = entry.rule.secret ? std::string() : flow_text(entry);
    text.append(indent, ' ').append(value.empty() ? "# " : "").append(entry.name).append(": ");
    text.append(!value.empty()      ? std::string_view(value)
                : entry.rule.secret ? std::string_view("secret, and not kept")
                                    : entry.rule.otherwise);
    text += '\n';
  }
}

void make_absolute(std::optional<std::filesystem::path>& path) {
  if (path) path = std::filesystem::absolute(*path).lexically_normal();
}

Job with_absolute_paths(const Job& job) {
  Job copy = job;
  for (auto* path : {&copy.own.data.train, &copy.own.data.test, &copy.own.data.score, &copy.own.link.certificate,
                     &copy.own.link.key, &copy.own.link.peer}) {
    make_absolute(*path);
  }
  const auto absolute = [](auto& parties) {
    for (auto& each : parties) each.certificate = std::filesystem::absolute(each.certificate).lexically_normal();
  };
  absolute(copy.own.link.peers);
  absolute(copy.own.link.others);
  copy.own.run.folder = std::filesystem::absolute(copy.own.run.folder).lexically_normal();
  return copy;
}

bool is_in(std::string_view key, std::string_view section) {
  return key == section || (key.starts_with(section) && key[section.size()] == '.');
}

/// A run is one of the parties that it began with. Those of an A come in whatever order.
std::string as_of(const Link& link) {
  std::vector<std::string> names = link.names_of_as();
  if (link.peers.empty()) std::ranges::sort(names);
  std::string text;
  for (const std::string& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text.empty() ? "one A" : text;
}

bool decides(std::string_view key) {
  if (is_in(key, "shared")) return true;
  return std::ranges::any_of(kPrivate, [&](std::string_view part) { return is_in(key, part); }) &&
         std::ranges::find(kFiles, key) == kFiles.end();
}

/// What an option stands for that a file lacks, since it was written before there was that option.
Job of_earlier_version() {
  Job job;
  job.shared.model.top = protocol::Top::kOpen;  // the only one there was, whatever the default is now
  return job;
}

std::string shown(const Entry& entry) {
  std::string text = flow_text(entry);
  if (text.empty()) return entry.rule.otherwise.empty() ? "nothing" : std::string(entry.rule.otherwise);
  if (text.size() > kShownValue) text = text.substr(0, kShownValue) + "...";
  return text;
}

void add_assignments(const Entries& section, const std::string& key, std::string& text) {
  for (const Entry& entry : section.all) {
    const std::string inner = joined(key, entry.name);
    if (entry.form == Entry::Form::kSection) {
      add_assignments(entry.entries, inner, text);
    } else if (const std::string value = flow_text(entry); !value.empty()) {
      text.append(inner).append("=").append(value).append("\n");
    }
  }
}

void add_changes(const Entries& was, const Entries& is, const std::string& key, std::vector<std::string>& all) {
  for (std::size_t i = 0; i < is.all.size(); ++i) {
    const Entry& entry = is.all[i];
    const std::string inner = joined(key, entry.name);
    if (entry.form == Entry::Form::kSection) {
      add_changes(was.all[i].entries, entry.entries, inner, all);
    } else if (decides(inner) && !entry.rule.secret && flow_text(entry) != flow_text(was.all[i])) {
      all.push_back(inner + " was " + shown(was.all[i]) + ", is " + shown(entry));
    }
  }
}

}  // namespace

std::string kept_text(const Job& job) {
  Job copy = with_absolute_paths(job);
  std::string text = "# The job that this run began with: its file, --set and defaults together.\n";
  write_options(entries_of(copy), 0, text);
  return text;
}

Job parse_kept(std::string_view text, const std::string& source) {
  Job job = of_earlier_version();
  const Entries entries = entries_of(job);
  Reader reader(entries, source);
  reader.read(parse_yaml(text, source), {.source = source});
  reader.check_complete();
  return job;
}

Job load_kept(const std::filesystem::path& path) {
  DiskFile file = DiskFile::open(path);
  std::string text(kMaxYamlBytes + 1, '\0');  // one more than is allowed, so that more is noticed
  text.resize(file.read_some(std::as_writable_bytes(std::span(text))));
  return parse_kept(text, path.string());
}

std::string kept_shared(const Shared& shared) {
  Shared copy = shared;
  std::string text;
  add_assignments(entries_of(copy), {}, text);
  return text;
}

Shared parse_kept_shared(std::string_view text) {
  Shared shared = of_earlier_version().shared;
  const Entries entries = entries_of(shared);
  Reader reader(entries, "the saved model");
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    require<DataError>(end != std::string_view::npos, "its settings are cut short");
    reader.assign(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  reader.check_complete();
  return shared;
}

std::vector<std::string> changes(const Job& was, const Job& is) {
  Job before = was;
  Job now = is;
  std::vector<std::string> all;
  add_changes(entries_of(before), entries_of(now), {}, all);
  if (as_of(was.own.link) != as_of(is.own.link)) {
    const std::string_view list = is.own.party == Party::kB ? "private.link.peers" : "private.link.others";
    all.push_back(std::string(list) + " was " + as_of(was.own.link) + ", is " + as_of(is.own.link));
  }
  return all;
}

}  // namespace blindfl::app::job
