#include "blindfl/run/summary.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "blindfl/base/error.h"
#include "blindfl/base/text.h"
#include "blindfl/net/ledger/ledger_lines.h"
#include "blindfl/run/strict_json.h"

namespace blindfl::run {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "BlindFL run";
constexpr std::uint64_t kVersion = 1;
// As long as a ledger lets the name of a session be.
constexpr std::size_t kMaxNameBytes = 64;
constexpr std::array kStates = {RunState::kRunning, RunState::kFinished, RunState::kInterrupted, RunState::kFailed};

void check_summary(const RunSummary& summary) {
  require<InvalidArgument>(!summary.run.empty() && summary.run.size() <= kMaxNameBytes && is_printable(summary.run),
                           "a run's name has 1 to ", kMaxNameBytes, " printable ASCII characters");
  check_may_keep(summary.party, summary.results, "summary");
  check_may_keep(summary.party, summary.baseline, "summary");
  require<InvalidArgument>(summary.party == Party::kB || (summary.confusion.empty() && !summary.still_falling),
                           "summary: a confusion matrix and the course of the loss tell of labels and scores, and "
                           "nothing of A's may");
  const std::size_t classes = summary.confusion.classes.size();
  require<InvalidArgument>(classes <= kMostShownClasses && summary.confusion.counts.size() == classes * classes,
                           "summary: a confusion matrix has a number for each pair of at most ", kMostShownClasses,
                           " classes");
}

Json measures_json(const std::vector<Measure>& measures) {
  Json json = Json::object();
  for (const Measure& measure : measures) json[measure.name] = json_number<Json>(measure.value);
  return json;
}

/// With what follows from it, for programs that want no more than that.
Json confusion_json(const ConfusionMatrix& matrix) {
  Json precision = Json::array();
  Json recall = Json::array();
  Json counts = Json::array();
  for (std::size_t t = 0; t < matrix.classes.size(); ++t) {
    precision.push_back(json_number<Json>(matrix.precision(t)));
    recall.push_back(json_number<Json>(matrix.recall(t)));
    Json row = Json::array();
    for (std::size_t p = 0; p < matrix.classes.size(); ++p) row.push_back(json_number<Json>(matrix.at(t, p)));
    counts.push_back(std::move(row));
  }
  return {{"classes", matrix.classes},
          {"precision", std::move(precision)},
          {"recall", std::move(recall)},
          {"counts", std::move(counts)}};
}

Json traffic_json(const net::Traffic& traffic) {
  return {{"messages", traffic.messages}, {"bytes", traffic.bytes}};
}

/// What a run need not have.
void add_rest(Json& json, const RunSummary& summary) {
  if (summary.rows != RowCounts{}) {
    json["rows"] = {
        {"training", summary.rows.training}, {"validation", summary.rows.validation}, {"test", summary.rows.test}};
  }
  if (summary.range_checks != RangeChecks{}) {
    json["range_checks"] = {{"inside", summary.range_checks.inside}, {"outside", summary.range_checks.outside}};
  }
  if (summary.best) json["best"] = {{"step", summary.best->step}, {"epoch", summary.best->epoch}};
  if (summary.stopped_early) json["stopped_early"] = true;
  if (summary.still_falling) json["still_falling"] = *summary.still_falling;
  if (!summary.confusion.empty()) json["confusion"] = confusion_json(summary.confusion);
  if (!summary.baseline.empty()) json["baseline"] = measures_json(summary.baseline);
}

/// Takes members out of the parsed text, or says which one is wrong.
class Reader {
 public:
  Reader(const Json& json, const std::string& name) : json_(json), name_(name) {}

  [[nodiscard]] RunSummary read() const;

 private:
  void check(bool usable, std::string_view member) const {
    require<DataError>(usable, name_, ": has no usable '", member, "'; this is not the summary of a run");
  }
  [[nodiscard]] const Json& member(std::string_view name) const { return json_member(json_, name); }
  [[nodiscard]] std::string text(std::string_view name) const {
    check(member(name).is_string(), name);
    return member(name).get<std::string>();
  }
  [[nodiscard]] std::chrono::sys_seconds time(std::string_view name) const {
    const auto time = net::time_of(text(name));
    check(time.has_value(), name);
    return *time;
  }
  [[nodiscard]] bool flag(std::string_view name) const {
    check(member(name).is_boolean(), name);
    return member(name).get<bool>();
  }
  [[nodiscard]] double number(const Json& value, std::string_view name) const {
    check(value.is_number(), name);
    return value.get<double>();
  }
  [[nodiscard]] std::uint64_t integer(const Json& object, std::string_view name) const {
    const Json& value = json_member(object, name);
    check(value.is_number_unsigned(), name);
    return value.get<std::uint64_t>();
  }
  [[nodiscard]] std::vector<Measure> measures(std::string_view name) const;
  [[nodiscard]] ConfusionMatrix confusion() const;
  void read_rest(RunSummary& summary) const;
  [[nodiscard]] Party party() const {
    const std::string name = text("party");
    check(name == "A" || name == "B", "party");
    return name == "A" ? Party::kA : Party::kB;
  }
  [[nodiscard]] RunState state() const {
    const std::string name = text("state");
    const auto* const found = std::ranges::find(kStates, name, [](RunState s) { return name_of(s); });
    check(found != kStates.end(), "state");
    return *found;
  }
  [[nodiscard]] net::Traffic traffic(std::string_view name) const {
    const Json& object = member(name);
    return {.messages = integer(object, "messages"), .bytes = integer(object, "bytes")};
  }

  const Json& json_;
  const std::string& name_;
};

RunSummary Reader::read() const {
  require<DataError>(member("format") == kFormat, name_, ": is not the summary of a run");
  const std::uint64_t version = integer(json_, "version");
  require<DataError>(version <= kVersion, name_, ": has version ", version, ", and this release reads versions up to ",
                     kVersion, "; use the release that wrote it");
  RunSummary summary{.party = party(),
                     .run = text("run"),
                     .release = text("release"),
                     .model = text("model"),
                     .state = state(),
                     .started = time("started")};
  if (!member("ended").is_null()) summary.ended = time("ended");
  summary.steps = integer(json_, "steps");
  summary.epochs = integer(json_, "epochs");
  summary.seconds = number(member("seconds"), "seconds");
  summary.sent = traffic("sent");
  summary.received = traffic("received");
  summary.results = measures("results");
  read_rest(summary);
  return summary;
}

std::vector<Measure> Reader::measures(std::string_view name) const {
  std::vector<Measure> all;
  if (!member(name).is_object()) return all;
  for (const auto& [each, value] : member(name).items()) {
    all.push_back({each, value.is_null() ? std::numeric_limits<double>::quiet_NaN() : number(value, name)});
  }
  return all;
}

ConfusionMatrix Reader::confusion() const {
  constexpr std::string_view kName = "confusion";
  ConfusionMatrix matrix;
  if (const Json& classes = json_member(member(kName), "classes"); classes.is_array()) {
    for (const Json& name : classes) {
      check(name.is_string(), kName);
      matrix.classes.push_back(name.get<std::string>());
    }
  }
  if (const Json& counts = json_member(member(kName), "counts"); counts.is_array()) {
    for (const Json& row : counts) {
      check(row.is_array(), kName);
      for (const Json& count : row) matrix.counts.push_back(number(count, kName));
    }
  }
  return matrix;
}

void Reader::read_rest(RunSummary& summary) const {
  if (const Json& rows = member("rows"); !rows.is_null()) {
    summary.rows = {integer(rows, "training"), integer(rows, "validation"), integer(rows, "test")};
  }
  if (const Json& checks = member("range_checks"); !checks.is_null()) {
    summary.range_checks = {integer(checks, "inside"), integer(checks, "outside")};
  }
  if (const Json& best = member("best"); !best.is_null()) {
    summary.best = {.step = integer(best, "step"), .epoch = integer(best, "epoch")};
  }
  if (!member("stopped_early").is_null()) summary.stopped_early = flag("stopped_early");
  if (!member("still_falling").is_null()) summary.still_falling = flag("still_falling");
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
  Json json = {{"format", kFormat},
               {"version", kVersion},
               {"party", blindfl::name_of(summary.party)},
               {"run", summary.run},
               {"release", summary.release},
               {"model", summary.model},
               {"state", name_of(summary.state)},
               {"started", net::time_text(summary.started)},
               {"ended", summary.ended ? Json(net::time_text(*summary.ended)) : Json()},
               {"steps", summary.steps},
               {"epochs", summary.epochs},
               {"seconds", json_number<Json>(summary.seconds)},
               {"sent", traffic_json(summary.sent)},
               {"received", traffic_json(summary.received)},
               {"results", measures_json(summary.results)}};
  add_rest(json, summary);
  return json_line(json);
}

RunSummary parse_summary(std::string_view text, const std::string& name) {
  require<DataError>(text.size() <= kMaxSummaryBytes, name, ": is longer than ", kMaxSummaryBytes,
                     " bytes; this is not the summary of a run");
  Json json;
  try {
    json = parse_strictly<Json>(text);
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
