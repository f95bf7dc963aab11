#include "blindfl/protocol/layers/sgd_plan.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "blindfl/base/error.h"

namespace blindfl::protocol {

namespace {

constexpr double kMostLearningRate = 1e6;
constexpr double kMostWeightDecay = 1e3;
constexpr std::size_t kMostPassesPerStep = 1'000'000;

bool in_range(double x, double most) {
  return std::isfinite(x) && x >= 0 && x <= most;
}

}  // namespace

// The schedule comes last: it may be long, and the words that parties tell each other where they differ are not.
Settings SgdOptions::settings() const {
  Settings settings;
  settings.add("learning_rate", learning_rate).add("momentum", momentum).add("weight_decay", weight_decay);
  settings.add("steps", steps);
  if (passes_per_step != 1) settings.add("passes_per_step", passes_per_step);
  settings.add("learning_rate changes", schedule.size());
  for (const LearningRateChange& change : schedule) {
    settings.add("learning_rate from step " + std::to_string(change.step), change.learning_rate);
  }
  return settings;
}

SgdPlan::SgdPlan(const SgdOptions& options) : options_(options) {
  require<InvalidArgument>(in_range(options.learning_rate, kMostLearningRate),
                           "SGD: the learning rate must be between 0 and 1e6");
  require<InvalidArgument>(options.momentum >= 0 && options.momentum < 1,
                           "SGD: momentum must be at least 0 and below 1");
  require<InvalidArgument>(in_range(options.weight_decay, kMostWeightDecay),
                           "SGD: weight decay must be between 0 and 1e3");
  require<InvalidArgument>(options.passes_per_step > 0 && options.passes_per_step <= kMostPassesPerStep,
                           "SGD: a step adds up between 1 and ", kMostPassesPerStep,
                           " backward passes (passes_per_step)");
  std::size_t before = 0;
  for (const LearningRateChange& change : options.schedule) {
    require<InvalidArgument>(change.step > 0,
                             "SGD: the schedule changes the learning rate at step 0, the first. Give that rate as "
                             "learning_rate, and changes from step 1 on");
    require<InvalidArgument>(change.step > before, "SGD: the schedule's change at step ", change.step,
                             " does not come after the one at step ", before,
                             ". Sort the changes by step, and give one for each");
    require<InvalidArgument>(in_range(change.learning_rate, kMostLearningRate), "SGD: the learning rate from step ",
                             change.step, " on must be between 0 and 1e6");
    before = change.step;
  }
}

double SgdPlan::learning_rate_at(std::size_t step) const {
  require<InvalidArgument>(options_.steps == 0 || step < options_.steps, "SGD: ", options_.steps,
                           " steps were declared, and one more is to be taken. Declare as many as there will be, or 0 "
                           "for any number, at both parties");
  const auto later = std::ranges::upper_bound(options_.schedule, step, {}, &LearningRateChange::step);
  return later == options_.schedule.begin() ? options_.learning_rate : std::prev(later)->learning_rate;
}

double SgdPlan::largest_learning_rate() const {
  double largest = options_.learning_rate;
  for (const LearningRateChange& change : options_.schedule) largest = std::max(largest, change.learning_rate);
  return largest;
}

double SgdPlan::smallest_learning_rate() const {
  double smallest = options_.learning_rate;
  for (const LearningRateChange& change : options_.schedule) {
    if (change.learning_rate > 0 && (smallest == 0 || change.learning_rate < smallest)) smallest = change.learning_rate;
  }
  return smallest;
}

}  // namespace blindfl::protocol
