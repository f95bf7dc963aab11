// The demo: two parties train one logistic regression on data made up for the occasion, and the table at the end shows
// what it was worth: the federated model beside one on the joined data and one on B's columns alone.

#include <unistd.h>

#include <iomanip>
#include <iostream>

#include "blindfl/blindfl.h"
#include "blindfl/lab/local_model.h"

namespace {

using blindfl::Party;

constexpr std::size_t kColumnsOfA = 40;
constexpr std::size_t kColumnsOfB = 30;
const blindfl::train::TrainOptions kTraining{
    .epochs = 10, .batch = 128, .sgd = {.learning_rate = 0.05, .momentum = 0.9, .weight_decay = 0.0}, .order_seed = 7};

struct DemoData {
  blindfl::data::Table train;
  blindfl::data::Table test;
};

DemoData make_data() {
  const auto synthetic = blindfl::data::make_synthetic(
      {.rows = 12000, .columns_a = kColumnsOfA, .columns_b = kColumnsOfB, .density = 0.3, .seed = 2022});
  const auto split = blindfl::data::hashed_test_rows(synthetic.joined.rows());
  return {synthetic.joined.select_rows(split.train), synthetic.joined.select_rows(split.test)};
}

// Both parties run this; `observer` sees B's progress.
torch::Tensor run_party(blindfl::Session& session, const blindfl::data::Table& train, const blindfl::data::Table& test,
                        const blindfl::train::Observer& observer) {
  const blindfl::FeatureShape shape{.in_a = kColumnsOfA, .in_b = kColumnsOfB, .batch = kTraining.batch};
  const blindfl::FixedPoint encoding(session.party() == Party::kA ? shape.features_a : shape.features_b);

  blindfl::GeneralizedLinear model(session, shape);
  const auto forward = [&](const blindfl::Batch& x) { return model->forward(x); };
  const auto loss = [](const torch::Tensor& scores, const torch::Tensor& labels) {
    return blindfl::nn::loss(blindfl::Family::kLogistic, scores, labels);
  };
  blindfl::train::fit(*model, forward, loss, blindfl::data::make_dataset(train, encoding), kTraining, observer);
  return blindfl::train::score(forward, blindfl::data::make_dataset(test, encoding), kTraining.batch);
}

torch::Tensor run_federated(const DemoData& data, const blindfl::LatticeScheme& scheme) {
  const auto train = blindfl::data::vertical_split(data.train, kColumnsOfA);
  const auto test = blindfl::data::vertical_split(data.test, kColumnsOfA);
  const auto [at_a, at_b] = blindfl::protocol::run_in_process(scheme, [&](blindfl::Session& session) {
    if (session.party() == Party::kA) return run_party(session, train.a, test.a, {});
    blindfl::train::Progress progress(std::cout, isatty(STDOUT_FILENO) != 0);
    torch::Tensor scores = run_party(session, train.b, test.b, [&](const auto& report) { progress.show(report); });
    const auto sent = blindfl::net::total(session.channel().sent());
    const auto received = blindfl::net::total(session.channel().received());
    std::cout << "A sent " << received.messages << " messages, " << received.bytes / 1000 << " kB; B sent "
              << sent.messages << " messages, " << sent.bytes / 1000 << " kB\n";
    return scores;
  });
  return at_b;
}

torch::Tensor run_local(const blindfl::data::Table& train, const blindfl::data::Table& test) {
  blindfl::lab::LocalModel model(train.cols(), std::vector<std::size_t>{}, std::size_t{1});
  blindfl::lab::fit(model, blindfl::Family::kLogistic, train, kTraining);
  return blindfl::lab::score(model, test);
}

void print_row(const std::string& model, const torch::Tensor& scores, const std::vector<double>& labels) {
  std::cout << "  " << std::left << std::setw(46) << model << std::fixed << std::setprecision(4)
            << blindfl::train::auc(blindfl::nn::to_vector(scores), labels) << "\n";
}

}  // namespace

int main() try {
  torch::manual_seed(1);
  const DemoData data = make_data();
  const blindfl::LatticeScheme scheme;
  std::cout
      << "BlindFL demo: logistic regression on " << data.train.rows() << " rows. A holds " << kColumnsOfA
      << " columns; B holds " << kColumnsOfB << " other columns and the labels.\n"
      << "What crosses between them is encrypted or masked; both run in this process, each with a key of its own.\n"
      << "Scheme: " << scheme.parameters() << "\n\n";

  const torch::Tensor federated = run_federated(data, scheme);
  const torch::Tensor joined = run_local(data.train, data.test);
  const torch::Tensor alone = run_local(blindfl::data::vertical_split(data.train, kColumnsOfA).b,
                                        blindfl::data::vertical_split(data.test, kColumnsOfA).b);

  std::cout << "\n  model                                         test AUC\n";
  print_row("federated (neither sees the other's columns)", federated, data.test.labels());
  print_row("plain libtorch on the joined columns", joined, data.test.labels());
  print_row("plain libtorch on B's columns alone", alone, data.test.labels());
  return 0;
} catch (const std::exception& error) {
  std::cerr << "blindfl_demo: " << error.what() << "\n";
  return 1;
}
