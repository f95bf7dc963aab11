#include "blindfl/nn/embed_matmul.h"

#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/nn/pairs.h"
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

/// What a module is made of: a plan with each peer, none where there are no fields.
struct EmbedMatMulImpl::Parts {
  std::vector<std::optional<protocol::EmbedPlan>> plans;
  Sum sum;
  std::vector<protocol::PlanRow> rows;
};

EmbedMatMulImpl::Parts EmbedMatMulImpl::parts_of(const protocol::Sessions& sessions,
                                                 const PerPeer<CategoryShape>& shapes, std::size_t out,
                                                 const PerPeer<EmbedMatMulOptions>& options) {
  Parts parts;
  const std::vector<CategoryShape> pairs = pair_shapes(sessions, shapes);
  for (std::size_t place = 0; place < pairs.size(); ++place) {
    const CategoryShape& shape = pairs[place];
    const EmbedMatMulOptions& of_pair = options.at(place, pairs.size());
    parts.sum = {out, {of_pair.output_scale, of_pair.derivative, of_pair.top}, of_pair.largest_output};
    parts.plans.emplace_back();
    if (shape.peers > 1 && shape.fields_a.empty() && shape.fields_b.empty() && shape.fields_others > 0) continue;
    parts.plans.back() = protocol::plan_source(shape, out, of_pair, sessions[place].schemes());
    const std::vector<protocol::PlanRow>& rows = parts.plans.back()->rows;
    parts.rows.insert(parts.rows.end(), rows.begin(), rows.end());
  }
  return parts;
}

std::vector<std::shared_ptr<protocol::EmbedMatMul>> EmbedMatMulImpl::layers_of(const protocol::Sessions& sessions,
                                                                               const Parts& parts) {
  std::vector<std::shared_ptr<protocol::EmbedMatMul>> layers(parts.plans.size());
  protocol::with_each(sessions, [&](std::size_t place, protocol::Session& session) {
    if (parts.plans[place]) layers[place] = std::make_shared<protocol::EmbedMatMul>(session, parts.plans[place]->spec);
  });
  return layers;
}

EmbedMatMulImpl::EmbedMatMulImpl(const protocol::Sessions& sessions, const PerPeer<CategoryShape>& shapes,
                                 std::size_t out, const PerPeer<EmbedMatMulOptions>& options)
    : EmbedMatMulImpl(sessions, parts_of(sessions, shapes, out, options)) {}

EmbedMatMulImpl::EmbedMatMulImpl(protocol::Session& session, const protocol::EmbedMatMulSpec& spec)
    : EmbedMatMulImpl(session,
                      Parts{.plans = {protocol::EmbedPlan{spec, {}, {}, {}}},
                            .sum = {spec.out, {spec.output_scale, spec.derivative, spec.top}, spec.largest_output},
                            .rows = {}}) {}

EmbedMatMulImpl::EmbedMatMulImpl(const protocol::Sessions& sessions, const Parts& parts)
    : SourceModule(sessions, layers_of(sessions, parts), parts.sum, parts.rows) {
  for (const auto& layer : layers()) {
    sources_.push_back(layer ? std::make_shared<Source>(layer) : nullptr);
    if (!layer) continue;
    register_federated(sources_.back()->weight);
    for (const FederatedParameter& table : sources_.back()->tables) register_federated(table);
  }
}

namespace {

/// A party without fields knows the rows from its features, of which there may be none either.
std::size_t padded_rows(const data::Batch& batch) {
  return batch.fields.empty() ? batch.features.rows() : batch.fields.front().rows();
}

}  // namespace

SourceOutput EmbedMatMulImpl::shares(const data::Batch& batch) {
  const std::size_t rows = padded_rows(batch);
  const bool coming = batch.next && !batch.next->numbers.empty() && padded_rows(*batch.next) == rows;
  const auto passes = std::make_shared<std::vector<protocol::EmbedPass>>(sources_.size());
  const auto forward = [&](std::size_t place, protocol::EmbedMatMul& layer) {
    // B's own fields are in its layer with the first A.
    const bool without = place > 0;
    const std::vector<IntMatrix> none;
    const std::vector<IntMatrix>& fields = without ? none : batch.fields;
    std::optional<protocol::ComingBatch> next;
    if (coming) next = {batch.next->numbers, without ? none : batch.next->fields};
    protocol::EmbedMatMul::Forward pass = layer.forward(fields, rows, batch.numbers, next ? &*next : nullptr);
    (*passes)[place] = std::move(pass.pass);
    return std::move(pass.output);
  };
  return output_of(batch, rows, forward,
                   [sources = sources_, peers = sessions(), passes](const protocol::Derivative& derivative) {
                     protocol::with_each(peers, [&](std::size_t place, protocol::Session& /*session*/) {
                       if (sources[place]) sources[place]->backward((*passes)[place], derivative);
                     });
                   });
}

FederatedParameter EmbedMatMulImpl::weight(std::size_t place) const {
  (void)layer(place);
  return sources_[place]->weight;
}

FederatedParameter EmbedMatMulImpl::table(Party features_of, std::size_t field, std::size_t place) const {
  const protocol::EmbedMatMulParams& params = layer(place).params();
  require<InvalidArgument>(field < params.fields(features_of).size(), "layer '", params.spec().name,
                           "': there is no field ", field);
  return sources_[place]->tables[(features_of == protocol::Party::kB ? params.spec().fields_a.size() : 0) + field];
}

void EmbedMatMulImpl::pretty_print(std::ostream& stream) const {
  std::size_t fields_a = 0;
  std::size_t fields_b = 0;
  const protocol::EmbedMatMulSpec* any = nullptr;
  for (const auto& layer : layers()) {
    if (!layer) continue;
    any = &layer->params().spec();
    fields_a += any->fields_a.size();
    fields_b += any->fields_b.size();
  }
  if (any == nullptr) {
    stream << "blindfl::EmbedMatMul(without fields here)";
    return;
  }
  stream << "blindfl::EmbedMatMul(fields_a=" << fields_a << ", fields_b=" << fields_b
         << ", dimension=" << any->dimension << ", out=" << any->out << ")";
}

}  // namespace blindfl::nn
