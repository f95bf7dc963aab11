#include "blindfl/nn/matmul.h"

#include <ostream>
#include <span>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/data/row_source.h"
#include "blindfl/protocol/layers/keep_options.h"
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
  require<InvalidArgument>(batch.numbers.empty() || batch.numbers.size() == batch.rows, "a batch of ", batch.rows,
                           " rows has ", batch.numbers.size(), " row numbers");
  return output_of(layer().forward(batch.features, batch.numbers), batch.rows,
                   [source = source_, x = batch.features](const protocol::Derivative& derivative) {
                     source->backward(x, derivative);
                   });
}

void MatMulImpl::keep_layer_products(const data::RowSource& rows, const protocol::KeepOptions& options) const {
  if (layer().params().shared()) return;  // A's share of B's weights changes at every step: there is nothing to keep
  const auto features = [&](std::span<const std::uint32_t> numbers, std::size_t padded_rows) {
    return rows.batch(numbers, padded_rows).features;
  };
  layer().keep_products(rows.rows(), features, options);
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
