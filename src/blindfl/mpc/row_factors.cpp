#include "blindfl/mpc/row_factors.h"

#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/mpc/ring_pads.h"

namespace blindfl::mpc {

namespace {

constexpr int kMostFactorBits = 32;

std::size_t factor_ots(std::size_t count, int bits) {
  require<InvalidArgument>(1 <= bits && bits <= kMostFactorBits, kRowFactors, ": of 1 to ", kMostFactorBits,
                           " bits, not ", bits);
  return count * static_cast<std::size_t>(bits);
}

void require_count(bool fresh, std::size_t expected, std::size_t count) {
  require<InvalidArgument>(fresh && expected == count, kRowFactors, ": ", expected, " of them, once, not ", count);
}

void require_length(std::size_t expected, std::size_t bytes) {
  require<ProtocolError>(expected == bytes, kRowFactors, ": the peer's message has ", bytes, " bytes, not ", expected);
}

}  // namespace

Cost row_factor_cost(std::size_t count, int bits) {
  const std::size_t ots = factor_ots(count, bits);
  return {.sender_bytes = ots * sizeof(UInt128),
          .receiver_bytes = ot::MaterialTag::kBytes + bytes_for_bits(ots),
          .flights = 2,
          .sender_ots = ots,
          .receiver_ots = 0};
}

FactorSender::FactorSender(std::size_t count, int bits, ot::RandomOtSender& pool)
    : count_(count),
      bits_(bits),
      tag_(kRowFactors, {factor_ots(count, bits)}, pool.place()),
      pads_(pool.take(factor_ots(count, bits))) {}

FactorSender::Sent FactorSender::send(ByteView choices, std::span<const UInt128> values) {
  require_count(pads_.has_value(), count_, values.size());
  const std::size_t ots = factor_ots(count_, bits_);
  require_length(ot::MaterialTag::kBytes + bytes_for_bits(ots), choices.size());
  BufferSource in(choices);
  tag_.check(in);
  const BitShares exchanged = BitShares::read(in, ots);
  const ot::SenderBatch pads = std::move(*pads_);
  pads_.reset();
  SecretVector<UInt128> corrections(ots);
  Sent sent;
  sent.shares.resize(count_);
  for (std::size_t v = 0, i = 0; v < count_; ++v) {
    UInt128 shifted = values[v];
    for (int bit = 0; bit < bits_; ++bit, ++i, shifted += shifted) {
      const OrderedPads<UInt128> pad(pads.zero[i], pads.one[i], exchanged.mask<UInt128>(i));
      corrections[i] = pad.of_zero - pad.of_one + shifted;
      sent.shares[v] -= pad.of_zero;
    }
  }
  BufferSink out(ots * sizeof(UInt128));
  out.write(std::as_bytes(std::span(corrections)));
  sent.message = out.take();
  return sent;
}

FactorReceiver::FactorReceiver(std::size_t count, int bits, ot::RandomOtReceiver& pool)
    : count_(count),
      bits_(bits),
      tag_(kRowFactors, {factor_ots(count, bits)}, pool.place()),
      pads_(pool.take(factor_ots(count, bits))) {}

Bytes FactorReceiver::choose(std::span<const std::uint32_t> factors) {
  require_count(pads_.has_value() && !chosen_.has_value(), count_, factors.size());
  const std::size_t ots = factor_ots(count_, bits_);
  BitShares bits(ots);
  for (std::size_t v = 0, i = 0; v < count_; ++v) {
    const std::uint64_t factor = factors[v];
    require<InvalidArgument>(factor >> bits_ == 0, kRowFactors, ": a factor has more than ", bits_, " bits");
    for (int bit = 0; bit < bits_; ++bit, ++i) bits.words()[i / 64] |= (factor >> bit & 1) << (i % 64);
  }
  chosen_ = std::move(bits);
  BufferSink out(ot::MaterialTag::kBytes + bytes_for_bits(ots));
  tag_.write(out);
  (*chosen_ ^ BitShares(ots, std::move(pads_->choices))).write(out);
  return out.take();
}

SecretVector<UInt128> FactorReceiver::finish(ByteView message) {
  require<InvalidArgument>(pads_.has_value() && chosen_.has_value(), kRowFactors, ": choose first; it finishes once");
  const std::size_t ots = factor_ots(count_, bits_);
  require_length(ots * sizeof(UInt128), message.size());
  SecretVector<UInt128> corrections(ots);
  BufferSource(message).read(std::as_writable_bytes(std::span(corrections)));
  SecretVector<UInt128> shares(count_);
  for (std::size_t i = 0; i < ots; ++i) {
    shares[i / static_cast<std::size_t>(bits_)] +=
        (corrections[i] & chosen_->mask<UInt128>(i)) + pad_as<UInt128>(pads_->pads[i]);
  }
  pads_.reset();
  return shares;
}

}  // namespace blindfl::mpc
