#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include "blindfl/app/commands/commands.h"
#include "blindfl/app/job/job_options.h"
#include "blindfl/app/job/preparation.h"
#include "blindfl/app/plan/estimate.h"
#include "blindfl/app/plan/job_layers.h"
#include "blindfl/app/plan/open_top.h"
#include "blindfl/app/plan/shape_options.h"
#include "blindfl/base/text.h"
#include "blindfl/data/number.h"

namespace blindfl::app {

namespace {

constexpr std::int64_t kMostRows = 4294967295;

/// What this party's own file has.
struct OwnShape {
  PartyShape shape{};
  std::size_t rows = 0;
};

/// Reads the training file as training does. Nothing: the job names none.
std::optional<OwnShape> own_shape(const job::Job& job) {
  if (!job.own.data.train) return std::nullopt;
  const Preparation preparation = job::fit_preparation(job);
  const auto scratch = std::filesystem::temp_directory_path();
  const PreparedRows rows = preparation.read(*job.own.data.train, Labels::kNone, scratch);
  return OwnShape{.shape = preparation.shape(), .rows = rows.rows->rows()};
}

double positive_number(const Arguments& arguments, std::string_view option, double lowest) {
  const auto [parsed, number] = data::parse_real(arguments.text(option));
  require<UsageError>(parsed == data::Parsed::kFine && number >= lowest && number <= 1e9, "--", option,
                      " needs a number of at least ", lowest, ", not '", arguments.text(option), "'");
  return number;
}

protocol::Link read_link(const Arguments& arguments, const job::Scheme& scheme) {
  protocol::Link link = job_link(scheme);
  if (arguments.has("link")) link.bits_per_second = positive_number(arguments, "link", 1e-3) * 1e6;
  if (arguments.has("round-trip")) link.round_trip = positive_number(arguments, "round-trip", 0) * 1e-3;
  return link;
}

/// All parties' features, and the rows that they have in common.
struct Facts {
  ShapesOfA a{};
  PartyShape b{};
  std::size_t rows = 0;
};

/// What each has, of several A's: an A also says it of B, whom it calls that.
void take_shapes_of_several(const Arguments& arguments, const job::Job& job, const PartyShape& own, Facts& facts,
                            std::ostream& out) {
  const bool is_a = job.own.party == Party::kA;
  const std::vector<std::string> names = job.own.link.names_of_as();
  std::vector<std::string> peers = names;
  if (is_a) peers.front() = "B";  // this A is the first of them
  std::vector<std::optional<PartyShape>> said = read_peer_shapes(arguments, peers, PartyShape{}.encoding);
  std::vector<std::string> unsaid;
  for (std::size_t i = 0; i < said.size(); ++i) {
    if (!said[i]) unsaid.push_back(peers[i]);
  }
  if (!unsaid.empty()) {
    out << listed(unsaid) << (unsaid.size() == 1 ? " is" : " are")
        << " taken to have what this party has; say --peer-features " << unsaid.front() << "=N and --peer-fields "
        << unsaid.front() << "=N if you know.\n\n";
  }
  facts.b = own;
  if (is_a) {
    facts.b = said.front().value_or(own);
    said.front() = own;
  }
  std::vector<PartyShape> shapes;
  shapes.reserve(said.size());
  for (const std::optional<PartyShape>& shape : said) shapes.push_back(shape.value_or(own));
  facts.a = ShapesOfA(std::move(shapes), names);
}

Facts read_facts(const Arguments& arguments, const job::Job& job, std::ostream& out) {
  std::optional<PartyShape> own = read_shape(arguments, false, job.own.data.numeric);
  std::optional<OwnShape> from_file;
  if (!own || !arguments.has("rows")) from_file = own_shape(job);
  if (!own && from_file) own = from_file->shape;
  require<UsageError>(own.has_value(), "--features or --fields is missing: say what this party has");
  require<UsageError>(arguments.has("rows") || from_file, "--rows is missing: say how many rows are trained on");

  Facts facts;
  facts.rows =
      arguments.has("rows") ? static_cast<std::size_t>(arguments.integer("rows", 1, kMostRows)) : from_file->rows;
  if (job.own.link.several_as()) {
    take_shapes_of_several(arguments, job, *own, facts, out);
    return facts;
  }
  std::optional<PartyShape> peer = read_shape(arguments, true, PartyShape{}.encoding);
  if (!peer) {
    out << "The peer is taken to have what this party has; say --peer-features and --peer-fields if you know.\n\n";
    peer = own;
  }
  const bool is_a = job.own.party == Party::kA;
  facts.a = is_a ? *own : *peer;
  facts.b = is_a ? *std::move(peer) : *std::move(own);
  return facts;
}

void run_plan(const Arguments& arguments, std::ostream& out) {
  job::Job job = read_job_options(arguments);
  const protocol::Link link = read_link(arguments, job.shared.scheme);
  const Facts facts = read_facts(arguments, job, out);
  job.shared = settled(job.shared, facts.rows, job.own.data.test.has_value());
  // What is not possible is said before anybody waits for a measurement.
  (void)estimate(job.shared, facts.a, facts.b, facts.rows, link);
  MachineSpeed speed;
  if (!arguments.has("no-measure")) {
    Random random;
    const auto schemes = job_schemes(job.shared.scheme);
    speed = measure_speed(pointers_to(schemes), random);
  }
  const JobEstimate expected = estimate(job.shared, facts.a, facts.b, facts.rows, link, speed);
  out << estimate_text(expected);
  out << one_hot_text(expected, cheaper_one_hot(job.shared, facts.a, facts.b, facts.rows, link, speed));
  if (job.own.party == Party::kA) {
    out << consent_line(job.own, open_top_facts(job.shared, facts.a, facts.b, 0)) << "\n";
  }
}

std::string more_help_of_plan() {
  return "Nothing is sent, and the peer need not be there. Which scheme and update each layer uses follows from\n"
         "shared.scheme of the job, its line_speed and round_trip above all: --link and --round-trip change what is\n"
         "predicted, and not what is chosen. To see another choice, set the option: --set shared.scheme.line_speed=50\n"
         "\n"
         "examples:\n"
         "  blindfl plan --job a.yaml --features 300 --peer-features 40 --rows 100000\n"
         "  blindfl plan --job b.yaml --features 13 --fields 1000,200:5 --peer-fields 10000,12 --rows 50000 --link "
         "100\n"
         "  blindfl plan --job b.yaml --peer-features shop=40 --peer-features bank=300 --rows 50000     with two A's\n";
}

}  // namespace

Command plan_command() {
  std::vector<Option> options = job_options();
  for (const bool of_peer : {false, true}) {
    for (Option& option : shape_options(of_peer)) options.push_back(option);
  }
  options.push_back({.name = "rows", .placeholder = "N", .summary = "rows that both parties have in common"});
  options.push_back({.name = "link", .placeholder = "MBIT", .summary = "Mbit/s; else: shared.scheme.line_speed"});
  options.push_back({.name = "round-trip", .placeholder = "MS", .summary = "ms; else: shared.scheme.round_trip"});
  options.push_back({.name = "no-measure",
                     .placeholder = {},
                     .summary = "do not try how fast this machine is, which takes about a second"});
  return {.name = "plan",
          .summary = "predicts what a job will take: time, traffic, memory, and which encryption for which layer",
          .options = std::move(options),
          .run = run_plan,
          .more_help = more_help_of_plan};
}

}  // namespace blindfl::app
