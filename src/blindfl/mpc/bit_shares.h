#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/base/secret.h"

namespace blindfl::mpc {

/// Bytes that `bits` bits take.
[[nodiscard]] constexpr std::size_t bytes_for_bits(std::size_t bits) {
  return (bits + 7) / 8;
}

/// One party's share of secret bits: the secret is the XOR of both. Bit i is bit i % 64 of word i / 64; bits beyond the
/// last are zero. Cleared when freed.
class BitShares {
 public:
  BitShares() = default;
  /// All zeros.
  explicit BitShares(std::size_t size) : size_(size), words_((size + 63) / 64) {}
  /// Throws InvalidArgument if there are not as many words as `size` bits take, or a bit beyond the last is set.
  BitShares(std::size_t size, SecretVector<std::uint64_t> words);
  BitShares(const BitShares&) = default;
  BitShares& operator=(const BitShares&) = default;
  /// What was moved has no bits left, and says so: masks that were used are not taken for masks.
  BitShares(BitShares&& other) noexcept
      : size_(std::exchange(other.size_, 0)), words_(std::exchange(other.words_, {})) {}
  BitShares& operator=(BitShares&& other) noexcept {
    size_ = std::exchange(other.size_, 0);
    words_ = std::exchange(other.words_, {});
    return *this;
  }
  ~BitShares() = default;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::span<const std::uint64_t> words() const { return words_; }
  /// Who writes through this leaves bits beyond the last zero, or calls `clear_tail()` afterwards.
  [[nodiscard]] std::span<std::uint64_t> words() { return words_; }
  void clear_tail();
  [[nodiscard]] bool bit(std::size_t i) const { return (words_[i / 64] >> (i % 64) & 1) != 0; }
  /// All ones where bit i is set, else zeros, without a branch.
  template <class Ring>
  [[nodiscard]] Ring mask(std::size_t i) const {
    return Ring{0} - static_cast<Ring>(words_[i / 64] >> (i % 64) & 1);
  }

  /// Throws InvalidArgument if sizes differ.
  BitShares& operator^=(const BitShares& other);
  friend BitShares operator^(BitShares a, const BitShares& b) { return a ^= b; }
  /// 1 - bit, of every bit. One of the two parties does this to negate the secret.
  [[nodiscard]] BitShares negated() const;
  bool operator==(const BitShares&) const = default;

  /// `bytes_for_bits(size())` bytes.
  void write(ByteSink& out) const;
  /// Throws ProtocolError if a bit beyond the last is set, or bytes are missing.
  [[nodiscard]] static BitShares read(ByteSource& in, std::size_t size);

 private:
  std::size_t size_ = 0;
  SecretVector<std::uint64_t> words_;
};

/// Local: bits first, ..., first + count - 1. Throws InvalidArgument if there are fewer.
[[nodiscard]] BitShares slice(const BitShares& bits, std::size_t first, std::size_t count);

/// Bit j of word i becomes bit i of result j: the lowest `count` bits of every word.
[[nodiscard]] std::vector<BitShares> planes_of(std::span<const std::uint64_t> words, std::size_t count);
/// And back: at most 64 planes of `size` bits. Throws InvalidArgument if there are more, or of another size.
[[nodiscard]] SecretVector<std::uint64_t> words_of(std::span<const BitShares> planes, std::size_t size);
/// The same for at most 8 planes: less work.
[[nodiscard]] SecretVector<std::uint8_t> bytes_of(std::span<const BitShares> planes, std::size_t size);

}  // namespace blindfl::mpc
