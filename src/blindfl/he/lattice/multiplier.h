#pragma once

#include <memory>

#include "blindfl/he/lattice/kernels.h"
#include "blindfl/he/lattice/params.h"
#include "blindfl/he/scheme.h"

namespace blindfl::he::lattice {

/// Computes under the peer's public key. `kernels` must outlive what is returned.
/// Throws ProtocolError if the bytes are not a public key of these parameters.
[[nodiscard]] std::unique_ptr<Multiplier> make_multiplier(std::shared_ptr<const Params> params, const Kernels& kernels,
                                                          ByteView public_key);

}  // namespace blindfl::he::lattice
