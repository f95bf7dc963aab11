#include "blindfl/app/plan/shape_options.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "blindfl/base/error.h"
#include "blindfl/base/text.h"
#include "blindfl/data/number.h"

namespace blindfl::app {

namespace {

constexpr std::int64_t kMostFeatures = 4294967294;
constexpr std::size_t kMostPerRow = 65536;

/// The piece before the next `separator`, which is removed with it.
std::string_view take_piece(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view piece = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return piece;
}

std::size_t parse_count(std::string_view word, std::string_view option, std::size_t most) {
  const auto [parsed, count] = data::parse_number<std::size_t>(word);
  require<UsageError>(
      parsed == data::Parsed::kFine && count >= 1 && count <= most, "--", option,
      " needs fields as 100,20:3, each with its number of categories and how many a row may have, not '", word, "'");
  return count;
}

std::string named(bool of_peer, std::string_view name) {
  return std::string(of_peer ? "peer-" : "").append(name);
}

double parse_largest(const Arguments& arguments, const std::string& option) {
  const auto [parsed, number] = data::parse_real(arguments.text(option));
  require<UsageError>(parsed == data::Parsed::kFine && number > 0, "--", option, " needs a number above 0, not '",
                      arguments.text(option), "'");
  return number;
}

FixedPointSpec read_encoding(const Arguments& arguments, bool of_peer, FixedPointSpec encoding) {
  const std::string scale = named(of_peer, "scale");
  const std::string largest = named(of_peer, "largest");
  if (arguments.has(scale)) encoding.scale = static_cast<int>(arguments.integer(scale, 0, FixedPoint::kMaxScale));
  if (arguments.has(largest)) encoding.largest = parse_largest(arguments, largest);
  try {
    (void)FixedPoint(encoding);
  } catch (const InvalidArgument&) {
    fail<UsageError>("--", largest, " times 2^", scale, " must be between 1 and 2^62; change one of the two");
  }
  return encoding;
}

/// Of one peer.
void check_said_once(const Arguments& arguments) {
  for (const Option& option : shape_options(true)) {
    require<UsageError>(arguments.all(option.name).size() <= 1, "--", option.name, " is given twice");
  }
}

}  // namespace

std::vector<Option> shape_options(bool of_peer) {
  if (!of_peer) {
    return {
        {.name = "features", .placeholder = "N", .summary = "this party's numeric features, one-hot ones included"},
        {.name = "nonzeros", .placeholder = "N", .summary = "the most of them in one row that are not 0; else: all"},
        {.name = "fields",
         .placeholder = "N,N:K",
         .summary = "this party's embedded columns: categories of each, and how many a row may have"},
        {.name = "scale", .placeholder = "BITS", .summary = "of the numeric features; else: as the job says"},
        {.name = "largest", .placeholder = "X", .summary = "of the numeric features; else: as the job says"}};
  }
  std::vector<Option> options = {
      {.name = "peer-features", .placeholder = "N", .summary = "the same of the peer; of several, NAME=N for each"},
      {.name = "peer-nonzeros", .placeholder = "N", .summary = "of the peer"},
      {.name = "peer-fields", .placeholder = "N,N:K", .summary = "of the peer"},
      {.name = "peer-scale", .placeholder = "BITS", .summary = "of the peer; 0 for binary features (default: 16)"},
      {.name = "peer-largest", .placeholder = "X", .summary = "of the peer; 1 for binary features (default: 16)"}};
  for (Option& option : options) option.repeats = true;
  return options;
}

std::vector<std::optional<PartyShape>> read_peer_shapes(const Arguments& arguments,
                                                        const std::vector<std::string>& names,
                                                        const FixedPointSpec& encoding) {
  const Command one{.name = arguments.command(), .summary = {}, .options = shape_options(true), .run = nullptr};
  std::vector<std::vector<std::string>> words(names.size());
  for (const Option& option : one.options) {
    for (const std::string& said : arguments.all(option.name)) {
      const std::size_t equals = said.find('=');
      const auto name = std::ranges::find(names, said.substr(0, equals));
      require<UsageError>(equals != std::string::npos && name != names.end(), "--", option.name,
                          ": say whose it is, as in --", option.name, " ", names.front(), "=", option.placeholder,
                          "; there are ", listed(names));
      std::vector<std::string>& own = words[static_cast<std::size_t>(name - names.begin())];
      own.push_back("--" + std::string(option.name) + "=" + said.substr(equals + 1));
    }
  }
  std::vector<std::optional<PartyShape>> shapes;
  shapes.reserve(words.size());
  for (const std::vector<std::string>& own : words) shapes.push_back(read_shape(Arguments(one, own), true, encoding));
  return shapes;
}

std::vector<CategoryField> parse_fields(std::string_view text, std::string_view option) {
  require<UsageError>(!text.ends_with(',') && !text.ends_with(':'), "--", option, " ends too early");
  std::vector<CategoryField> fields;
  do {
    std::string_view rest = take_piece(text, ',');
    CategoryField& field = fields.emplace_back();
    field.name = std::string("f").append(std::to_string(fields.size()));
    field.categories = parse_count(take_piece(rest, ':'), option, static_cast<std::size_t>(kMostFeatures));
    if (!rest.empty()) field.most = parse_count(take_piece(rest, ':'), option, kMostPerRow);
    require<UsageError>(rest.empty() || rest == "mean" || rest == "sum", "--", option,
                        ": what follows the second ':' must be sum or mean");
    if (rest == "mean") field.pooling = Pooling::kMean;
    require<UsageError>(fields.size() <= kMostFields, "--", option, " has more than ", kMostFields, " fields");
  } while (!text.empty());
  return fields;
}

std::optional<PartyShape> read_shape(const Arguments& arguments, bool of_peer, const FixedPointSpec& encoding) {
  const std::string features = named(of_peer, "features");
  const std::string nonzeros = named(of_peer, "nonzeros");
  const std::string fields = named(of_peer, "fields");
  if (of_peer) check_said_once(arguments);
  PartyShape shape;
  shape.encoding = read_encoding(arguments, of_peer, encoding);
  if (!arguments.has(features) && !arguments.has(fields)) {
    require<UsageError>(!arguments.has(nonzeros), "--", nonzeros, " needs --", features);
    return std::nullopt;
  }
  if (arguments.has(features)) {
    shape.numeric = static_cast<std::size_t>(arguments.integer(features, 0, kMostFeatures));
  }
  if (arguments.has(nonzeros)) {
    const auto most = static_cast<std::int64_t>(shape.numeric);
    shape.nonzeros = static_cast<std::size_t>(arguments.integer(nonzeros, 1, most));
  }
  if (arguments.has(fields)) shape.fields = parse_fields(arguments.text(fields), fields);
  return shape;
}

}  // namespace blindfl::app
