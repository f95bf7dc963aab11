#include "blindfl/nn/matmul.h"

#include <ostream>

namespace blindfl::nn {

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
    : MatMulImpl(session, protocol::plan_source(shape, out, options, session.schemes())) {}

MatMulImpl::MatMulImpl(protocol::Session& session, const protocol::LayerPlan& plan)
    : source_(std::make_shared<Source>(session, plan.spec)), plan_(plan.rows) {
  register_federated(source_->weight_a);
  register_federated(source_->weight_b);
}

SourceOutput MatMulImpl::shares(const data::Batch& batch) {
  protocol::MatMul& layer = *source_->layer;
  const protocol::MatMulSpec& spec = layer.params().spec();
  SourceOutput output;
  output.shares = {{&layer.session(), layer.layer(), layer.forward(batch.features)}};
  output.rows = batch.rows;
  output.opening = {spec.output_scale, spec.derivative};
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
