#include "blindfl/base/bytes.h"

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstring>
#include <limits>

#include "blindfl/base/error.h"

namespace blindfl {

// Integers are copied as they lie in memory: the formats are little-endian, and so is every machine we build for.
static_assert(std::endian::native == std::endian::little);

namespace {

template <std::unsigned_integral T>
void write_integer(ByteSink& sink, T x) {
  sink.write(std::as_bytes(std::span(&x, 1)));
}

template <std::unsigned_integral T>
T read_integer(ByteSource& source) {
  T x = 0;
  source.read(std::as_writable_bytes(std::span(&x, 1)));
  return x;
}

}  // namespace

void ByteSink::write_u8(std::uint8_t x) {
  write_integer(*this, x);
}
void ByteSink::write_u32(std::uint32_t x) {
  write_integer(*this, x);
}
void ByteSink::write_u64(std::uint64_t x) {
  write_integer(*this, x);
}
void ByteSink::write_u128(std::span<const UInt128> values) {
  write(std::as_bytes(values));
}

void ByteSink::write_real(double x) {
  write_u64(std::bit_cast<std::uint64_t>(x));
}
void ByteSink::write_text(std::string_view text) {
  require<InvalidArgument>(text.size() <= std::numeric_limits<std::uint32_t>::max(), "a text of ", text.size(),
                           " bytes cannot be written");
  write_u32(static_cast<std::uint32_t>(text.size()));
  write(as_bytes(text));
}

std::uint8_t ByteSource::read_u8() {
  return read_integer<std::uint8_t>(*this);
}
std::uint32_t ByteSource::read_u32() {
  return read_integer<std::uint32_t>(*this);
}
std::uint64_t ByteSource::read_u64() {
  return read_integer<std::uint64_t>(*this);
}
void ByteSource::read_u128(std::span<UInt128> values) {
  read(std::as_writable_bytes(values));
}

double ByteSource::read_real() {
  return std::bit_cast<double>(read_u64());
}
std::string ByteSource::read_text(std::size_t most) {
  const std::uint32_t size = read_u32();
  require<ProtocolError>(size <= most && size <= remaining(), "a text in it is too long, or cut short");
  std::string text(size, '\0');
  read(std::as_writable_bytes(std::span(text)));
  return text;
}
bool ByteSource::read_flag() {
  const std::uint8_t flag = read_u8();
  require<ProtocolError>(flag <= 1, "there is something else where it says yes or no");
  return flag == 1;
}

void BufferSource::read(std::span<std::byte> out) {
  require<ProtocolError>(out.size() <= bytes_.size(), "message is truncated: ", out.size(), " more bytes expected, ",
                         bytes_.size(), " left");
  std::copy_n(bytes_.begin(), out.size(), out.begin());
  bytes_ = bytes_.subspan(out.size());
}

Bytes write_to_bytes(const std::function<void(ByteSink&)>& body) {
  BufferSink sink;
  body(sink);
  return sink.take();
}

}  // namespace blindfl
