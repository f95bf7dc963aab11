#include "blindfl/ot/ring_and.h"

#include <cstring>
#include <utility>

#include "blindfl/base/error.h"

namespace blindfl::ot {

namespace {

constexpr std::string_view kRingAnd = "AND of bits";
constexpr std::size_t kLongestWord = sizeof(UInt128);

std::size_t bytes_of_word(int width) {
  return static_cast<std::size_t>(width + 7) / 8;
}

UInt128 number_of(const Block& pad) {
  return static_cast<UInt128>(pad.high) << 64 | pad.low;
}

/// All ones where bit i is set, else zeros, without a branch.
UInt128 mask_at(std::span<const std::uint64_t> bits, std::size_t i) {
  return UInt128{0} - (bits[i / 64] >> (i % 64) & 1);
}

MaterialTag tag_of(const RingAndSizes& sizes, const OtSession::Digest& place) {
  return {kRingAnd, {sizes.count(), sizes.word_bytes()}, place};
}

void require_words(bool fresh, std::size_t count, const BitWords& bits) {
  require<InvalidArgument>(fresh && bits.size() == (count + 63) / 64, "AND of bits: ", count, " bits, once, not ",
                           bits.size(), " words");
}

void require_bytes(std::size_t expected, std::size_t bytes) {
  require<ProtocolError>(expected == bytes, "AND of bits: the peer's message has ", bytes, " bytes, not ", expected);
}

/// What the receiver wants exchanged.
std::vector<std::uint64_t> read_choices(ByteSource& in, std::size_t count) {
  std::vector<std::uint64_t> words((count + 63) / 64);
  in.read(std::as_writable_bytes(std::span(words)).first((count + 7) / 8));
  require<ProtocolError>(count % 64 == 0 || words.back() >> (count % 64) == 0,
                         "AND of bits: the peer's message has more bits than there are values");
  return words;
}

/// The next word of a message: `bytes` bytes, of which `left` are there.
UInt128 load_word(const std::byte* from, std::size_t bytes, std::size_t left) {
  UInt128 word = 0;
  std::memcpy(&word, from, left >= kLongestWord ? kLongestWord : bytes);
  return low_bits(word, static_cast<int>(8 * bytes));
}

}  // namespace

RingAndSizes::RingAndSizes(std::vector<RingAndRun> runs) : runs_(std::move(runs)) {
  for (const RingAndRun& run : runs_) {
    require<InvalidArgument>(run.width >= 1 && run.width <= 128, "AND of bits: numbers of 1 to 128 bits, not of ",
                             run.width);
    count_ += run.count;
    word_bytes_ += run.count * bytes_of_word(run.width);
  }
}

RingAndSender::RingAndSender(RingAndSizes sizes, RandomOtSender& pool)
    : sizes_(std::move(sizes)), tag_(tag_of(sizes_, pool.place())), pads_(pool.take(sizes_.count())) {}

RingAndSender::Sent RingAndSender::send(ByteView choices, const BitWords& bits) {
  require_words(pads_.has_value(), sizes_.count(), bits);
  require_bytes(sizes_.choice_bytes(), choices.size());
  BufferSource in(choices);
  tag_.check(in);
  const std::vector<std::uint64_t> exchanged = read_choices(in, sizes_.count());
  const SenderBatch pads = std::move(*pads_);
  pads_.reset();
  Sent sent;
  sent.shares.resize(sizes_.count());
  // Each word is written with all its 16 bytes, and the next one over what of these is too much.
  sent.message.resize(sizes_.word_bytes() + kLongestWord);
  std::byte* out = sent.message.data();
  std::size_t i = 0;
  for (const RingAndRun& run : sizes_.runs()) {
    for (const std::size_t end = i + run.count; i < end; ++i, out += bytes_of_word(run.width)) {
      const UInt128 first = number_of(pads.zero[i]);
      const UInt128 second = number_of(pads.one[i]);
      const UInt128 change = (first ^ second) & mask_at(exchanged, i);
      const UInt128 of_zero = first ^ change;
      const UInt128 word = low_bits(of_zero - (second ^ change) + (mask_at(bits, i) & 1), run.width);
      std::memcpy(out, &word, sizeof word);
      sent.shares[i] = low_bits(UInt128{0} - of_zero, run.width);
    }
  }
  sent.message.resize(sizes_.word_bytes());
  return sent;
}

RingAndReceiver::RingAndReceiver(RingAndSizes sizes, RandomOtReceiver& pool)
    : sizes_(std::move(sizes)), tag_(tag_of(sizes_, pool.place())), pads_(pool.take(sizes_.count())) {}

Bytes RingAndReceiver::choose(const BitWords& bits) {
  require_words(pads_.has_value() && !bits_.has_value(), sizes_.count(), bits);
  bits_ = bits;
  std::vector<std::uint64_t> masked(bits.size());
  for (std::size_t w = 0; w < masked.size(); ++w) masked[w] = bits[w] ^ pads_->choices[w];
  BufferSink out(sizes_.choice_bytes());
  tag_.write(out);
  out.write(std::as_bytes(std::span(masked)).first((sizes_.count() + 7) / 8));
  return out.take();
}

SecretVector<UInt128> RingAndReceiver::finish(ByteView message) {
  require<InvalidArgument>(pads_.has_value() && bits_.has_value(), "AND of bits: choose first; it finishes once");
  require_bytes(sizes_.word_bytes(), message.size());
  SecretVector<UInt128> shares(sizes_.count());
  UInt128 excess = 0;
  const std::byte* from = message.data();
  std::size_t left = message.size();
  std::size_t i = 0;
  for (const RingAndRun& run : sizes_.runs()) {
    const std::size_t bytes = bytes_of_word(run.width);
    for (const std::size_t end = i + run.count; i < end; ++i, from += bytes, left -= bytes) {
      const UInt128 word = load_word(from, bytes, left);
      excess |= word ^ low_bits(word, run.width);
      shares[i] = low_bits(number_of(pads_->pads[i]) + (word & mask_at(*bits_, i)), run.width);
    }
  }
  require<ProtocolError>(excess == 0, "AND of bits: a word of the peer's message has too many bits");
  pads_.reset();
  return shares;
}

}  // namespace blindfl::ot
