// Training that survives its process: checkpoints in a folder, resuming at the newest step that both parties have,
// early stopping by validation. Here both parties are threads of one program, which is interrupted once and resumes.

#include <filesystem>
#include <iostream>
#include <utility>

#include "blindfl/blindfl.h"
#include "blindfl/train/training_loop.h"
#include "made_up/synthetic.h"
#include "made_up/vertical_split.h"

namespace {

namespace train = blindfl::train;

const blindfl::FeatureShape kShape{.in_a = 10, .in_b = 10, .batch = 64};

/// One party's rows: to train on, and to see when it is enough.
struct Rows {
  blindfl::Dataset training;
  blindfl::Dataset validation;
};

/// What each party runs, the first time and whenever it was stopped or killed. Returns how far it came.
train::TrainingState train_party(blindfl::Session& session, const std::filesystem::path& folder, const Rows& rows,
                                 std::size_t stop_after) {
  const train::StartedRun run = train::start_run(session, folder);  // a new one, or where both can resume
  blindfl::GeneralizedLinear model(session, kShape);
  const auto forward = [&](const blindfl::Batch& x) { return model->forward(x); };
  const train::Loss loss = [](const torch::Tensor& scores, const torch::Tensor& labels) {
    return blindfl::nn::loss(blindfl::Family::kLogistic, scores, labels);
  };
  const blindfl::data::RowsInMemory training(rows.training);
  train::Trainer trainer(*model, forward, loss, training,
                         {.epochs = 100, .batch = kShape.batch, .sgd = {.learning_rate = 0.1, .momentum = 0.9}});
  train::LoopOptions options;
  options.early_stopping = {.patience = 2, .minimum_improvement = 0.001};
  options.validate = [&]() -> std::optional<train::Validation> {
    const torch::Tensor scores = train::score(forward, rows.validation, kShape.batch);
    if (session.party() == blindfl::Party::kA) return std::nullopt;
    const double auc = blindfl::run::auc(blindfl::nn::to_vector(scores), rows.validation.labels);
    return train::Validation{.measures = {{"auc", auc}}, .watched = {.name = "auc", .value = auc}};
  };
  options.stop_asked = [&] { return trainer.step() >= stop_after; };  // Ctrl-C, for instance
  train::TrainingLoop loop(run, *model, trainer, options);
  loop.run();
  if (!loop.stopped()) loop.keep_best();
  return loop.state();
}

/// A party's columns of both tables.
Rows rows_of(blindfl::Party party, const blindfl::data::Table& training, const blindfl::data::Table& validation) {
  const auto encoded = [&](const blindfl::data::Table& table) {
    const auto split = blindfl::made_up::vertical_split(table, kShape.in_a);
    return party == blindfl::Party::kA ? blindfl::data::make_dataset(split.a, blindfl::FixedPoint(kShape.features_a))
                                       : blindfl::data::make_dataset(split.b, blindfl::FixedPoint(kShape.features_b));
  };
  return {encoded(training), encoded(validation)};
}

}  // namespace

int main(int argc, char** argv) try {
  const std::filesystem::path folder = argc > 1 ? argv[1] : "resume_example";
  std::filesystem::create_directories(folder);
  const auto training = blindfl::made_up::make_synthetic({.rows = 1000, .columns_a = 10, .columns_b = 10});
  const auto validation =
      blindfl::made_up::make_synthetic({.rows = 2000, .columns_a = 10, .columns_b = 10});  // and more
  const auto scheme = blindfl::make_scheme("lattice");
  const auto attempt = [&](std::size_t stop_after) {
    return blindfl::protocol::run_in_process(
               *scheme,
               [&](blindfl::Session& session) {
                 const std::string name = session.party() == blindfl::Party::kA ? "a" : "b";
                 return train_party(session, folder / name,
                                    rows_of(session.party(), training.joined, validation.joined), stop_after);
               })
        .second;
  };

  const train::TrainingState first = attempt(/*stop_after=*/20);
  std::cout << "interrupted after step " << first.step << "\n";
  const train::TrainingState second = attempt(/*stop_after=*/100'000);
  std::cout << "resumed, and stopped early after step " << second.step << ": AUC " << second.best.value_or(0)
            << " in validation, with the model of step " << second.best_step << "\n";
  std::filesystem::remove_all(folder);
  return second.enough && second.step > first.step && second.best.value_or(0) > 0.7 ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "resume: " << error.what() << "\n";
  return 1;
}
