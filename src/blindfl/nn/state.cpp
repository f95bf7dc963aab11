#include "blindfl/nn/state.h"

#include <string>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/base/saved_state.h"
#include "blindfl/nn/tensor_bytes.h"
#include "blindfl/protocol/layers/layer_state.h"

namespace blindfl::nn {

namespace {

using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

/// The model's own layer and those of all modules below it that have one, by path, in module order.
template <class Module>
std::vector<std::pair<std::string, Module*>> layers_of(Module& model) {
  std::vector<std::pair<std::string, Module*>> layers;
  if (model.state_settings()) layers.emplace_back("model", &model);
  for (const auto& below : model.named_modules(/*name_prefix=*/"", /*include_self=*/false)) {
    auto* federated = dynamic_cast<Module*>(below.value().get());
    if (federated != nullptr && federated->state_settings()) layers.emplace_back(below.key(), federated);
  }
  return layers;
}

NamedTensors tensors_of(const FederatedModule& model) {
  NamedTensors tensors;
  for (const auto& parameter : model.named_parameters()) tensors.emplace_back(parameter.key(), parameter.value());
  for (const auto& buffer : model.named_buffers()) tensors.emplace_back(buffer.key() + " (buffer)", buffer.value());
  return tensors;
}

protocol::Settings settings_of(const FederatedModule& model, const NamedTensors& tensors) {
  protocol::Settings settings;
  settings.add("state", "model");
  for (const auto& [path, layer] : layers_of(model)) settings.add(path + ".", *layer->state_settings());
  for (const auto& [name, tensor] : tensors) settings.add(name, shape_in_words(tensor));
  return settings;
}

}  // namespace

void save_state(const FederatedModule& model, ByteSink& out) {
  const NamedTensors tensors = tensors_of(model);
  protocol::write_state_header(out, settings_of(model, tensors));
  for (const auto& named : tensors) write_values(out, named.second);
  for (const auto& named : layers_of(model)) named.second->save_layer(out);
}

// All is compared before anything is loaded, and tensors change last: a federated layer is likelier to refuse.
void load_state(FederatedModule& model, ByteSource& in) {
  reading_state([&] {
    NamedTensors tensors = tensors_of(model);
    protocol::read_state_header(in, "this model", settings_of(model, tensors));
    std::vector<torch::Tensor> values;
    values.reserve(tensors.size());
    for (const auto& named : tensors) values.push_back(read_values(in, named.second));
    for (const auto& named : layers_of(model)) named.second->load_layer(in);
    const torch::NoGradGuard no_grad;
    for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].second.copy_(values[i]);
  });
}

}  // namespace blindfl::nn
