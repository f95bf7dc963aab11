#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "blindfl/he/keys.h"
#include "blindfl/he/lattice/lattice_plan.h"
#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/he/lattice/packing.h"
#include "blindfl/share/share_matrix.h"
#include "input.h"
#include "testing/matrices.h"

namespace blindfl::he::lattice {

/// Primes of the smallest set at a degree far below the floor of security, for short messages: libFuzzer does not get
/// far with 200 KB.
struct InsecureParams {
  [[nodiscard]] static Params make() { return {{512, {50, 50}}, Params::Floor::kIgnored}; }
};

}  // namespace blindfl::he::lattice

namespace blindfl::fuzz {

/// A product, with the messages that honest parties exchange for it.
struct Product {
  std::shared_ptr<const he::Plan> plan;
  IntMatrix x;
  Bytes operand;
  Bytes reply;
};

/// Both parties under one key, fresh in every process: `Random` takes no seed.
struct SmallLattice {
  explicit SmallLattice(const he::lattice::Kernels& kernels)
      : scheme({params}, {&kernels}),
        owner(scheme.generate_keys(setup, random)),
        multiplier(scheme.multiplier(setup, owner->public_key())) {
    add_product(spec_of(2, 8, 3, 15, 64, 30), IntMatrix::Kind::kDense);
    add_product(spec_of(9, 12, 9, 3, 40, 20), IntMatrix::Kind::kCsr);  // several tiles each way
    he::ProductSpec wide = spec_of(2, 6, 1, std::uint64_t{1} << 40, 64, 40);
    wide.right_bits = 20;
    add_product(wide, IntMatrix::Kind::kCsr);
    add_product(spec_of(40, 30, 1, 1, 48, 12), IntMatrix::Kind::kOneHot);  // results that stand sparse
  }

  static he::ProductSpec spec_of(std::size_t rows, std::size_t inner, std::size_t cols, std::uint64_t bound,
                                 int ring_bits, int noise_bits) {
    return {.rows = rows,
            .inner = inner,
            .cols = cols,
            .left_bound = bound,
            .ring_bits = ring_bits,
            .noise_bits = noise_bits};
  }

  void add_product(const he::ProductSpec& spec, IntMatrix::Kind kind) {
    Product p;
    p.plan = scheme.plan(spec);
    SeededRandom seeded(products.size());
    p.x = testing::random_matrix(kind, spec.rows, spec.inner, spec.left_scale, spec.left_bound, seeded);
    ShareMatrix m = random_share(spec.inner, spec.cols, spec.right_scale, random, spec.ring_bits);
    if (spec.right_bits < 128) std::ranges::fill(m.values(), 12345);
    p.operand = write_to_bytes([&](ByteSink& out) { owner->encrypt(*p.plan, m, random, pools[0], out); });
    BufferSource in(p.operand);
    const auto operand = multiplier->load(*p.plan, in, pools[0]);
    p.reply = write_to_bytes(
        [&](ByteSink& out) { (void)multiplier->multiply(*p.plan, p.x, *operand, random, pools[0], out); });
    products.push_back(std::move(p));
  }

  const he::lattice::Params params = he::lattice::InsecureParams::make();
  const he::KeySetup setup{.set = params.name()};
  he::LatticeScheme scheme;
  Random random;
  std::array<ThreadPool, 2> pools{ThreadPool(1), ThreadPool(2)};
  std::unique_ptr<he::KeyOwner> owner;
  std::unique_ptr<he::Multiplier> multiplier;
  std::vector<Product> products;
};

constexpr std::size_t kIdBytes = sizeof(he::lattice::KeyId);

/// Are the numbers of a packed polynomial all below a bound? Written from packing.h alone, without the kernels.
inline bool are_below(std::uint64_t bound, ByteView packed, std::size_t bits) {
  std::vector<std::uint64_t> words(packed.size() / 8);
  std::memcpy(words.data(), packed.data(), packed.size());
  for (std::size_t block = 0; block < words.size(); block += he::lattice::kPackedLanes * bits) {
    for (std::size_t i = 0; i < he::lattice::kPackedBlock; ++i) {
      const std::size_t first = i / he::lattice::kPackedLanes * bits;
      const std::uint64_t* lane = words.data() + block + i % he::lattice::kPackedLanes;
      std::uint64_t value = lane[he::lattice::kPackedLanes * (first / 64)] >> first % 64;
      if (first % 64 + bits > 64) value |= lane[he::lattice::kPackedLanes * (first / 64 + 1)] << (64 - first % 64);
      if ((value & ((std::uint64_t{1} << bits) - 1)) >= bound) return false;
    }
  }
  return true;
}

/// The same for polynomials modulo all primes, one after the other, and again: residues, or digits of which `cut` bits
/// are lost, the lowest prime's first.
inline bool are_reduced(ByteView packed, const he::lattice::Params& params, int cut = 0) {
  int to_lose = cut;
  for (std::size_t l = 0; !packed.empty(); l = (l + 1) % params.moduli().size()) {
    const he::lattice::Modulus& m = params.moduli()[l];
    if (l == 0) to_lose = cut;
    const int lost = std::min(to_lose, m.bits());
    to_lose -= lost;
    if (lost == m.bits()) continue;
    const std::size_t bytes = he::lattice::packed_bytes(params.degree(), m.bits() - lost);
    if (!are_below(((m.value() - 1) >> lost) + 1, packed.first(bytes), static_cast<std::size_t>(m.bits() - lost))) {
      return false;
    }
    packed = packed.subspan(bytes);
  }
  return true;
}

/// The first byte of an input for the lattice scheme: the kernels (bits 2, 3), the product (4, 5), threads (6), whether
/// a second byte says by how much the message is too long or, negative, too short (7), and how the rest of the input
/// becomes a message (0, 1).
class Setting {
 public:
  explicit Setting(Input& input)
      : switches_(input.take_byte()),
        surplus_((switches_ & 0x80) != 0 ? static_cast<std::int8_t>(input.take_byte()) : 0) {}

  [[nodiscard]] SmallLattice& lattice() const {
    static const auto all = [] {
      std::vector<std::unique_ptr<SmallLattice>> made;
      for (const auto* kernels : he::lattice::available_kernels()) {
        made.push_back(std::make_unique<SmallLattice>(*kernels));
      }
      return made;
    }();
    return *all[(switches_ >> 2 & 3) % all.size()];
  }
  [[nodiscard]] const Product& product() const { return lattice().products[switches_ >> 4 & 3]; }
  [[nodiscard]] ThreadPool& pool() const { return lattice().pools[switches_ >> 6 & 1]; }

  /// What arrives in place of `valid`, which begins with an id that no input can guess:
  /// 0: the input as it stands; 1: the id, then the input; 2: the id, then the input again and again, to the right
  /// length; 3: `valid`, overwritten here and there. An edit is an offset (2 bytes), a length (1), and the bytes.
  [[nodiscard]] Bytes message(Input& input, const Bytes& valid) const {
    Bytes message = in_full(input, valid);
    message.resize(static_cast<std::size_t>(std::max<std::ptrdiff_t>(std::ssize(message) + surplus_, 0)));
    return message;
  }

 private:
  [[nodiscard]] Bytes in_full(Input& input, const Bytes& valid) const;

  unsigned switches_;
  int surplus_;
};

inline Bytes Setting::in_full(Input& input, const Bytes& valid) const {
  const ByteView rest = input.rest();
  if ((switches_ & 3) == 0) return {rest.begin(), rest.end()};
  if ((switches_ & 3) == 3) {
    Bytes message = valid;
    while (!input.rest().empty()) {
      const std::size_t at = input.take_u16() % message.size();
      const ByteView edit = input.take(input.take_byte());
      std::ranges::copy(edit.first(std::min(edit.size(), message.size() - at)), message.begin() + at);
    }
    return message;
  }
  Bytes message(valid.begin(), valid.begin() + kIdBytes);
  message.insert(message.end(), rest.begin(), rest.end());
  if ((switches_ & 3) == 2) {
    const std::size_t given = message.size();
    message.resize(valid.size());
    for (std::size_t i = given; i < message.size() && given > kIdBytes; ++i) {
      message[i] = message[i - (given - kIdBytes)];
    }
  }
  return message;
}

}  // namespace blindfl::fuzz
