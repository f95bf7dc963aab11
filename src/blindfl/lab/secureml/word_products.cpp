#include "blindfl/lab/secureml/word_products.h"

#include <array>
#include <cstring>

#include "blindfl/base/aligned.h"
#include "blindfl/base/error.h"

namespace blindfl::lab::secureml {

namespace {

constexpr std::size_t kWordBits = 64;
/// Words are read and written with all their 8 bytes, and what of these is too much is not used, or written over.
constexpr std::size_t kSlack = 8;

std::uint64_t load_word(const std::byte* from) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

/// Bytes that travel of a word under bit k.
constexpr std::size_t bytes_under(std::size_t bit) {
  return 8 - bit / 8;
}

/// Streams of words from pads: AES in counter mode, with the pad as key.
class PadStreams {
 public:
  explicit PadStreams(std::size_t words) : counters_(words / 2 + 1) {
    for (std::size_t i = 0; i < counters_.size(); ++i) counters_[i] = {i, 0};
  }
  /// Long enough for `words` words, and slack.
  [[nodiscard]] AlignedSecret<std::byte> room() const {
    return AlignedSecret<std::byte>(counters_.size() * sizeof(ot::Block) + kSlack, std::byte{0});
  }
  void fill(const ot::CipherKeys& keys, std::size_t i, std::size_t bytes, AlignedSecret<std::byte>& out) const {
    const std::size_t blocks = (bytes + sizeof(ot::Block) - 1) / sizeof(ot::Block);
    keys.kernels().encrypt(keys.at(i), counters_.data(), reinterpret_cast<ot::Block*>(out.data()), blocks);
  }

 private:
  AlignedVector<ot::Block> counters_;
};

/// A row under bit k. `row` is P's; writes the message, and takes the stream of bit 0, 2^k times, off the share.
template <std::size_t kBytes>
void send_row(const std::byte* of_zero, const std::byte* of_one, std::span<const std::uint64_t> row, std::size_t bit,
              std::byte* out, std::span<std::uint64_t> share) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::uint64_t zero = load_word(of_zero + i * kBytes);
    const std::uint64_t word = zero - load_word(of_one + i * kBytes) + row[i];
    std::memcpy(out + i * kBytes, &word, sizeof word);
    share[i] -= zero << bit;
  }
}

/// `chosen`: all ones if the bit is 1, else zeros.
template <std::size_t kBytes>
void receive_row(const std::byte* stream, const std::byte* message, std::uint64_t chosen, std::size_t bit,
                 std::span<std::uint64_t> share) {
  for (std::size_t i = 0; i < share.size(); ++i) {
    share[i] += (load_word(stream + i * kBytes) + (load_word(message + i * kBytes) & chosen)) << bit;
  }
}

using SendRow = void (*)(const std::byte*, const std::byte*, std::span<const std::uint64_t>, std::size_t, std::byte*,
                         std::span<std::uint64_t>);
using ReceiveRow = void (*)(const std::byte*, const std::byte*, std::uint64_t, std::size_t, std::span<std::uint64_t>);
/// By bit / 8.
constexpr std::array<SendRow, 8> kSendRow = {send_row<8>, send_row<7>, send_row<6>, send_row<5>,
                                             send_row<4>, send_row<3>, send_row<2>, send_row<1>};
constexpr std::array<ReceiveRow, 8> kReceiveRow = {receive_row<8>, receive_row<7>, receive_row<6>, receive_row<5>,
                                                   receive_row<4>, receive_row<3>, receive_row<2>, receive_row<1>};

ot::MaterialTag tag_of(const WordProductShape& shape, const ot::OtSession::Digest& place) {
  return {"products of words", {shape.inner, shape.chosen, shape.packed}, place};
}

void require_size(std::uint64_t expected, std::size_t bytes) {
  require<ProtocolError>(expected == bytes, "products of words: the peer's message has ", bytes, " bytes, not ",
                         expected);
}

void require_factor(bool fresh, const Words& m, std::size_t first, std::size_t rows, std::size_t cols) {
  require<InvalidArgument>(fresh && m.cols() == cols && first <= m.rows() && rows <= m.rows() - first,
                           "products of words: a factor of ", rows, " x ", cols, ", once, not rows from ", first,
                           " of ", m.rows(), " x ", m.cols());
}

/// The two pads of 64 OTs, in the order of the receiver's bits.
struct OrderedKeys {
  OrderedKeys(const ot::SenderBatch& pads, std::size_t first, std::uint64_t exchanged) : blocks(2 * kWordBits) {
    for (std::size_t k = 0; k < kWordBits; ++k) {
      const ot::Block change = (pads.zero[first + k] ^ pads.one[first + k]) & ot::mask_of(exchanged >> k & 1);
      blocks[k] = pads.zero[first + k] ^ change;
      blocks[kWordBits + k] = pads.one[first + k] ^ change;
    }
  }
  ot::SecretBlocks blocks;
};

}  // namespace

WordProductSender::WordProductSender(const WordProductShape& shape, ot::RandomOtSender& pool)
    : shape_(shape), tag_(tag_of(shape, pool.place())), pads_(pool.take(shape.ots())) {}

WordProductSender::Sent WordProductSender::send(ByteView choices, const Words& p, std::size_t first) {
  require_factor(pads_.has_value(), p, first, shape_.inner, shape_.packed);
  require_size(shape_.choice_bytes(), choices.size());
  BufferSource in(choices);
  tag_.check(in);
  const ot::SenderBatch pads = std::move(*pads_);
  pads_.reset();

  const PadStreams streams(shape_.packed);
  AlignedSecret<std::byte> of_zero = streams.room();
  AlignedSecret<std::byte> of_one = streams.room();
  Sent sent{Bytes(shape_.word_bytes() + kSlack), Words(shape_.chosen, shape_.packed)};
  std::byte* out = sent.message.data();
  for (std::size_t w = 0; w < shape_.words(); ++w) {
    const OrderedKeys ordered(pads, w * kWordBits, in.read_u64());
    const ot::CipherKeys keys(ot::fastest_kernels(), ordered.blocks.data(), 2 * kWordBits);
    const std::span<const std::uint64_t> row = p.row(first + w / shape_.chosen);
    const std::span<std::uint64_t> share = sent.share.row(w % shape_.chosen);
    for (std::size_t k = 0; k < kWordBits; ++k) {
      const std::size_t bytes = bytes_under(k) * shape_.packed;
      streams.fill(keys, k, bytes, of_zero);
      streams.fill(keys, kWordBits + k, bytes, of_one);
      kSendRow[k / 8](of_zero.data(), of_one.data(), row, k, out, share);
      out += bytes;
    }
  }
  sent.message.resize(shape_.word_bytes());
  return sent;
}

WordProductReceiver::WordProductReceiver(const WordProductShape& shape, ot::RandomOtReceiver& pool)
    : shape_(shape), tag_(tag_of(shape, pool.place())), pads_(pool.take(shape.ots())) {}

Bytes WordProductReceiver::choose(const Words& q, std::size_t first) {
  require_factor(pads_.has_value() && chosen_.empty(), q, first, shape_.inner, shape_.chosen);
  const auto words = q.values().subspan(first * shape_.chosen, shape_.words());
  chosen_.assign(words.begin(), words.end());
  BufferSink out(shape_.choice_bytes());
  tag_.write(out);
  for (std::size_t w = 0; w < words.size(); ++w) out.write_u64(words[w] ^ pads_->choices[w]);
  return out.take();
}

Words WordProductReceiver::finish(Bytes message) {
  require<InvalidArgument>(pads_.has_value() && !chosen_.empty(), "products of words: choose first; it finishes once");
  require_size(shape_.word_bytes(), message.size());
  const ot::ReceiverBatch pads = std::move(*pads_);
  pads_.reset();

  const PadStreams streams(shape_.packed);
  AlignedSecret<std::byte> stream = streams.room();
  message.resize(message.size() + kSlack);
  Words share(shape_.chosen, shape_.packed);
  const std::byte* from = message.data();
  for (std::size_t w = 0; w < shape_.words(); ++w) {
    const ot::CipherKeys keys(ot::fastest_kernels(), pads.pads.data() + w * kWordBits, kWordBits);
    for (std::size_t k = 0; k < kWordBits; ++k) {
      const std::size_t bytes = bytes_under(k) * shape_.packed;
      streams.fill(keys, k, bytes, stream);
      kReceiveRow[k / 8](stream.data(), from, 0 - (chosen_[w] >> k & 1), k, share.row(w % shape_.chosen));
      from += bytes;
    }
  }
  return share;
}

}  // namespace blindfl::lab::secureml
