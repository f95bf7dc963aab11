#include "blindfl/protocol/align/zero_shares.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "blindfl/base/text.h"
#include "blindfl/protocol/align/sodium_bytes.h"
#include "blindfl/protocol/session/hashed_fields.h"

namespace blindfl::protocol {

namespace {

constexpr std::string_view kSharesDomain = "BlindFL alignment of all 1";

/// What a number is for: the first byte of what is hashed.
enum class Purpose : std::uint8_t { kId = 1, kOrder = 2, kOrderByFirst = 3, kOrderBySecond = 4 };

/// BLAKE2b under a key.
class KeyedHash {
 public:
  KeyedHash(const SecretVector<std::byte>& key, Purpose purpose) {
    crypto_generichash_init(&state_, raw(key.data()), key.size(), 16);
    const auto first = static_cast<std::byte>(purpose);
    add(ByteView(&first, 1));
  }
  KeyedHash(const KeyedHash&) = delete;
  KeyedHash& operator=(const KeyedHash&) = delete;
  ~KeyedHash() { sodium_memzero(&state_, sizeof state_); }

  void add(ByteView bytes) { crypto_generichash_update(&state_, raw(bytes.data()), bytes.size()); }
  void add_length(std::uint64_t length) {
    std::array<std::byte, 8> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(length >> (8 * i));
    add(bytes);
  }
  [[nodiscard]] FieldElement finish() {
    std::array<std::byte, 16> hash{};
    crypto_generichash_final(&state_, reinterpret_cast<unsigned char*>(hash.data()), hash.size());
    return field_element_of(hash);
  }

 private:
  crypto_generichash_state state_{};
};

FieldElement hash_of_order(const SecretVector<std::byte>& key, Purpose purpose, std::span<const std::string> ids,
                           std::span<const std::uint32_t> rows) {
  KeyedHash hash(key, purpose);
  for (const std::uint32_t row : rows) {
    hash.add_length(ids[row].size());
    hash.add(as_bytes(ids[row]));
  }
  return hash.finish();
}

void check_nonces(const AlignedPeers& peers, const Nonce& own, const Nonces& nonces) {
  require<ProtocolError>(nonces.size() == peers.names.size(), "an alignment of ", peers.names.size(),
                         " A's needs a random number of each, and there are ", nonces.size());
  require<ProtocolError>(nonces[peers.own] == own,
                         "the random number that this party put into the alignment came back as another");
  Nonces sorted = nonces;
  std::ranges::sort(sorted);
  require<ProtocolError>(std::ranges::adjacent_find(sorted) == sorted.end(),
                         "two A's are said to have put the same random number into the alignment");
}

// Bound to all nonces in their order, this party's own among them: no other alignment has the same.
SecretVector<std::byte> key_for(const PairSecret& secret, const Nonces& nonces) {
  BufferSink context;
  write_field(context, as_bytes(kSharesDomain));
  for (const Nonce& nonce : nonces) write_field(context, nonce);
  Bytes key = keyed_digest_of(secret, context.bytes());
  SecretVector<std::byte> kept(key.begin(), key.end());
  sodium_memzero(key.data(), key.size());
  return kept;
}

}  // namespace

std::string name_of(const Nonces& nonces) {
  BufferSink all;
  for (const Nonce& nonce : nonces) all.write(nonce);
  return to_hex(digest_of(all.bytes()));
}

ZeroShares::ZeroShares(const AlignedPeers& peers, const Nonce& own, const Nonces& nonces) {
  start_libsodium();
  check_nonces(peers, own, nonces);
  for (std::size_t other = 0; other < peers.names.size(); ++other) {
    if (other != peers.own) pairs_.push_back({key_for(peers.secrets[other], nonces), peers.own < other});
  }
}

template <class Draw>
FieldElement ZeroShares::sum(const Draw& draw) const {
  FieldElement share = 0;
  for (const Pair& pair : pairs_) {
    const FieldElement number = draw(pair.key);
    share = pair.adds ? field_sum(share, number) : field_difference(share, number);
  }
  return share;
}

FieldElement ZeroShares::of(std::string_view id) const {
  return sum([&](const SecretVector<std::byte>& key) {
    KeyedHash hash(key, Purpose::kId);
    hash.add(as_bytes(id));
    return hash.finish();
  });
}

FieldElement ZeroShares::of_order(std::span<const std::string> ids, std::span<const std::uint32_t> rows) const {
  return sum([&](const SecretVector<std::byte>& key) { return hash_of_order(key, Purpose::kOrder, ids, rows); });
}

template <class ByFirst>
std::vector<FieldElement> ZeroShares::proofs(std::span<const std::string> ids, std::span<const std::uint32_t> rows,
                                             const ByFirst& by_first) const {
  std::vector<FieldElement> proofs;
  for (const Pair& pair : pairs_) {
    const Purpose purpose = by_first(pair) ? Purpose::kOrderByFirst : Purpose::kOrderBySecond;
    proofs.push_back(hash_of_order(pair.key, purpose, ids, rows));
  }
  return proofs;
}

std::vector<FieldElement> ZeroShares::order_proofs(std::span<const std::string> ids,
                                                   std::span<const std::uint32_t> rows) const {
  return proofs(ids, rows, [](const Pair& pair) { return pair.adds; });
}

std::vector<FieldElement> ZeroShares::expected_proofs(std::span<const std::string> ids,
                                                      std::span<const std::uint32_t> rows) const {
  return proofs(ids, rows, [](const Pair& pair) { return !pair.adds; });
}

}  // namespace blindfl::protocol
