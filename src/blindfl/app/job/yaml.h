#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace blindfl::app::job {

/// Where something is in a text, from 1; 0 if it has no place.
struct Position {
  int line = 0;
  int column = 0;
};

/// A piece of YAML: what job files are read from. No anchors, aliases or tags, so a tree is as large as its text.
struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  Position position{};
  std::string text{};             ///< of a scalar
  bool quoted = false;            ///< a scalar that says that it is text
  std::vector<YamlNode> keys{};   ///< of a map: scalars, all different
  std::vector<YamlNode> items{};  ///< of a list; of a map, one for each key
};

/// No honest job file comes near any of these.
constexpr std::size_t kMaxYamlBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxYamlNodes = 100'000;
constexpr std::size_t kMaxYamlDepth = 16;

/// One document of UTF-8. An empty one is kNull. Whatever the text is, its tree has at most the depth and the nodes
/// that are allowed.
/// Throws ConfigError, beginning with `source`, line and column, if the text is no such thing, or has a key twice.
[[nodiscard]] YamlNode parse_yaml(std::string_view text, std::string_view source);

/// A text as a YAML scalar on one line, in quotes where it needs them.
[[nodiscard]] std::string yaml_text(std::string_view text);

/// "SOURCE:LINE:COLUMN", or only the source if the position is none.
[[nodiscard]] std::string place(std::string_view source, Position position);

/// What an error shows of something that a file says: printable, and "..." for what is longer than any option's
/// name: it may be a line of a key that was pasted in the wrong place.
constexpr std::size_t kMaxExcerpt = 32;
[[nodiscard]] std::string excerpt(std::string_view text);

}  // namespace blindfl::app::job
