#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace blindfl {

/// The bytes of AES-256 in counter mode, from counter 0 on. OpenSSL's, or, where the processor has vector instructions
/// for it (VAES with AVX-512), ours, twice as fast, and five times where keys are many; the same bytes either way.
class AesCtr {
 public:
  static constexpr std::size_t kKeyBytes = 32;
  /// Bytes are made in multiples of this.
  static constexpr std::size_t kChunk = 64;

  virtual ~AesCtr() = default;
  AesCtr(const AesCtr&) = delete;
  AesCtr& operator=(const AesCtr&) = delete;

  /// The next bytes of the stream; `out` must be a multiple of kChunk. Throws Error if the cipher fails.
  virtual void fill(std::span<std::byte> out) = 0;

  /// The fastest that this processor can run.
  static std::unique_ptr<AesCtr> make(std::span<const std::byte, kKeyBytes> key);
  /// One of `implementations()`.
  static std::unique_ptr<AesCtr> make(std::string_view implementation, std::span<const std::byte, kKeyBytes> key);
  /// Those that this processor can run, the fastest first.
  static std::vector<std::string_view> implementations();

 protected:
  AesCtr() = default;
};

}  // namespace blindfl
