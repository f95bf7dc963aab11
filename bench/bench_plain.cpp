// Plain libtorch on a LIBSVM file: logistic regression, one epoch after one to warm up. What a federated epoch on the
// same rows is compared with: scripts/bench_end_to_end runs both.

#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include "blindfl/blindfl.h"
#include "blindfl/data/libsvm.h"
#include "blindfl/lab/local_model.h"

namespace {

using Clock = std::chrono::steady_clock;

/// Seconds for one step, the fastest of some epochs: the machine is shared.
double seconds_per_step(const blindfl::data::Table& rows, bool sparse) {
  blindfl::train::TrainOptions options;
  options.epochs = 1;
  options.batch = 128;
  const blindfl::data::Table table = sparse ? rows : blindfl::made_up::as_dense(rows);
  const std::size_t steps = (table.rows() + options.batch - 1) / options.batch;
  double best = 1e9;
  for (int epoch = 0; epoch < 3; ++epoch) {
    torch::manual_seed(1);
    blindfl::lab::LocalModel model(table.cols(), std::vector<std::size_t>{}, 1);
    const auto begin = Clock::now();
    blindfl::lab::fit(model, blindfl::Family::kLogistic, table, options);
    const std::chrono::duration<double> taken = Clock::now() - begin;
    best = std::min(best, taken.count() / static_cast<double>(steps));
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::cout << "usage: bench_plain FILE: seconds of one step of logistic regression in plain libtorch\n";
    return 0;
  }
  const auto rows = blindfl::made_up::with_class_labels(blindfl::data::read_libsvm(argv[1]));
  torch::set_num_threads(1);
  std::cout << "dense " << seconds_per_step(rows, false) << "\nsparse " << seconds_per_step(rows, true) << "\n";
  return 0;
} catch (const std::exception& error) {
  std::cerr << "bench_plain: " << error.what() << "\n";
  return 1;
}
