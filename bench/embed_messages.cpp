#include "embed_messages.h"

#include <algorithm>
#include <barrier>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "blindfl/base/process_usage.h"
#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/protocol/layers/embed_matmul.h"
#include "blindfl/protocol/layers/steps.h"
#include "blindfl/protocol/session/in_process.h"
#include "measured_scheme.h"

namespace blindfl::bench {

namespace {

using protocol::Party;
using protocol::Session;

constexpr std::size_t kBatch = 128;
constexpr std::size_t kFields = 10;
constexpr std::size_t kOut = 64;
constexpr std::size_t kBatches = 4;
constexpr std::size_t kSteps = 8;
constexpr double kLearningRate = 0.05;

protocol::EmbedMatMulSpec spec_of(std::size_t categories, protocol::Top top) {
  protocol::EmbedMatMulSpec spec;
  spec.top = top;
  const protocol::EmbedField field{.field = {.categories = categories}, .scheme = std::string(protocol::kByOt)};
  spec.fields_a.assign(kFields, field);
  spec.fields_b.assign(kFields, field);
  spec.out = kOut;
  spec.batch = kBatch;
  spec.sgd = {.learning_rate = kLearningRate, .steps = 10000};
  return spec;
}

/// One party's half of the layer in training.
class LayerRun {
 public:
  LayerRun(Session& session, const protocol::EmbedMatMulSpec& spec) : session_(session), layer_(session, spec) {
    SeededRandom random(session.party() == Party::kA ? 3 : 4);
    for (auto& fields : batches_) {
      for (std::size_t f = 0; f < kFields; ++f) {
        std::vector<IntMatrix::Column> chosen(kBatch);
        for (auto& c : chosen) c = static_cast<IntMatrix::Column>(random.below(spec.fields_a[f].field.categories));
        fields.push_back(encode_categories(spec.fields_a[f].field, chosen));
      }
    }
  }

  void step(std::size_t i) {
    const auto forward = layer_.forward(batches_[i % kBatches], kBatch);
    const auto gradients = layer_.backward(forward.pass, derivative());
    learn(*layer_.weight(), gradients.weight);
    for (std::size_t t = 0; t < layer_.tables().size(); ++t) {
      learn(*layer_.tables()[t]->weight(), *gradients.tables[t]);
    }
  }

 private:
  static void learn(protocol::Weight& weight, const ShareMatrix& gradient) {
    weight.piece -=
        multiply_public(gradient, PublicFactor(kLearningRate / static_cast<double>(kBatch)), weight.piece.scale());
    ++weight.version;
  }
  /// Under a shared top each party's is a share of what is no derivative of anything.
  protocol::Derivative derivative() {
    const protocol::EmbedMatMulParams& params = layer_.params();
    std::vector<double> dz(kBatch * kOut);
    for (double& v : dz) v = 2 * random_.uniform() - 1;
    if (params.shared()) {
      const ShareMatrix share = encode_ring(kBatch, kOut, dz, params.derivative_scale(), 1.0);
      return protocol::shared_derivative(kBatch, narrowed(share, params.derivative_ring()));
    }
    if (session_.party() == Party::kA) return protocol::absent_derivative(kBatch, kBatch);
    return protocol::encode_derivative(params.derivative(), kBatch, kOut, dz);
  }

  Session& session_;
  protocol::EmbedMatMul layer_;
  std::vector<IntMatrix> batches_[kBatches];
  SeededRandom random_{5};
};

/// What a message costs in a step.
struct Row {
  std::string name;
  double from_a = 0;  ///< bytes
  double from_b = 0;
  double making = 0;  ///< ms of both parties' processors
  double using_it = 0;
};

struct Report {
  std::vector<Row> rows;
  double products = 0;   ///< ms of both parties' processors in the scheme
  double computing = 0;  ///< all
};

using Traffic = std::map<net::Step, net::Traffic>;

/// Which products an operand and a reply belong to.
std::map<net::Step, std::pair<ProductClock::Shape, bool>> shapes_of(const protocol::EmbedMatMulParams& params,
                                                                    const he::Scheme& scheme) {
  const auto shape = [](const he::ProductSpec& spec) { return ProductClock::Shape{spec.rows, spec.inner, spec.cols}; };
  using namespace protocol;
  const auto embedding = shape(params.embedding(params.choose_limbs(scheme), kBatch));
  if (params.shared()) {
    const auto gradient = shape(params.shared_weight_gradient(params.choose_gradient_limbs(scheme), kBatch));
    const auto derivative = shape(params.shared_embedding_derivative(params.choose_derivative_limbs(scheme), kBatch));
    return {{steps::kWeightOperand, {embedding, true}},    {steps::kEmbeddingProduct, {embedding, false}},
            {steps::kSharedDerivative, {gradient, true}},  {steps::kSharedGradient, {gradient, false}},
            {steps::kBackwardOperand, {derivative, true}}, {steps::kEmbeddingDerivative, {derivative, false}}};
  }
  const auto gradient = shape(params.weight_gradient(kBatch));
  const auto derivative = shape(params.embedding_derivative(kBatch));
  return {{steps::kWeightOperand, {embedding, true}},    {steps::kEmbeddingProduct, {embedding, false}},
          {steps::kEmbeddingOperand, {gradient, true}},  {steps::kWeightGradient, {gradient, false}},
          {steps::kBackwardOperand, {derivative, true}}, {steps::kEmbeddingDerivative, {derivative, false}}};
}

Report measure(std::size_t categories, protocol::Top top) {
  ProductClock clock;
  const MeasuredScheme scheme(std::make_unique<he::LatticeScheme>(), clock);
  const protocol::EmbedMatMulSpec spec = spec_of(categories, top);
  const auto shapes = shapes_of(protocol::EmbedMatMulParams(spec), scheme);
  const auto times = [&] {
    std::map<std::pair<net::Step, bool>, double> all;
    for (const auto& [step, product] : shapes) {
      const auto& [shape, operand] = product;
      all[{step, true}] = clock.seconds(operand ? ProductWork::kEncrypt : ProductWork::kMultiply, shape);
      all[{step, false}] = clock.seconds(operand ? ProductWork::kLoad : ProductWork::kOpen, shape);
    }
    return all;
  };
  std::barrier together(2);
  decltype(times()) before;
  double ahead = 0;
  double products = 0;
  double computing = 0;
  const auto party = [&](Session& session) {
    LayerRun run(session, spec);
    for (std::size_t i = 0; i < kBatches; ++i) run.step(i);
    const Traffic sent = session.channel().sent();
    together.arrive_and_wait();
    if (session.party() == Party::kB) {
      before = times();
      ahead = clock.seconds(ProductWork::kPrepare);
      products = clock.seconds();
      computing = processor_seconds(RUSAGE_SELF);
    }
    together.arrive_and_wait();
    for (std::size_t i = 0; i < kSteps; ++i) run.step(i);
    together.arrive_and_wait();
    if (session.party() == Party::kB) computing = processor_seconds(RUSAGE_SELF) - computing;
    Traffic grown = session.channel().sent();
    for (const auto& [step, traffic] : sent) grown[step].bytes -= traffic.bytes;
    return grown;
  };
  const auto [a, b] = protocol::run_in_process({&scheme}, party);
  constexpr double kPerStep = 1.0 / static_cast<double>(kSteps);
  const auto milliseconds = [&](double seconds) { return seconds * 1e3 * kPerStep; };
  const auto after = times();
  const auto bytes_of = [&](const Traffic& of, net::Step step) {
    const auto found = of.find(step);
    return found == of.end() ? 0.0 : static_cast<double>(found->second.bytes) * kPerStep;
  };
  std::set<net::Step> all;
  for (const Traffic* of : {&a, &b})
    std::ranges::transform(*of, std::inserter(all, all.end()), [](const auto& s) { return s.first; });
  Report report;
  for (const net::Step step : all) {
    Row row{.name = std::string(name_of(step)), .from_a = bytes_of(a, step), .from_b = bytes_of(b, step)};
    if (row.from_a + row.from_b == 0) continue;
    if (shapes.contains(step)) {
      row.making = milliseconds(after.at({step, true}) - before.at({step, true}));
      row.using_it = milliseconds(after.at({step, false}) - before.at({step, false}));
    }
    report.rows.push_back(row);
  }
  report.rows.push_back(
      {.name = "prepared for products", .making = milliseconds(clock.seconds(ProductWork::kPrepare) - ahead)});
  report.products = milliseconds(clock.seconds() - products);
  report.computing = milliseconds(computing);
  return report;
}

void print(const EmbedMessagesOptions& options, std::size_t categories, std::string_view top, const Report& report) {
  Row sum{.name = "all"};
  std::cout << std::fixed;
  if (!options.json) {
    std::cout << "\n"
              << categories << " categories, " << top << " top\n"
              << "message                   A sends    B sends |  making it   using it\n";
  }
  for (const Row& row : report.rows) {
    sum.from_a += row.from_a;
    sum.from_b += row.from_b;
    if (options.json) {
      std::cout << R"({"categories":)" << categories << R"(,"top":")" << top << R"(","message":")" << row.name
                << R"(","a_kb":)" << row.from_a / 1e3 << R"(,"b_kb":)" << row.from_b / 1e3 << R"(,"making_ms":)"
                << row.making << R"(,"using_ms":)" << row.using_it << "}" << std::endl;
      continue;
    }
    std::cout << std::left << std::setw(24) << row.name << std::right << std::setprecision(1) << std::setw(9)
              << row.from_a / 1e3 << std::setw(11) << row.from_b / 1e3 << " |" << std::setprecision(2) << std::setw(11)
              << row.making << std::setw(11) << row.using_it << std::endl;
  }
  if (options.json) return;
  std::cout << std::left << std::setw(24) << sum.name << std::right << std::setprecision(1) << std::setw(9)
            << sum.from_a / 1e3 << std::setw(11) << sum.from_b / 1e3 << " | products " << std::setprecision(2)
            << report.products << " of " << report.computing << " ms" << std::endl;
}

}  // namespace

void report_embed_messages(const EmbedMessagesOptions& options) {
  if (!options.json) {
    std::cout << "\nEmbed-MatMul, batch " << kBatch << ": " << kFields << " fields per party, embeddings of 8, " << kOut
              << " outputs, tables by oblivious transfer, 1 thread per party:\n"
              << "kB, and ms of processor time where a message is of a product, per step\n";
  }
  for (const std::size_t categories : options.vocabularies) {
    print(options, categories, "open", measure(categories, protocol::Top::kOpen));
    print(options, categories, "shared", measure(categories, protocol::Top::kShared));
  }
}

}  // namespace blindfl::bench
