#pragma once

#include <memory>
#include <string_view>

#include "blindfl/base/bytes.h"

// OpenSSL's, so that whoever includes this need not include OpenSSL.
struct evp_md_ctx_st;

namespace blindfl {

constexpr std::size_t kDigestBytes = 32;

/// SHA-256.
[[nodiscard]] Bytes digest_of(ByteView bytes);
[[nodiscard]] inline Bytes digest_of(std::string_view text) {
  return digest_of(as_bytes(text));
}

/// HMAC-SHA-256: without `key`, nothing tells it from random bytes.
[[nodiscard]] Bytes keyed_digest_of(ByteView key, ByteView bytes);

/// SHA-256 of bytes that come piece by piece.
class DigestOfPieces {
 public:
  DigestOfPieces();
  DigestOfPieces(const DigestOfPieces&) = delete;
  DigestOfPieces& operator=(const DigestOfPieces&) = delete;
  ~DigestOfPieces();

  void add(ByteView bytes);
  /// The digest of all that was added. Nothing can be added afterwards.
  [[nodiscard]] Bytes finish();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace blindfl
