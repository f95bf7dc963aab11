#include <array>
#include <chrono>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blindfl/app/lab/lab_commands.h"
#include "blindfl/app/lab/lab_link.h"
#include "blindfl/app/link/link_options.h"
#include "blindfl/base/atomic_file.h"
#include "blindfl/base/number_text.h"
#include "blindfl/data/libsvm.h"
#include "blindfl/data/table.h"
#include "blindfl/data/table_cuts.h"
#include "blindfl/he/registry/registry.h"
#include "blindfl/lab/secureml/party_training.h"
#include "blindfl/protocol/session/peer.h"
#include "blindfl/run/metrics.h"

namespace blindfl::app {

namespace {

namespace secureml = lab::secureml;
using secureml::Triplets;

constexpr std::int64_t kMany = 1'000'000'000;

Party party_of(const Arguments& arguments) {
  const std::string& name = arguments.text("party");
  require<UsageError>(name == "A" || name == "B", "--party is A or B, not '", name, "'");
  return name == "A" ? Party::kA : Party::kB;
}

Triplets triplets_of(const Arguments& arguments) {
  const std::string& name = arguments.text("triplets");
  if (name == "oblivious-transfer") return Triplets::kObliviousTransfer;
  if (name == "lattice") return Triplets::kLattice;
  require<UsageError>(name == "third-party", "--triplets is oblivious-transfer, lattice or third-party, not '", name,
                      "'");
  return Triplets::kThirdParty;
}

std::size_t number(const Arguments& arguments, std::string_view option, std::int64_t lowest = 1) {
  return static_cast<std::size_t>(arguments.integer(option, lowest, kMany));
}

std::vector<std::size_t> hidden_of(const Arguments& arguments) {
  std::vector<std::size_t> hidden;
  for (const std::string& width : arguments.all("hidden")) {
    const bool digits =
        !width.empty() && width.size() < 7 && width.find_first_not_of("0123456789") == std::string::npos;
    require<UsageError>(digits && std::stoul(width) > 0, "--hidden is the width of a layer, not '", width, "'");
    hidden.push_back(std::stoul(width));
  }
  return hidden;
}

/// What both parties say; `rows` are those of the file.
secureml::TrainingPlan plan_of(const Arguments& arguments, std::size_t rows) {
  const bool linear = arguments.has("linear");
  require<UsageError>(!linear || number(arguments, "outputs") == 1, "--linear has one output");
  return {.triplets = triplets_of(arguments),
          .rows = rows,
          .features_a = number(arguments, "features-a", 0),
          .features_b = number(arguments, "features-b", 0),
          .hidden = hidden_of(arguments),
          .outputs = number(arguments, "outputs"),
          .output = linear ? secureml::Output::kScores : secureml::Output::kPiecewiseSigmoid,
          .batch = number(arguments, "batch"),
          .steps = number(arguments, "steps"),
          .rate_bits = static_cast<int>(arguments.integer("rate-bits", 0, 30)),
          .score_bits = static_cast<int>(arguments.integer("score-bits", 0, secureml::kFractionBits))};
}

secureml::Words words_of(const data::Table& table) {
  std::vector<double> values(table.rows() * table.cols());
  for (std::size_t r = 0; r < table.rows(); ++r) {
    table.for_each_in_row(r, [&](std::size_t c, double value) { values[r * table.cols() + c] = value; });
  }
  return secureml::encode(table.rows(), table.cols(), values);
}

/// A column of labels; of several classes a column of 0 and 1 for each.
secureml::Words words_of_labels(const std::vector<double>& labels, std::size_t outputs) {
  if (outputs == 1) return secureml::encode(labels.size(), 1, labels);
  std::vector<double> values(labels.size() * outputs);
  for (std::size_t r = 0; r < labels.size(); ++r) {
    require<DataError>(labels[r] < static_cast<double>(outputs), "there are more classes than --outputs ", outputs);
    values[r * outputs + static_cast<std::size_t>(labels[r])] = 1;
  }
  return secureml::encode(labels.size(), outputs, values);
}

/// This party's rows, and at B their labels: of classes 0, 1, ...
struct OwnRows {
  secureml::Words features;
  secureml::Words shared_labels;
  std::vector<double> labels;
};

OwnRows read_rows(const Arguments& arguments, Party party) {
  const bool at_a = party == Party::kA;
  const std::size_t columns = number(arguments, at_a ? "features-a" : "features-b", 0);
  data::Table table = data::read_libsvm(arguments.text("data"), {.cols = columns, .optional_labels = at_a});
  OwnRows own{.features = words_of(table), .shared_labels = {}, .labels = {}};
  if (at_a) return own;
  if (!arguments.has("linear")) table = data::with_class_labels(table);
  own.labels = table.labels();
  own.shared_labels = words_of_labels(own.labels, number(arguments, "outputs"));
  return own;
}

/// How good the released predictions are, in words.
std::string quality(const secureml::TrainingPlan& plan, const std::vector<double>& predictions,
                    const std::vector<double>& labels) {
  if (plan.output == secureml::Output::kScores) {
    double squares = 0;
    for (std::size_t i = 0; i < predictions.size(); ++i) {
      const double off = predictions[i] - labels[i];
      squares += off * off;
    }
    return "mean squared error " + decimal_text(squares / static_cast<double>(predictions.size()));
  }
  if (plan.outputs > 1) return "accuracy " + fixed_text(run::class_accuracy(predictions, plan.outputs, labels), 4);
  return "AUC " + fixed_text(run::auc(predictions, labels), 4);
}

void write_scores(const Arguments& arguments, const secureml::TrainingPlan& plan,
                  const std::vector<double>& predictions) {
  if (!arguments.has("scores")) return;
  std::string text;
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    text += exact_text(predictions[i]);
    text += (i + 1) % plan.outputs == 0 ? '\n' : ' ';
  }
  write_text_atomically(arguments.text("scores"), text, Readers::kOwner);
}

void add_links(const Arguments& arguments, bool aided, LabLinks& links) {
  const net::GrpcOptions peer = read_link_options(arguments);
  links.add("the peer", peer);
  if (!aided) return;
  net::GrpcOptions third = peer;
  third.role = net::GrpcOptions::Role::kDial;
  third.address = arguments.text("third-party");
  third.tls = tls_with(arguments, "third-party-certificate");
  links.add("the third party", third);
}

void run_secureml(const Arguments& arguments, std::ostream& out) {
  const Party party = party_of(arguments);
  const bool aided = triplets_of(arguments) == Triplets::kThirdParty;
  require<UsageError>(aided == arguments.has("third-party"),
                      "--third-party HOST:PORT goes with --triplets third-party, and only with it");
  const OwnRows own = read_rows(arguments, party);
  const secureml::TrainingPlan plan = plan_of(arguments, own.features.rows());
  LabLinks links(out);
  run_until_interrupted(links, [&] {
    add_links(arguments, aided, links);
    links.wait();
    const auto scheme = he::make_scheme("lattice");
    protocol::Peer peer(party, links.channel(0), he::borrowed({scheme.get()}));
    const secureml::PartyTraining training = secureml::train_party(
        peer.session(), aided ? links.channel(1).get() : nullptr, plan, own.features, own.shared_labels);
    out << "a mini-batch      " << seconds_text(training.seconds_per_step) << ", "
        << counted(training.sent_per_step, "byte") << " to the peer";
    if (aided) out << ", " << counted(training.dealt_per_step, "byte") << " to and from the third party";
    out << "\n";
    if (party == Party::kA) return;
    out << "of all rows       " << quality(plan, training.predictions, own.labels) << "\n";
    write_scores(arguments, plan, training.predictions);
  });
}

std::string more_help_of_secureml() {
  return "Both parties' files have the same rows in the same order, and both say the same of --features-a to "
         "--score-bits. A regression begins with zeros, a network with what B draws. B is told the trained model's "
         "predictions of all rows; nobody sees weights. It is there to be compared with: docs/appendix/secureml.md.\n"
         "\nexamples:\n"
         "  blindfl_lab secureml --party B --listen 0.0.0.0:7443 --certificate keys/b.crt --key keys/b.key "
         "--peer keys/a.crt --data b.libsvm --features-a 62 --features-b 61\n"
         "  blindfl_lab secureml --party A --dial b.example:7443 --certificate keys/a.crt --key keys/a.key "
         "--peer keys/b.crt --data a.libsvm --features-a 62 --features-b 61\n"
         "with triplets from `blindfl_lab deal`, at both besides: --triplets third-party --third-party "
         "dealer.example:7450 --third-party-certificate keys/dealer.crt\n";
}

}  // namespace

Command secureml_command() {
  std::vector<Option> options = link_options();
  const std::array more = {
      Option{.name = "party",
             .placeholder = "NAME",
             .summary = "A, or B, who has labels",
             .need = Option::Need::kRequired},
      Option{.name = "data",
             .placeholder = "FILE",
             .summary = "this party's rows, LIBSVM; A's need no labels",
             .need = Option::Need::kRequired},
      Option{.name = "features-a", .placeholder = "NUMBER", .summary = "A has", .need = Option::Need::kRequired},
      Option{.name = "features-b", .placeholder = "NUMBER", .summary = "B has", .need = Option::Need::kRequired},
      Option{.name = "triplets",
             .placeholder = "WAY",
             .summary = "oblivious-transfer, lattice or third-party",
             .fallback = "oblivious-transfer"},
      Option{
          .name = "third-party", .placeholder = "HOST:PORT", .summary = "call `blindfl_lab deal`, which listens there"},
      Option{.name = "third-party-certificate", .placeholder = "FILE", .summary = "its certificate"},
      Option{.name = "outputs", .placeholder = "NUMBER", .summary = "1, or the number of classes", .fallback = "1"},
      Option{.name = "linear", .placeholder = {}, .summary = "outputs as they are, no sigmoid"},
      Option{.name = "hidden", .placeholder = "WIDTH", .summary = "of a hidden layer", .repeats = true},
      Option{.name = "batch", .placeholder = "ROWS", .summary = "of a mini-batch", .fallback = "128"},
      Option{.name = "steps", .placeholder = "NUMBER", .summary = "mini-batches", .fallback = "100"},
      Option{.name = "rate-bits",
             .placeholder = "BITS",
             .summary = "the learning rate is 2^-BITS for each row of a mini-batch",
             .fallback = "8"},
      Option{.name = "score-bits",
             .placeholder = "BITS",
             .summary = "fractional bits of the predictions that B is told",
             .fallback = "4"},
      Option{.name = "scores", .placeholder = "FILE", .summary = "B's: where they go, a line for each row"}};
  options.insert(options.end(), more.begin(), more.end());
  return {.name = "secureml",
          .summary = "SecureML, which the paper compares with: trains with the peer, as one process of two or three",
          .options = std::move(options),
          .run = run_secureml,
          .more_help = more_help_of_secureml};
}

}  // namespace blindfl::app
