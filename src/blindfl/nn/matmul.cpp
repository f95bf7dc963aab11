#include "blindfl/nn/matmul.h"

#include <ostream>

#include "blindfl/base/error.h"

namespace blindfl::nn {

namespace {

protocol::MatMulSpec make_spec(const FeatureShape& shape, std::size_t out, const MatMulOptions& options) {
  protocol::MatMulSpec spec;
  spec.name = options.name;
  spec.in_a = shape.in_a;
  spec.in_b = shape.in_b;
  spec.out = out;
  spec.batch = shape.batch;
  spec.features_a = shape.features_a;
  spec.features_b = shape.features_b;
  spec.derivative = options.derivative;
  spec.largest_weight = options.largest_weight;
  spec.output_scale = options.output_scale;
  spec.initial_deviation = options.initial_deviation;
  spec.nonzeros_a = shape.nonzeros_a;
  spec.nonzeros_b = shape.nonzeros_b;
  spec.update = options.update.value_or(protocol::Update::kExchanged);
  spec.sgd = options.sgd;
  spec.scheme_a = options.scheme_a;
  spec.scheme_b = options.scheme_b;
  return spec;
}

protocol::LayerPlan make_plan(const protocol::Session& session, const protocol::MatMulSpec& spec,
                              const MatMulOptions& options) {
  if (!options.automatic) return {spec, {}, {}};
  protocol::PlannerChoices choices;
  if (!options.scheme_a.empty()) choices.scheme_a = options.scheme_a;
  if (!options.scheme_b.empty()) choices.scheme_b = options.scheme_b;
  choices.update = options.update;
  return plan_layer(spec, choices, session.schemes(), *options.automatic);
}

}  // namespace

// Lives in the autograd graph as long as a backward pass may come, also when the module is gone.
class MatMulImpl::Source {
 public:
  Source(protocol::Session& session, const protocol::MatMulSpec& spec)
      : layer(std::make_shared<protocol::MatMul>(session, spec)),
        weight_a(session, layer->shared_weight(protocol::Party::kA)),
        weight_b(session, layer->shared_weight(protocol::Party::kB)) {}

  void backward(const IntMatrix& features, const protocol::Derivative& derivative) {
    const protocol::MatMulGradients gradients = layer->backward(features, derivative);
    weight_a.accumulate_grad(gradients.weight_a);
    weight_b.accumulate_grad(gradients.weight_b);
  }

  std::shared_ptr<protocol::MatMul> layer;
  FederatedParameter weight_a;
  FederatedParameter weight_b;
};

MatMulImpl::MatMulImpl(protocol::Session& session, const FeatureShape& shape, std::size_t out,
                       const MatMulOptions& options)
    : MatMulImpl(session, make_plan(session, make_spec(shape, out, options), options)) {}

MatMulImpl::MatMulImpl(protocol::Session& session, const protocol::LayerPlan& plan)
    : source_(std::make_shared<Source>(session, plan.spec)), why_(plan.why) {
  register_federated(source_->weight_a);
  register_federated(source_->weight_b);
}

SourceOutput MatMulImpl::shares(const data::Batch& batch) {
  protocol::MatMul& layer = *source_->layer;
  const protocol::MatMulSpec& spec = layer.params().spec();
  SourceOutput output;
  output.share = layer.forward(batch.features);
  output.rows = batch.rows;
  output.opening = {&layer.session(), layer.layer(), spec.output_scale, spec.derivative};
  output.parts = {[source = source_, x = batch.features](const protocol::Derivative& derivative) {
    source->backward(x, derivative);
  }};
  return output;
}

torch::Tensor MatMulImpl::forward(const data::Batch& batch) {
  return open(shares(batch));
}

FederatedParameter MatMulImpl::weight_a() const {
  return source_->weight_a;
}
FederatedParameter MatMulImpl::weight_b() const {
  return source_->weight_b;
}

protocol::MatMul& MatMulImpl::layer() const {
  return *source_->layer;
}

std::optional<protocol::Settings> MatMulImpl::state_settings() const {
  return layer().state_settings();
}

void MatMulImpl::save_layer(ByteSink& out) const {
  layer().save(out);
}

void MatMulImpl::load_layer(ByteSource& in) {
  layer().load(in);
}

void MatMulImpl::pretty_print(std::ostream& stream) const {
  const protocol::MatMulSpec& spec = source_->layer->params().spec();
  stream << "blindfl::MatMul(in_a=" << spec.in_a << ", in_b=" << spec.in_b << ", out=" << spec.out << ")";
}

}  // namespace blindfl::nn
