#include "blindfl/lab/secureml/model.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "blindfl/protocol/session/settings.h"

namespace blindfl::lab::secureml {

namespace {

/// Comparisons are of whole words: they are never wrong.
constexpr int kComparedBits = 64;
constexpr int kMostRateBits = 30;
constexpr std::uint64_t kHalf = std::uint64_t{1} << (kFractionBits - 1);

/// Adds a public number to a shared matrix: at A.
Words plus(Words share, std::uint64_t number, Party party) {
  if (party == Party::kA) {
    for (std::uint64_t& v : share.values()) v += number;
  }
  return share;
}

Words upper_half(const Words& m) {
  Words half(m.rows() / 2, m.cols());
  std::ranges::copy(m.values().first(half.values().size()), half.values().begin());
  return half;
}

Words lower_half(const Words& m) {
  Words half(m.rows() / 2, m.cols());
  std::ranges::copy(m.values().last(half.values().size()), half.values().begin());
  return half;
}

void check_shapes(const ModelSpec& spec, const Words& features, const Words& labels,
                  const std::vector<Words>& weights) {
  require<InvalidArgument>(spec.widths.size() >= 2 && weights.size() + 1 == spec.widths.size(), "a network of ",
                           spec.widths.size(), " widths and ", weights.size(), " weights");
  require<InvalidArgument>(
      features.cols() == spec.widths.front() && labels.cols() == spec.widths.back() && features.rows() == labels.rows(),
      "a network of ", spec.widths.front(), " features and ", spec.widths.back(), " outputs, rows of ", features.rows(),
      " x ", features.cols(), " and labels of ", labels.rows(), " x ", labels.cols());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    require<InvalidArgument>(weights[i].rows() == spec.widths[i] && weights[i].cols() == spec.widths[i + 1], "layer ",
                             i, ": weights of ", weights[i].rows(), " x ", weights[i].cols());
  }
  require<InvalidArgument>(spec.rate_bits >= 0 && spec.rate_bits <= kMostRateBits, "a learning rate of 2^-",
                           spec.rate_bits, " for each row");
}

protocol::Settings settings_of(const ModelSpec& spec, std::size_t rows) {
  protocol::Settings settings;
  settings.add("rows", rows).add("output", static_cast<int>(spec.output)).add("rate_bits", spec.rate_bits);
  for (std::size_t i = 0; i < spec.widths.size(); ++i) settings.add("width_" + std::to_string(i), spec.widths[i]);
  return settings;
}

Words checked_features(protocol::Session& session, const ModelSpec& spec, Words features, const Words& labels,
                       const std::vector<Words>& weights) {
  check_shapes(spec, features, labels, weights);
  session.agree("SecureML's model", settings_of(spec, features.rows()));
  session.settle();
  return features;
}

}  // namespace

int ModelSpec::rate_bits_of(double learning_rate, std::size_t batch) {
  const double ratio = batch > 0 ? learning_rate / static_cast<double>(batch) : 0;
  int exponent = 0;
  require<InvalidArgument>(ratio > 0 && std::isfinite(ratio) && std::frexp(ratio, &exponent) == 0.5 && exponent <= 1 &&
                               exponent > 1 - kMostRateBits,
                           "SecureML: a learning rate of ", learning_rate, " with batches of ", batch,
                           ": the rate over the batch size must be a power of two from 2^-", kMostRateBits - 1,
                           " to 1");
  return 1 - exponent;
}

Model::Model(protocol::Session& session, TripletSource& triplets, const ModelSpec& spec, Words features, Words labels,
             std::vector<Words> weights)
    : session_(session),
      spec_(spec),
      products_(session, triplets),
      features_(products_.left(checked_features(session, spec, std::move(features), labels, weights))),
      labels_(std::move(labels)),
      weights_(std::move(weights)) {
  for (std::size_t i = 0; i + 1 < weights_.size(); ++i) {
    relus_.push_back(std::make_unique<mpc::SharedRelu>(session, kComparedBits, kComparedBits));
  }
  if (spec.output == Output::kPiecewiseSigmoid) {
    clamp_ = std::make_unique<mpc::SharedRelu>(session, kComparedBits, kComparedBits);
  }
}

Words Model::layer_product(std::size_t layer, const Pass& pass, std::span<const std::uint32_t> rows, Form form,
                           const Words& right) {
  return layer == 0 ? products_.product(features_, rows, form, right)
                    : products_.product(pass.hidden[layer - 1], form, right);
}

// clamp(z + 1/2, 0, 1) = max(z + 1/2, 0) - max(z - 1/2, 0)
Words Model::activated(const Words& scores) {
  if (spec_.output == Output::kScores) return scores;
  const Words both =
      stacked(plus(scores, kHalf, session_.party()), plus(scores, std::uint64_t{0} - kHalf, session_.party()));
  const Words parts = to_words(clamp_->forward(to_shares(both, kFractionBits), mpc::SharedRelu::Keep::kNothing));
  return upper_half(parts) - lower_half(parts);
}

Model::Pass Model::forward(std::span<const std::uint32_t> rows, mpc::SharedRelu::Keep keep) {
  Pass pass;
  for (std::size_t layer = 0; layer < weights_.size(); ++layer) {
    const Words scores =
        truncated(layer_product(layer, pass, rows, Form::kPlain, weights_[layer]), kFractionBits, session_.party());
    if (layer + 1 == weights_.size()) {
      pass.prediction = activated(scores);
    } else {
      pass.hidden.push_back(products_.left(to_words(relus_[layer]->forward(to_shares(scores, kFractionBits), keep))));
    }
  }
  return pass;
}

Words Model::derivative_below(std::size_t layer, const Words& derivative) {
  LeftMatrix left = products_.left(derivative);
  const Words of_input =
      truncated(products_.product(left, Form::kPlain, transpose(weights_[layer])), kFractionBits, session_.party());
  products_.drop(std::move(left));
  return to_words(relus_[layer - 1]->backward(to_shares(of_input, kFractionBits)));
}

void Model::step(std::span<const std::uint32_t> rows) {
  Pass pass = forward(rows, mpc::SharedRelu::Keep::kForBackward);
  Words derivative = pass.prediction - select_rows(labels_, rows);
  for (std::size_t layer = weights_.size(); layer-- > 0;) {
    const Words gradient = layer_product(layer, pass, rows, Form::kTransposed, derivative);
    if (layer > 0) derivative = derivative_below(layer, derivative);
    weights_[layer] -= truncated(gradient, kFractionBits + spec_.rate_bits, session_.party());
  }
  drop(std::move(pass));
}

Words Model::predict(std::span<const std::uint32_t> rows) {
  Pass pass = forward(rows, mpc::SharedRelu::Keep::kNothing);
  Words prediction = std::move(pass.prediction);
  drop(std::move(pass));
  return prediction;
}

void Model::drop(Pass pass) {
  for (LeftMatrix& hidden : pass.hidden) products_.drop(std::move(hidden));
}

}  // namespace blindfl::lab::secureml
