// Categories: Wide & Deep, two source layers in one model. A holds categories only, B holds numbers, categories and the
// labels; both are threads of this program. Nobody sees a trained table, a looked-up row, or the other's categories.

#include <iostream>

#include "blindfl/blindfl.h"
#include "made_up/synthetic_categories.h"

namespace {

using blindfl::Party;
using blindfl::Session;

constexpr std::size_t kBatch = 64;

/// What each party runs. Returns the AUC on the training rows at B, 0 at A.
double train_party(Session& session, const blindfl::FeatureShape& numbers, const blindfl::CategoryShape& categories,
                   const blindfl::Dataset& rows) {
  blindfl::WideDeep model(session, numbers, categories, std::vector<std::size_t>{16, 8});
  const auto forward = [&](const blindfl::Batch& x) { return model->forward(x); };
  const auto loss = [](const torch::Tensor& scores, const torch::Tensor& labels) {
    return blindfl::nn::loss(blindfl::Family::kLogistic, scores, labels);
  };
  blindfl::train::fit(*model, forward, loss, rows,
                      {.epochs = 4, .batch = kBatch, .sgd = {.learning_rate = 0.1, .momentum = 0.9}});
  const torch::Tensor scores = blindfl::train::score(forward, rows, kBatch);
  return session.party() == Party::kA ? 0 : blindfl::run::auc(blindfl::nn::to_vector(scores), rows.labels);
}

}  // namespace

int main() try {
  // Made-up data: in a real one, data::read_frame reads columns and data::Vocabulary counts their categories.
  const auto made = blindfl::made_up::make_synthetic_categories({.rows = 2000, .columns_a = 0, .columns_b = 4});
  blindfl::Dataset at_a;
  at_a.fields = made.a.encoded;
  const blindfl::FeatureShape numbers{.in_a = 0, .in_b = 4, .batch = kBatch};
  blindfl::Dataset at_b = blindfl::data::make_dataset(made.joined, blindfl::FixedPoint(numbers.features_b));
  at_b.fields = made.b.encoded;
  const blindfl::CategoryShape categories{.fields_a = made.a.fields, .fields_b = made.b.fields, .batch = kBatch};

  const auto scheme = blindfl::make_scheme("lattice");
  const auto aucs = blindfl::protocol::run_in_process(*scheme, [&](Session& session) {
    return train_party(session, numbers, categories, session.party() == Party::kA ? at_a : at_b);
  });
  std::cout << "Wide & Deep: AUC " << aucs.second << " on the training rows\n";
  return aucs.second > 0.75 ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "categories: " << error.what() << "\n";
  return 1;
}
