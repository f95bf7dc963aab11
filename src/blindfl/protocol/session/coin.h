#pragma once

#include <string>

#include "blindfl/base/bytes.h"
#include "blindfl/base/party.h"
#include "blindfl/he/scheme.h"

namespace blindfl::protocol {

/// Where the two parties' parts of a coin come from.
enum class CoinUse {
  kSession,  ///< the nonces of their hellos
  kScoring,  ///< their keys for masks that repeat, and the model: `MaskKey::coin_part`
};

/// The coin of `owner`'s keys: a digest of everything here, so that no two keys have the same, and neither party chose
/// it alone. (Who speaks last could try some parts until it likes one: parties that follow the protocol do not.)
[[nodiscard]] he::Coin coin_of(CoinUse use, ByteView part_of_a, ByteView part_of_b, Party owner,
                               const he::Scheme& scheme, const std::string& key_set);

}  // namespace blindfl::protocol
