#include "blindfl/app/torch/scorer.h"

#include <utility>

#include "blindfl/app/plan/job_layers.h"
#include "blindfl/base/error.h"
#include "blindfl/train/trainer.h"

namespace blindfl::app {

namespace {

JobModel model_of(protocol::Session& session, const ModelFacts& facts) {
  return make_model(session, facts.shared.model, job_layers(facts.shared, facts.shape_a, facts.shape_b, facts.rows),
                    ModelUse::kScoring);
}

}  // namespace

LoadedModel LoadedModel::from(const std::filesystem::path& run_folder, Party party) {
  const std::filesystem::path folder = run_folder / "model";
  ModelFacts facts = load_model_facts(folder);
  require<ConfigError>(facts.party == party, folder.string(),
                       ": holds the other party's shares of the model; check private.party and private.run.folder");
  return {.folder = folder,
          .facts = std::move(facts),
          .preparation = load_preparation(folder),
          .keys = train::load_keys(folder)};
}

protocol::Settings LoadedModel::settings() const {
  return protocol::Settings().add("the run in private.run.folder", facts.run).add("step", facts.step);
}

Scorer::Scorer(protocol::Session& session, const LoadedModel& loaded)
    : model_(model_of(session, loaded.facts)), batch_(loaded.facts.shared.training.batch) {
  protocol::MaskKey masks = load_model(loaded.folder, model_);
  if (!model_.shared_top()) repeatable_.emplace(session, std::move(masks));
}

torch::Tensor Scorer::score(const data::RowSource& rows) const {
  return train::score(model_.forward, rows, batch_);
}

}  // namespace blindfl::app
