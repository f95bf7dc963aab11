#include "blindfl/nn/source_module.h"

#include <utility>

#include "blindfl/protocol/layers/embed_matmul.h"
#include "blindfl/protocol/layers/matmul.h"

namespace blindfl::nn {

template <class Layer>
SourceModule<Layer>::SourceModule(std::shared_ptr<Layer> layer, std::vector<protocol::PlanRow> plan)
    : layer_(std::move(layer)), plan_(std::move(plan)) {}

template <class Layer>
torch::Tensor SourceModule<Layer>::forward(const data::Batch& batch) {
  const SourceOutput output = shares(batch);
  torch::Tensor z = open(output);
  if (observer_) observer_(output, z.detach());
  return z;
}

template <class Layer>
std::optional<protocol::Settings> SourceModule<Layer>::state_settings() const {
  return layer_->state_settings();
}

template <class Layer>
void SourceModule<Layer>::save_layer(ByteSink& out) const {
  layer_->save(out);
}

template <class Layer>
void SourceModule<Layer>::load_layer(ByteSource& in) {
  layer_->load(in);
}

template <class Layer>
SourceOutput SourceModule<Layer>::output_of(protocol::OutputShare share, std::size_t rows,
                                            SourceOutput::Backward backward) const {
  const auto& spec = layer_->params().spec();
  SourceOutput output{.shares = {{&layer_->session(), layer_->layer(), std::move(share)}},
                      .rows = rows,
                      .opening = {spec.output_scale, spec.derivative, spec.top},
                      .parts = {std::move(backward)}};
  if (observer_ && spec.top == protocol::Top::kShared) observer_(output, torch::Tensor());
  return output;
}

template class SourceModule<protocol::MatMul>;
template class SourceModule<protocol::EmbedMatMul>;

}  // namespace blindfl::nn
