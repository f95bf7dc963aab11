#include "blindfl/nn/matmul.h"

#include <ostream>
#include <utility>

#include "blindfl/protocol/layers/matmul.h"
#include "blindfl/protocol/plan/source_layer.h"

namespace blindfl::nn {

// Lives in the autograd graph as long as a backward pass may come, also when the module is gone.
class MatMulImpl::Source {
 public:
  explicit Source(std::shared_ptr<protocol::MatMul> below)
      : layer(std::move(below)),
        weight_a(layer->session(), layer->shared_weight(protocol::Party::kA)),
        weight_b(layer->session(), layer->shared_weight(protocol::Party::kB)) {}

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
    : SourceModule(std::make_shared<protocol::MatMul>(session, plan.spec), plan.rows),
      source_(std::make_shared<Source>(shared_layer())) {
  register_federated(source_->weight_a);
  register_federated(source_->weight_b);
}

SourceOutput MatMulImpl::shares(const data::Batch& batch) {
  return output_of(layer().forward(batch.features), batch.rows,
                   [source = source_, x = batch.features](const protocol::Derivative& derivative) {
                     source->backward(x, derivative);
                   });
}

FederatedParameter MatMulImpl::weight_a() const {
  return source_->weight_a;
}
FederatedParameter MatMulImpl::weight_b() const {
  return source_->weight_b;
}

void MatMulImpl::pretty_print(std::ostream& stream) const {
  const protocol::MatMulSpec& spec = layer().params().spec();
  stream << "blindfl::MatMul(in_a=" << spec.in_a << ", in_b=" << spec.in_b << ", out=" << spec.out << ")";
}

}  // namespace blindfl::nn
