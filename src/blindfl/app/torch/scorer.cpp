#include "blindfl/app/torch/scorer.h"

#include <string>
#include <utility>

#include "blindfl/app/plan/job_layers.h"
#include "blindfl/base/bytes.h"
#include "blindfl/base/error.h"
#include "blindfl/protocol/session/output.h"
#include "blindfl/train/trainer.h"

namespace blindfl::app {

namespace {

JobModel model_of(const protocol::Sessions& sessions, const ModelFacts& facts) {
  return make_model(sessions, facts.shared.model, job_layers(facts.shared, facts.shapes_a, facts.shape_b, facts.rows),
                    ModelUse::kScoring);
}

}  // namespace

LoadedModel LoadedModel::from(const std::filesystem::path& run_folder, Party party) {
  const std::filesystem::path folder = run_folder / "model";
  ModelFacts facts = load_model_facts(folder);
  require<ConfigError>(facts.party == party, folder.string(),
                       ": holds the other party's shares of the model; check private.party and private.run.folder");
  std::vector<train::SavedKeys> keys;
  const std::size_t peers = party == Party::kB ? facts.shapes_a.size() : 1;
  for (std::size_t peer = 1; peer <= peers; ++peer) keys.push_back(train::load_keys(folder, peer));
  return {
      .folder = folder, .facts = std::move(facts), .preparation = load_preparation(folder), .keys = std::move(keys)};
}

protocol::Settings LoadedModel::settings() const {
  return protocol::Settings().add("the run in private.run.folder", facts.run).add("step", facts.step);
}

RepeatingSessions::RepeatingSessions(const protocol::Sessions& sessions, const protocol::MaskKey& key) {
  std::size_t peer = 0;
  for (protocol::Session* session : sessions) {
    // The products with two A's would otherwise have the same masks, and these, together, their difference.
    ++peer;
    protocol::MaskKey own = sessions.several() ? key.for_model(key.model() + " with A " + std::to_string(peer)) : key;
    all_.push_back(std::make_unique<protocol::RepeatableScoring>(*session, std::move(own)));
  }
}

Scorer::Scorer(const protocol::Sessions& sessions, const LoadedModel& loaded)
    : model_(model_of(sessions, loaded.facts)), batch_(loaded.facts.shared.training.batch) {
  const std::string model = loaded.facts.run + " after step " + std::to_string(loaded.facts.step);
  protocol::bind_outputs(sessions, "model", as_bytes(model));
  const protocol::MaskKey masks = load_model(loaded.folder, model_);
  if (!model_.shared_top()) repeatable_.emplace(sessions, masks);
}

torch::Tensor Scorer::score(const data::RowSource& rows) const {
  return train::score(model_.forward, rows, batch_);
}

}  // namespace blindfl::app
