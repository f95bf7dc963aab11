#include "blindfl/lab/paper/secureml_cells.h"

#include <algorithm>

#include "blindfl/base/text.h"
#include "blindfl/lab/paper/machine.h"
#include "blindfl/lab/secureml/measure.h"

namespace blindfl::lab::paper {

namespace {

using secureml::Triplets;

const char* const kPredicted = "predicted";
/// Beyond so many features, a straight line. What a third party deals takes milliseconds for thousands of features, of
/// which a line needs as many, and the whole of what fits in little memory is measured.
std::size_t most_features(const secureml::BatchShape& shape, Triplets triplets, bool quick) {
  constexpr std::size_t kMany = 4096;
  constexpr std::size_t kQuickFeatures = 512;
  constexpr std::size_t kQuickTransfers = 2048;  // words of weights
  constexpr std::uint64_t kLittleMemory = 1'000'000'000;
  if (triplets == Triplets::kThirdParty) {
    return !quick && secureml::batch_memory(shape, triplets) < kLittleMemory ? shape.features : kMany;
  }
  if (!quick) return kMany;
  return triplets == Triplets::kLattice ? kQuickFeatures : std::min(kQuickFeatures, kQuickTransfers / shape.outputs);
}

/// Mini-batches that are measured: those by oblivious transfer take seconds each, and are all alike.
std::size_t steps_of(Triplets triplets, bool quick) {
  if (triplets == Triplets::kThirdParty) return 10;
  if (triplets == Triplets::kLattice) return quick ? 3 : 10;
  return quick ? 1 : 3;
}

/// As long as the paper waited for a mini-batch.
constexpr double kPatience = 1800;

CellResult measure_secureml(const secureml::BatchShape& shape, Triplets triplets, std::size_t steps, std::size_t most) {
  CellResult result;
  const secureml::Limits limits{.memory = this_machine().memory, .seconds = kPatience};
  if (const auto why = secureml::refusal_by_memory(shape, triplets, limits)) {
    result.refused = *why;
    return result;
  }
  const secureml::Prediction prediction = secureml::predict_batch(shape, triplets, steps, most);
  if (const auto why = secureml::refusal_by_time(prediction, limits)) {
    result.refused = *why;
    return result;
  }
  result.numbers = {{"seconds", prediction.cost.seconds},
                    {"bytes", static_cast<double>(prediction.cost.bytes)},
                    {"memory", static_cast<double>(prediction.cost.memory)},
                    {kPredicted, prediction.extrapolated ? 1 : 0}};
  result.words = {{"way", prediction.how}};
  return result;
}

}  // namespace

std::vector<Cell> secureml_cells(const PaperSet& set, const StudyOptions& options) {
  std::vector<Cell> cells;
  for (const Triplets triplets : {Triplets::kObliviousTransfer, Triplets::kLattice, Triplets::kThirdParty}) {
    const std::size_t steps = steps_of(triplets, options.quick);
    const secureml::BatchShape shape{
        .batch = 128, .features = set.features, .outputs = set.hidden.empty() ? set.outputs : set.hidden.front()};
    const std::size_t most = most_features(shape, triplets, options.quick);
    Cell cell;
    cell.name = std::string(set.name) + " " + std::string(set.model) + ", SecureML, " + std::string(name_of(triplets));
    cell.settings = settings_of("SecureML", options);
    cell.settings.set("data set", set.name).set("model", set.model).set("features", shape.features);
    cell.settings.set("outputs", shape.outputs).set("triplets", name_of(triplets)).set("steps", steps);
    cell.settings.set("measured up to", most);
    cell.expected_seconds = 5;
    cell.measure = [=] { return measure_secureml(shape, triplets, steps, most); };
    cells.push_back(std::move(cell));
  }
  return cells;
}

bool was_predicted(const CellResult& result) {
  return result.measured() && result.number(kPredicted) == 1;
}

std::string secureml_refusals(std::span<const CellResult> results, std::size_t ways, std::size_t way) {
  std::vector<std::string> refused;
  std::vector<std::string> measured;
  std::vector<std::string> predicted;
  std::size_t first = 0;
  for (const PaperSet& set : paper_sets()) {
    const CellResult& result = results[first + way];
    (was_predicted(result) ? predicted : result.measured() ? measured : refused).emplace_back(set.name);
    first += ways;
  }
  std::string words;
  if (!refused.empty()) words = "it cannot run " + listed(refused);
  if (!measured.empty()) append(words, ", ", "it can run " + listed(measured));
  if (!predicted.empty()) append(words, ", ", "by prediction it can run " + listed(predicted));
  return words;
}

}  // namespace blindfl::lab::paper
