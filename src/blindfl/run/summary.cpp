#include "blindfl/run/summary.h"

#include <algorithm>
#include <array>
#include <limits>

#include "blindfl/base/error.h"
#include "blindfl/base/text.h"
#include "blindfl/net/ledger/ledger_lines.h"
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
  for (const std::vector<Measure>* measures : {&summary.results, &summary.baseline}) {
    std::vector<std::string_view> names;
    for (const Measure& measure : *measures) {
      check_may_keep(summary.party, measure.name, "summary");
      names.emplace_back(measure.name);
    }
    std::ranges::sort(names);
    require<InvalidArgument>(std::ranges::adjacent_find(names) == names.end(), "summary: a result is there twice");
  }
  require<InvalidArgument>(summary.party == Party::kB || (summary.confusion.empty() && !summary.still_falling),
                           "summary: a confusion matrix and the course of the loss tell of labels and scores, and "
                           "nothing of A's may");
  const std::size_t classes = summary.confusion.classes.size();
  require<InvalidArgument>(classes <= kMostShownClasses && summary.confusion.counts.size() == classes * classes,
                           "summary: a confusion matrix has a number for each pair of at most ", kMostShownClasses,
                           " classes");
}

void write_measures(JsonWriter& json, std::string_view name, const std::vector<Measure>& measures) {
  json.key(name).begin_object();
  for (const Measure& measure : measures) json.key(measure.name).number(measure.value);
  json.end_object();
}

/// With what follows from it, for programs that want no more than that.
void write_confusion(JsonWriter& json, const ConfusionMatrix& matrix) {
  json.key("confusion").begin_object().key("classes").begin_array();
  for (const std::string& name : matrix.classes) json.text(name);
  json.end_array().key("precision").begin_array();
  for (std::size_t c = 0; c < matrix.classes.size(); ++c) json.number(matrix.precision(c));
  json.end_array().key("recall").begin_array();
  for (std::size_t c = 0; c < matrix.classes.size(); ++c) json.number(matrix.recall(c));
  json.end_array().key("counts").begin_array();
  for (std::size_t t = 0; t < matrix.classes.size(); ++t) {
    json.begin_array();
    for (std::size_t p = 0; p < matrix.classes.size(); ++p) json.number(matrix.at(t, p));
    json.end_array();
  }
  json.end_array().end_object();
}

/// What a run need not have.
void write_rest(JsonWriter& json, const RunSummary& summary) {
  if (summary.rows != RowCounts{}) {
    json.key("rows").begin_object().key("training").integer(summary.rows.training);
    json.key("validation").integer(summary.rows.validation).key("test").integer(summary.rows.test).end_object();
  }
  if (summary.best) {
    json.key("best").begin_object().key("step").integer(summary.best->step);
    json.key("epoch").integer(summary.best->epoch).end_object();
  }
  if (summary.stopped_early) json.key("stopped_early").boolean(true);
  if (summary.still_falling) json.key("still_falling").boolean(*summary.still_falling);
  if (!summary.confusion.empty()) write_confusion(json, summary.confusion);
  if (!summary.baseline.empty()) write_measures(json, "baseline", summary.baseline);
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
  [[nodiscard]] std::vector<Measure> measures(std::string_view name) const;
  [[nodiscard]] ConfusionMatrix confusion() const;
  void read_rest(RunSummary& summary) const;
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
  summary.results = measures("results");
  read_rest(summary);
  return summary;
}

std::vector<Measure> Reader::measures(std::string_view name) const {
  std::vector<Measure> all;
  for (const auto& [each, value] : member(json_, name).members()) {
    const bool unknown = value.kind() == JsonValue::Kind::kNull;
    all.push_back({each, unknown ? std::numeric_limits<double>::quiet_NaN() : required(value.as_number(), name)});
  }
  return all;
}

ConfusionMatrix Reader::confusion() const {
  constexpr std::string_view kName = "confusion";
  const JsonValue& object = member(json_, kName);
  ConfusionMatrix matrix;
  for (const JsonValue& name : member(object, "classes").elements()) {
    matrix.classes.push_back(required(name.as_text(), kName));
  }
  for (const JsonValue& row : member(object, "counts").elements()) {
    for (const JsonValue& count : row.elements()) matrix.counts.push_back(required(count.as_number(), kName));
  }
  return matrix;
}

void Reader::read_rest(RunSummary& summary) const {
  const auto has = [&](std::string_view name) { return member(json_, name).kind() != JsonValue::Kind::kNull; };
  if (has("rows")) {
    const JsonValue& rows = member(json_, "rows");
    summary.rows = {integer(rows, "training"), integer(rows, "validation"), integer(rows, "test")};
  }
  if (has("best")) {
    const JsonValue& best = member(json_, "best");
    summary.best = {.step = integer(best, "step"), .epoch = integer(best, "epoch")};
  }
  if (has("stopped_early"))
    summary.stopped_early = required(member(json_, "stopped_early").as_boolean(), "stopped_early");
  if (has("still_falling"))
    summary.still_falling = required(member(json_, "still_falling").as_boolean(), "still_falling");
  summary.confusion = confusion();
  summary.baseline = measures("baseline");
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
  write_measures(json, "results", summary.results);
  write_rest(json, summary);
  return json.end_object().take() + "\n";
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
