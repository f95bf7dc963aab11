// What a mini-batch costs SecureML: the matrix products of one layer, forward and backward, triplets included, in all
// three ways to make these.

#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.h"
#include "blindfl/base/number_text.h"
#include "blindfl/lab/secureml/measure.h"

namespace {

using namespace blindfl;
using namespace blindfl::lab::secureml;

constexpr const char* kUsage =
    "usage: bench_secureml [--json] [--batch ROWS] [--features COUNTS] [--outputs COUNT] [--steps COUNT] "
    "[--memory GB] [--seconds MOST]";

struct Options {
  std::size_t batch = 128;
  std::vector<std::size_t> features{};  ///< none: those of data sets
  std::size_t outputs = 1;
  std::size_t steps = 9;
  Limits limits{.memory = 16'000'000'000};
  bool json = false;
};

/// A data set's first layer.
struct Named {
  std::string name;
  BatchShape shape;
};

std::vector<Named> shapes_of(const Options& options) {
  std::vector<Named> shapes;
  for (const std::size_t features : options.features) {
    shapes.push_back({count_text(features) + " features", {options.batch, features, options.outputs}});
  }
  if (!shapes.empty()) return shapes;
  return {{"higgs LR", {options.batch, 28, 1}},
          {"a9a LR", {options.batch, 123, 1}},
          {"w8a LR", {options.batch, 300, 1}},
          {"connect-4 MLP", {options.batch, 126, 64}}};
}

void report(const Options& options, const Named& named, Triplets way) {
  const auto refused = refusal(named.shape, way, options.limits);
  if (options.json) {
    std::cout << R"({"shape":")" << named.name << R"(","batch":)" << named.shape.batch << R"(,"features":)"
              << named.shape.features << R"(,"outputs":)" << named.shape.outputs << R"(,"triplets":")" << name_of(way)
              << '"';
  } else {
    std::cout << named.name << ", " << name_of(way) << ": ";
  }
  if (refused) {
    std::cout << (options.json ? R"(,"refused":")" + *refused + "\"}" : *refused) << std::endl;
    return;
  }
  const auto [cost, how, extrapolated] = predict_batch(named.shape, way, options.steps);
  if (options.json) {
    std::cout << R"(,"seconds":)" << cost.seconds << R"(,"bytes":)" << cost.bytes << R"(,"memory":)" << cost.memory
              << R"(,"how":")" << how << R"(","extrapolated":)" << (extrapolated ? "true" : "false") << "}"
              << std::endl;
    return;
  }
  std::cout << seconds_text(cost.seconds) << ", " << bytes_text(static_cast<double>(cost.bytes)) << ", "
            << bytes_text(static_cast<double>(cost.memory)) << " of memory; " << how << std::endl;
}

Options read_options(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv, kUsage,
                                   {"--batch", "--features", "--outputs", "--steps", "--memory", "--seconds"});
  Options options;
  options.json = arguments.json();
  if (const auto batch = arguments.value("--batch")) options.batch = bench::positive(*batch);
  if (const auto features = arguments.value("--features")) options.features = bench::positive_list(*features);
  if (const auto outputs = arguments.value("--outputs")) options.outputs = bench::positive(*outputs);
  if (const auto steps = arguments.value("--steps")) options.steps = bench::positive(*steps);
  if (const auto memory = arguments.value("--memory")) options.limits.memory = bench::positive(*memory) * 1'000'000'000;
  if (const auto most = arguments.value("--seconds")) {
    options.limits.seconds = static_cast<double>(bench::positive(*most));
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv);
  if (!options.json) {
    std::cout << "batches of " << options.batch << ", the middle of " << options.steps
              << " after a first, 1 thread per party\n";
  }
  for (const Named& named : shapes_of(options)) {
    for (const Triplets way : {Triplets::kObliviousTransfer, Triplets::kLattice, Triplets::kThirdParty}) {
      report(options, named, way);
    }
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << "bench_secureml: " << error.what() << "\n";
  return 1;
}
