#include "blindfl/run/summary.h"

#include <algorithm>
#include <array>
#include <limits>

#include "blindfl/base/error.h"
#include "blindfl/base/text.h"
#include "blindfl/net/ledger_lines.h"
#include "blindfl/run/json.h"

namespace blindfl::run {

namespace {

constexpr std::string_view kFormat = "BlindFL run";
constexpr std::uint64_t kVersion = 1;
// As long as a ledger lets the name of a session be.
constexpr std::size_t kMaxNameBytes = 64;
constexpr std::array kStates = {RunState::kRunning, RunState::kFinished, RunState::kInterrupted, RunState::kFailed};

void check_summary(const RunSummary& summary) {
  require<InvalidArgument>(!summary.run.empty() && summary.run.size() <= kMaxNameBytes && is_printable(summary.run),
                           "a run's name has 1 to ", kMaxNameBytes, " printable ASCII characters");
  std::vector<std::string_view> names;
  for (const Measure& measure : summary.results) {
    check_may_keep(summary.party, measure.name, "summary");
    names.emplace_back(measure.name);
  }
  std::ranges::sort(names);
  require<InvalidArgument>(std::ranges::adjacent_find(names) == names.end(), "summary: a result is there twice");
}

void write_traffic(JsonWriter& json, std::string_view name, const net::Traffic& traffic) {
  json.key(name).begin_object();
  json.key("messages").integer(traffic.messages).key("bytes").integer(traffic.bytes).end_object();
}

/// Takes members out of the parsed text, or says which one is wrong.
class Reader {
 public:
  Reader(const JsonValue& json, const std::string& name) : json_(json), name_(name) {}

  [[nodiscard]] RunSummary read() const;

 private:
  template <class T>
  [[nodiscard]] T required(const std::optional<T>& value, std::string_view member) const {
    require<DataError>(value.has_value(), name_, ": has no usable '", member, "'; this is not the summary of a run");
    return *value;
  }
  [[nodiscard]] const JsonValue& member(const JsonValue& object, std::string_view name) const {
    static const JsonValue nothing;
    const JsonValue* const found = object.find(name);
    return found == nullptr ? nothing : *found;
  }
  [[nodiscard]] std::string text(std::string_view name) const { return required(member(json_, name).as_text(), name); }
  [[nodiscard]] std::uint64_t integer(const JsonValue& object, std::string_view name) const {
    return required(member(object, name).as_integer(), name);
  }
  [[nodiscard]] Party party() const {
    const std::string name = text("party");
    require<DataError>(name == "A" || name == "B", name_, ": has no usable 'party'; this is not the summary of a run");
    return name == "A" ? Party::kA : Party::kB;
  }
  [[nodiscard]] RunState state() const {
    const std::string name = text("state");
    const auto* const found = std::ranges::find(kStates, name, [](RunState s) { return name_of(s); });
    require<DataError>(found != kStates.end(), name_, ": has no usable 'state'; this is not the summary of a run");
    return *found;
  }
  [[nodiscard]] net::Traffic traffic(std::string_view name) const {
    const JsonValue& object = member(json_, name);
    return {.messages = integer(object, "messages"), .bytes = integer(object, "bytes")};
  }

  const JsonValue& json_;
  const std::string& name_;
};

RunSummary Reader::read() const {
  require<DataError>(member(json_, "format").as_text() == kFormat, name_, ": is not the summary of a run");
  const std::uint64_t version = integer(json_, "version");
  require<DataError>(version <= kVersion, name_, ": has version ", version, ", and this release reads versions up to ",
                     kVersion, "; use the release that wrote it");
  RunSummary summary{.party = party(),
                     .run = text("run"),
                     .release = text("release"),
                     .model = text("model"),
                     .state = state(),
                     .started = required(net::time_of(text("started")), "started")};
  if (const JsonValue& ended = member(json_, "ended"); ended.kind() != JsonValue::Kind::kNull) {
    summary.ended = required(net::time_of(text("ended")), "ended");
  }
  summary.steps = integer(json_, "steps");
  summary.epochs = integer(json_, "epochs");
  summary.seconds = required(member(json_, "seconds").as_number(), "seconds");
  summary.sent = traffic("sent");
  summary.received = traffic("received");
  for (const auto& [name, value] : member(json_, "results").members()) {
    const bool unknown = value.kind() == JsonValue::Kind::kNull;
    summary.results.push_back(
        {name, unknown ? std::numeric_limits<double>::quiet_NaN() : required(value.as_number(), "results")});
  }
  return summary;
}

}  // namespace

std::string_view name_of(RunState state) {
  switch (state) {
    case RunState::kRunning:
      return "running";
    case RunState::kFinished:
      return "finished";
    case RunState::kInterrupted:
      return "interrupted";
    case RunState::kFailed:
      return "failed";
  }
  fail<InvalidArgument>("there is no state number ", static_cast<unsigned>(state));
}

std::string summary_text(const RunSummary& summary) {
  check_summary(summary);
  JsonWriter json;
  json.begin_object().key("format").text(kFormat).key("version").integer(kVersion);
  json.key("party").text(blindfl::name_of(summary.party)).key("run").text(summary.run);
  json.key("release").text(summary.release).key("model").text(summary.model);
  json.key("state").text(name_of(summary.state)).key("started").text(net::time_text(summary.started));
  json.key("ended");
  summary.ended ? json.text(net::time_text(*summary.ended)) : json.null();
  json.key("steps").integer(summary.steps).key("epochs").integer(summary.epochs);
  json.key("seconds").number(summary.seconds);
  write_traffic(json, "sent", summary.sent);
  write_traffic(json, "received", summary.received);
  json.key("results").begin_object();
  for (const Measure& measure : summary.results) json.key(measure.name).number(measure.value);
  return json.end_object().end_object().take() + "\n";
}

RunSummary parse_summary(std::string_view text, const std::string& name) {
  require<DataError>(text.size() <= kMaxSummaryBytes, name, ": is longer than ", kMaxSummaryBytes,
                     " bytes; this is not the summary of a run");
  JsonValue json;
  try {
    json = JsonValue::parse(text);
  } catch (const DataError& error) {
    fail<DataError>(name, ": ", error.what(),
                    "; a summary is written in one step, so something else changed it: take it from a backup, or begin "
                    "another run");
  }
  RunSummary summary = Reader(json, name).read();
  try {
    check_summary(summary);
  } catch (const InvalidArgument& error) {
    fail<DataError>(name, ": ", error.what());
  }
  return summary;
}

}  // namespace blindfl::run
