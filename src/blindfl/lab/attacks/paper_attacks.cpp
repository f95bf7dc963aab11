#include "blindfl/lab/attacks/paper_attacks.h"

#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/lab/attacks/attack_activations.h"
#include "blindfl/lab/attacks/wide_deep_view.h"
#include "blindfl/lab/baselines/shared_weights.h"
#include "blindfl/lab/baselines/split_learning.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/run/metrics.h"

namespace blindfl::lab::attacks {

namespace {

using baselines::SharedParts;
using baselines::VerticalFields;
using baselines::VerticalRows;
using torch::Tensor;

/// X_A times a share, which may be of numbers of very many bits.
Tensor contribution_of(const data::Table& features, const Tensor& share) {
  const Tensor scaled = share / share.abs().max().clamp_min(1e-300);
  return torch::mm(features_tensor(features), scaled.to(torch::kFloat32));
}

baselines::SplitSpec split_spec(const VerticalRows& rows, std::size_t outputs, Family family) {
  return {.in_a = rows.a.numeric.cols(), .in_b = rows.b.numeric.cols(), .outputs = outputs, .family = family};
}

/// A run of our layer, or of the ablation, and how its bars are called.
struct SharedBars {
  std::string what;
  baselines::SharedWeightsSpec spec;
};

std::vector<SharedBars> wanted_bars(const ActivationFigure& figure) {
  const baselines::SharedWeightsSpec ours{.outputs = figure.outputs, .family = figure.family};
  std::vector<SharedBars> bars;
  for (const double scale : figure.scales_of_v) {
    baselines::SharedWeightsSpec weights_alone = ours;
    weights_alone.parts = SharedParts::kWeights;
    weights_alone.scale_of_v = scale;
    bars.push_back({"ModelSS", weights_alone});
  }
  bars.push_back({"ModelSS and GradSS", ours});
  if (!figure.shared_top) return bars;
  baselines::SharedWeightsSpec shared_top = ours;
  shared_top.top = protocol::Top::kShared;
  bars.push_back({"ModelSS and GradSS, shared top", shared_top});
  return bars;
}

}  // namespace

std::vector<ActivationBar> activation_bars(const he::Scheme& scheme, const VerticalRows& training,
                                           const VerticalRows& test, const ActivationFigure& figure) {
  const std::vector<double>& labels = test.b.labels;
  const baselines::SplitRun split = run_split_learning(
      training, test, split_spec(training, figure.outputs, figure.family), figure.training, figure.seed);
  std::vector<ActivationBar> bars = {{.what = "split learning",
                                      .predicted_by = "X_A W_A",
                                      .attack = attack_activations(split.contribution, labels),
                                      .joined = attack_activations(split.scores, labels)}};
  for (const SharedBars& wanted : wanted_bars(figure)) {
    const baselines::SharedWeightsRun run =
        run_shared_weights(scheme, training, test, wanted.spec, figure.training, figure.seed);
    const auto bar = [&](const char* predicted_by, const Tensor& share) {
      bars.push_back({.what = wanted.what,
                      .scale_of_v = wanted.spec.scale_of_v,
                      .predicted_by = predicted_by,
                      .attack = attack_activations(contribution_of(test.a.numeric, share), labels),
                      .joined = attack_activations(run.scores, labels)});
    };
    bar("X_A U_A", run.share);
    bar("X_A (U_A - U_A at first)", run.share - run.share_at_first);
  }
  return bars;
}

std::vector<DerivativePoint> derivative_points(const VerticalRows& training, const VerticalRows& test,
                                               const VerticalFields& fields, const DerivativeFigure& figure) {
  require<InvalidArgument>(!fields.a.empty(), "attack: A has no categorical fields");
  std::vector<DerivativePoint> points;
  for (std::size_t layers = 1; layers <= figure.most_hidden_layers; ++layers) {
    baselines::SplitSpec spec = split_spec(training, 1, Family::kLogistic);
    spec.fields = fields;
    spec.dimension = figure.dimension;
    spec.hidden.assign(layers, figure.width);
    const baselines::SplitRun run = run_split_learning(training, test, spec, figure.training, figure.seed);
    const Tensor& derivatives = run.derivatives.back().embeddings;
    points.push_back({.hidden_layers = layers,
                      .split = attack_directions(derivatives, training.b.labels, longest_row(derivatives)),
                      .one_row = attack_directions(derivatives, training.b.labels, longest_row(derivatives), 0),
                      .norms = attack_norms(derivatives, training.b.labels),
                      .test_auc = run::auc(nn::to_vector(run.scores), test.b.labels)});
  }
  return points;
}

HiddenDerivatives hidden_derivatives(const he::Scheme& scheme, const VerticalRows& training,
                                     const VerticalFields& fields, std::size_t hidden_layers,
                                     const DerivativeFigure& figure) {
  const WideDeepView view = record_wide_deep(scheme, training, fields,
                                             {.hidden = std::vector<std::size_t>(hidden_layers, figure.width),
                                              .dimension = figure.dimension,
                                              .options = figure.training,
                                              .seed = figure.seed});
  const auto told = [&](const Tensor& seen) {
    return attack_directions(seen, training.b.labels, longest_row(seen), 0);
  };
  const auto norms = [&](const Tensor& seen) { return attack_norms(seen, training.b.labels); };
  return {
      .shares = told(view.gradients.share),
      .drawn = told(view.drawn),
      .ciphertexts = told(view.ciphertexts),
      .opened = told(view.gradients.whole),
      .norms = {
          .shares = norms(view.gradients.share), .drawn = norms(view.drawn), .ciphertexts = norms(view.ciphertexts)}};
}

std::vector<WeightsAndShares> weights_and_shares(const he::Scheme& scheme, const VerticalRows& training,
                                                 const VerticalFields& fields, const DerivativeFigure& figure) {
  const WideDeepView view = record_wide_deep(
      scheme, training, fields,
      {.hidden = {figure.width}, .dimension = figure.dimension, .options = figure.training, .seed = figure.seed});
  std::vector<WeightsAndShares> all;
  const auto add = [&](const std::string& name, const SharedPair& pair) {
    all.push_back({.name = name,
                   .weights = pair.whole.flatten(),
                   .shares = pair.share.flatten(),
                   .likeness = compare_shares(pair.share, pair.whole)});
  };
  if (view.weight.whole.defined()) add("W_A and U_A", view.weight);
  for (std::size_t i = 0; i < view.tables.size(); ++i) add("Q_A and S_A, field " + fields.a[i].name, view.tables[i]);
  return all;
}

}  // namespace blindfl::lab::attacks
