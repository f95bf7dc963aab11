#include "blindfl/mpc/bit_to_ring.h"

#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/mpc/ring_pads.h"

namespace blindfl::mpc {

namespace {

void require_bits(bool fresh, std::size_t expected, std::size_t bits) {
  require<InvalidArgument>(fresh && expected == bits, "bits to numbers: ", expected, " bits, once, not ", bits);
}

void require_bytes(std::size_t expected, std::size_t bytes) {
  require<ProtocolError>(expected == bytes, "bits to numbers: the peer's message has ", bytes, " bytes, not ",
                         expected);
}

}  // namespace

template <class Ring>
BitToRingSender::Sent<Ring> BitToRingSender::send(ByteView choices, const BitShares& bits) {
  const std::size_t count = pads_ ? pads_->size() : 0;
  require_bits(pads_.has_value(), count, bits.size());
  require_bytes(ot::MaterialTag::kBytes + bytes_for_bits(count), choices.size());
  BufferSource in(choices);
  tag_.check(in);
  const BitShares exchanged = BitShares::read(in, count);
  const ot::SenderBatch pads = std::move(*pads_);
  pads_.reset();
  SecretVector<Ring> corrections(count);
  Sent<Ring> sent;
  sent.shares.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const OrderedPads<Ring> pad(pads.zero[i], pads.one[i], exchanged.mask<Ring>(i));
    const Ring bit = bits.mask<Ring>(i) & Ring{1};
    corrections[i] = pad.of_zero - pad.of_one - 2 * bit;
    sent.shares[i] = bit - pad.of_zero;
  }
  BufferSink out(count * sizeof(Ring));
  out.write(std::as_bytes(std::span(corrections)));
  sent.message = out.take();
  return sent;
}

Bytes BitToRingReceiver::choose(const BitShares& bits) {
  const std::size_t count = pads_ ? pads_->size() : 0;
  require_bits(pads_.has_value() && !bits_.has_value(), count, bits.size());
  bits_ = bits;
  BufferSink out(ot::MaterialTag::kBytes + bytes_for_bits(count));
  tag_.write(out);
  (bits ^ BitShares(count, std::move(pads_->choices))).write(out);
  return out.take();
}

template <class Ring>
SecretVector<Ring> BitToRingReceiver::finish(ByteView message) {
  require<InvalidArgument>(pads_.has_value() && bits_.has_value(), "bits to numbers: choose first; it finishes once");
  const std::size_t count = pads_->size();
  require_bytes(count * sizeof(Ring), message.size());
  SecretVector<Ring> shares(count);
  BufferSource(message).read(std::as_writable_bytes(std::span(shares)));
  for (std::size_t i = 0; i < count; ++i) {
    const Ring mask = bits_->mask<Ring>(i);
    shares[i] = (shares[i] & mask) + pad_as<Ring>(pads_->pads[i]) + (mask & Ring{1});
  }
  pads_.reset();
  return shares;
}

template BitToRingSender::Sent<std::uint64_t> BitToRingSender::send<std::uint64_t>(ByteView, const BitShares&);
template BitToRingSender::Sent<UInt128> BitToRingSender::send<UInt128>(ByteView, const BitShares&);
template SecretVector<std::uint64_t> BitToRingReceiver::finish<std::uint64_t>(ByteView);
template SecretVector<UInt128> BitToRingReceiver::finish<UInt128>(ByteView);

}  // namespace blindfl::mpc
