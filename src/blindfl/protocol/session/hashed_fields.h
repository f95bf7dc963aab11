#pragma once

#include "blindfl/base/bytes.h"
#include "blindfl/base/digest.h"
#include "blindfl/share/share_matrix.h"
#include "blindfl/tensor/int_matrix.h"

// What is hashed so that randomness follows from it.

namespace blindfl::protocol {

/// With its length in front: no two lists of fields make the same bytes.
inline void write_field(ByteSink& out, ByteView field) {
  out.write_u64(field.size());
  out.write(field);
}

// Different for any two matrices of different shape, encoding or values. SHA-256.

[[nodiscard]] Bytes digest_of_matrix(const IntMatrix& x);
[[nodiscard]] Bytes digest_of_matrix(const ShareMatrix& m);

/// Hands on what is read from another source, and keeps a digest of it.
class DigestingSource final : public ByteSource {
 public:
  explicit DigestingSource(ByteSource& inner) : inner_(inner) {}
  void read(std::span<std::byte> out) override {
    inner_.read(out);
    digest_.add(out);
  }
  [[nodiscard]] std::uint64_t remaining() const override { return inner_.remaining(); }
  /// Of all that was read: once, at the end.
  [[nodiscard]] Bytes digest() { return digest_.finish(); }

 private:
  ByteSource& inner_;
  DigestOfPieces digest_;
};

}  // namespace blindfl::protocol
