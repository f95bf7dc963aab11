#pragma once

#include "blindfl/base/bytes.h"
#include "blindfl/nn/federated_module.h"

namespace blindfl::nn {

/// Writes all of this party's state of a model: what its federated layers hold here, and all plain parameters and
/// buffers, bit for bit. As secret as the shares in it; what the peer saved at the same moment is the other half.
/// Updates under encryption need the session's keys beside (`Session::save_keys`).
/// Throws InvalidArgument between a backward pass and its step if a layer updates its weights itself; a tensor that is
/// not a dense one cannot be saved either.
void save_state(const FederatedModule& model, ByteSink& out);

/// Reads what `save_state` wrote, and no further, into a model that was made in the same way. Both parties call it at
/// the same point, each with its own. Gradients are left alone: `FederatedOptimizer::load` or `zero_grad` drops them.
/// Cost: a message of 32 bytes for each layer; the next forward pass throws ConfigError if the peer loaded a state of
/// another moment or training.
/// Throws DataError if it is not that, naming what differs: nothing has changed then. Or if it is damaged further on:
/// then the model may have changed in part, and must be loaded again or thrown away.
void load_state(FederatedModule& model, ByteSource& in);

}  // namespace blindfl::nn
