#pragma once

#include <map>
#include <string>
#include <string_view>

#include "blindfl/app/job/entry.h"

namespace blindfl::app::job {

/// Which options and sections somebody set, and where: for checks that look at several of them.
class Given {
 public:
  explicit Given(std::string source) : source_(std::move(source)) {}

  void add(const std::string& key, std::string place) { places_.insert_or_assign(key, std::move(place)); }
  /// Of a list that is being replaced.
  void forget_items(const std::string& list);
  [[nodiscard]] bool has(std::string_view key) const { return places_.contains(key); }
  /// Where it was set, or else the nearest section around it, or else the whole source.
  [[nodiscard]] const std::string& place(std::string_view key) const;

 private:
  std::string source_;
  std::map<std::string, std::string, std::less<>> places_;
};

/// Sets the options of a job from YAML and from the command line. Everything throws ConfigError, with the place and the
/// whole key, for a key that there is not, with the nearest that there is, and for a value that the option cannot have.
class Reader {
 public:
  /// Reads into what `root` is bound to. `source` is for what is missing.
  Reader(const Entries& root, std::string source) : root_(root), given_(std::move(source)) {}

  void read(const YamlNode& document, const Origin& origin);
  /// `KEY=VALUE`, the value in YAML: a list is `[1, 2]`. Text and paths are taken as they are unless in quotes.
  void assign(std::string_view assignment);
  /// Throws if an option that is needed was not given.
  void check_complete() const { check_complete(root_, {}); }

  [[nodiscard]] const Given& given() const { return given_; }

 private:
  void read_entry(const Entry& entry, const std::string& key, const YamlNode& node, const Origin& origin);
  void read_section(const Entries& section, const std::string& key, const YamlNode& node, const Origin& origin);
  void read_list(const Entry& entry, const std::string& key, const YamlNode& node, const Origin& origin);
  [[nodiscard]] const Entry& find(const Entries& section, const std::string& key, std::string_view name,
                                  const std::string& place) const;
  [[nodiscard]] const Entry& find_path(std::string_view path) const;
  [[nodiscard]] std::string advice(const Entries& section, std::string_view name) const;
  void check_complete(const Entries& section, const std::string& key) const;

  const Entries& root_;
  Given given_;
};

}  // namespace blindfl::app::job
