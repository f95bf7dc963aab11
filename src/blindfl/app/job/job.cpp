#include "blindfl/app/job/job.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "blindfl/app/job/check.h"
#include "blindfl/app/job/reader.h"
#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "blindfl/base/text.h"

namespace blindfl::app::job {

namespace {

// All settings together must fit into what Session sends where the parties disagree: 4096 bytes.
constexpr std::size_t kLongestSetting = 160;
constexpr std::size_t kShownSetting = 120;
constexpr std::size_t kShownDigest = 4;

std::string read_file(const std::filesystem::path& path) {
  std::error_code unreadable;
  require<ConfigError>(!std::filesystem::is_directory(path, unreadable), path.string(),
                       ": is a folder, and not a job file");
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  require<ConfigError>(in.is_open(), path.string(), ": cannot be opened: ", std::strerror(errno),
                       "; check the path, or make a job file with `blindfl init`");
  std::string text(kMaxYamlBytes + 1, '\0');  // one more than is allowed, so that more is noticed
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  require<ConfigError>(!in.bad(), path.string(), ": cannot be read");
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

void add_settings(const Entries& section, const std::string& key, protocol::Settings& settings) {
  for (const Entry& entry : section.all) {
    const std::string inner = joined(key, entry.name);
    if (entry.form == Entry::Form::kSection) {
      add_settings(entry.entries, inner, settings);
      continue;
    }
    std::string text = flow_text(entry);
    if (text.size() > kLongestSetting) {
      const Bytes digest = digest_of(text);
      text = text.substr(0, kShownSetting) +
             "... (digest of all of it: " + to_hex(ByteView(digest).first(kShownDigest)) + ")";
    }
    settings.add(inner, text.empty() ? "none" : std::string_view(text));
  }
}

void write_set(const Entries& section, const Entries& unset, std::size_t indent, std::string& text) {
  for (std::size_t i = 0; i < section.all.size(); ++i) {
    const Entry& entry = section.all[i];
    if (!is_set(entry, unset.all[i])) continue;
    text.append(indent, ' ').append(entry.name).append(":");
    if (entry.form == Entry::Form::kSection) {
      text += '\n';
      write_set(entry.entries, unset.all[i].entries, indent + 2, text);
    } else {
      text.append(" ").append(flow_text(entry)).append("\n");
    }
  }
}

}  // namespace

Entries entries_of(Job& job) {
  return Entries()
      .add("shared", job.shared, "both parties say the same here, which is compared before anything else happens",
           {.synonyms = {"common", "public"}})
      .add("private", job.own, "each party says its own here", {.synonyms = {"own", "local"}});
}

Job load_job(const std::filesystem::path& path, std::span<const std::string> overrides) {
  return parse_job(read_file(path), {.source = path.string(), .folder = path.parent_path()}, overrides);
}

Job parse_job(std::string_view text, const Origin& origin, std::span<const std::string> overrides) {
  Job job;
  const Entries entries = entries_of(job);
  Reader reader(entries, origin.source);
  reader.read(parse_yaml(text, origin.source), origin);
  for (const std::string& assignment : overrides) reader.assign(assignment);
  // A default is what the file would say.
  if (!reader.given().has("private.run.folder")) job.own.run.folder = origin.folder / job.own.run.folder;
  reader.check_complete();
  check_shared(job.shared, reader.given());
  check_own(job, reader.given());
  return job;
}

Shared load_shared(const std::filesystem::path& path) {
  Job job;
  const Entries entries = entries_of(job);
  const Origin origin{.source = path.string(), .folder = path.parent_path()};
  Reader reader(entries, origin.source);
  reader.read(parse_yaml(read_file(path), origin.source), origin);
  if (!reader.given().has("private.party")) reader.assign("private.party=a");
  reader.check_complete();
  check_shared(job.shared, reader.given());
  return job.shared;
}

std::string shared_text(const Shared& shared) {
  Shared copy = shared;
  Shared unset;
  std::string text = "shared:\n";
  write_set(entries_of(copy), entries_of(unset), 2, text);
  return text;
}

protocol::Settings shared_settings(const Shared& shared) {
  Shared copy = shared;
  protocol::Settings settings;
  add_settings(entries_of(copy), {}, settings);
  return settings;
}

}  // namespace blindfl::app::job
