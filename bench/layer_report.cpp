#include "layer_report.h"

#include <malloc.h>

#include <functional>
#include <iomanip>
#include <iostream>
#include <memory>
#include <sstream>

#include "blindfl/base/error.h"
#include "blindfl/base/process_usage.h"
#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/he/paillier/paillier_scheme.h"
#include "layer_steps.h"
#include "paper_way.h"

namespace blindfl::bench {

namespace {

using he::PaillierScheme;
using protocol::Update;

constexpr double kPaperSeconds = 5;

struct Way {
  const char* name;
  bool lattice;
  Update update;
  double momentum;
};
constexpr Way kWays[] = {
    {"encrypted", false, Update::kEncrypted, 0},
    {"encrypted-0.9", false, Update::kEncrypted, 0.9},
    {"exchanged", false, Update::kExchanged, 0},
    {"lattice", true, Update::kExchanged, 0},
};

struct Reported {
  StepCost cost;
  std::string note{};  ///< if it was not measured as a whole
};

std::unique_ptr<PaillierScheme> make_paillier(int key_bits) {
  return std::make_unique<PaillierScheme>(he::paillier::Params({.key_bits = key_bits}), PaillierScheme::Options{});
}

Reported measure_paper(const MpzPaillier& key, const LayerShape& shape, Random& random) {
  SeededRandom data(3);
  const IntMatrix x = random_features(shape, kLayerBatch, data);
  const PaperStep step = measure_paper_step(key, x, shape.out, kPaperSeconds, random);
  Reported reported{{step.at_a, step.at_b, step.sent_by_a, step.sent_by_b}};
  if (step.measured < 0.99) {
    std::ostringstream note;
    note << "measured on 1/" << std::fixed << std::setprecision(step.measured < 0.1 ? 0 : 1) << 1 / step.measured
         << " of the work";
    reported.note = note.str();
  }
  return reported;
}

/// Exchanged gradients take what the features do: with many of them, a straight line through two smaller numbers. What
/// is sent is in the plans.
Reported extrapolate(const he::Scheme& scheme, const LayerShape& shape, const StepPlan& plan, std::size_t few) {
  LayerShape low = shape;
  LayerShape high = shape;
  low.in = few;
  high.in = 2 * few;
  const StepCost at_low = measure_step(scheme, low, plan);
  const StepCost at_high = measure_step(scheme, high, plan);
  const double factor = static_cast<double>(shape.in - low.in) / static_cast<double>(high.in - low.in);
  const protocol::MatMulParams params(layer_spec(shape, plan.update, plan.momentum));
  const auto forward = scheme.plan(params.forward(protocol::Party::kA, kLayerBatch));
  const auto backward = scheme.plan(params.backward(kLayerBatch));
  return {{at_low.at_a + (at_high.at_a - at_low.at_a) * factor, at_low.at_b + (at_high.at_b - at_low.at_b) * factor,
           static_cast<double>(forward->reply_bytes() + backward->reply_bytes()),
           static_cast<double>(forward->operand_bytes() + backward->operand_bytes())},
          "from " + std::to_string(low.in) + " and " + std::to_string(high.in) + " features"};
}

Reported measure_way(const he::Scheme& scheme, const LayerShape& shape, const Way& way) {
  constexpr std::size_t kFew = 1024;
  StepPlan plan{.update = way.update, .momentum = way.momentum};
  if (shape.out > 1) plan.batches = plan.steps = 3;
  if (way.update == Update::kEncrypted || way.lattice || shape.in <= 2 * kFew) {
    return {measure_step(scheme, shape, plan)};
  }
  plan.batches = plan.steps = 3;
  return extrapolate(scheme, shape, plan, kFew);
}

void print_way(const LayerOptions& options, const LayerShape& shape, const char* way, const Reported& r,
               const std::optional<StepCost>& paper) {
  const double total = r.cost.at_a + r.cost.at_b;
  const double ratio = paper ? (paper->at_a + paper->at_b) / total : 0;
  if (options.json) {
    std::cout << R"({"shape":")" << shape.name << R"(","way":")" << way << R"(","key_bits":)" << options.key_bits
              << R"(,"a_ms":)" << r.cost.at_a << R"(,"b_ms":)" << r.cost.at_b << R"(,"a_kb":)" << r.cost.sent_by_a / 1e3
              << R"(,"b_kb":)" << r.cost.sent_by_b / 1e3;
    if (paper) std::cout << R"(,"times_faster":)" << ratio;
    std::cout << R"(,"note":")" << r.note << "\"}" << std::endl;
    return;
  }
  std::cout << std::left << std::setw(11) << shape.name << std::setw(15) << way << std::right << std::fixed
            << std::setprecision(total < 1000 ? 1 : 0) << std::setw(11) << r.cost.at_a << std::setw(11) << r.cost.at_b
            << " |" << std::setprecision(0) << std::setw(9) << r.cost.sent_by_a / 1e3 << std::setw(9)
            << r.cost.sent_by_b / 1e3 << " |";
  if (paper) {
    std::cout << std::setprecision(ratio < 10 ? 1 : 0) << std::setw(9) << ratio;
  } else {
    std::cout << std::setw(9) << "-";
  }
  std::cout << "  " << r.note << std::endl;
}

bool wanted(const std::optional<std::string>& choice, std::string_view name) {
  return !choice || *choice == name;
}

void check_choice(const LayerOptions& options) {
  bool shape = false;
  bool way = wanted(options.way, "paper");
  for (const LayerShape& s : kLayerShapes) shape = shape || wanted(options.shape, s.name);
  for (const Way& w : kWays) way = way || wanted(options.way, w.name);
  require<InvalidArgument>(shape && way, "there is no such shape or way");
}

}  // namespace

void report_ways(const LayerOptions& options) {
  check_choice(options);
  const auto paillier = make_paillier(options.key_bits);
  const he::LatticeScheme lattice;
  Random random;
  const MpzPaillier mpz(
      he::paillier::SecretKey::generate(paillier->params(), he::paillier::available_kernels().front(), random));
  if (!options.json) {
    std::cout << "\na layer of A's features, batch " << kLayerBatch << ", Paillier of " << options.key_bits
              << " bits, 1 thread per party: ms of each party's computing and kB, per step,\n"
              << "and how many times less computing than the paper's way in plain GMP, both parties added up\n"
              << "shape      way                  A, ms      B, ms |  A sends  B sends |  times\n";
  }
  for (const LayerShape& shape : kLayerShapes) {
    if (!wanted(options.shape, shape.name)) continue;
    std::optional<StepCost> paper;
    if (wanted(options.way, "paper")) {
      const Reported r = measure_paper(mpz, shape, random);
      paper = r.cost;
      print_way(options, shape, "paper", r, paper);
    }
    for (const Way& way : kWays) {
      if (!wanted(options.way, way.name)) continue;
      const he::Scheme& scheme = way.lattice ? static_cast<const he::Scheme&>(lattice) : *paillier;
      print_way(options, shape, way.name, measure_way(scheme, shape, way), paper);
    }
  }
}

void report_features(const LayerOptions& options, const std::vector<std::size_t>& features) {
  const auto scheme = make_paillier(options.key_bits);
  if (!options.json) {
    std::cout << "\nupdates under encryption by A's features: 7 of a row are 1, 1 output, 64 batches of " << kLayerBatch
              << " in turn, every row written before\n"
              << "  features      A, ms    B, ms     both  times |  A sends  B sends | MB of both parties\n";
  }
  std::optional<double> first;
  for (const std::size_t count : features) {
    const LayerShape shape{"features", count, 7, 1, 1, 100000, 5};
    malloc_trim(0);
    const PeakMemory memory;
    const StepCost cost =
        measure_step(*scheme, shape, {.update = Update::kEncrypted, .momentum = 0, .batches = 64, .steps = 64});
    const double total = cost.at_a + cost.at_b;
    if (!first) first = total;
    const double megabytes = static_cast<double>(memory.growth()) / 1e6;
    if (options.json) {
      std::cout << R"({"features":)" << count << R"(,"a_ms":)" << cost.at_a << R"(,"b_ms":)" << cost.at_b
                << R"(,"a_bytes":)" << cost.sent_by_a << R"(,"b_bytes":)" << cost.sent_by_b << R"(,"memory_mb":)"
                << megabytes << R"(,"times_the_first":)" << total / *first << "}" << std::endl;
      continue;
    }
    std::cout << std::setw(10) << count << std::fixed << std::setprecision(2) << std::setw(11) << cost.at_a
              << std::setw(9) << cost.at_b << std::setw(9) << total << std::setw(7) << total / *first << " |"
              << std::setprecision(0) << std::setw(9) << cost.sent_by_a << std::setw(9) << cost.sent_by_b << " |"
              << std::setw(7) << megabytes << std::endl;
  }
}

void report_own(const LayerOptions& options, std::size_t features) {
  const auto scheme = make_paillier(options.key_bits);
  const OwnCost cost = measure_own(*scheme, features);
  const double more = 1e6 / static_cast<double>(features);
  if (options.json) {
    std::cout << R"({"features_b":)" << features << R"(,"a_ms":)" << cost.at_a << R"(,"b_ms":)" << cost.at_b
              << R"(,"mb":)" << cost.bytes / 1e6 << R"(,"memory_mb":)" << cost.memory / 1e6
              << R"(,"times_for_a_million":)" << more << "}" << std::endl;
    return;
  }
  std::cout << "\nB's own features, before training: A encrypts [[V_B]]_A and sends it, B loads it; 1 output\n"
            << std::fixed << std::setprecision(0) << features << " features: A " << cost.at_a << " ms, B " << cost.at_b
            << " ms, " << std::setprecision(1) << cost.bytes / 1e6 << " MB sent, " << cost.memory / 1e6
            << " MB of memory\n"
            << std::setprecision(more > 1 ? 0 : 1) << "a million, extrapolated from that: A " << cost.at_a * more / 1e3
            << " s, B " << cost.at_b * more / 1e3 << " s, " << cost.bytes * more / 1e6 << " MB sent, "
            << cost.memory * more / 1e6 << " MB of memory" << std::endl;
}

}  // namespace blindfl::bench
