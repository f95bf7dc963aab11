#include "blindfl/protocol/align/pseudonyms.h"

#include <algorithm>
#include <string_view>

#include "blindfl/base/bytes.h"
#include "blindfl/protocol/align/sodium_bytes.h"

namespace blindfl::protocol {

namespace {

constexpr std::string_view kPseudonymDomain = "BlindFL pseudonym 1: ";
constexpr std::size_t kPseudonymsAtOnce = 256;

Pseudonym pseudonym_of(const Point& point) {
  std::array<std::byte, crypto_hash_sha512_BYTES> hash{};
  crypto_hash_sha512_state state;
  crypto_hash_sha512_init(&state);
  crypto_hash_sha512_update(&state, raw(kPseudonymDomain), kPseudonymDomain.size());
  crypto_hash_sha512_update(&state, raw(point.data()), point.size());
  crypto_hash_sha512_final(&state, reinterpret_cast<unsigned char*>(hash.data()));
  const std::span<const std::byte, 64> all(hash);
  Pseudonym pseudonym;
  std::ranges::copy(all.subspan<0, 16>(), pseudonym.tag.begin());
  pseudonym.key.node = field_element_of(all.subspan<16, 16>());
  pseudonym.pad = field_element_of(all.subspan<32, 16>());
  pseudonym.key.bin = BufferSource(all.subspan<48, 8>()).read_u64();
  return pseudonym;
}

}  // namespace

std::vector<Pseudonym> pseudonyms_of(std::span<const Point> points, ThreadPool& pool) {
  start_libsodium();
  std::vector<Pseudonym> pseudonyms(points.size());
  pool.parallel_for(points.size(), kPseudonymsAtOnce, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) pseudonyms[i] = pseudonym_of(points[i]);
  });
  return pseudonyms;
}

}  // namespace blindfl::protocol
