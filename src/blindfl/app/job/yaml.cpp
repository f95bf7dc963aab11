#include "blindfl/app/job/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include "blindfl/app/job/characters.h"
#include "blindfl/base/error.h"
#include "blindfl/base/text.h"

namespace blindfl::app::job {

namespace {

Position position_of(const YAML::Mark& mark) {
  return mark.is_null() ? Position{} : Position{mark.line + 1, mark.column + 1};
}

/// Makes nodes of what yaml-cpp reads, and stops it where it should not continue.
class Builder final : public YAML::EventHandler {
 public:
  Builder(std::string_view text, std::string_view source) : text_(text), source_(source) {}

  [[nodiscard]] YamlNode take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    ++documents_;
    check(documents_ == 1, position_of(mark),
          "another document begins here, and a job file is one; is the indentation right?");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    check_plain(mark, "?", anchor);
    add({.kind = YamlNode::Kind::kNull, .position = position_of(mark)});
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override { check_plain(mark, "?", 1); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const bool quoted = tag == "!";
    check_plain(mark, quoted ? "?" : tag, anchor);
    if (quoted) check_closed(mark);
    add({.kind = YamlNode::Kind::kScalar, .position = position_of(mark), .text = value, .quoted = quoted});
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    begin(mark, tag, anchor, YamlNode::Kind::kList);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    begin(mark, tag, anchor, YamlNode::Kind::kMap);
  }
  void OnMapEnd() override { end(); }

 private:
  /// A list or a map that is not complete.
  struct Open {
    YamlNode node;
    std::map<std::string, int, std::less<>> lines{};  ///< of the keys so far
  };

  void check(bool holds, Position position, std::string_view what) const {
    require<ConfigError>(holds, place(source_, position), ": ", what);
  }

  void check_plain(const YAML::Mark& mark, std::string_view tag, YAML::anchor_t anchor) const {
    check(anchor == 0, position_of(mark), "job files have no anchors (&) and aliases (*); write it out");
    check(tag == "?", position_of(mark), "job files have no tags (!); put text in quotes if it must be text");
  }

  /// yaml-cpp takes a quote that is never closed for a text up to the end of the file.
  void check_closed(const YAML::Mark& mark) const {
    if (mark.pos < 0) return;
    const std::string_view rest = text_.substr(std::min(static_cast<std::size_t>(mark.pos), text_.size()));
    if (rest.empty() || (rest.front() != '"' && rest.front() != '\'')) return;
    const char quote = rest.front();
    const char escape = quote == '"' ? '\\' : '\'';
    for (std::size_t i = 1; i < rest.size(); ++i) {
      const bool is_escape = rest[i] == escape && (quote == '"' || rest.substr(i).starts_with("''"));
      if (is_escape) {
        ++i;
      } else if (rest[i] == quote) {
        return;
      }
    }
    check(false, position_of(mark), "the quote that begins here has no end");
  }

  void begin(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YamlNode::Kind kind) {
    check_plain(mark, tag, anchor);
    check(open_.size() < kMaxYamlDepth, position_of(mark), "lists and maps are inside each other too often");
    open_.push_back({.node = {.kind = kind, .position = position_of(mark)}});
  }

  void end() {
    YamlNode node = std::move(open_.back().node);
    open_.pop_back();
    add(std::move(node));
  }

  [[nodiscard]] bool expects_key() const {
    if (open_.empty()) return false;
    const YamlNode& map = open_.back().node;
    return map.kind == YamlNode::Kind::kMap && map.keys.size() == map.items.size();
  }

  void add(YamlNode node) {
    ++nodes_;
    check(nodes_ <= kMaxYamlNodes, node.position, "this is too much for a job file");
    if (open_.empty()) {
      root_ = std::move(node);
    } else if (expects_key()) {
      add_key(std::move(node));
    } else {
      YamlNode& parent = open_.back().node;
      // What is not there has no place; its key has.
      if (node.kind == YamlNode::Kind::kNull && !parent.keys.empty()) node.position = parent.keys.back().position;
      parent.items.push_back(std::move(node));
    }
  }

  void add_key(YamlNode key) {
    check(key.kind != YamlNode::Kind::kNull, key.position, "a key is missing here");
    check(key.kind == YamlNode::Kind::kScalar, key.position, "a list or a map cannot be a key");
    const auto [before, is_new] = open_.back().lines.emplace(key.text, key.position.line);
    require<ConfigError>(is_new, place(source_, key.position), ": '", excerpt(key.text), "' is already in line ",
                         before->second, "; remove one of the two");
    open_.back().node.keys.push_back(std::move(key));
  }

  std::string_view text_;
  std::string_view source_;
  std::vector<Open> open_;
  YamlNode root_;
  std::size_t nodes_ = 0;
  int documents_ = 0;
};

/// What yaml-cpp says, in words for somebody who wrote a job file. It may quote the file, so only what is known is
/// passed on.
std::string_view in_words(std::string_view message) {
  using namespace YAML::ErrorMsg;
  const std::pair<std::string_view, std::string_view> words[] = {
      {MAP_VALUE,
       "a value cannot begin here. Write 'key: value' with a space after the colon, indent with spaces, and "
       "put text that has ': ' in quotes"},
      {END_OF_MAP, "this does not fit the lines above; is it indented like them?"},
      {END_OF_SEQ, "this does not fit the list above; is it indented like its items?"},
      {END_OF_MAP_FLOW, "there is a '{' without its '}', or a ',' is missing"},
      {END_OF_SEQ_FLOW, "there is a '[' without its ']', or a ',' is missing"},
      {FLOW_END, "there is a ']' or '}' without its beginning"},
      {BLOCK_ENTRY, "an item of a list ('- ') cannot begin here"},
      {UNKNOWN_TOKEN, "no value can begin with this character; put it in quotes"},
      {INVALID_ESCAPE, "there is no such escape after '\\'. In single quotes a backslash is a backslash"},
      {UNKNOWN_ANCHOR, "job files have no anchors (&) and aliases (*); write it out"},
      {TAB_IN_INDENTATION, "this line is indented with a tab; use spaces"},
  };
  for (const auto& [theirs, ours] : words) {
    if (message.starts_with(theirs)) return ours;
  }
  return "this is not YAML";
}

}  // namespace

YamlNode parse_yaml(std::string_view text, std::string_view source) {
  require<ConfigError>(text.size() <= kMaxYamlBytes, source, ": is longer than ", kMaxYamlBytes >> 20,
                       " MiB, which no job file is");
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  check_characters(text, source);
  Builder builder(text, source);
  try {
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    // The second call finds whatever is left, and the builder refuses it.
    if (parser.HandleNextDocument(builder)) (void)parser.HandleNextDocument(builder);
  } catch (const YAML::ParserException& problem) {
    fail<ConfigError>(place(source, position_of(problem.mark)), ": ", in_words(problem.msg));
  } catch (const YAML::Exception&) {
    fail<ConfigError>(source, ": this is not YAML");
  }
  return builder.take();
}

std::string yaml_text(std::string_view text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '/' ||
           c == '.' || c == '-';
  };
  constexpr std::string_view kOtherMeanings[] = {"null", "Null", "NULL", "true", "false", "yes", "no", "on", "off"};
  const bool is_word = !text.empty() && std::ranges::all_of(text, is_plain) && text.front() != '-' &&
                       text.front() != '.' && std::ranges::find(kOtherMeanings, text) == std::end(kOtherMeanings);
  if (is_word) return std::string(text);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted.append(1, '\\').append(1, c);
    } else if (byte < ' ' || byte == 0x7F) {
      quoted.append("\\x").append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string place(std::string_view source, Position position) {
  std::string text(source);
  if (position.line > 0) {
    text.append(":").append(std::to_string(position.line)).append(":").append(std::to_string(position.column));
  }
  return text;
}

std::string excerpt(std::string_view text) {
  return text.size() > kMaxExcerpt ? "..." : printable(text);
}

}  // namespace blindfl::app::job
