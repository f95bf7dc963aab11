#pragma once

#include <memory>

#include "blindfl/he/lattice/kernels.h"
#include "blindfl/he/lattice/params.h"
#include "blindfl/he/scheme.h"

namespace blindfl::he::lattice {

/// Fresh keys. `params` and `kernels` must outlive what is returned.
[[nodiscard]] std::unique_ptr<KeyOwner> make_key_owner(std::shared_ptr<const Params> params, const Kernels& kernels,
                                                       Random& random);

}  // namespace blindfl::he::lattice
