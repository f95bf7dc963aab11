#include "blindfl/he/lattice/slot_owner.h"

#include <algorithm>

#include "blindfl/base/error.h"
#include "blindfl/he/lattice/packing.h"
#include "blindfl/he/lattice/sampler.h"
#include "blindfl/he/lattice/slot_groups.h"

namespace blindfl::he::lattice {

LatticeSlotKey::LatticeSlotKey(std::shared_ptr<const SlotCipher> cipher, std::shared_ptr<const SlotPlan> plan,
                               const Coin& coin, Random& random)
    : cipher_(std::move(cipher)),
      shared_plan_(std::move(plan)),
      plan_(LatticeSlotPlan::of(*shared_plan_)),
      key_(std::in_place, cipher_->params(), cipher_->kernels(), plan_.bound(coin), random) {}

void LatticeSlotKey::encrypt_chunk(const SlotChunk& chunk, std::span<const std::uint32_t> share,
                                   std::span<const Seed> seeds, Random& random, std::uint64_t* packed) const {
  const std::size_t n = cipher_->degree();
  const Kernels& kernels = cipher_->kernels();
  const std::size_t room = SlotCipher::phase_room(plan_, chunk);
  auto lease = cipher_->scratch().lease(2 * room + 5 * n, 7);
  const SlotCipher::Phases phases{lease.take_reals(room), lease.take_reals(room)};
  const auto coefficients = lease.take_signed(n);
  const auto error = lease.take_signed(n);
  const auto words = lease.take(n);
  const auto c0 = lease.take(n);
  const auto c1 = lease.take(n);
  cipher_->phases(plan_, chunk, share, phases);
  for (std::size_t o = 0; o < chunk.operands; ++o) {
    cipher_->encode(plan_, chunk, o, phases, nullptr, plan_.scales().phases, coefficients);
    sample_error(kernels, random, error, words);
    for (std::size_t i = 0; i < n; ++i) coefficients[i] += error[i];
    for (std::size_t l = 0; l < cipher_->moduli(); ++l) {
      const Modulus& m = cipher_->params().moduli()[l];
      KeyStream stream(seeds[o * cipher_->moduli() + l]);
      sample_uniform(kernels, stream, m, c1.data(), 64, words);
      cipher_->transform(coefficients, LatticeSlotPlan::kCoefficientBits, l, c0.data());
      kernels.multiply_subtract(c0.data(), c1.data(), key_->s.data() + l * n, n, m);
      kernels.pack(packed, c0.data(), n, m.bits());
      packed += packed_words(n, m.bits());
    }
  }
}

void LatticeSlotKey::write_operand(std::span<const std::uint32_t> share, Random& random, ThreadPool& pool,
                                   ByteSink& out) const {
  Seed seed;
  random.fill(seed);
  out.write(key_->public_key);
  out.write(seed);
  KeyStream seeds(seed);
  for (const SlotGroup& group : slot_groups(plan_, pool)) {
    std::vector<Random> randoms;
    std::vector<Seed> part_seeds(group.operands * cipher_->moduli());
    for (Seed& s : part_seeds) seeds.fill(s);
    for (std::size_t i = 0; i < group.chunks.size(); ++i) randoms.push_back(random.fork());
    auto lease = cipher_->scratch().lease(group.operands * plan_.operand_words());
    const auto packed = lease.take(group.operands * plan_.operand_words());
    pool.parallel_for(group.chunks.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t before = group.operands_before[i];
        encrypt_chunk(group.chunks[i], share, std::span(part_seeds).subspan(before * cipher_->moduli()), randoms[i],
                      packed.data() + before * plan_.operand_words());
      }
    });
    out.write(std::as_bytes(packed));
  }
}

void LatticeSlotKey::read_digits(const std::uint64_t* packed, std::uint64_t* digits) const {
  const std::size_t n = cipher_->degree();
  const int cut = plan_.scales().cut;
  for (std::size_t l = 0; l < cipher_->moduli(); ++l) {
    const std::uint64_t largest = cipher_->params().moduli()[l].value() - 1;
    const bool below = cipher_->kernels().unpack(digits + l * n, 64, packed, n, plan_.reply_bits(l),
                                                 (l == 0 ? largest >> cut : largest) + 1);
    require<ProtocolError>(below, "a reply of slots has a digit that is not below its modulus");
    packed += packed_words(n, plan_.reply_bits(l));
  }
  if (cut == 0) return;
  // The middle of what was cut off, and still a residue.
  const std::uint64_t largest = cipher_->params().moduli().front().value() - 1;
  const std::uint64_t half = std::uint64_t{1} << (cut - 1);
  for (std::size_t i = 0; i < n; ++i) digits[i] = std::min((digits[i] << cut) + half, largest);
}

// c1 s, as digits.
void LatticeSlotKey::open_reply(const SlotChunk& chunk, std::size_t index, const std::uint64_t* packed,
                                std::vector<ShareMatrix>& shares) const {
  const std::size_t n = cipher_->degree();
  const Kernels& kernels = cipher_->kernels();
  auto lease = cipher_->scratch().lease(2 * cipher_->size(), 2);
  const auto digits = lease.take(cipher_->size());
  const auto product = lease.take(cipher_->size());
  read_digits(packed, digits.data());
  for (std::size_t l = 0; l < cipher_->moduli(); ++l) {
    const Modulus& m = cipher_->params().moduli()[l];
    std::uint64_t* part = product.data() + l * n;
    cipher_->from_digits(digits.data(), l, part);
    kernels.forward(part, m);
    kernels.multiply(part, part, key_->s.data() + l * n, n, m);
    kernels.inverse(part, m, m.last_stage());
  }
  cipher_->to_digits(product.data());
  cipher_->collect(plan_, chunk, index, product.data(), shares);
}

std::vector<ShareMatrix> LatticeSlotKey::do_open(ByteSource& reply, ThreadPool& pool) {
  KeyId id;
  reply.read(id);
  require<ProtocolError>(id == key_->id, "a reply of slots is under a key that is not this operand's");
  auto shares = empty_results(plan_);
  const std::size_t words = plan_.reply_words();
  for (const SlotGroup& group : slot_groups(plan_, pool)) {
    auto lease = cipher_->scratch().lease(group.replies * words);
    const auto packed = lease.take(group.replies * words);
    reply.read(std::as_writable_bytes(packed));
    pool.parallel_for(group.chunks.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        for (std::size_t r = 0; r < plan_.replies(group.chunks[i]); ++r) {
          open_reply(group.chunks[i], r, packed.data() + (group.replies_before[i] + r) * words, shares);
        }
      }
    });
  }
  return shares;
}

}  // namespace blindfl::he::lattice
