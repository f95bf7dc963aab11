#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blindfl/base/int128.h"

namespace blindfl {

using Bytes = std::vector<std::byte>;
using ByteView = std::span<const std::byte>;

/// Where a message, or a file, is written to piece by piece.
class ByteSink {
 public:
  ByteSink() = default;
  ByteSink(const ByteSink&) = delete;
  ByteSink& operator=(const ByteSink&) = delete;
  virtual ~ByteSink() = default;

  virtual void write(ByteView bytes) = 0;

  /// Little-endian integers.
  void write_u8(std::uint8_t x);
  void write_u32(std::uint32_t x);
  void write_u64(std::uint64_t x);
  void write_u128(std::span<const UInt128> values);
  /// The bits of a double.
  void write_real(double x);
  /// Its length in 4 bytes, then the text. Throws InvalidArgument if it is too long for that.
  void write_text(std::string_view text);
};

/// Where a message, or a file, is read from piece by piece. What it yields is hostile until checked.
class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  /// Fills `out` completely. Throws ProtocolError if fewer bytes are left.
  virtual void read(std::span<std::byte> out) = 0;
  /// Bytes not yet read.
  [[nodiscard]] virtual std::uint64_t remaining() const = 0;

  std::uint8_t read_u8();
  std::uint32_t read_u32();
  std::uint64_t read_u64();
  void read_u128(std::span<UInt128> values);
  double read_real();
  /// What `write_text` wrote. Throws ProtocolError if it has more than `most` bytes, or fewer are left.
  std::string read_text(std::size_t most);
  /// A byte. Throws ProtocolError if it is neither 0 nor 1.
  bool read_flag();
};

/// A sink that keeps what is written.
class BufferSink final : public ByteSink {
 public:
  explicit BufferSink(std::size_t expected = 0) { bytes_.reserve(expected); }
  void write(ByteView bytes) override { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  [[nodiscard]] const Bytes& bytes() const { return bytes_; }
  [[nodiscard]] Bytes take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

/// A source over bytes that outlive it.
class BufferSource final : public ByteSource {
 public:
  explicit BufferSource(ByteView bytes) : bytes_(bytes) {}
  void read(std::span<std::byte> out) override;
  [[nodiscard]] std::uint64_t remaining() const override { return bytes_.size(); }

 private:
  ByteView bytes_;
};

/// What `body` writes, as bytes.
[[nodiscard]] Bytes write_to_bytes(const std::function<void(ByteSink&)>& body);

/// The bytes of a text, without a copy.
[[nodiscard]] inline ByteView as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

}  // namespace blindfl
