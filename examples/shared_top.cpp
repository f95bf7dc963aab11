// A model that nobody sees into: source layer, hidden layers and scores stay shared between the parties, and so does
// every weight. B learns the scores of rows that both agree to score, rounded, and nothing else. Both parties run the
// same lines; here they are two threads of one program.

#include <iostream>

#include "blindfl/blindfl.h"
#include "made_up/synthetic.h"
#include "made_up/vertical_split.h"

struct MyModelImpl : blindfl::SharedModel {
  MyModelImpl(blindfl::Session& s, const blindfl::FeatureShape& shape, const blindfl::SharedTopOptions& options)
      : SharedModel(s),
        source(register_module(
            "source", blindfl::MatMul(s, shape, /*out=*/16, blindfl::nn::for_shared_top(blindfl::MatMulOptions{})))),
        top(register_module(
            "top", blindfl::SharedSequential(blindfl::SharedBias(s, 16, 0.1, options), blindfl::SharedReLU(s, options),
                                             blindfl::SharedLinear(s, 16, 8, options), blindfl::SharedReLU(s, options),
                                             blindfl::SharedLinear(s, 8, 1, options)))) {}

  blindfl::SharedTensor scores(const blindfl::Batch& x) override { return top(shared_output(source->shares(x))); }

  blindfl::MatMul source;
  blindfl::SharedSequential top;
};
TORCH_MODULE(MyModel);

/// What each party runs. Returns the AUC on the training rows at B, 0 at A.
double train_party(blindfl::Session& session, const blindfl::FeatureShape& shape, const blindfl::data::Table& table) {
  const auto encoding = session.party() == blindfl::Party::kA ? shape.features_a : shape.features_b;
  const auto rows = blindfl::data::make_dataset(table, blindfl::FixedPoint(encoding));
  const blindfl::SharedTopOptions options{.batch = shape.batch};

  MyModel model(session, shape, options);
  blindfl::SharedLoss loss(session, blindfl::Family::kLogistic, std::size_t{1}, options);
  const auto step = [&](const blindfl::Batch& x) -> blindfl::train::StepLoss {
    auto of_batch = loss->forward(model->scores(x), x);
    return {.backward = [of_batch]() mutable { of_batch.backward(); }};
  };
  const blindfl::data::RowsInMemory source(rows);
  blindfl::train::Trainer trainer(*model, step, source,
                                  {.epochs = 4, .batch = shape.batch, .sgd = {.learning_rate = 0.1, .momentum = 0.9}});
  while (!trainer.done()) (void)trainer.take_step();
  loss->check_ranges();

  const auto score = [&](const blindfl::Batch& x) { return model->open_scores(model->scores(x)); };
  const torch::Tensor scores = blindfl::train::score(score, rows, shape.batch);
  if (session.party() == blindfl::Party::kA) return 0;
  return blindfl::run::auc(blindfl::nn::to_vector(scores), rows.labels);
}

int main() try {
  const auto synthetic = blindfl::made_up::make_synthetic({.rows = 2000, .columns_a = 10, .columns_b = 10});
  const auto split = blindfl::made_up::vertical_split(synthetic.joined, 10);
  const blindfl::FeatureShape shape{.in_a = 10, .in_b = 10, .batch = 64};

  const auto scheme = blindfl::make_scheme("lattice");
  const auto [at_a, auc] = blindfl::protocol::run_in_process(*scheme, [&](blindfl::Session& session) {
    return train_party(session, shape, session.party() == blindfl::Party::kA ? split.a : split.b);
  });

  std::cout << "shared top: AUC " << auc << " on the training rows, from scores rounded to 4 fractional bits\n";
  return auc > 0.8 ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "shared_top: " << error.what() << "\n";
  return 1;
}
