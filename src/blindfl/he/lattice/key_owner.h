#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "blindfl/he/keys.h"
#include "blindfl/he/lattice/fraction.h"
#include "blindfl/he/lattice/keys.h"
#include "blindfl/he/lattice/lattice_plan.h"
#include "blindfl/he/lattice/scratch.h"
#include "blindfl/he/lattice/sparse_tables.h"

namespace blindfl::he::lattice {

/// How a plaintext m modulo 2^t becomes round(q m / 2^t) modulo each prime, without big numbers: with r = q m modulo
/// 2^t, it is (q m - r) / 2^t + (r >> (t - 1)), and modulo a prime of q that is -r / 2^t + (r >> (t - 1)).
class PlaintextEncoder {
 public:
  static constexpr int kPlaneBits = 43;  // three planes make 128 bits, and each is small enough for a lazy product
  static constexpr std::size_t kMostPlanes = 3;

  PlaintextEncoder(const Params& params, int ring_bits);

  [[nodiscard]] std::size_t planes() const { return planes_; }
  /// r in planes; its top bit is added to `rounding`.
  void encode(UInt128 plaintext, std::uint64_t* plane, std::size_t stride, std::int64_t& rounding) const {
    const UInt128 r = low_bits(plaintext * q_low_, ring_bits_);
    constexpr std::uint64_t kMask = (std::uint64_t{1} << kPlaneBits) - 1;
    for (std::size_t k = 0; k < planes_; ++k) plane[k * stride] = low64(r >> (kPlaneBits * k)) & kMask;
    rounding += static_cast<std::int64_t>(r >> (ring_bits_ - 1));
  }
  /// What the planes are multiplied by, modulo a prime.
  [[nodiscard]] const std::uint64_t* factors(std::size_t modulus) const { return factors_.data() + planes_ * modulus; }

 private:
  int ring_bits_;
  std::size_t planes_;
  UInt128 q_low_ = 1;
  std::vector<std::uint64_t> factors_;
};

class LatticeKeyOwner final : public KeyOwner {
 public:
  LatticeKeyOwner(std::shared_ptr<const Params> params, const Kernels& kernels, const Coin& coin, Random& random);

  [[nodiscard]] Bytes public_key() const override { return key_.public_key; }
  void expect(const Plan& plan) const override;
  bool prepare() const override;

 private:
  friend struct KeyOwnerProbe;  // tests of noise and of hiding define it

  /// A tile's values as planes, and its error with the roundings.
  struct EncodedTile {
    std::span<std::uint64_t> planes;
    std::span<std::int64_t> error;
  };

  /// An encryption e - a s of 0 but for the difference, which waits for the plaintext: one transform does for that and
  /// the error.
  struct EncryptedZero {
    ScratchPool::Lease lease;
    std::span<std::uint64_t> mask;  ///< a s modulo each prime, transformed
    std::span<std::int64_t> error;  ///< e, as coefficients
  };
  /// Those for the first tiles of an operand with this seed, made ahead. For one operand: what is left of it is not
  /// used again.
  struct EncryptedZeros {
    Seed seed{};
    KeyStream seeds;
    std::vector<EncryptedZero> tiles;
  };
  /// What is made ahead for one of the operands of a step.
  struct Expected {
    std::size_t tiles;
    std::optional<EncryptedZeros> zeros;
  };

  void do_encrypt(const Plan& plan, const ShareMatrix& m, Random& random, ThreadPool& pool,
                  ByteSink& out) const override;
  [[nodiscard]] ShareMatrix do_open(const Plan& plan, ByteSource& reply, Random& random,
                                    ThreadPool& pool) const override;

  /// For an operand of so many tiles: as many of them as there are.
  [[nodiscard]] std::optional<EncryptedZeros> take_zeros(std::size_t tiles) const;
  [[nodiscard]] EncryptedZero encrypt_zero(KeyStream& seeds, Random& random) const;
  void encode_tile(const Tiling& t, const PlaintextEncoder& encoder, const ShareMatrix& m, std::size_t tile,
                   const EncodedTile& encoded) const;
  /// Its encryption modulo one prime, packed, with the error in `encoded`: from the seed, or with a s made ahead.
  void encrypt_tile(const Tiling& t, const PlaintextEncoder& encoder, std::size_t modulus, const EncodedTile& encoded,
                    const Seed& seed, std::uint64_t* packed) const;
  /// Plaintext and error, transformed.
  void transform_plaintext(const Tiling& t, const PlaintextEncoder& encoder, std::size_t modulus,
                           const EncodedTile& encoded, std::uint64_t* c0) const;
  void encrypt_under(const std::uint64_t* mask, const Tiling& t, const PlaintextEncoder& encoder, std::size_t modulus,
                     const EncodedTile& encoded, std::uint64_t* packed) const;
  /// The digits of a reply's tile.
  void read_digits(const LatticePlan& plan, const std::uint64_t* packed, std::uint64_t* digits) const;
  /// The tile modulo one prime times the secret, as a fraction's numerator: all coefficients, or, where results are
  /// sparse, the first ones are the results.
  void decrypt_part(const LatticePlan& plan, std::size_t modulus, const std::uint64_t* digits,
                    std::uint64_t* residues) const;
  void open_results(const LatticePlan& plan, const LatticePlan::Area& area, std::span<const std::uint64_t> parts,
                    Random& random, ShareMatrix& share) const;

  std::shared_ptr<const Params> params_;
  const Kernels& kernels_;
  SecretKey key_;
  std::vector<Fraction> one_over_modulus_;
  /// q_k modulo q_l, for k < l, in Montgomery form.
  std::vector<std::vector<std::uint64_t>> radix_;
  bool noise_ = true;  // only tests switch it off, to see that it is missed
  mutable SparseTables sparse_;
  mutable ScratchPool scratch_;
  mutable std::mutex mutex_;  // of what follows
  mutable Random zeros_random_;
  mutable std::vector<Expected> expected_;
};

}  // namespace blindfl::he::lattice
