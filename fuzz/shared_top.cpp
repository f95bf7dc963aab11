// What a peer sends where values of a shared top are opened, or functions of them were prepared. Input: a byte, whose
// bits 0 and 1 say which message (0: A's part of an opening, 1: its difference to what was prepared, 2 and 3: a level
// of the product of all bits, of a range check), and bit 2 whether the rest is the message itself or edits of a right
// one (see input.h); a byte, how many values; a byte, which level.

#include <cmath>
#include <memory>

#include "blindfl/mpc/openings.h"
#include "blindfl/mpc/prepared_phases.h"
#include "blindfl/mpc/product_of_bits.h"
#include "mpc/dealt_pools.h"
#include "small_slots.h"

namespace {

using namespace blindfl;
using namespace blindfl::mpc;

struct Tampering {
  Bytes of(const Bytes& right) {
    return whole ? Bytes(input.rest().begin(), input.rest().end()) : fuzz::edited(input, right);
  }
  fuzz::Input& input;
  bool whole;
};

void open_scores_at_b(std::size_t count, Tampering tampering) {
  constexpr double kLargest = 1000;
  Random random;
  const auto shares = split(ShareMatrix(count, 1, 4, 40), random);
  const Bytes right = write_to_bytes([&](ByteSink& out) {
    for (const UInt128 v : shares.first.values()) out.write_u64(low64(v));
  });
  const Bytes wrong = tampering.of(right);
  try {
    BufferSource in(wrong);
    for (const double v : opened_values(shares.second, in, kLargest))
      fuzz::check(std::abs(v) <= kLargest, "scores have a limit");
  } catch (const ProtocolError&) {
    fuzz::check(wrong != right, "what an honest party sends is not refused");
  }
}

void use_prepared(std::size_t count, Tampering tampering) {
  static const SmoothFunction fitted =
      SmoothFunction::fit({.functions = {Smooth::kSigmoid}, .low = -4, .high = 4, .error = 1e-2});
  static const he::LatticeScheme scheme({he::lattice::InsecureParams::make({512, {50, 50}})},
                                        {he::lattice::available_kernels().front()});
  const auto plan =
      std::make_shared<const PreparationPlan>(scheme.slots(), fitted, SmoothSpec{.rows = count, .cols = 1});
  std::vector<ShareMatrix> phases(2, ShareMatrix(fitted.harmonics(), count, 32));
  PreparedPhases prepared(plan, SecretVector<std::uint32_t>(count, 12345), std::move(phases), Constants::kAdded);
  BufferSink mine;
  prepared.mask(ShareMatrix(count, 1, SmoothFunction::kFractionalBits), mine);
  const Bytes wrong = tampering.of(mine.bytes());
  try {
    BufferSource in(wrong);
    fuzz::check(prepared.finish(fitted, in).front().values().size() == count, "every value has a share");
  } catch (const ProtocolError&) {
    fuzz::check(wrong.size() < mine.bytes().size(), "any difference will do");
  }
}

void multiply_all(std::size_t count, std::size_t edited, Tampering tampering) {
  static DealtPools pools;
  pools.sent.extend_to(2 * count);
  pools.received.extend_to(2 * count);
  const auto make = [&](Role role) {
    return ProductOfBits(BitShares(count), pools.sender_pool(role), pools.receiver_pool(role), role == Role::kSender);
  };
  ProductOfBits victim = make(Role::kSender);
  ProductOfBits peer = make(Role::kReceiver);
  for (std::size_t level = 0; !victim.done(); ++level) {
    const Bytes mine = victim.message();
    const Bytes right = peer.message();
    peer.finish(mine);
    if (level == edited) {
      const Bytes wrong = tampering.of(right);
      try {
        victim.finish(wrong);
        fuzz::check(wrong.size() == right.size(), "only messages of the right length are accepted");
        continue;
      } catch (const ProtocolError&) {
        fuzz::check(wrong != right, "what an honest party sends is not refused");
      }
    }
    victim.finish(right);  // also after a wrong one, which changed nothing
  }
  fuzz::check(peer.done(), "both multiply as many");
  (void)victim.share();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const unsigned switches = input.take_byte();
  const std::size_t count = 1 + input.take_byte() % 70;
  const std::size_t level = input.take_byte() % 8;
  const Tampering tampering{input, (switches & 4) != 0};
  switch (switches & 3) {
    case 0:
      open_scores_at_b(count, tampering);
      break;
    case 1:
      use_prepared(count, tampering);
      break;
    default:
      multiply_all(count, level, tampering);
  }
  return 0;
}
