#include "blindfl/he/lattice/lattice_elements.h"

#include <algorithm>
#include <optional>

#include "blindfl/base/error.h"
#include "blindfl/he/lattice/packing.h"
#include "blindfl/he/lattice/sampler.h"

namespace blindfl::he::lattice {

namespace {

/// A chunk of a share, read as signed numbers, with zeros after its end.
void read_values(const ShareMatrix& m, std::size_t chunk, std::span<std::int64_t> out) {
  const std::size_t first = chunk * out.size();
  const std::size_t count = std::min(out.size(), m.values().size() - first);
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = static_cast<std::int64_t>(signed_low_bits(m.values()[first + i], m.ring_bits()));
  }
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(count), out.end(), 0);
}

/// The slots of one term: `first` and `second` are y and x at the owner, and what they meet, x and y, at the
/// multiplier.
void read_slots(const LatticeElementPlan& plan, std::size_t term, const ShareMatrix& first, const ShareMatrix& second,
                std::size_t chunk, std::span<std::int64_t> out) {
  if (plan.terms() == 2) return read_values(term == 0 ? first : second, chunk, out);
  read_values(first, chunk, out.first(out.size() / 2));
  read_values(second, chunk, out.subspan(out.size() / 2));
}

/// x y of this party's own shares, in their ring.
ShareMatrix own_product(const ShareMatrix& x, const ShareMatrix& y) {
  ShareMatrix product(x.rows(), x.cols(), x.scale() + y.scale(), x.ring_bits());
  for (std::size_t i = 0; i < product.values().size(); ++i) product.values()[i] = x.values()[i] * y.values()[i];
  product.reduce();
  return product;
}

/// Adds shares modulo each prime of a chunk to a result.
void add_chunk(const LatticeElementPlan& plan, const ElementCipher& cipher, std::size_t chunk,
               std::span<std::uint64_t> slots, ShareMatrix& share) {
  for (std::size_t k = 0; k < plan.primes().size() && plan.terms() == 1; ++k) {
    cipher.add_halves(k, slots.data() + k * cipher.degree());
  }
  const std::size_t first = chunk * plan.chunk_values();
  const auto to = share.values().subspan(first, std::min(plan.chunk_values(), share.values().size() - first));
  SecretVector<UInt128> joined(to.size());
  cipher.join(slots.data(), joined);
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = low_bits(to[i] + joined[i], share.ring_bits());
}

/// Chunks that are worked on at once: enough for all threads, and no more in memory.
std::size_t chunks_at_once(const LatticeElementPlan& plan, const ThreadPool& pool) {
  return std::min(plan.chunks(), 2 * pool.size());
}

std::vector<Random> forks(std::size_t count, Random& random) {
  std::vector<Random> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(random.fork());
  return all;
}

std::vector<Seed> next_seeds(std::size_t count, KeyStream& stream) {
  std::vector<Seed> seeds(count);
  for (Seed& seed : seeds) stream.fill(seed);
  return seeds;
}

class LatticeElementKey final : public ElementKey {
 public:
  LatticeElementKey(std::shared_ptr<const ElementCipher> cipher, std::shared_ptr<const ElementPlan> plan,
                    const Coin& coin, Random& random)
      : cipher_(std::move(cipher)),
        shared_plan_(std::move(plan)),
        plan_(LatticeElementPlan::of(*shared_plan_)),
        key_(std::in_place, cipher_->params(), cipher_->kernels(), plan_.bound(coin), random) {}

  void write_operand(const ShareMatrix& x, const ShareMatrix& y, Random& random, ThreadPool& pool, ByteSink& out);

 private:
  [[nodiscard]] ShareMatrix do_open(ByteSource& reply, ThreadPool& pool) override;
  void forget() override { key_.reset(); }

  void encrypt_slots(std::size_t prime, std::span<const std::int64_t> slots, std::span<const Seed> seeds,
                     Random& random, std::uint64_t* packed) const;
  void read_digits(const std::uint64_t* packed, std::uint64_t* digits) const;
  void open_chunk(std::size_t chunk, const std::uint64_t* packed, ShareMatrix& share) const;

  std::shared_ptr<const ElementCipher> cipher_;
  std::shared_ptr<const ElementPlan> shared_plan_;
  const LatticeElementPlan& plan_;
  std::optional<SecretKey> key_;
  ShareMatrix share_;  // begins as the product of this party's own shares
};

void LatticeElementKey::encrypt_slots(std::size_t prime, std::span<const std::int64_t> slots,
                                      std::span<const Seed> seeds, Random& random, std::uint64_t* packed) const {
  const std::size_t n = cipher_->degree();
  const Kernels& kernels = cipher_->kernels();
  auto lease = cipher_->scratch().lease(5 * n, 5);
  const auto r = lease.take(n);
  const auto error = lease.take_signed(n);
  const auto words = lease.take(n);
  const auto c0 = lease.take(n);
  const auto c1 = lease.take(n);
  cipher_->encode_right(prime, slots, r.data());
  sample_error(kernels, random, error, words);
  cipher_->add_above_half(prime, r.data(), error);
  for (std::size_t l = 0; l < cipher_->moduli(); ++l) {
    const Modulus& m = cipher_->params().moduli()[l];
    KeyStream stream(seeds[l]);
    sample_uniform(kernels, stream, m, c1.data(), 64, words);
    cipher_->transform_right(prime, l, r.data(), error, c0.data());
    kernels.multiply_subtract(c0.data(), c1.data(), key_->s.data() + l * n, n, m);
    kernels.pack(packed, c0.data(), n, m.bits());
    packed += packed_words(n, m.bits());
  }
}

void LatticeElementKey::write_operand(const ShareMatrix& x, const ShareMatrix& y, Random& random, ThreadPool& pool,
                                      ByteSink& out) {
  share_ = own_product(x, y);
  Seed seed;
  random.fill(seed);
  out.write(key_->public_key);
  out.write(seed);
  KeyStream seeds(seed);
  const std::size_t n = cipher_->degree();
  const std::size_t in_chunk = plan_.terms() * plan_.primes().size();
  const std::size_t words = in_chunk * plan_.operand_words();
  const std::size_t at_once = chunks_at_once(plan_, pool);
  auto lease = cipher_->scratch().lease(at_once * words);
  const auto packed = lease.take(at_once * words);
  for (std::size_t first = 0; first < plan_.chunks(); first += at_once) {
    const std::size_t count = std::min(at_once, plan_.chunks() - first);
    const auto part_seeds = next_seeds(count * in_chunk * cipher_->moduli(), seeds);
    auto randoms = forks(count, random);
    pool.parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
      auto memory = cipher_->scratch().lease(n);
      const auto slots = memory.take_signed(n);
      for (std::size_t i = begin; i < end; ++i) {
        for (std::size_t term = 0; term < plan_.terms(); ++term) {
          read_slots(plan_, term, y, x, first + i, slots);
          for (std::size_t k = 0; k < plan_.primes().size(); ++k) {
            const std::size_t at = i * in_chunk + k * plan_.terms() + term;
            encrypt_slots(k, slots, std::span(part_seeds).subspan(at * cipher_->moduli(), cipher_->moduli()),
                          randoms[i], packed.data() + at * plan_.operand_words());
          }
        }
      }
    });
    out.write(std::as_bytes(packed.first(count * words)));
  }
}

void LatticeElementKey::read_digits(const std::uint64_t* packed, std::uint64_t* digits) const {
  const std::size_t n = cipher_->degree();
  for (std::size_t l = 0; l < cipher_->moduli(); ++l) {
    const std::uint64_t largest = cipher_->params().moduli()[l].value() - 1;
    std::uint64_t* digit = digits + l * n;
    if (l < plan_.dropped()) {
      // The middle of all that does not travel, as of the digit that is cut.
      std::fill_n(digit, n, plan_.cut() == 0 && l + 1 == plan_.dropped() ? largest / 2 : 0);
      continue;
    }
    const int cut = l == plan_.dropped() ? plan_.cut() : 0;
    const bool below = cipher_->kernels().unpack(digit, 64, packed, n, plan_.reply_bits(l), (largest >> cut) + 1);
    require<ProtocolError>(below, "a reply of an element-wise product has a digit that is not below its modulus");
    packed += packed_words(n, plan_.reply_bits(l));
    const std::uint64_t middle = (std::uint64_t{1} << cut) / 2;
    for (std::size_t i = 0; i < n; ++i) digit[i] = std::min((digit[i] << cut) + middle, largest);
  }
}

void LatticeElementKey::open_chunk(std::size_t chunk, const std::uint64_t* packed, ShareMatrix& share) const {
  const std::size_t n = cipher_->degree();
  const Kernels& kernels = cipher_->kernels();
  auto lease = cipher_->scratch().lease(2 * cipher_->size() + plan_.primes().size() * n, 3);
  const auto digits = lease.take(cipher_->size());
  const auto product = lease.take(cipher_->size());
  const auto slots = lease.take(plan_.primes().size() * n);
  for (std::size_t k = 0; k < plan_.primes().size(); ++k) {
    read_digits(packed + k * plan_.reply_words(), digits.data());
    for (std::size_t l = 0; l < cipher_->moduli(); ++l) {
      const Modulus& m = cipher_->params().moduli()[l];
      std::uint64_t* part = product.data() + l * n;
      cipher_->from_digits(digits.data(), l, part);
      kernels.forward(part, m);
      kernels.multiply(part, part, key_->s_reply.data() + l * n, n, m);
      kernels.inverse(part, m, m.last_stage());
    }
    cipher_->round_to_slots(k, product.data(), slots.data() + k * n);
  }
  add_chunk(plan_, *cipher_, chunk, slots, share);
}

ShareMatrix LatticeElementKey::do_open(ByteSource& reply, ThreadPool& pool) {
  ShareMatrix share = std::exchange(share_, {});
  KeyId id;
  reply.read(id);
  require<ProtocolError>(id == key_->id,
                         "a reply of an element-wise product is under a key that is not this operand's");
  const std::size_t words = plan_.primes().size() * plan_.reply_words();
  const std::size_t at_once = chunks_at_once(plan_, pool);
  auto lease = cipher_->scratch().lease(at_once * words);
  const auto packed = lease.take(at_once * words);
  for (std::size_t first = 0; first < plan_.chunks(); first += at_once) {
    const std::size_t count = std::min(at_once, plan_.chunks() - first);
    reply.read(std::as_writable_bytes(packed.first(count * words)));
    pool.parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) open_chunk(first + i, packed.data() + i * words, share);
    });
  }
  return share;
}

/// The multiplier's side of one product.
class ElementMultiplier {
 public:
  ElementMultiplier(const ElementCipher& cipher, const LatticeElementPlan& plan, const PublicKey& key)
      : cipher_(cipher), plan_(plan), key_(key) {}

  [[nodiscard]] ShareMatrix multiply(ByteSource& operand, const ShareMatrix& x, const ShareMatrix& y, Random& random,
                                     ThreadPool& pool, ByteSink& reply) const;

 private:
  void reply_to_chunk(std::size_t chunk, const std::uint64_t* in, std::span<const Seed> seeds, const ShareMatrix& x,
                      const ShareMatrix& y, Random& random, std::uint64_t* out, ShareMatrix& share) const;
  void write_digits(std::uint64_t* digits, std::uint64_t* packed) const;

  const ElementCipher& cipher_;
  const LatticeElementPlan& plan_;
  const PublicKey& key_;
};

void ElementMultiplier::write_digits(std::uint64_t* digits, std::uint64_t* packed) const {
  const std::size_t n = cipher_.degree();
  std::uint64_t* lowest = digits + plan_.dropped() * n;
  for (std::size_t i = 0; i < n; ++i) lowest[i] >>= plan_.cut();
  for (std::size_t l = plan_.dropped(); l < cipher_.moduli(); ++l) {
    cipher_.kernels().pack(packed, digits + l * n, n, plan_.reply_bits(l));
    packed += packed_words(n, plan_.reply_bits(l));
  }
}

void ElementMultiplier::reply_to_chunk(std::size_t chunk, const std::uint64_t* in, std::span<const Seed> seeds,
                                       const ShareMatrix& x, const ShareMatrix& y, Random& random, std::uint64_t* out,
                                       ShareMatrix& share) const {
  const std::size_t n = cipher_.degree();
  const std::size_t size = cipher_.size();
  const std::size_t terms = plan_.terms();
  auto lease = cipher_.scratch().lease((1 + terms + plan_.primes().size()) * n + (3 * terms + 2) * size, 6);
  const auto left = lease.take_signed(terms * n);
  const auto coefficients = lease.take_signed(n);
  const auto slots = lease.take(plan_.primes().size() * n);
  const auto ciphertexts = lease.take(2 * terms * size);
  const auto plaintexts = lease.take(terms * size);
  const auto sum = lease.take(2 * size);
  for (std::size_t term = 0; term < terms; ++term) {
    // x meets the owner's y, which comes first.
    read_slots(plan_, term, x, y, chunk, left.subspan(term * n, n));
  }
  for (std::size_t k = 0; k < plan_.primes().size(); ++k) {
    for (std::size_t term = 0; term < terms; ++term) {
      const std::size_t at = k * plan_.terms() + term;
      cipher_.load(in + at * plan_.operand_words(), seeds.subspan(at * cipher_.moduli(), cipher_.moduli()),
                   ciphertexts.data() + 2 * term * size, "an operand of an element-wise product");
      cipher_.encode_left(k, left.subspan(term * n, n), coefficients);
      for (std::size_t l = 0; l < cipher_.moduli(); ++l) {
        cipher_.transform(coefficients, cipher_.prime_bits(), l, plaintexts.data() + term * size + l * n);
      }
    }
    cipher_.add_fresh_zero(key_, {plaintexts.data(), ciphertexts.data(), terms}, random, sum);
    cipher_.scale_for_fractions(sum.data());
    cipher_.round_to_slots(k, sum.data(), slots.data() + k * n);
    cipher_.to_digits(sum.data() + size);
    write_digits(sum.data() + size, out + k * plan_.reply_words());
  }
  add_chunk(plan_, cipher_, chunk, slots, share);
}

ShareMatrix ElementMultiplier::multiply(ByteSource& operand, const ShareMatrix& x, const ShareMatrix& y, Random& random,
                                        ThreadPool& pool, ByteSink& reply) const {
  Seed seed;
  operand.read(seed);
  KeyStream seeds(seed);
  reply.write(key_.id);
  ShareMatrix share = own_product(x, y);
  const std::size_t in_chunk = plan_.terms() * plan_.primes().size();
  const std::size_t in_words = in_chunk * plan_.operand_words();
  const std::size_t out_words = plan_.primes().size() * plan_.reply_words();
  const std::size_t at_once = chunks_at_once(plan_, pool);
  auto lease = cipher_.scratch().lease(at_once * (in_words + out_words), 2);
  const auto in = lease.take(at_once * in_words);
  const auto out = lease.take(at_once * out_words);
  for (std::size_t first = 0; first < plan_.chunks(); first += at_once) {
    const std::size_t count = std::min(at_once, plan_.chunks() - first);
    operand.read(std::as_writable_bytes(in.first(count * in_words)));
    const auto part_seeds = next_seeds(count * in_chunk * cipher_.moduli(), seeds);
    auto randoms = forks(count, random);
    pool.parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        reply_to_chunk(first + i, in.data() + i * in_words,
                       std::span(part_seeds).subspan(i * in_chunk * cipher_.moduli()), x, y, randoms[i],
                       out.data() + i * out_words, share);
      }
    });
    reply.write(std::as_bytes(out.first(count * out_words)));
  }
  return share;
}

}  // namespace

std::shared_ptr<const ElementPlan> LatticeElements::do_plan(const ElementSpec& spec) const {
  return LatticeElementPlan::choose(sets_, spec);
}

std::shared_ptr<const ElementCipher> LatticeElements::cipher(const LatticeElementPlan& plan) const {
  const std::lock_guard lock(mutex_);
  auto& cipher = ciphers_[plan.modulus_name()];
  if (cipher == nullptr) cipher = std::make_shared<const ElementCipher>(plan, kernels_);
  return cipher;
}

std::unique_ptr<ElementKey> LatticeElements::do_encrypt(const std::shared_ptr<const ElementPlan>& plan,
                                                        const Coin& coin, const ShareMatrix& x, const ShareMatrix& y,
                                                        Random& random, ThreadPool& pool, ByteSink& out) const {
  auto key = std::make_unique<LatticeElementKey>(cipher(LatticeElementPlan::of(*plan)), plan, coin, random);
  key->write_operand(x, y, random, pool, out);
  return key;
}

ShareMatrix LatticeElements::do_multiply(const ElementPlan& plan, const Coin& coin, ByteSource& operand,
                                         const ShareMatrix& x, const ShareMatrix& y, Random& random, ThreadPool& pool,
                                         ByteSink& reply) const {
  const LatticeElementPlan& own = LatticeElementPlan::of(plan);
  const auto polynomials = cipher(own);
  Bytes key_bytes(PublicKey::bytes(own.params()));
  operand.read(key_bytes);
  const PublicKey key(own.params(), kernels_, own.bound(coin), key_bytes);
  return ElementMultiplier(*polynomials, own, key).multiply(operand, x, y, random, pool, reply);
}

}  // namespace blindfl::he::lattice
