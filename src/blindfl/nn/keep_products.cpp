#include "blindfl/nn/keep_products.h"

namespace blindfl::nn {

void keep_products(const FederatedModule& model, const data::RowSource& rows, const KeepOptions& options) {
  model.keep_layer_products(rows, options);
  for (const auto& below : model.modules(/*include_self=*/false)) {
    const auto* federated = dynamic_cast<const FederatedModule*>(below.get());
    if (federated != nullptr) federated->keep_layer_products(rows, options);
  }
}

}  // namespace blindfl::nn
