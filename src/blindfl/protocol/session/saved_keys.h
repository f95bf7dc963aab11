#pragma once

#include <memory>
#include <span>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/he/keys.h"
#include "blindfl/he/scheme.h"

// A party's own secret keys, as `Session::save_keys` writes them. docs/formats.md, "Saved state", has the bytes.

namespace blindfl::protocol {

/// Keys, and the scheme that they are of.
struct OwnKeys {
  const he::Scheme* scheme = nullptr;
  const he::KeyOwner* keys = nullptr;
};

void write_keys(ByteSink& out, std::span<const OwnKeys> all);

/// The saved keys of each scheme; null where there are none. Those of schemes that are not listed are left alone.
/// Throws DataError, without a byte of a key, if the bytes are not saved keys, are damaged, or are of a scheme with
/// other parameters, such as another key size.
[[nodiscard]] std::vector<std::unique_ptr<he::KeyOwner>> read_keys(ByteView saved,
                                                                   std::span<const he::Scheme* const> schemes);

}  // namespace blindfl::protocol
