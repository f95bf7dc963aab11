// What a peer sends to a multiplexer, or while shared bits become numbers. Input: a byte, whose bits 0 and 1 say which
// message (0: choices, 1: the first pass, 2: the second; 3: choices of bits that become numbers, and, if these were
// right, what is answered), bit 2 whether the rest is the message itself or edits of a right one (see input.h), and bit
// 3, where bits become numbers, whether factors do instead; a byte, how many.

#include "blindfl/mpc/multiplexer.h"
#include "blindfl/base/error.h"
#include "blindfl/mpc/bit_to_ring.h"
#include "blindfl/mpc/row_factors.h"
#include "input.h"
#include "mpc/dealt_pools.h"

namespace {

using namespace blindfl;
using namespace blindfl::mpc;

using Mux = Multiplexer<UInt128>;
using Values = SecretVector<UInt128>;

struct Tampering {
  Bytes of(const Bytes& right) {
    return whole ? Bytes(input.rest().begin(), input.rest().end()) : fuzz::edited(input, right);
  }
  fuzz::Input& input;
  bool whole;
};

/// `step` with a wrong message, and if it is refused, which changes nothing, with the right one.
template <class Step>
auto either(const Bytes& wrong, const Bytes& right, const Step& step) {
  try {
    auto result = step(wrong);
    fuzz::check(wrong.size() == right.size(), "only messages of the right length are accepted");
    return result;
  } catch (const ProtocolError&) {
    fuzz::check(wrong != right, "what an honest party sends is not refused");
  }
  return step(right);
}

Mux make(std::size_t count, Role role, DealtPools& pools) {
  return Mux(MultiplexerMaterial(count, true, pools.sender_pool(role), pools.receiver_pool(role)));
}

void multiplex(unsigned which, std::size_t count, Tampering tampering, DealtPools& pools) {
  pools.extend_to(Mux::cost(count));
  Mux victim = make(count, Role::kSender, pools);
  Mux peer = make(count, Role::kReceiver, pools);
  const BitShares bits = BitShares(count).negated();
  const Values values(count, 7);
  const auto message = [&](unsigned number, const Bytes& right) {
    return number == which ? tampering.of(right) : right;
  };
  const Bytes chosen = victim.choose(bits);
  const Bytes choices = peer.choose(bits);
  (void)either(message(0, choices), choices, [&](const Bytes& m) { return victim.forward(m, values); });
  const Bytes forward = peer.forward(chosen, values);
  (void)either(message(1, forward), forward, [&](const Bytes& m) { return victim.finish(m); });
  (void)victim.again(values);
  (void)peer.finish(Bytes(count * sizeof(UInt128)));
  const Bytes again = peer.again(values);
  const Values products = either(message(2, again), again, [&](const Bytes& m) { return victim.finish_again(m); });
  fuzz::check(products.size() == count, "every value has a product");
}

void convert(std::size_t count, Tampering tampering, DealtPools& pools) {
  pools.sent.extend_to(count);
  BitToRingSender sender(count, pools.sent.sender);
  BitToRingReceiver receiver(count, pools.sent.receiver);
  const BitShares bits(count);
  const Bytes choices = receiver.choose(bits);
  const auto sent =
      either(tampering.of(choices), choices, [&](const Bytes& m) { return sender.send<UInt128>(m, bits); });
  const auto shares =
      either(tampering.of(sent.message), sent.message, [&](const Bytes& m) { return receiver.finish<UInt128>(m); });
  fuzz::check(shares.size() == count, "every bit has a share");
}

void multiply(std::size_t count, Tampering tampering, DealtPools& pools) {
  constexpr int kBits = 5;
  pools.sent.extend_to(count * kBits);
  FactorSender sender(count, kBits, pools.sent.sender);
  FactorReceiver receiver(count, kBits, pools.sent.receiver);
  const Values values(count, 7);
  const Bytes choices = receiver.choose(SecretVector<std::uint32_t>(count, 9));
  const auto sent = either(tampering.of(choices), choices, [&](const Bytes& m) { return sender.send(m, values); });
  const auto shares =
      either(tampering.of(sent.message), sent.message, [&](const Bytes& m) { return receiver.finish(m); });
  fuzz::check(shares.size() == count, "every product has a share");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static DealtPools pools;
  fuzz::Input input(data, size);
  const unsigned switches = input.take_byte();
  const std::size_t count = 1 + input.take_byte() % 70;
  const Tampering tampering{input, (switches & 4) != 0};
  if ((switches & 3) == 3) {
    (switches & 8) != 0 ? multiply(count, tampering, pools) : convert(count, tampering, pools);
  } else {
    multiplex(switches & 3, count, tampering, pools);
  }
  return 0;
}
