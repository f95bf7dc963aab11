#include "blindfl/nn/matmul.h"

#include <mutex>
#include <ostream>
#include <span>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/data/row_source.h"
#include "blindfl/nn/pairs.h"
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

namespace {

std::vector<protocol::LayerPlan> plans_of(const protocol::Sessions& sessions, const PerPeer<FeatureShape>& shapes,
                                          std::size_t out, const PerPeer<MatMulOptions>& options) {
  std::vector<protocol::LayerPlan> plans;
  const std::vector<FeatureShape> pairs = pair_shapes(sessions, shapes);
  for (std::size_t place = 0; place < pairs.size(); ++place) {
    plans.push_back(
        protocol::plan_source(pairs[place], out, options.at(place, pairs.size()), sessions[place].schemes()));
  }
  return plans;
}

/// Keys of updates under encryption are exchanged with all peers at the same time.
std::vector<std::shared_ptr<protocol::MatMul>> layers_of(const protocol::Sessions& sessions,
                                                         const std::vector<protocol::LayerPlan>& plans) {
  std::vector<std::shared_ptr<protocol::MatMul>> layers(plans.size());
  protocol::with_each(sessions, [&](std::size_t place, protocol::Session& session) {
    layers[place] = std::make_shared<protocol::MatMul>(session, plans[place].spec);
  });
  return layers;
}

}  // namespace

MatMulImpl::MatMulImpl(const protocol::Sessions& sessions, const PerPeer<FeatureShape>& shapes, std::size_t out,
                       const PerPeer<MatMulOptions>& options)
    : MatMulImpl(sessions, plans_of(sessions, shapes, out, options)) {}

MatMulImpl::MatMulImpl(const protocol::Sessions& sessions, const std::vector<protocol::LayerPlan>& plans)
    : SourceModule(sessions, layers_of(sessions, plans),
                   {plans.front().spec.out,
                    {plans.front().spec.output_scale, plans.front().spec.derivative, plans.front().spec.top},
                    plans.front().spec.largest_output},
                   rows_of(plans)) {
  for (const auto& layer : layers()) {
    sources_.push_back(std::make_shared<Source>(layer));
    register_federated(sources_.back()->weight_a);
    register_federated(sources_.back()->weight_b);
  }
}

SourceOutput MatMulImpl::shares(const data::Batch& batch) {
  require<InvalidArgument>(batch.numbers.empty() || batch.numbers.size() == batch.rows, "a batch of ", batch.rows,
                           " rows has ", batch.numbers.size(), " row numbers");
  return output_of(
      batch, batch.features.rows(),
      [&](std::size_t /*place*/, protocol::MatMul& layer) { return layer.forward(batch.features, batch.numbers); },
      [sources = sources_, peers = sessions(), x = batch.features](const protocol::Derivative& derivative) {
        protocol::with_each(
            peers, [&](std::size_t place, protocol::Session& /*session*/) { sources[place]->backward(x, derivative); });
      });
}

void MatMulImpl::keep_layer_products(const data::RowSource& rows, const protocol::KeepOptions& options) const {
  if (layer().params().shared()) return;  // A's share of B's weights changes at every step: there is nothing to keep
  std::mutex reading;
  const auto features = [&](std::span<const std::uint32_t> numbers, std::size_t padded_rows) {
    const std::lock_guard lock(reading);
    return rows.batch(numbers, padded_rows).features;
  };
  protocol::with_each(sessions(), [&](std::size_t place, protocol::Session& /*session*/) {
    protocol::KeepOptions of_pair = options;
    if (place > 0) of_pair.observer = nullptr;  // all proceed alike, and one thread tells of it
    layer(place).keep_products(rows.rows(), features, of_pair);
  });
}

FederatedParameter MatMulImpl::weight_a(std::size_t place) const {
  return sources_.at(place)->weight_a;
}
FederatedParameter MatMulImpl::weight_b(std::size_t place) const {
  return sources_.at(place)->weight_b;
}

void MatMulImpl::pretty_print(std::ostream& stream) const {
  stream << "blindfl::MatMul(in_a=";
  for (std::size_t place = 0; place < layers().size(); ++place) {
    stream << (place > 0 ? "+" : "") << layer(place).params().spec().in_a;
  }
  const protocol::MatMulSpec& spec = layer().params().spec();
  stream << ", in_b=" << spec.in_b << ", out=" << spec.out << ")";
}

}  // namespace blindfl::nn
