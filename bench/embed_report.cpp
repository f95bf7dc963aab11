#include "embed_report.h"

#include <malloc.h>

#include <barrier>
#include <iomanip>
#include <iostream>
#include <string_view>

#include "blindfl/base/error.h"
#include "blindfl/base/process_usage.h"
#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/he/paillier/paillier_scheme.h"
#include "blindfl/protocol/layers/embed_matmul.h"
#include "blindfl/protocol/layers/matmul.h"
#include "blindfl/protocol/plan/embed_cost.h"
#include "blindfl/protocol/session/in_process.h"
#include "timing.h"

namespace blindfl::bench {

namespace {

using protocol::Party;
using protocol::Session;
using protocol::Update;

constexpr std::size_t kBatch = 128;
constexpr std::size_t kFields = 10;
constexpr std::size_t kNumeric = 10;
constexpr std::size_t kOut = 64;
constexpr double kLearningRate = 0.05;
/// Whole tables' gradients of more categories than this fill memory and hours: there, costs are predicted.
constexpr std::size_t kMostExchanged = 20000;

struct Way {
  const char* name;
  Update update;
  double momentum;
  std::string_view tables;
};
constexpr Way kWays[] = {
    {"ot", Update::kExchanged, 0, protocol::kByOt},
    {"lattice", Update::kExchanged, 0, "lattice"},
    {"encrypted", Update::kEncrypted, 0, "paillier"},
    {"encrypted-0.9", Update::kEncrypted, 0.9, "paillier"},
};

struct Cost {
  double computing = 0;  ///< ms of both parties' processors
  double time = 0;       ///< ms
  double sent_by_a = 0;  ///< bytes
  double sent_by_b = 0;
  double memory = 0;  ///< bytes, of both parties
  bool predicted = false;
};

protocol::EmbedMatMulSpec deep_spec(std::size_t categories, const Way& way) {
  protocol::EmbedMatMulSpec spec;
  protocol::EmbedField field;
  field.field.categories = categories;
  field.update = way.update;
  field.scheme = way.tables;
  spec.fields_a.assign(kFields, field);
  spec.fields_b.assign(kFields, field);
  spec.out = kOut;
  spec.batch = kBatch;
  spec.scheme = "lattice";
  spec.sgd = {.learning_rate = kLearningRate, .momentum = way.momentum, .steps = 10000};
  return spec;
}

protocol::MatMulSpec wide_spec() {
  protocol::MatMulSpec spec;
  spec.in_a = spec.in_b = kNumeric;
  spec.out = 1;
  spec.batch = kBatch;
  return spec;
}

/// One party's half of both layers in training.
class WideDeepRun {
 public:
  WideDeepRun(Session& session, std::size_t categories, const Way& way, std::size_t batches)
      : session_(session), wide_(session, wide_spec()), deep_(session, deep_spec(categories, way)) {
    SeededRandom random(session.party() == Party::kA ? 3 : 4);
    const FixedPoint encoding{FixedPointSpec{}};
    for (std::size_t i = 0; i < batches; ++i) {
      std::vector<double> numbers(kBatch * kNumeric);
      for (double& v : numbers) v = random.normal();
      numeric_.push_back(encode_dense(encoding, kBatch, kNumeric, numbers));
      auto& fields = categories_.emplace_back();
      for (std::size_t f = 0; f < kFields; ++f) {
        std::vector<IntMatrix::Column> chosen(kBatch);
        for (auto& c : chosen) c = static_cast<IntMatrix::Column>(random.below(categories));
        fields.push_back(encode_categories({.categories = categories}, chosen));
      }
    }
  }

  void step(std::size_t i) {
    const IntMatrix& x = numeric_[i % numeric_.size()];
    (void)open_output(session_, wide_.layer(), round_output(wide_.forward(x), 16));
    const auto forward = deep_.forward(categories_[i % categories_.size()], kBatch);
    (void)open_output(session_, deep_.layer(), round_output(forward.output, 16));
    const auto wide = wide_.backward(x, derivative(1));
    const auto deep = deep_.backward(forward.pass, derivative(kOut));
    if (wide.weight_a) learn(*wide_.shared_weight(Party::kA), *wide.weight_a);
    if (wide.weight_b) learn(*wide_.shared_weight(Party::kB), *wide.weight_b);
    learn(*deep_.weight(), deep.weight);
    for (std::size_t t = 0; t < deep_.tables().size(); ++t) {
      protocol::Weight& table = *deep_.tables()[t]->weight();
      if (table.update) {
        table.update->step();
      } else {
        learn(table, *deep.tables[t]);
      }
    }
  }

 private:
  static void learn(protocol::Weight& weight, const ShareMatrix& gradient) {
    weight.piece -=
        multiply_public(gradient, PublicFactor(kLearningRate / static_cast<double>(kBatch)), weight.piece.scale());
    if (weight.shared_gradient) ++weight.version;
  }
  protocol::Derivative derivative(std::size_t out) {
    if (session_.party() == Party::kA) return protocol::absent_derivative(kBatch, kBatch);
    std::vector<double> dz(kBatch * out);
    for (double& v : dz) v = 2 * random_.uniform() - 1;
    return protocol::encode_derivative(deep_.params().derivative(), kBatch, out, dz);
  }

  Session& session_;
  protocol::MatMul wide_;
  protocol::EmbedMatMul deep_;
  std::vector<IntMatrix> numeric_;
  std::vector<std::vector<IntMatrix>> categories_;
  SeededRandom random_{5};
};

/// Every row that is looked up was written before: rows that were never written cost an encrypted table nothing.
Cost measure(const std::vector<const he::Scheme*>& schemes, std::size_t categories, const Way& way) {
  const bool long_steps = way.update == Update::kExchanged && categories > 1000;
  const std::size_t batches = long_steps ? 1 : 4;
  const std::size_t steps = long_steps ? 2 : 4;
  std::barrier together(2);
  malloc_trim(0);
  const PeakMemory memory;
  Cost cost;
  const auto party = [&](Session& session) {
    WideDeepRun run(session, categories, way, batches);
    for (std::size_t i = 0; i < batches; ++i) run.step(i);
    const std::uint64_t before = net::total(session.channel().sent()).bytes;
    std::vector<double> computing;
    Stopwatch watch;
    for (std::size_t i = 0; i < steps; ++i) {
      together.arrive_and_wait();
      const double start = processor_seconds(RUSAGE_SELF);
      watch.restart();
      run.step(i);
      together.arrive_and_wait();
      watch.lap();
      computing.push_back((processor_seconds(RUSAGE_SELF) - start) * 1e3);
    }
    if (session.party() == Party::kB) {
      cost.computing = median(std::move(computing));
      cost.time = watch.median_lap();
    }
    return static_cast<double>(net::total(session.channel().sent()).bytes - before) / static_cast<double>(steps);
  };
  const auto [a, b] = protocol::run_in_process(schemes, party);
  cost.sent_by_a = a;
  cost.sent_by_b = b;
  cost.memory = static_cast<double>(memory.growth());
  return cost;
}

/// The deep part's bytes as they would be, and the time as the planner expects it.
Cost predict(const std::vector<const he::Scheme*>& schemes, std::size_t categories, const Way& way) {
  const protocol::EmbedMatMulParams params(deep_spec(categories, way));
  protocol::LayerCost sum = protocol::cost_of_weights(params, *schemes[0]);
  for (const Party party : {Party::kA, Party::kB}) {
    for (const protocol::EmbedField& f : params.fields(party)) {
      sum += f.by_ot() ? protocol::cost_of_ot_field(params, party, f)
                       : protocol::cost_of_field(params, party, f, *schemes[way.update == Update::kEncrypted ? 1 : 0]);
    }
  }
  Cost cost;
  cost.computing = (sum.step.seconds_a + sum.step.seconds_b) * 1e3;
  cost.sent_by_a = static_cast<double>(sum.step.bytes_to_b);
  cost.sent_by_b = static_cast<double>(sum.step.bytes_to_a);
  cost.memory = static_cast<double>(sum.memory_a + sum.memory_b);
  cost.predicted = true;
  return cost;
}

void print(const EmbedReportOptions& options, const Way& way, std::size_t categories, const Cost& c, double first) {
  if (options.json) {
    std::cout << R"({"way":")" << way.name << R"(","categories":)" << categories << R"(,"computing_ms":)" << c.computing
              << R"(,"ms":)" << c.time << R"(,"a_kb":)" << c.sent_by_a / 1e3 << R"(,"b_kb":)" << c.sent_by_b / 1e3
              << R"(,"memory_mb":)" << c.memory / 1e6 << R"(,"predicted":)" << (c.predicted ? "true" : "false") << "}"
              << std::endl;
    return;
  }
  std::cout << std::left << std::setw(15) << way.name << std::right << std::setw(10) << categories << std::fixed
            << std::setprecision(0) << std::setw(12) << c.computing;
  if (c.predicted) {
    std::cout << std::setw(10) << "-";
  } else {
    std::cout << std::setw(10) << c.time;
  }
  std::cout << std::setprecision(2) << std::setw(8) << c.computing / first << " |" << std::setprecision(0)
            << std::setw(11) << c.sent_by_a / 1e3 << std::setw(11) << c.sent_by_b / 1e3 << " |" << std::setw(8)
            << c.memory / 1e6 << (c.predicted ? "  predicted: too much to run" : "") << std::endl;
}

}  // namespace

void report_wide_deep(const EmbedReportOptions& options) {
  const he::LatticeScheme lattice;
  const he::PaillierScheme paillier(he::paillier::Params({.key_bits = options.key_bits}),
                                    he::PaillierScheme::Options{});
  const std::vector<const he::Scheme*> schemes{&lattice, &paillier};
  if (!options.json) {
    std::cout << "\nWide & Deep, batch " << kBatch << ": " << kNumeric << " numeric features and " << kFields
              << " fields per party, embeddings of 8, deep part " << kOut << " wide, Paillier of " << options.key_bits
              << " bits,\n1 thread per party: ms of both parties' computing and of time, and kB, per step\n"
              << "tables         categories   computing      time   times |    A sends    B sends | MB of both\n";
  }
  for (const Way& way : kWays) {
    if (options.way && *options.way != way.name) continue;
    std::optional<double> first;
    for (const std::size_t categories : options.vocabularies) {
      const bool run = way.update == Update::kEncrypted || categories <= kMostExchanged;
      const Cost cost = run ? measure(schemes, categories, way) : predict(schemes, categories, way);
      if (!first) first = cost.computing;
      print(options, way, categories, cost, *first);
    }
  }
}

}  // namespace blindfl::bench
