// One party per process, as on two machines: each has its own columns and its own certificate, and they talk over TLS.
// The data are made up, from the same seed at both; each party keeps its columns only. With --memory both parties run
// in this process instead, with the same seeds, so that the two ways can be compared: scripts/test_two_machines does.

#include <charconv>
#include <chrono>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/blindfl.h"
#include "blindfl/net/grpc/grpc_transport.h"
#include "blindfl/net/identity.h"
#include "blindfl/protocol/layers/steps.h"
#include "blindfl/protocol/session/steps.h"
#include "made_up/synthetic.h"
#include "made_up/vertical_split.h"

namespace {

using blindfl::Channel;
using blindfl::GrpcOptions;
using blindfl::GrpcTransport;
using blindfl::Party;
using blindfl::net::Step;

constexpr const char* kUsage =
    "usage: two_processes --party A|B --listen HOST:PORT|--dial HOST:PORT --certificate F --key F --peer F\n"
    "                     [--rows N] [--epochs N] [--threads N] [--scores F]\n"
    "       two_processes --memory [--rows N] [--epochs N] [--threads N] [--scores F]\n"
    "  --peer     the other party's certificate\n"
    "  --scores   B writes its scores of the test rows to this file\n";

constexpr std::size_t kColumnsOfA = 30;
constexpr std::size_t kColumnsOfB = 20;
constexpr std::size_t kBatch = 128;

using Options = std::map<std::string, std::string, std::less<>>;

/// One party's columns.
struct Columns {
  blindfl::data::Table train;
  blindfl::data::Table test;
};

Columns make_columns(Party party, std::size_t rows) {
  const auto joined =
      blindfl::made_up::make_synthetic({.rows = rows, .columns_a = kColumnsOfA, .columns_b = kColumnsOfB, .seed = 2022})
          .joined;
  auto split = blindfl::made_up::vertical_split(joined, kColumnsOfA);
  const blindfl::data::Table& mine = party == Party::kA ? split.a : split.b;
  const auto chosen = blindfl::made_up::hashed_test_rows(rows);
  return {mine.select_rows(chosen.train), mine.select_rows(chosen.test)};
}

std::size_t number(const Options& options, std::string_view name, std::size_t otherwise) {
  const auto option = options.find(name);
  if (option == options.end()) return otherwise;
  const std::string& text = option->second;
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  blindfl::require<blindfl::ConfigError>(error == std::errc() && end == text.data() + text.size() && value > 0, name,
                                         " must be a positive number");
  return value;
}

/// What one party's run came to, and what went over the link, seen from it.
struct Outcome {
  std::vector<double> scores;  // of the test rows; only at B
  double seconds = 0;
  std::map<Step, blindfl::net::Traffic> sent;
  std::map<Step, blindfl::net::Traffic> received;
};

Outcome run_party(Party party, const std::shared_ptr<Channel>& channel, const Columns& columns,
                  const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  // Seeds are for runs that must be repeated, like these: real parties leave them out.
  const blindfl::SessionOptions choices{.threads = number(options, "--threads", 1),
                                        .weight_seed = party == Party::kA ? 11 : 12};
  blindfl::Peer peer(party, channel, {blindfl::make_scheme("lattice")}, choices);
  blindfl::Session& session = peer.session();

  const blindfl::FeatureShape shape{.in_a = kColumnsOfA, .in_b = kColumnsOfB, .batch = kBatch};
  const blindfl::FixedPoint encoding(party == Party::kA ? shape.features_a : shape.features_b);
  blindfl::GeneralizedLinear model(session, shape);
  const auto forward = [&](const blindfl::Batch& x) { return model->forward(x); };
  const auto loss = [](const torch::Tensor& scores, const torch::Tensor& labels) {
    return blindfl::nn::loss(blindfl::Family::kLogistic, scores, labels);
  };
  blindfl::train::fit(*model, forward, loss, blindfl::data::make_dataset(columns.train, encoding),
                      {.epochs = number(options, "--epochs", 5),
                       .batch = kBatch,
                       .sgd = {.learning_rate = 0.05, .momentum = 0.9},
                       .order_seed = 7});
  const torch::Tensor scores =
      blindfl::train::score(forward, blindfl::data::make_dataset(columns.test, encoding), kBatch);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  return {blindfl::nn::to_vector(scores), taken.count(), channel->sent(), channel->received()};
}

/// How often B waits for an answer of A to what B has just sent. That is for A's share of Z, once per forward pass,
/// and for A's share of the gradient, once per backward pass: whatever else A sends leaves before or with one of these.
/// Hello and public keys, which both send at once, are half a round each.
std::uint64_t rounds(const Outcome& at_b) {
  const auto messages = [&](Step step) {
    const auto found = at_b.received.find(step);
    return found == at_b.received.end() ? 0 : found->second.messages;
  };
  return 1 + messages(blindfl::protocol::steps::kOutputShare) + messages(blindfl::protocol::steps::kGradientProduct);
}

/// Bytes that somebody waits for. The parties take turns, so what goes one way and then the other adds up; but
/// messages of one step that both send (keys, operands, forward products) pass each other, and count once.
std::uint64_t bytes_in_turn(const Outcome& at_b) {
  std::map<Step, std::uint64_t> larger;
  for (const auto* way : {&at_b.sent, &at_b.received}) {
    for (const auto& [step, traffic] : *way) larger[step] = std::max(larger[step], traffic.bytes);
  }
  std::uint64_t sum = 0;
  for (const auto& [step, bytes] : larger) sum += bytes;
  return sum;
}

/// One line for people and programs.
void report(const Outcome& at_b, const Columns& columns, std::uint64_t reconnects, const Options& options) {
  const auto sent = blindfl::net::total(at_b.sent);
  const auto received = blindfl::net::total(at_b.received);
  std::cout << std::setprecision(8) << "auc=" << blindfl::run::auc(at_b.scores, columns.test.labels())
            << std::setprecision(4) << " seconds=" << at_b.seconds << " reconnects=" << reconnects
            << " sent_messages=" << sent.messages << " sent_bytes=" << sent.bytes
            << " received_messages=" << received.messages << " received_bytes=" << received.bytes
            << " rounds=" << rounds(at_b) << " bytes_in_turn=" << bytes_in_turn(at_b) << std::endl;
  const auto path = options.find("--scores");
  if (path == options.end()) return;
  std::ofstream file(path->second);
  file << std::setprecision(10);
  for (const double score : at_b.scores) file << score << "\n";
  file.close();
  blindfl::require<blindfl::DataError>(file.good(), path->second, ": cannot be written");
}

void run_in_memory(const Options& options) {
  const std::size_t rows = number(options, "--rows", 2000);
  const Columns a = make_columns(Party::kA, rows);
  const Columns b = make_columns(Party::kB, rows);
  const std::pair<std::shared_ptr<Channel>, std::shared_ptr<Channel>> channels = blindfl::net::make_memory_channels();
  const auto [at_a, at_b] =
      blindfl::protocol::run_both([&] { return run_party(Party::kA, channels.first, a, options); },
                                  [&] { return run_party(Party::kB, channels.second, b, options); },
                                  [&] {
                                    channels.first->close();
                                    channels.second->close();
                                  });
  report(at_b, b, 0, options);
}

void run_over_tls(const Options& options) {
  for (const char* needed : {"--party", "--certificate", "--key", "--peer"}) {
    blindfl::require<blindfl::ConfigError>(options.contains(needed), needed, " is missing\n", kUsage);
  }
  const bool listens = options.contains("--listen");
  blindfl::require<blindfl::ConfigError>(listens != options.contains("--dial"), "one of --listen and --dial, please\n",
                                         kUsage);
  const std::string& letter = options.at("--party");
  blindfl::require<blindfl::ConfigError>(letter == "A" || letter == "B", "a party is A or B");
  const Party party = letter == "A" ? Party::kA : Party::kB;
  const Columns columns = make_columns(party, number(options, "--rows", 2000));

  GrpcOptions link;
  link.role = listens ? GrpcOptions::Role::kListen : GrpcOptions::Role::kDial;
  link.address = options.at(listens ? "--listen" : "--dial");
  link.tls = {blindfl::net::load_identity(options.at("--certificate"), options.at("--key")),
              blindfl::net::load_certificate(options.at("--peer"))};
  link.patience = std::chrono::seconds(30);
  const auto transport = std::make_shared<GrpcTransport>(link);
  transport->wait_for_peer();  // who comes first waits, and that is not part of the time
  const Outcome outcome = run_party(party, std::make_shared<Channel>(transport), columns, options);
  if (party == Party::kB) report(outcome, columns, transport->reconnects(), options);
}

Options read_options(const std::vector<std::string>& arguments) {
  const std::set<std::string_view> known{"--party", "--listen", "--dial",   "--certificate", "--key",
                                         "--peer",  "--rows",   "--epochs", "--threads",     "--scores"};
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--memory" || arguments[i] == "--help") {
      options[arguments[i]] = "";
      continue;
    }
    blindfl::require<blindfl::ConfigError>(known.contains(arguments[i]) && i + 1 < arguments.size(), "'", arguments[i],
                                           "' is no option, or lacks its value\n", kUsage);
    options[arguments[i]] = arguments[i + 1];
    ++i;
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) try {
  const Options options = read_options({argv + 1, argv + argc});
  if (options.contains("--help")) {
    std::cout << kUsage;
    return 0;
  }
  torch::manual_seed(1);
  if (options.contains("--memory")) {
    run_in_memory(options);
  } else {
    run_over_tls(options);
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << "two_processes: " << error.what() << "\n";
  return 1;
}
