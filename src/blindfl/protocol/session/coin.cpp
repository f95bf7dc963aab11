#include "blindfl/protocol/session/coin.h"

#include <algorithm>

#include "blindfl/base/digest.h"
#include "blindfl/he/slots.h"
#include "blindfl/protocol/session/hashed_fields.h"
#include "blindfl/protocol/session/session.h"

namespace blindfl::protocol {

namespace {

he::Coin coin_from(const Bytes& digest) {
  he::Coin coin{};
  static_assert(coin.size() == kDigestBytes);
  std::ranges::copy(digest, coin.begin());
  return coin;
}

}  // namespace

he::Coin coin_of(CoinUse use, ByteView part_of_a, ByteView part_of_b, Party owner, const he::Scheme& scheme,
                 const std::string& key_set) {
  const std::string_view purpose =
      use == CoinUse::kSession ? "blindfl coin of a session 1" : "blindfl coin of a scoring 1";
  return coin_from(digest_of(write_to_bytes([&](ByteSink& out) {
    write_field(out, as_bytes(purpose));
    write_field(out, part_of_a);
    write_field(out, part_of_b);
    write_field(out, as_bytes(name_of(owner)));
    write_field(out, as_bytes(scheme.name()));
    write_field(out, as_bytes(scheme.parameters()));
    write_field(out, as_bytes(key_set));
  })));
}

he::Coin Session::coin(std::string_view purpose) const {
  return coin_from(digest_of(write_to_bytes([&](ByteSink& out) {
    write_field(out, as_bytes("blindfl coin for a purpose 1"));
    write_field(out, nonces_.of_a);
    write_field(out, nonces_.of_b);
    write_field(out, as_bytes(purpose));
  })));
}

he::Coin Session::next_operand_coin() {
  return he::coin_of_operand(coin("operands"), operand_coins_++);
}

}  // namespace blindfl::protocol
