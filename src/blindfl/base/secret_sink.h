#pragma once

#include "blindfl/base/bytes.h"
#include "blindfl/base/secret.h"

namespace blindfl {

/// A sink for keys and shares: the memory that it kept them in is cleared when it is freed.
class SecretSink final : public ByteSink {
 public:
  void write(ByteView bytes) override { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  [[nodiscard]] const SecretVector<std::byte>& bytes() const { return bytes_; }
  [[nodiscard]] SecretVector<std::byte> take() { return std::move(bytes_); }

 private:
  SecretVector<std::byte> bytes_;
};

}  // namespace blindfl
