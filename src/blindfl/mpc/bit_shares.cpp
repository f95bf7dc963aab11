#include "blindfl/mpc/bit_shares.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "blindfl/base/error.h"

namespace blindfl::mpc {

namespace {

using Square = std::array<std::uint64_t, 64>;

/// 64 rows of 64 bits become columns: halves of halves are exchanged, from 32 down to single bits.
void transpose_square(Square& x) {
  std::uint64_t mask = 0x00000000FFFFFFFF;
  for (std::size_t distance = 32; distance != 0; distance /= 2) {
    for (std::size_t first = 0; first < 64; first += 2 * distance) {
      for (std::size_t i = first; i < first + distance; ++i) {
        const std::uint64_t moved = (x[i] >> distance ^ x[i + distance]) & mask;
        x[i] ^= moved << distance;
        x[i + distance] ^= moved;
      }
    }
    mask ^= mask << (distance / 2);
  }
}

/// The same of 8 rows of 8 bits, a byte each.
std::uint64_t transposed_bytes(std::uint64_t x) {
  const auto exchange = [&](int distance, std::uint64_t mask) {
    const std::uint64_t moved = (x >> distance ^ x) & mask;
    x ^= moved ^ moved << distance;
  };
  exchange(7, 0x00AA00AA00AA00AA);
  exchange(14, 0x0000CCCC0000CCCC);
  exchange(28, 0x00000000F0F0F0F0);
  return x;
}

/// The bits of the last word that count.
std::uint64_t tail_mask(std::size_t size) {
  return size % 64 == 0 ? ~std::uint64_t{0} : (std::uint64_t{1} << (size % 64)) - 1;
}

void require_planes(std::span<const BitShares> planes, std::size_t most, std::size_t size) {
  require<InvalidArgument>(planes.size() <= most, "bits: a word has no place for ", planes.size());
  for (const BitShares& plane : planes) require<InvalidArgument>(plane.size() == size, "bits: sizes differ");
}

}  // namespace

BitShares::BitShares(std::size_t size, SecretVector<std::uint64_t> words) : size_(size), words_(std::move(words)) {
  require<InvalidArgument>(words_.size() == (size + 63) / 64, "bits: ", words_.size(), " words for ", size, " bits");
  require<InvalidArgument>(words_.empty() || (words_.back() & ~tail_mask(size)) == 0,
                           "bits: one beyond the last is set");
}

void BitShares::clear_tail() {
  if (!words_.empty()) words_.back() &= tail_mask(size_);
}

BitShares& BitShares::operator^=(const BitShares& other) {
  require<InvalidArgument>(size_ == other.size_, "bits: ", size_, " and ", other.size_, " cannot be added");
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] ^= other.words_[i];
  return *this;
}

BitShares BitShares::negated() const {
  BitShares result = *this;
  for (std::uint64_t& word : result.words_) word = ~word;
  result.clear_tail();
  return result;
}

void BitShares::write(ByteSink& out) const {
  out.write(std::as_bytes(std::span(words_)).first(bytes_for_bits(size_)));
}

BitShares BitShares::read(ByteSource& in, std::size_t size) {
  BitShares bits(size);
  in.read(std::as_writable_bytes(std::span(bits.words_)).first(bytes_for_bits(size)));
  require<ProtocolError>(bits.words_.empty() || (bits.words_.back() & ~tail_mask(size)) == 0,
                         "the peer's bits: one beyond the last is set");
  return bits;
}

BitShares slice(const BitShares& bits, std::size_t first, std::size_t count) {
  require<InvalidArgument>(first <= bits.size() && count <= bits.size() - first, "bits ", first, " to ", first + count,
                           " of ", bits.size());
  BitShares part(count);
  const std::size_t shift = first % 64;
  for (std::size_t i = 0; i < part.words().size(); ++i) {
    const std::size_t word = first / 64 + i;
    part.words()[i] = bits.words()[word] >> shift;
    if (shift != 0 && word + 1 < bits.words().size()) part.words()[i] |= bits.words()[word + 1] << (64 - shift);
  }
  part.clear_tail();
  return part;
}

SecretVector<std::uint8_t> bytes_of(std::span<const BitShares> planes, std::size_t size) {
  require_planes(planes, 8, size);
  SecretVector<std::uint8_t> bytes(size);
  for (std::size_t first = 0; first < size; first += 8) {
    std::uint64_t square = 0;
    for (std::size_t j = 0; j < planes.size(); ++j) {
      square |= (planes[j].words()[first / 64] >> (first % 64) & 0xFF) << (8 * j);
    }
    square = transposed_bytes(square);
    std::memcpy(bytes.data() + first, &square, std::min<std::size_t>(8, size - first));
  }
  return bytes;
}

std::vector<BitShares> planes_of(std::span<const std::uint64_t> words, std::size_t count) {
  std::vector<BitShares> planes(count, BitShares(words.size()));
  for (std::size_t first = 0; first < words.size(); first += 64) {
    const auto piece = words.subspan(first, std::min<std::size_t>(64, words.size() - first));
    Square square{};
    std::ranges::copy(piece, square.begin());
    transpose_square(square);
    for (std::size_t j = 0; j < count; ++j) planes[j].words()[first / 64] = square[j];
  }
  return planes;
}

SecretVector<std::uint64_t> words_of(std::span<const BitShares> planes, std::size_t size) {
  require_planes(planes, 64, size);
  SecretVector<std::uint64_t> words(size);
  for (std::size_t first = 0; first < size; first += 64) {
    Square square{};
    for (std::size_t j = 0; j < planes.size(); ++j) square[j] = planes[j].words()[first / 64];
    transpose_square(square);
    std::copy_n(square.begin(), std::min<std::size_t>(64, size - first),
                words.begin() + static_cast<std::ptrdiff_t>(first));
  }
  return words;
}

}  // namespace blindfl::mpc
