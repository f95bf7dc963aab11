#include "blindfl/lab/paper/secureml_cells.h"

#include "blindfl/base/text.h"
#include "blindfl/lab/paper/machine.h"
#include "blindfl/lab/secureml/measure.h"

namespace blindfl::lab::paper {

namespace {

using secureml::Triplets;

const char* const kPredicted = "predicted";
/// As long as the paper waited for a mini-batch.
constexpr double kPatience = 1800;

CellResult measure_secureml(const secureml::BatchShape& shape, Triplets triplets, std::size_t steps,
                            std::size_t most_features) {
  CellResult result;
  const secureml::Limits limits{.memory = this_machine().memory, .seconds = kPatience};
  if (const auto why = secureml::refusal_by_memory(shape, triplets, limits)) {
    result.refused = *why;
    return result;
  }
  const secureml::Prediction prediction = secureml::predict_batch(shape, triplets, steps, most_features);
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
    const std::size_t steps = options.quick ? 3 : 10;
    const std::size_t most = options.quick ? 512 : 4096;
    const secureml::BatchShape shape{
        .batch = 128, .features = set.features, .outputs = set.hidden.empty() ? set.outputs : set.hidden.front()};
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
