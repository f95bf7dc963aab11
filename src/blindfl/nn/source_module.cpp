#include "blindfl/nn/source_module.h"

#include <string>
#include <utility>

#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "blindfl/protocol/layers/embed_matmul.h"
#include "blindfl/protocol/layers/matmul.h"

namespace blindfl::nn {

template <class Layer>
SourceModule<Layer>::SourceModule(const protocol::Sessions& sessions, std::vector<std::shared_ptr<Layer>> layers,
                                  const Sum& sum, std::vector<protocol::PlanRow> plan)
    : sessions_(sessions), layers_(std::move(layers)), sum_(sum), plan_(std::move(plan)) {
  for (std::size_t place = 0; place < layers_.size(); ++place) {
    numbers_.push_back(layers_[place] ? layers_[place]->layer() : sessions_[place].new_layer());
    outputs_.push_back(sessions_[place].new_output());
  }
}

template <class Layer>
Layer& SourceModule<Layer>::layer(std::size_t place) const {
  require<InvalidArgument>(place < layers_.size() && layers_[place] != nullptr,
                           "there is no layer with the peer at place ", place);
  return *layers_[place];
}

template <class Layer>
torch::Tensor SourceModule<Layer>::forward(const data::Batch& batch) {
  const SourceOutput output = shares(batch);
  torch::Tensor z = open(output);
  if (observer_) observer_(output, z.detach());
  return z;
}

template <class Layer>
std::optional<protocol::Settings> SourceModule<Layer>::state_settings() const {
  if (!sessions_.several() && layers_.front()) return layers_.front()->state_settings();
  protocol::Settings settings;
  settings.add("state", "layers with several A's");
  for (std::size_t place = 0; place < layers_.size(); ++place) {
    const std::string name = "peer " + std::to_string(place);
    settings.add(name, layers_[place] ? "with a layer" : "without a layer");
    if (layers_[place]) settings.add(name + ".", layers_[place]->state_settings());
  }
  return settings;
}

template <class Layer>
void SourceModule<Layer>::save_layer(ByteSink& out) const {
  for (const auto& layer : layers_) {
    if (layer) layer->save(out);
  }
}

template <class Layer>
void SourceModule<Layer>::load_layer(ByteSource& in) {
  for (const auto& layer : layers_) {
    if (layer) layer->load(in);
  }
}

namespace {

// All of it is the same at all A's of a run that is what it should be.
Bytes words_about(std::uint32_t output, bool training, const data::Batch& batch) {
  return digest_of(write_to_bytes([&](ByteSink& out) {
    out.write_u32(output);
    out.write_u32(training ? 1 : 0);
    out.write_u64(batch.rows);
    for (const std::vector<std::uint32_t>& rows : {batch.numbers, batch.scored}) {
      out.write_u64(rows.size());
      for (const std::uint32_t row : rows) out.write_u32(row);
    }
  }));
}

}  // namespace

template <class Layer>
SourceOutput SourceModule<Layer>::output_of(const data::Batch& batch, std::size_t padded_rows,
                                            const PairForward& forward, SourceOutput::Backward backward) const {
  SourceOutput output{.shares = std::vector<protocol::SessionShare>(layers_.size()),
                      .rows = batch.rows,
                      .opening = sum_.opening,
                      .parts = {std::move(backward)}};
  const bool training = torch::GradMode::is_enabled();  // of this thread
  protocol::with_each(sessions_, [&](std::size_t place, protocol::Session& session) {
    protocol::OutputShare share;
    if (layers_[place]) {
      share = forward(place, *layers_[place]);
    } else {
      // It takes part in the opening all the same: a share of 0, and a mask.
      const int ring = protocol::output_ring(sum_.largest_output, sum_.opening.scale);
      share = {ShareMatrix(padded_rows, sum_.out, sum_.opening.scale, ring), 0};
    }
    output.shares[place] = {&session, numbers_[place], std::move(share)};
    if (session.output_masks()) output.shares[place].about = words_about(outputs_[place], training, batch);
  });
  if (observer_ && sum_.opening.top == protocol::Top::kShared) observer_(output, torch::Tensor());
  return output;
}

template class SourceModule<protocol::MatMul>;
template class SourceModule<protocol::EmbedMatMul>;

}  // namespace blindfl::nn
