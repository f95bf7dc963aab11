// A model of your own with an open top: any torch modules on top of a federated source layer. Both parties run the same
// lines; here they are two threads of one program. B gets the layer's outputs, from which it can work out A's binary
// features and weights (SECURITY.md); shared_top.cpp is a model that opens nothing but scores.

#include <iostream>

#include "blindfl/blindfl.h"
#include "made_up/synthetic.h"
#include "made_up/vertical_split.h"

struct MyModelImpl : blindfl::FederatedModule {
  MyModelImpl(blindfl::Session& session, const blindfl::FeatureShape& shape)
      : source(register_module("source", blindfl::MatMul(session, shape, /*out=*/16))),
        norm(register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({16})))),
        head(register_module("head", torch::nn::Linear(16, 1))) {}

  torch::Tensor forward(const blindfl::Batch& x) { return head(torch::tanh(norm(source(x)))); }

  blindfl::MatMul source;
  torch::nn::LayerNorm norm;
  torch::nn::Linear head;
};
TORCH_MODULE(MyModel);

/// What each party runs. Returns the AUC on the training rows at B, 0 at A.
double train_party(blindfl::Session& session, const blindfl::FeatureShape& shape, const blindfl::data::Table& table) {
  const auto encoding = session.party() == blindfl::Party::kA ? shape.features_a : shape.features_b;
  const auto rows = blindfl::data::make_dataset(table, blindfl::FixedPoint(encoding));

  MyModel model(session, shape);
  const auto forward = [&](const blindfl::Batch& x) { return model->forward(x); };
  const auto loss = [](const torch::Tensor& scores, const torch::Tensor& labels) {
    return blindfl::nn::loss(blindfl::Family::kLogistic, scores, labels);
  };
  blindfl::train::fit(*model, forward, loss, rows,
                      {.epochs = 5, .batch = shape.batch, .sgd = {.learning_rate = 0.1, .momentum = 0.9}});

  const torch::Tensor scores = blindfl::train::score(forward, rows, shape.batch);
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

  std::cout << "custom model: AUC " << auc << " on the training rows\n";
  return auc > 0.8 ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "custom_model: " << error.what() << "\n";
  return 1;
}
