// Whole mini-batches, forward, backward and update, both parties in one process.
//
// models: whole models beside plain libtorch on the joined data in the same run; and how much of both parties'
// computing is the private product, how much everything else: shares, copies, queues, libtorch.
// tops: the same models with an open top and with one on shares.
// ways: one source layer, each way of training it beside the paper's way in plain GMP.
// embed: one Embed-MatMul layer, message by message.
// features, own: updates under encryption when there are many features, A's and B's.

#include <atomic>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>

#include "arguments.h"
#include "blindfl/base/error.h"
#include "blindfl/blindfl.h"
#include "blindfl/data/libsvm.h"
#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/lab/local_model.h"
#include "embed_messages.h"
#include "embed_report.h"
#include "layer_report.h"
#include "made_up/synthetic.h"
#include "made_up/tables.h"
#include "made_up/vertical_split.h"
#include "measured_scheme.h"
#include "peers_report.h"
#include "testing/plain/plain_scheme.h"
#include "timing.h"
#include "tops_report.h"

namespace {

using blindfl::Party;
using blindfl::bench::Stopwatch;

struct Shape {
  const char* name;
  std::size_t in_a;
  std::size_t in_b;
  std::size_t out;  // 1: logistic regression; more: the first layer of an MLP for 10 classes
  double density;
  double largest;  // of the features, which are binary where they are sparse
};

constexpr std::size_t kBatch = 128;
constexpr std::size_t kSteps = 60;

struct Measured {
  double milliseconds = 0;  // of the median step
  double product = 0;       // milliseconds of processor time per step, both parties
  double elsewhere = 0;
  std::uint64_t sent_by_a = 0;  // bytes, after the first step
  std::uint64_t sent_by_b = 0;
};

blindfl::Family family_of(const Shape& s) {
  return s.out == 1 ? blindfl::Family::kLogistic : blindfl::Family::kMultinomial;
}

/// Ten epochs of a9a: what a job would declare. Fewer are measured.
constexpr std::size_t kDeclaredSteps = 2550;

blindfl::SgdOptions sgd_options(double momentum) {
  return {.learning_rate = 0.01, .momentum = momentum, .steps = kDeclaredSteps};
}

blindfl::train::TrainOptions options_for(std::size_t rows, double momentum) {
  return {.epochs = kSteps * kBatch / rows, .batch = kBatch, .sgd = sgd_options(momentum)};
}

void train_party(blindfl::Session& session, const Shape& s, double momentum, const blindfl::data::Table& table,
                 const blindfl::train::Observer& observer) {
  const blindfl::FixedPointSpec features{.scale = s.density < 1 ? 0 : 16, .largest = s.largest, .clip = true};
  const blindfl::FeatureShape shape{
      .in_a = s.in_a, .in_b = s.in_b, .batch = kBatch, .features_a = features, .features_b = features};
  const auto rows = blindfl::data::make_dataset(table, blindfl::FixedPoint(shape.features_a));
  const auto loss = [&](const torch::Tensor& scores, const torch::Tensor& labels) {
    return blindfl::nn::loss(family_of(s), scores, labels);
  };
  const auto fit = [&](auto& model) {
    blindfl::train::fit(
        *model, [&](const blindfl::Batch& x) { return model->forward(x); }, loss, rows,
        options_for(rows.features.rows(), momentum), observer);
  };
  blindfl::MatMulOptions source;
  source.sgd = sgd_options(momentum);
  if (s.out == 1) {
    blindfl::GeneralizedLinear model(session, shape, std::size_t{1}, source);
    fit(model);
  } else {
    blindfl::Mlp model(session, shape, std::vector<std::size_t>{s.out}, std::size_t{10}, blindfl::Activation::kRelu,
                       source);
    fit(model);
  }
}

std::unique_ptr<blindfl::he::Scheme> make_scheme(std::string_view name) {
  if (name == "plain") return std::make_unique<blindfl::testing::PlainScheme>();
  return std::make_unique<blindfl::he::LatticeScheme>();
}

Measured measure_federated(std::string_view scheme_name, const Shape& s, double momentum,
                           const blindfl::data::Table& joined) {
  const auto split = blindfl::made_up::vertical_split(joined, s.in_a);
  blindfl::bench::ProductClock clock;
  const blindfl::bench::MeasuredScheme scheme(make_scheme(scheme_name), clock);
  std::atomic<int> past_first = 0;
  std::atomic<double> product_before = 0;
  const auto party = [&](blindfl::Session& session) {
    Stopwatch watch;
    double busy_since = 0;
    std::uint64_t sent_before = 0;
    const auto sent = [&] { return blindfl::net::total(session.channel().sent()).bytes; };
    const blindfl::data::Table& own = session.party() == Party::kA ? split.a : split.b;
    train_party(session, s, momentum, own, [&](const blindfl::train::StepReport& r) {
      if (r.step == 1) {  // keys, first weights and what is made once are not part of a step
        sent_before = sent();
        busy_since = blindfl::bench::cpu_seconds();
        if (past_first.fetch_add(1) == 0) product_before = clock.seconds();
        watch.restart();
        return;
      }
      watch.lap();
    });
    return std::tuple(watch.median_lap(), blindfl::bench::cpu_seconds() - busy_since, sent() - sent_before);
  };
  const auto [at_a, at_b] = blindfl::protocol::run_in_process(scheme, party);
  const double per_step = 1e3 / static_cast<double>(kSteps - 1);
  const double product = (clock.seconds() - product_before) * per_step;
  return {std::get<0>(at_b), product, (std::get<1>(at_a) + std::get<1>(at_b)) * per_step - product, std::get<2>(at_a),
          std::get<2>(at_b)};
}

double measure_plain(const Shape& s, double momentum, const blindfl::data::Table& joined) {
  const auto hidden = s.out == 1 ? std::vector<std::size_t>{} : std::vector<std::size_t>{s.out};
  blindfl::lab::LocalModel model(joined.cols(), hidden, s.out == 1 ? std::size_t{1} : std::size_t{10});
  const torch::Tensor features = blindfl::lab::features_tensor(blindfl::made_up::as_dense(joined));
  const torch::Tensor labels = blindfl::nn::to_tensor(joined.labels(), joined.rows(), 1).view({-1});
  torch::optim::SGD sgd(model->parameters(), torch::optim::SGDOptions(0.01).momentum(momentum));
  Stopwatch watch;
  const auto batches = static_cast<std::int64_t>(joined.rows() / kBatch);
  for (std::int64_t step = 0; step < static_cast<std::int64_t>(kSteps); ++step) {
    const auto first = step % batches * static_cast<std::int64_t>(kBatch);
    sgd.zero_grad();
    const auto x = features.narrow(0, first, kBatch);
    blindfl::nn::loss(family_of(s), model->forward(x), labels.narrow(0, first, kBatch)).backward();
    sgd.step();
    watch.lap();
  }
  return watch.median_lap();
}

constexpr std::size_t kRows = 6 * kBatch;

/// The first rows of a9a, the real one, or rows like them.
blindfl::data::Table make_table(const Shape& s, const std::optional<std::filesystem::path>& data) {
  if (data && s.name == std::string_view("a9a LR")) {
    std::vector<std::uint32_t> rows(kRows);
    std::iota(rows.begin(), rows.end(), 0);
    const auto all = blindfl::data::read_libsvm(*data / "a9a.xz", {.cols = s.in_a + s.in_b});
    return blindfl::made_up::with_class_labels(all).select_rows(rows);
  }
  blindfl::made_up::SyntheticSpec spec;
  spec.rows = kRows;
  spec.columns_a = s.in_a;
  spec.columns_b = s.in_b;
  spec.density = s.density;
  spec.binary = s.density < 1;
  spec.task = s.out == 1 ? blindfl::made_up::Task::kBinary : blindfl::made_up::Task::kMulticlass;
  spec.classes = 10;
  return blindfl::made_up::make_synthetic(spec).joined;
}

struct Options {
  std::set<std::string, std::less<>> parts{"models", "peers", "tops", "ways", "features", "own", "wide", "embed"};
  std::vector<std::string> schemes{"lattice", "plain"};
  std::optional<std::filesystem::path> data;
  std::optional<std::string> model;
  double momentum = 0.9;
  blindfl::bench::LayerOptions layers;
  std::vector<std::size_t> features{1000, 100000, 10000000};
  std::size_t own_features = 20000;
  blindfl::bench::EmbedReportOptions wide;
  blindfl::bench::EmbedMessagesOptions embed;
};

constexpr const char* kUsage =
    "usage: bench_batch [--json] [--part models|peers|tops|ways|features|own|wide|embed] ...\n"
    "  models:   [--scheme lattice|plain] [--data FOLDER] [--model NAME] [--momentum M], 0.9 without it\n"
    "            --data: where a9a.xz is; without it, generated rows of the same shape\n"
    "  tops:     [--model NAME] with --part tops\n"
    "  ways:     [--shape NAME] [--way paper|encrypted|encrypted-0.9|exchanged|lattice]\n"
    "  features: [--features N,...], 1000,100000,10000000 without it\n"
    "  own:      [--features-b N], 20000 without it\n"
    "  wide:     [--categories N,...], 100,10000,1000000 without it; [--tables ot|lattice|encrypted|encrypted-0.9]\n"
    "  embed:    [--categories N,...], 100,10000 without it; with --part embed\n"
    "  all but models: [--key-bits N], 2048 without it\n"
    "An option without --part chooses its part; without any, all parts run.\n";

Options read_options(int argc, char** argv) {
  const blindfl::bench::Arguments arguments(
      argc, argv, kUsage,
      {"--part", "--scheme", "--data", "--model", "--momentum", "--shape", "--way", "--features", "--features-b",
       "--key-bits", "--categories", "--tables"});
  Options options;
  decltype(options.parts) chosen;
  const auto choose = [&](std::string_view option, std::string_view part) {
    auto value = arguments.value(option);
    if (value) chosen.emplace(part);
    return value;
  };
  if (const auto scheme = choose("--scheme", "models")) {
    blindfl::require<blindfl::InvalidArgument>(*scheme == "lattice" || *scheme == "plain", kUsage);
    options.schemes = {*scheme};
  }
  options.data = choose("--data", "models");
  options.model = choose("--model", "models");
  if (const auto momentum = choose("--momentum", "models")) options.momentum = std::stod(*momentum);
  options.layers.json = arguments.json();
  options.layers.shape = choose("--shape", "ways");
  options.layers.way = choose("--way", "ways");
  if (const auto list = choose("--features", "features")) options.features = blindfl::bench::positive_list(*list);
  if (const auto n = choose("--features-b", "own")) options.own_features = blindfl::bench::positive(*n);
  if (const auto list = choose("--categories", "wide")) {
    options.wide.vocabularies = options.embed.vocabularies = blindfl::bench::positive_list(*list);
  }
  options.wide.way = choose("--tables", "wide");
  options.wide.json = options.embed.json = arguments.json();
  if (const auto bits = arguments.value("--key-bits")) {
    options.wide.key_bits = options.layers.key_bits = static_cast<int>(blindfl::bench::positive(*bits));
  }
  if (const auto part = arguments.value("--part")) {
    blindfl::require<blindfl::InvalidArgument>(options.parts.contains(*part), kUsage);
    chosen = {*part};
  }
  if (!chosen.empty()) options.parts = chosen;
  return options;
}

void print(const std::string& scheme, const Shape& s, const Measured& m, double plain, bool json) {
  const auto kilobytes = [](std::uint64_t bytes) { return static_cast<double>(bytes) / 1e3 / (kSteps - 1); };
  const double share = 100 * m.elsewhere / (m.product + m.elsewhere);
  if (json) {
    std::cout << R"({"shape":")" << s.name << R"(","scheme":")" << scheme << R"(","federated_ms":)" << m.milliseconds
              << R"(,"plain_ms":)" << plain << R"(,"product_cpu_ms":)" << m.product << R"(,"elsewhere_cpu_ms":)"
              << m.elsewhere << R"(,"a_kb":)" << kilobytes(m.sent_by_a) << R"(,"b_kb":)" << kilobytes(m.sent_by_b)
              << "}\n";
    return;
  }
  std::cout << std::left << std::setw(9) << scheme << std::setw(19) << s.name << std::right << std::fixed
            << std::setprecision(3) << std::setw(9) << m.milliseconds << std::setw(10) << plain << std::setprecision(1)
            << std::setw(8) << m.milliseconds / plain << " |" << std::setprecision(3) << std::setw(9) << m.product
            << std::setw(10) << m.elsewhere << std::setprecision(0) << std::setw(6) << share << "% |"
            << std::setprecision(1) << std::setw(9) << kilobytes(m.sent_by_a) << std::setw(9) << kilobytes(m.sent_by_b)
            << std::endl;
}

void report_models(const Options& options) {
  torch::set_num_threads(1);
  const Shape shapes[] = {
      {"a9a LR", 62, 61, 1, 0.11, 1.0},
      {"higgs LR", 14, 14, 1, 1.0, 16.0},
      {"connect-4 MLP", 63, 63, 64, 0.33, 1.0},
      {"Fashion-MNIST MLP", 392, 392, 64, 1.0, 1.0},  // pixels
  };
  const bool json = options.layers.json;
  if (!json) {
    std::cout
        << "batch " << kBatch << ", median of " << kSteps << " steps, " << std::thread::hardware_concurrency()
        << " cores, 1 thread per party; ms of time, of both parties' computing, and kB, per step\n"
        << "scheme   shape              federated  libtorch  ratio |  product elsewhere share |  A sends  B sends\n";
  }
  for (const Shape& s : shapes) {
    if (options.model && *options.model != s.name) continue;
    const auto joined = make_table(s, options.data);
    for (const std::string& scheme : options.schemes) {
      const Measured federated = measure_federated(scheme, s, options.momentum, joined);
      print(scheme, s, federated, measure_plain(s, options.momentum, joined), json);
    }
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv);
  if (options.parts.contains("models")) report_models(options);
  if (options.parts.contains("peers")) blindfl::bench::report_peers({.json = options.layers.json});
  if (options.parts.contains("tops")) {
    blindfl::bench::report_tops({.json = options.layers.json, .model = options.model});
  }
  if (options.parts.contains("ways")) blindfl::bench::report_ways(options.layers);
  if (options.parts.contains("features")) blindfl::bench::report_features(options.layers, options.features);
  if (options.parts.contains("own")) blindfl::bench::report_own(options.layers, options.own_features);
  if (options.parts.contains("wide")) blindfl::bench::report_wide_deep(options.wide);
  if (options.parts.contains("embed")) blindfl::bench::report_embed_messages(options.embed);
  return 0;
} catch (const std::exception& error) {
  std::cerr << "bench_batch: " << error.what() << "\n";
  return 1;
}
