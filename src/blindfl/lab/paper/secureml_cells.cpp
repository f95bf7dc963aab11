#include "blindfl/lab/paper/secureml_cells.h"

#include "blindfl/base/text.h"
#include "blindfl/lab/paper/machine.h"
#include "blindfl/lab/secureml/measure.h"

namespace blindfl::lab::paper {

namespace {

using secureml::Triplets;

/// As long as the paper waited for a mini-batch.
constexpr double kPatience = 1800;

CellResult measure_secureml(const secureml::BatchShape& shape, Triplets triplets, std::size_t steps,
                            std::size_t most_features) {
  CellResult result;
  const secureml::Limits limits{.memory = this_machine().memory, .seconds = kPatience};
  if (const auto why = secureml::refusal(shape, triplets, limits)) {
    result.refused = *why;
    return result;
  }
  const secureml::Prediction prediction = secureml::predict_batch(shape, triplets, steps, most_features);
  result.numbers = {{"seconds", prediction.cost.seconds},
                    {"bytes", static_cast<double>(prediction.cost.bytes)},
                    {"memory", static_cast<double>(prediction.cost.memory)}};
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

std::string secureml_refusals(std::span<const CellResult> results, std::size_t ways, std::size_t way) {
  std::vector<std::string> refused;
  std::vector<std::string> measured;
  std::size_t first = 0;
  for (const PaperSet& set : paper_sets()) {
    (results[first + way].measured() ? measured : refused).emplace_back(set.name);
    first += ways;
  }
  std::string words = refused.empty() ? "it can run all" : "it cannot run " + listed(refused);
  if (!measured.empty() && !refused.empty()) words += ", and can run " + listed(measured);
  return words;
}

}  // namespace blindfl::lab::paper
