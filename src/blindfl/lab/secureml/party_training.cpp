#include "blindfl/lab/secureml/party_training.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "blindfl/mpc/openings.h"
#include "blindfl/net/channel.h"
#include "blindfl/protocol/session/settings.h"

namespace blindfl::lab::secureml {

namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::size_t> widths_of(const TrainingPlan& plan) {
  std::vector<std::size_t> widths{plan.features_a + plan.features_b};
  widths.insert(widths.end(), plan.hidden.begin(), plan.hidden.end());
  widths.push_back(plan.outputs);
  return widths;
}

void agree(protocol::Session& session, const TrainingPlan& plan) {
  protocol::Settings settings;
  settings.add("triplets", static_cast<int>(plan.triplets)).add("rows", plan.rows);
  settings.add("features_a", plan.features_a).add("features_b", plan.features_b).add("outputs", plan.outputs);
  settings.add("output", static_cast<int>(plan.output)).add("batch", plan.batch).add("steps", plan.steps);
  settings.add("rate_bits", plan.rate_bits).add("score_bits", plan.score_bits);
  for (std::size_t i = 0; i < plan.hidden.size(); ++i) settings.add("hidden_" + std::to_string(i), plan.hidden[i]);
  session.agree("SecureML's training", settings);
  session.settle();
}

void check(const TrainingPlan& plan, Party party, const Words& features, const Words& labels) {
  const bool at_a = party == Party::kA;
  require<InvalidArgument>(
      plan.rows > 0 && plan.batch > 0 && plan.batch <= plan.rows && plan.steps > 0 && plan.outputs > 0 &&
          plan.features_a + plan.features_b > 0 && std::ranges::find(plan.hidden, 0U) == plan.hidden.end(),
      "SecureML: a training of ", plan.steps, " steps of ", plan.batch, " of ", plan.rows, " rows");
  require<InvalidArgument>(
      features.rows() == plan.rows && features.cols() == (at_a ? plan.features_a : plan.features_b),
      "SecureML: ", features.rows(), " x ", features.cols(), " features, and the plan has ", plan.rows, " x ",
      at_a ? plan.features_a : plan.features_b);
  require<InvalidArgument>(at_a || (labels.rows() == plan.rows && labels.cols() == plan.outputs),
                           "SecureML: ", labels.rows(), " x ", labels.cols(), " labels, and the plan has ", plan.rows,
                           " x ", plan.outputs);
}

/// What lattice triplets of a training open at most: three products for each layer and step, and the predictions.
std::uint64_t run_values(const TrainingPlan& plan) {
  const std::vector<std::size_t> widths = widths_of(plan);
  double values = 0;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    const auto in = static_cast<double>(widths[i]);
    const auto out = static_cast<double>(widths[i + 1]);
    const auto batch = static_cast<double>(plan.batch);
    values += static_cast<double>(plan.steps) * (batch * out + in * out + batch * in);
    values += static_cast<double>(plan.rows + plan.batch) * out;
  }
  return static_cast<std::uint64_t>(std::min(4 * values, 0x1p62));
}

/// Zeros for a regression; else uniform within the inverse root of a layer's inputs.
Words drawn_weights(std::size_t rows, std::size_t cols, bool zeros, SeededRandom& random) {
  if (zeros) return {rows, cols};
  const double most = 1 / std::sqrt(static_cast<double>(rows));
  std::vector<double> numbers(rows * cols);
  for (double& number : numbers) number = most * (2 * random.uniform() - 1);
  return encode(rows, cols, numbers);
}

std::vector<Words> share_weights(protocol::Session& session, const TrainingPlan& plan) {
  const std::vector<std::size_t> widths = widths_of(plan);
  SeededRandom random = session.weight_random(session.new_layer());
  std::vector<Words> weights;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    weights.push_back(session.party() == Party::kA
                          ? share_of_b(session, widths[i], widths[i + 1])
                          : share_of_b(session, drawn_weights(widths[i], widths[i + 1], plan.hidden.empty(), random)));
  }
  return weights;
}

std::vector<std::uint32_t> rows_of_step(const TrainingPlan& plan, std::size_t step) {
  std::vector<std::uint32_t> rows(plan.batch);
  for (std::size_t i = 0; i < plan.batch; ++i) {
    rows[i] = static_cast<std::uint32_t>((step * plan.batch + i) % plan.rows);
  }
  return rows;
}

/// Payloads so far.
struct Sent {
  std::uint64_t to_peer = 0;
  std::uint64_t dealt = 0;

  Sent(protocol::Session& session, net::Channel* third_party) : to_peer(net::total(session.channel().sent()).bytes) {
    if (third_party == nullptr) return;
    dealt = net::total(third_party->sent()).bytes + net::total(third_party->received()).bytes;
  }
};

std::vector<double> released(protocol::Session& session, Model& model, const TrainingPlan& plan) {
  const std::uint32_t layer = session.new_layer();
  std::vector<double> all;
  for (std::size_t first = 0; first < plan.rows; first += plan.batch) {
    std::vector<std::uint32_t> rows(std::min(plan.batch, plan.rows - first));
    std::iota(rows.begin(), rows.end(), static_cast<std::uint32_t>(first));
    const Words share = model.predict(rows);
    const auto told = mpc::open_scores(session, layer, to_shares(share, kFractionBits), plan.score_bits);
    if (told) all.insert(all.end(), told->begin(), told->end());
  }
  return all;
}

}  // namespace

PartyTraining train_party(protocol::Session& session, net::Channel* third_party, const TrainingPlan& plan,
                          const Words& features, const Words& labels) {
  const bool at_a = session.party() == Party::kA;
  check(plan, session.party(), features, labels);
  agree(session, plan);
  const std::unique_ptr<TripletSource> triplets = make_triplets(session, plan.triplets, third_party, run_values(plan));
  Words shared_features = share_columns(session, features, at_a ? plan.features_b : plan.features_a);
  Words shared_labels = at_a ? share_of_b(session, plan.rows, plan.outputs) : share_of_b(session, labels);
  std::vector<Words> weights = share_weights(session, plan);
  Model model(session, *triplets, {.widths = widths_of(plan), .output = plan.output, .rate_bits = plan.rate_bits},
              std::move(shared_features), std::move(shared_labels), std::move(weights));
  model.step(rows_of_step(plan, 0));
  const Sent before(session, third_party);
  std::vector<double> laps;
  for (std::size_t step = 1; step < plan.steps; ++step) {
    const auto begin = Clock::now();
    model.step(rows_of_step(plan, step));
    laps.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  const Sent after(session, third_party);
  const std::size_t counted = std::max<std::size_t>(plan.steps - 1, 1);
  std::ranges::sort(laps);
  PartyTraining result{.seconds_per_step = laps.empty() ? 0 : laps[laps.size() / 2],
                       .sent_per_step = (after.to_peer - before.to_peer) / counted,
                       .dealt_per_step = (after.dealt - before.dealt) / counted,
                       .predictions = released(session, model, plan)};
  finish(*triplets);
  return result;
}

}  // namespace blindfl::lab::secureml
