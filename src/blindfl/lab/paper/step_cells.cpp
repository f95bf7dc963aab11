#include "blindfl/lab/paper/step_cells.h"

#include <array>
#include <numeric>

namespace blindfl::lab::paper {

namespace {

constexpr std::size_t kMeasuredBatches = 6;
/// The paper's line; the planner knows of no other.
constexpr protocol::Link kPaperLink{.bits_per_second = 10e9, .round_trip = 1e-4};
/// From here on, an encrypted matrix of all features would take longer than all steps.
constexpr std::size_t kManyFeatures = 10'000;

data::Table measured_rows(const PaperSet& set, bool real, const StudyOptions& options, std::size_t rows) {
  if (!real) return generated_rows(set, rows, options.seed);
  const data::Table all = read_paper_rows(set, options.data).train;
  std::vector<std::uint32_t> first(std::min(rows, all.rows()));
  std::iota(first.begin(), first.end(), 0);
  return all.select_rows(first);
}

CellResult measure_steps(const PaperSet& set, protocol::Top top, bool real, std::size_t steps,
                         const StudyOptions& options) {
  const std::size_t batch = 128;
  const data::Table rows = measured_rows(set, real, options, kMeasuredBatches * batch);
  const std::array<const data::Table*, 1> tables{&rows};
  TwoPartyModel model = model_of(set, tables);
  model.top = top;
  model.training.epochs = (steps + kMeasuredBatches) / kMeasuredBatches + 1;
  if (set.features > kManyFeatures) {
    model.source.update = protocol::Update::kEncrypted;
    model.source.scheme_a = "paillier";
    if (top == protocol::Top::kShared) {
      model.source.update_b = protocol::Update::kEncrypted;
      model.source.scheme_b = "paillier";
    }
  } else {
    model.source.automatic = kPaperLink;
  }
  return numbers_of(train_two_parties(model, cut_rows(set, rows), {}, steps + 1));
}

}  // namespace

CellResult numbers_of(const TwoPartyTraining& training) {
  CellResult result;
  result.numbers = {{"seconds", training.seconds_per_step},
                    {"bytes", static_cast<double>(training.bytes_per_step())},
                    {"memory", static_cast<double>(training.memory)},
                    {"seconds_before", training.seconds_before}};
  result.words = {{"way", training.way}};
  return result;
}

Cell step_cell(const PaperSet& set, protocol::Top top, const StudyOptions& options) {
  const bool real = !set.files.empty() && missing_file(set, options.data).empty();
  const bool shared = top == protocol::Top::kShared;
  const std::size_t steps = options.quick ? 5 : 30;
  Cell cell;
  cell.name =
      std::string(set.name) + " " + std::string(set.model) + ", BlindFL, " + (shared ? "shared top" : "open top");
  cell.settings = settings_of("mini-batches", options);
  cell.settings.set("data set", set.name).set("rows", real ? "real" : "generated").set("model", set.model);
  cell.settings.set("top", shared ? "shared" : "open").set("steps", steps);
  cell.expected_seconds = set.features > kManyFeatures ? 20 : 4;
  cell.measure = [=, &set] { return measure_steps(set, top, real, steps, options); };
  return cell;
}

}  // namespace blindfl::lab::paper
