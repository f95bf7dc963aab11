#include "blindfl/nn/embed_matmul.h"

#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/protocol/layers/embed_matmul.h"
#include "blindfl/protocol/plan/source_layer.h"

namespace blindfl::nn {

// Lives in the autograd graph as long as a backward pass may come, also when the module is gone.
class EmbedMatMulImpl::Source {
 public:
  explicit Source(std::shared_ptr<protocol::EmbedMatMul> below)
      : layer(std::move(below)), weight(layer->session(), layer->weight()) {
    for (const auto& table : layer->tables()) tables.emplace_back(layer->session(), table->weight());
  }

  void backward(const protocol::EmbedPass& pass, const protocol::Derivative& derivative) {
    const protocol::EmbedGradients gradients = layer->backward(pass, derivative);
    weight.accumulate_grad(gradients.weight);
    for (std::size_t i = 0; i < tables.size(); ++i) tables[i].accumulate_grad(gradients.tables[i]);
  }

  std::shared_ptr<protocol::EmbedMatMul> layer;
  FederatedParameter weight;
  std::vector<FederatedParameter> tables;
};

EmbedMatMulImpl::EmbedMatMulImpl(protocol::Session& session, const CategoryShape& shape, std::size_t out,
                                 const EmbedMatMulOptions& options)
    : EmbedMatMulImpl(session, protocol::plan_source(shape, out, options, session.schemes())) {}

EmbedMatMulImpl::EmbedMatMulImpl(protocol::Session& session, const protocol::EmbedMatMulSpec& spec)
    : EmbedMatMulImpl(session, protocol::EmbedPlan{spec, {}, {}, {}}) {}

EmbedMatMulImpl::EmbedMatMulImpl(protocol::Session& session, const protocol::EmbedPlan& plan)
    : SourceModule(std::make_shared<protocol::EmbedMatMul>(session, plan.spec), plan.rows),
      source_(std::make_shared<Source>(shared_layer())) {
  register_federated(source_->weight);
  for (const FederatedParameter& table : source_->tables) register_federated(table);
}

namespace {

/// A party without fields knows the rows from its features, of which there may be none either.
std::size_t padded_rows(const data::Batch& batch) {
  return batch.fields.empty() ? batch.features.rows() : batch.fields.front().rows();
}

}  // namespace

SourceOutput EmbedMatMulImpl::shares(const data::Batch& batch) {
  const std::size_t rows = padded_rows(batch);
  std::optional<protocol::ComingBatch> coming;
  if (batch.next && !batch.next->numbers.empty() && padded_rows(*batch.next) == rows) {
    coming = {batch.next->numbers, batch.next->fields};
  }
  protocol::EmbedMatMul::Forward forward =
      layer().forward(batch.fields, rows, batch.numbers, coming ? &*coming : nullptr);
  return output_of(std::move(forward.output), batch.rows,
                   [source = source_, pass = std::make_shared<const protocol::EmbedPass>(std::move(forward.pass))](
                       const protocol::Derivative& derivative) { source->backward(*pass, derivative); });
}

FederatedParameter EmbedMatMulImpl::weight() const {
  return source_->weight;
}

FederatedParameter EmbedMatMulImpl::table(Party features_of, std::size_t field) const {
  const protocol::EmbedMatMulParams& params = layer().params();
  require<InvalidArgument>(field < params.fields(features_of).size(), "layer '", params.spec().name,
                           "': there is no field ", field);
  return source_->tables[(features_of == protocol::Party::kB ? params.spec().fields_a.size() : 0) + field];
}

void EmbedMatMulImpl::pretty_print(std::ostream& stream) const {
  const protocol::EmbedMatMulSpec& spec = layer().params().spec();
  stream << "blindfl::EmbedMatMul(fields_a=" << spec.fields_a.size() << ", fields_b=" << spec.fields_b.size()
         << ", dimension=" << spec.dimension << ", out=" << spec.out << ")";
}

}  // namespace blindfl::nn
