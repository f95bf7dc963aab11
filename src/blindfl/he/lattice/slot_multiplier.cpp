#include "blindfl/he/lattice/slot_multiplier.h"

#include <algorithm>

#include "blindfl/he/lattice/packing.h"
#include "blindfl/he/lattice/slot_groups.h"

namespace blindfl::he::lattice {

namespace {

Bytes read_bytes(ByteSource& in, std::uint64_t count) {
  Bytes bytes(count);
  in.read(bytes);
  return bytes;
}

}  // namespace

SlotMultiplier::SlotMultiplier(const SlotCipher& cipher, const LatticeSlotPlan& plan, const Coin& coin,
                               ByteSource& operand)
    : cipher_(cipher),
      plan_(plan),
      key_(cipher.params(), cipher.kernels(), plan.bound(coin),
           read_bytes(operand, PublicKey::bytes(cipher.params()))) {}

void SlotMultiplier::load_chunk(const SlotChunk& chunk, const std::uint64_t* packed, std::span<const Seed> seeds,
                                Ciphertexts out) const {
  for (std::size_t o = 0; o < chunk.operands; ++o) {
    cipher_.load(packed + o * plan_.operand_words(), seeds.subspan(o * cipher_.moduli(), cipher_.moduli()),
                 out.data() + 2 * o * cipher_.size(), "an operand of slots");
  }
}

void SlotMultiplier::encode_factors(const SlotChunk& chunk, std::size_t first, std::size_t last,
                                    const SlotCipher::Phases& phases, const ComplexNumber* factors, double scale,
                                    std::span<std::uint64_t> out) const {
  const std::size_t n = cipher_.degree();
  auto lease = cipher_.scratch().lease(n);
  const auto coefficients = lease.take_signed(n);
  for (std::size_t o = first; o < last; ++o) {
    cipher_.encode(plan_, chunk, o, phases, factors, scale, coefficients);
    for (std::size_t l = 0; l < cipher_.moduli(); ++l) {
      cipher_.transform(coefficients, LatticeSlotPlan::kCoefficientBits, l,
                        out.data() + (o - first) * cipher_.size() + l * n);
    }
  }
}

void SlotMultiplier::write_digits(std::uint64_t* digits, std::uint64_t* packed) const {
  const std::size_t n = cipher_.degree();
  // Cut, not rounded, so that a digit keeps its width; the receiver adds half of what was cut.
  for (std::size_t i = 0; i < n; ++i) digits[i] >>= plan_.scales().cut;
  for (std::size_t l = 0; l < cipher_.moduli(); ++l) {
    cipher_.kernels().pack(packed, digits + l * n, n, plan_.reply_bits(l));
    packed += packed_words(n, plan_.reply_bits(l));
  }
}

void SlotMultiplier::reply_to_chunk(const SlotChunk& chunk, Ciphertexts ciphertexts,
                                    std::span<const std::uint32_t> share, Random& random, std::uint64_t* packed,
                                    std::vector<ShareMatrix>& shares) const {
  const std::size_t room = SlotCipher::phase_room(plan_, chunk);
  const std::size_t size = cipher_.size();
  auto lease = cipher_.scratch().lease(2 * room + (chunk.operands + 2) * size, 4);
  const SlotCipher::Phases phases{lease.take_reals(room), lease.take_reals(room)};
  const auto plaintexts = lease.take(chunk.operands * size);
  const auto sum = lease.take(2 * size);
  cipher_.phases(plan_, chunk, share, phases);
  for (std::size_t r = 0; r < plan_.replies(chunk); ++r) {
    const std::size_t first = plan_.separate() ? r : 0;
    const std::size_t last = plan_.separate() ? r + 1 : chunk.operands;
    const ComplexNumber* factors = plan_.separate() ? nullptr : plan_.spec().functions[r].data();
    encode_factors(chunk, first, last, phases, factors, plan_.scales().factors[plan_.separate() ? 0 : r], plaintexts);
    cipher_.add_fresh_zero(key_, {plaintexts.data(), ciphertexts.data() + 2 * first * size, last - first}, random, sum);
    cipher_.to_digits(sum.data());
    cipher_.to_digits(sum.data() + size);
    cipher_.collect(plan_, chunk, r, sum.data(), shares);
    write_digits(sum.data() + size, packed + r * plan_.reply_words());
  }
}

std::vector<ShareMatrix> SlotMultiplier::multiply(ByteSource& operand, std::span<const std::uint32_t> share,
                                                  Random& random, ThreadPool& pool, ByteSink& reply) const {
  Seed seed;
  operand.read(seed);
  KeyStream seeds(seed);
  reply.write(key_.id);
  auto shares = empty_results(plan_);
  for (const SlotGroup& group : slot_groups(plan_, pool)) {
    std::vector<Random> randoms;
    for (std::size_t i = 0; i < group.chunks.size(); ++i) randoms.push_back(random.fork());
    std::vector<Seed> part_seeds(group.operands * cipher_.moduli());
    for (Seed& s : part_seeds) seeds.fill(s);
    const std::size_t in_words = group.operands * plan_.operand_words();
    const std::size_t out_words = group.replies * plan_.reply_words();
    auto lease = cipher_.scratch().lease(in_words + out_words, 2);
    const auto in = lease.take(in_words);
    const auto out = lease.take(out_words);
    operand.read(std::as_writable_bytes(in));
    pool.parallel_for(group.chunks.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const SlotChunk& chunk = group.chunks[i];
        const std::size_t before = group.operands_before[i];
        auto memory = cipher_.scratch().lease(2 * chunk.operands * cipher_.size());
        const auto ciphertexts = memory.take(2 * chunk.operands * cipher_.size());
        load_chunk(chunk, in.data() + before * plan_.operand_words(),
                   std::span(part_seeds).subspan(before * cipher_.moduli()), ciphertexts);
        reply_to_chunk(chunk, ciphertexts, share, randoms[i],
                       out.data() + group.replies_before[i] * plan_.reply_words(), shares);
      }
    });
    reply.write(std::as_bytes(out));
  }
  return shares;
}

}  // namespace blindfl::he::lattice
