#include "blindfl/mpc/multiplexer.h"

#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/mpc/ring_pads.h"

namespace blindfl::mpc {

MultiplexerMaterial::MultiplexerMaterial(std::size_t count, bool with_again, ot::RandomOtSender& sender,
                                         ot::RandomOtReceiver& receiver)
    : count_(count),
      with_again_(with_again),
      tag_("multiplexer", {count, static_cast<std::uint64_t>(with_again)}, sender, receiver) {
  require<InvalidArgument>(sender.ready() >= count && receiver.ready() >= count,
                           "multiplexer: the pools have too few random OTs: extend them first");
  if (with_again) {
    auto [own, own_again] = sender.take_twice(count);
    auto [peers, peers_again] = receiver.take_twice(count);
    pads_.emplace(Pads{std::move(own), std::move(peers)});
    again_.emplace(Pads{std::move(own_again), std::move(peers_again)});
  } else {
    pads_.emplace(Pads{sender.take(count), receiver.take(count)});
  }
}

MultiplexerMaterial::Pads MultiplexerMaterial::take_pads() {
  require<InvalidArgument>(pads_.has_value(), "multiplexer: this material was used before");
  Pads pads = std::move(*pads_);
  pads_.reset();
  return pads;
}

template <class Ring>
Multiplexer<Ring>::Multiplexer(MultiplexerMaterial&& material)
    // Taken out of the caller's object, which must not look unused afterwards.
    : pads_(material.take_pads()), material_(std::move(material)) {}

template <class Ring>
Cost Multiplexer<Ring>::cost(std::size_t count) {
  const std::uint64_t bytes = ot::MaterialTag::kBytes + bytes_for_bits(count) + count * sizeof(Ring);
  return {.sender_bytes = bytes, .receiver_bytes = bytes, .flights = 2, .sender_ots = count, .receiver_ots = count};
}

template <class Ring>
Cost Multiplexer<Ring>::cost_again(std::size_t count) {
  const std::uint64_t bytes = count * sizeof(Ring);
  return {.sender_bytes = bytes, .receiver_bytes = bytes, .flights = 1};
}

template <class Ring>
void Multiplexer<Ring>::require_stage(Stage stage, std::size_t size) const {
  require<InvalidArgument>(stage_ == stage, "multiplexer: this step comes once, and at another time");
  require<InvalidArgument>(size == material_.count_, "multiplexer: for ", material_.count_, " values, not ", size);
}

template <class Ring>
Bytes Multiplexer<Ring>::choose(const BitShares& bits) {
  require_stage(Stage::kNew, bits.size());
  stage_ = Stage::kChosen;
  bits_ = bits;
  BufferSink out(ot::MaterialTag::kBytes + bytes_for_bits(bits.size()));
  material_.tag_.write(out);
  (bits ^ BitShares(bits.size(), std::move(pads_.peers.choices))).write(out);
  return out.take();
}

template <class Ring>
Bytes Multiplexer<Ring>::forward(ByteView peer_choices, std::span<const Ring> values) {
  require_stage(Stage::kChosen, values.size());
  const std::size_t expected = ot::MaterialTag::kBytes + bytes_for_bits(values.size());
  require<ProtocolError>(peer_choices.size() == expected, "multiplexer: the peer's choices have ", peer_choices.size(),
                         " bytes, not ", expected);
  BufferSource in(peer_choices);
  material_.tag_.check(in);
  peer_choices_ = BitShares::read(in, values.size());
  stage_ = Stage::kSent;
  return correct(values, pads_);
}

template <class Ring>
SecretVector<Ring> Multiplexer<Ring>::finish(ByteView message) {
  require_stage(Stage::kSent, material_.count_);
  SecretVector<Ring> products = add_correction(message, pads_);
  stage_ = Stage::kFinished;
  pads_ = {};
  return products;
}

template <class Ring>
Bytes Multiplexer<Ring>::again(std::span<const Ring> values) {
  require<InvalidArgument>(material_.with_again_, "multiplexer: its material was not prepared for a second pass");
  require_stage(Stage::kFinished, values.size());
  stage_ = Stage::kSentAgain;
  return correct(values, *material_.again_);
}

template <class Ring>
SecretVector<Ring> Multiplexer<Ring>::finish_again(ByteView message) {
  require_stage(Stage::kSentAgain, material_.count_);
  SecretVector<Ring> products = add_correction(message, *material_.again_);
  stage_ = Stage::kFinishedAgain;
  material_.again_.reset();
  return products;
}

template <class Ring>
Bytes Multiplexer<Ring>::correct(std::span<const Ring> values, const MultiplexerMaterial::Pads& pads) {
  sum_.resize(values.size());
  SecretVector<Ring> corrections(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const OrderedPads<Ring> pad(pads.own.zero[i], pads.own.one[i], peer_choices_.mask<Ring>(i));
    const Ring bit = bits_.mask<Ring>(i);
    corrections[i] = pad.of_zero - pad.of_one + ((values[i] ^ bit) - bit);  // (1 - 2 bit) value
    sum_[i] = (values[i] & bit) - pad.of_zero;
  }
  BufferSink out(values.size() * sizeof(Ring));
  out.write(std::as_bytes(std::span(corrections)));
  return out.take();
}

template <class Ring>
SecretVector<Ring> Multiplexer<Ring>::add_correction(ByteView message, const MultiplexerMaterial::Pads& pads) {
  require<ProtocolError>(message.size() == material_.count_ * sizeof(Ring), "multiplexer: the peer's message has ",
                         message.size(), " bytes, not ", material_.count_ * sizeof(Ring));
  SecretVector<Ring> corrections(material_.count_);
  BufferSource(message).read(std::as_writable_bytes(std::span(corrections)));
  SecretVector<Ring> products = std::exchange(sum_, {});
  for (std::size_t i = 0; i < products.size(); ++i) {
    products[i] += pad_as<Ring>(pads.peers.pads[i]) + (corrections[i] & bits_.mask<Ring>(i));
  }
  return products;
}

template class Multiplexer<std::uint64_t>;
template class Multiplexer<UInt128>;

}  // namespace blindfl::mpc
