#include "blindfl/app/torch/job_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/protocol/layers/embed_matmul.h"
#include "blindfl/protocol/layers/matmul.h"

namespace blindfl::app {

namespace {

using job::ModelKind;

template <class Holder>
JobModel with_forward(Holder model) {
  JobModel made;
  made.module = model.ptr();
  made.forward = [model](const data::Batch& batch) mutable { return model->forward(batch); };
  return made;
}

void add_plan(JobModel& made, const std::vector<protocol::PlanRow>& plan) {
  made.plan.insert(made.plan.end(), plan.begin(), plan.end());
}

/// What a source layer's parameters say of it. Layers that the model has not are empty.
void add_facts(JobModel& made, const nn::MatMul& layer) {
  if (layer.is_empty()) return;
  add_plan(made, layer->plan());
  for (const auto& with_peer : layer->layers()) {
    if (with_peer == nullptr) continue;
    const protocol::MatMulParams& params = with_peer->params();
    made.encrypted_update = made.encrypted_update || params.encrypted();
    // Under an open top B's own weights are its own to update, whatever is said of them.
    made.encrypted_update_b = made.encrypted_update_b || (params.shared() && params.encrypted(Party::kB));
  }
}

void add_facts(JobModel& made, const nn::EmbedMatMul& layer) {
  add_plan(made, layer->plan());
  const auto is_encrypted = [](const protocol::EmbedField& field) {
    return field.update == protocol::Update::kEncrypted;
  };
  const auto learns_encrypted = [&](Party party) {
    return std::ranges::any_of(layer->layers(), [&](const auto& with_peer) {
      return with_peer != nullptr && std::ranges::any_of(with_peer->params().fields(party), is_encrypted);
    });
  };
  made.encrypted_update = made.encrypted_update || learns_encrypted(Party::kA);
  made.encrypted_update_b = made.encrypted_update_b || learns_encrypted(Party::kB);
}

template <class Holder, class... Layers>
JobModel made_of(Holder model, const Layers&... layers) {
  JobModel made = with_forward(model);
  (add_facts(made, layers), ...);
  return made;
}

/// What this party's layers are made of, of what all pairs have: at A its own, at B all.
template <class Shape>
protocol::PerPeer<Shape> own_shapes(const protocol::Sessions& sessions, const std::vector<Shape>& all) {
  const protocol::Place& place = (*sessions.begin())->place();
  if (sessions.party() == Party::kA) return all.at(place.index);
  return all;
}

protocol::PerPeer<nn::FeatureShape> numeric_shapes(const protocol::Sessions& sessions, const JobLayers& layers) {
  if (!layers.numeric) return nn::FeatureShape{};
  return own_shapes(sessions, layers.numeric->shapes);
}

protocol::PerPeer<nn::CategoryShape> category_shapes(const protocol::Sessions& sessions, const JobLayers& layers) {
  return own_shapes(sessions, layers.categories->shapes);
}

nn::TwoSourceOptions options_of(const JobLayers& layers) {
  nn::TwoSourceOptions options;
  if (layers.numeric) options.numeric = layers.numeric->options;
  options.categories = layers.categories->options;
  return options;
}

JobModel make_wide_deep(const protocol::Sessions& sessions, const job::Model& model, const JobLayers& layers) {
  const nn::WideDeep made(sessions, numeric_shapes(sessions, layers), category_shapes(sessions, layers), model.hidden,
                          layers.outputs, model.activation, options_of(layers));
  return made_of(made, made->wide, made->deep);
}

JobModel make_dlrm(const protocol::Sessions& sessions, const job::Model& model, const JobLayers& layers) {
  const nn::Dlrm made(sessions, numeric_shapes(sessions, layers), category_shapes(sessions, layers), dlrm_shape(model),
                      layers.outputs, model.activation, options_of(layers));
  return made_of(made, made->numeric, made->embedded);
}

JobModel make_deep_fm(const protocol::Sessions& sessions, const job::Model& model, const JobLayers& layers) {
  const nn::DeepFm made(sessions, numeric_shapes(sessions, layers), category_shapes(sessions, layers), model.factors,
                        model.hidden, model.activation, options_of(layers));
  return made_of(made, made->source, made->deep);
}

static_assert(job::kCoarseScoreBits == nn::kDefaultScoreBits);

template <class Holder, class... Layers>
JobModel shared_of(protocol::Session& session, const job::Model& model, const JobLayers& layers, Holder top,
                   const nn::SharedTopOptions& options, ModelUse use, const Layers&... sources) {
  JobModel made;
  made.learner =
      use == ModelUse::kScoring
          ? train::SharedLearner(top.ptr())
          : train::SharedLearner(top.ptr(), nn::SharedLoss(session, family_of(model), layers.outputs, options));
  made.module = made.learner.ptr();
  made.forward = [top, bits = model.score_bits](const data::Batch& batch) mutable {
    return top->open_scores(top->scores(batch), bits);
  };
  (add_facts(made, sources), ...);
  return made;
}

JobModel make_shared_module(protocol::Session& session, const job::Model& model, const JobLayers& layers,
                            ModelUse use) {
  const nn::SharedTopOptions& options = layers.top->options;
  if (model.kind == ModelKind::kWdl) {
    const nn::SharedWideDeep top(session, layers.numeric ? layers.numeric->shapes.front() : nn::FeatureShape{},
                                 layers.categories->shapes.front(), model.hidden, layers.outputs, model.activation,
                                 options_of(layers), options);
    return shared_of(session, model, layers, top, options, use, top->wide, top->deep);
  }
  const NumericLayer& source = *layers.numeric;
  if (model.kind == ModelKind::kDeepfm) {
    const nn::SharedDeepFm top(session, source.shapes.front(), layers.categories->shapes.front(), model.factors,
                               model.hidden, model.activation, options_of(layers), options);
    return shared_of(session, model, layers, top, options, use, top->source, top->deep);
  }
  if (model.kind == ModelKind::kFm) {
    const nn::SharedFactorizationMachine top(session, source.shapes.front(), model.factors, source.options, options);
    return shared_of(session, model, layers, top, options, use, top->source);
  }
  if (model.kind == ModelKind::kMlp) {
    const nn::SharedMlp top(session, source.shapes.front(), model.hidden, layers.outputs, model.activation,
                            source.options, options);
    return shared_of(session, model, layers, top, options, use, top->source);
  }
  require<ConfigError>(!job::has_embeddings(model.kind), "shared.model.top: there is no ",
                       job::Value<ModelKind>::write(model.kind), " on shares; take an open top");
  const nn::SharedGeneralizedLinear top(session, source.shapes.front(), layers.outputs, source.options, options);
  return shared_of(session, model, layers, top, options, use, top->source);
}

JobModel make_module(const protocol::Sessions& sessions, const job::Model& model, const JobLayers& layers) {
  switch (model.kind) {
    case ModelKind::kLr:
    case ModelKind::kMlr:
    case ModelKind::kLinear:
    case ModelKind::kPoisson: {
      const nn::GeneralizedLinear made(sessions, numeric_shapes(sessions, layers), layers.outputs,
                                       layers.numeric->options);
      return made_of(made, made->source);
    }
    case ModelKind::kMlp: {
      const nn::Mlp made(sessions, numeric_shapes(sessions, layers), model.hidden, layers.outputs, model.activation,
                         layers.numeric->options);
      return made_of(made, made->source);
    }
    case ModelKind::kWdl:
      return make_wide_deep(sessions, model, layers);
    case ModelKind::kDlrm:
      return make_dlrm(sessions, model, layers);
    case ModelKind::kFm: {
      const nn::FactorizationMachine made(sessions, numeric_shapes(sessions, layers), model.factors,
                                          layers.numeric->options);
      return made_of(made, made->source);
    }
    case ModelKind::kDeepfm:
      return make_deep_fm(sessions, model, layers);
  }
  fail<InvalidArgument>("there is no such model");
}

}  // namespace

nn::DlrmShape dlrm_shape(const job::Model& model) {
  return {.bottom = model.dlrm.bottom,
          .vectors = model.dlrm.vectors,
          .dimension = model.embedding_dim,
          .top = model.dlrm.top};
}

JobModel make_model(const protocol::Sessions& sessions, const job::Model& model, const JobLayers& layers,
                    ModelUse use) {
  require<ConfigError>(layers.peers.size() == 1 || !model.shared_top(),
                       "shared.model.top: a shared top is between B and one A; with several say open");
  JobModel made = model.shared_top() ? make_shared_module(**sessions.begin(), model, layers, use)
                                     : make_module(sessions, model, layers);
  made.family = family_of(model);
  made.outputs = layers.outputs;
  return made;
}

LabelScaling standardised(const std::vector<double>& labels) {
  double count = 0;
  double mean = 0;
  double squares = 0;  // of distances from the mean so far: no cancellation
  for (const double label : labels) {
    count += 1;
    const double distance = label - mean;
    mean += distance / count;
    squares += distance * (label - mean);
  }
  const double deviation = count > 0 ? std::sqrt(squares / count) : 0;
  // Labels that differ by rounding alone are the same.
  const bool varies = std::isfinite(deviation) && deviation > 1e-9 * std::abs(mean) && deviation > 1e-300;
  return {.center = mean, .scale = varies ? deviation : 1};
}

torch::Tensor job_predictions(const JobModel& model, const torch::Tensor& scores) {
  torch::Tensor values = nn::predictions(model.family, scores);
  if (model.family != nn::Family::kLinear) return values;
  return values.to(torch::kFloat64) * model.labels.scale + model.labels.center;
}

train::WeightedLoss job_loss(const JobModel& model, const std::vector<double>& class_weights) {
  torch::Tensor by_class;
  if (!class_weights.empty()) by_class = torch::tensor(class_weights, torch::kFloat32);
  return [family = model.family, by_class, scaling = model.labels](
             const torch::Tensor& scores, const torch::Tensor& in_their_unit, const torch::Tensor& by_row) {
    const bool is_scaled = family == nn::Family::kLinear;
    const torch::Tensor labels = is_scaled ? (in_their_unit - scaling.center) / scaling.scale : in_their_unit;
    if (!by_class.defined() && !by_row.defined()) return nn::loss(family, scores, labels);
    torch::Tensor weights = by_class.defined() ? by_class.index({labels.to(torch::kLong)}) : by_row;
    if (by_class.defined() && by_row.defined()) weights = weights * by_row;
    return nn::weighted_loss(family, scores, labels, weights);
  };
}

}  // namespace blindfl::app
