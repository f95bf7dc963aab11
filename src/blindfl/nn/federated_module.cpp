#include "blindfl/nn/federated_module.h"

namespace blindfl::nn {

std::vector<FederatedParameter> FederatedModule::federated_parameters() const {
  std::vector<FederatedParameter> all = own_;
  for (const auto& below : modules(/*include_self=*/false)) {
    const auto* federated = dynamic_cast<const FederatedModule*>(below.get());
    if (federated != nullptr) all.insert(all.end(), federated->own_.begin(), federated->own_.end());
  }
  return all;
}

FederatedParameter FederatedModule::register_federated(FederatedParameter parameter) {
  own_.push_back(std::move(parameter));
  return own_.back();
}

}  // namespace blindfl::nn
