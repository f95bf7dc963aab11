// Whole mini-batches, forward, backward and update, both parties in one process, beside plain libtorch on the joined
// data in the same run. On the oracle scheme this is the price of everything but encryption: shares, copies, queues,
// libtorch.

#include <iomanip>
#include <iostream>
#include <string_view>
#include <thread>

#include "blindfl/blindfl.h"
#include "blindfl/he/plain/plain_scheme.h"
#include "blindfl/lab/local_model.h"
#include "timing.h"

namespace {

using blindfl::Party;
using blindfl::bench::Stopwatch;

struct Shape {
  const char* name;
  std::size_t in_a;
  std::size_t in_b;
  std::size_t out;  // 1: logistic regression; more: the first layer of an MLP for 10 classes
  double density;
};

constexpr std::size_t kBatch = 128;
constexpr std::size_t kSteps = 60;

struct Measured {
  double milliseconds = 0;  // of the median step
  blindfl::net::Traffic sent_by_a;
  blindfl::net::Traffic sent_by_b;
};

blindfl::Family family_of(const Shape& s) {
  return s.out == 1 ? blindfl::Family::kLogistic : blindfl::Family::kMultinomial;
}

blindfl::train::TrainOptions options_for(std::size_t rows) {
  return {.epochs = kSteps * kBatch / rows, .batch = kBatch, .sgd = {.learning_rate = 0.01, .momentum = 0.9}};
}

void train_party(blindfl::Session& session, const Shape& s, const blindfl::data::Table& table,
                 const blindfl::train::Observer& observer) {
  const blindfl::FeatureShape shape{.in_a = s.in_a, .in_b = s.in_b, .batch = kBatch};
  const auto rows = blindfl::data::make_dataset(table, blindfl::FixedPoint(shape.features_a));
  const auto loss = [&](const torch::Tensor& scores, const torch::Tensor& labels) {
    return blindfl::nn::loss(family_of(s), scores, labels);
  };
  const auto fit = [&](auto& model) {
    blindfl::train::fit(
        *model, [&](const blindfl::Batch& x) { return model->forward(x); }, loss, rows,
        options_for(rows.features.rows()), observer);
  };
  if (s.out == 1) {
    blindfl::GeneralizedLinear model(session, shape);
    fit(model);
  } else {
    blindfl::Mlp model(session, shape, std::vector<std::size_t>{s.out}, std::size_t{10});
    fit(model);
  }
}

Measured measure_federated(const Shape& s, const blindfl::data::Table& joined) {
  const auto split = blindfl::data::vertical_split(joined, s.in_a);
  const blindfl::he::PlainScheme scheme;
  return blindfl::protocol::run_in_process(scheme,
                                           [&](blindfl::Session& session) {
                                             Stopwatch watch;
                                             train_party(session, s, session.party() == Party::kA ? split.a : split.b,
                                                         [&](const blindfl::train::StepReport&) { watch.lap(); });
                                             return Measured{watch.median_lap(),
                                                             blindfl::net::total(session.channel().received()),
                                                             blindfl::net::total(session.channel().sent())};
                                           })
      .second;
}

double measure_plain(const Shape& s, const blindfl::data::Table& joined) {
  const auto hidden = s.out == 1 ? std::vector<std::size_t>{} : std::vector<std::size_t>{s.out};
  blindfl::lab::LocalModel model(joined.cols(), hidden, s.out == 1 ? std::size_t{1} : std::size_t{10});
  const torch::Tensor features = blindfl::lab::features_tensor(joined.as_dense());
  const torch::Tensor labels = blindfl::nn::to_tensor(joined.labels(), joined.rows(), 1).view({-1});
  torch::optim::SGD sgd(model->parameters(), torch::optim::SGDOptions(0.01).momentum(0.9));
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

blindfl::data::Table make_table(const Shape& s) {
  blindfl::data::SyntheticSpec spec;
  spec.rows = 6 * kBatch;
  spec.columns_a = s.in_a;
  spec.columns_b = s.in_b;
  spec.density = s.density;
  spec.binary = s.density < 1;
  spec.task = s.out == 1 ? blindfl::data::Task::kBinary : blindfl::data::Task::kMulticlass;
  spec.classes = 10;
  return blindfl::data::make_synthetic(spec).joined;
}

}  // namespace

int main(int argc, char** argv) try {
  const bool json = argc > 1 && std::string_view(argv[1]) == "--json";
  if (argc > 1 && !json) {
    std::cerr << "usage: bench_batch [--json]\n";
    return 2;
  }
  torch::set_num_threads(1);
  const Shape shapes[] = {
      {"a9a LR", 62, 61, 1, 0.11},
      {"higgs LR", 14, 14, 1, 1.0},
      {"connect-4 MLP", 63, 63, 64, 0.33},
      {"Fashion-MNIST MLP", 392, 392, 64, 1.0},
  };
  if (!json) {
    std::cout << "batch " << kBatch << ", median of " << kSteps << " steps, scheme plain (no encryption), "
              << std::thread::hardware_concurrency() << " cores, 1 thread per party\n"
              << "shape               federated ms   plain libtorch ms   ratio   A sends kB   B sends kB (per step)\n";
  }
  for (const Shape& s : shapes) {
    const auto joined = make_table(s);
    const Measured federated = measure_federated(s, joined);
    const double plain = measure_plain(s, joined);
    const auto kilobytes = [](const blindfl::net::Traffic& t) { return static_cast<double>(t.bytes) / 1e3 / kSteps; };
    if (json) {
      std::cout << R"({"shape":")" << s.name << R"(","scheme":"plain","federated_ms":)" << federated.milliseconds
                << R"(,"plain_ms":)" << plain << R"(,"a_kb":)" << kilobytes(federated.sent_by_a) << R"(,"b_kb":)"
                << kilobytes(federated.sent_by_b) << "}\n";
      continue;
    }
    std::cout << std::left << std::setw(20) << s.name << std::fixed << std::setprecision(3) << std::setw(15)
              << federated.milliseconds << std::setw(20) << plain << std::setprecision(1) << std::setw(8)
              << federated.milliseconds / plain << std::setw(13) << kilobytes(federated.sent_by_a)
              << kilobytes(federated.sent_by_b) << "\n";
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << "bench_batch: " << error.what() << "\n";
  return 1;
}
