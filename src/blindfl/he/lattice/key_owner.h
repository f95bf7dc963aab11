#pragma once

#include <memory>
#include <vector>

#include "blindfl/he/keys.h"
#include "blindfl/he/lattice/fraction.h"
#include "blindfl/he/lattice/keys.h"
#include "blindfl/he/lattice/lattice_plan.h"
#include "blindfl/he/lattice/scratch.h"

namespace blindfl::he::lattice {

/// How a plaintext m becomes round(q m / 2^128) modulo each prime, without big numbers: with r = q m modulo 2^128, it
/// is (q m - r) / 2^128 + (r >> 127), and modulo a prime of q that is -r / 2^128 + (r >> 127).
class PlaintextEncoder {
 public:
  static constexpr int kPlaneBits = 43;  // three planes make 128 bits, and each is small enough for a lazy product
  static constexpr std::size_t kPlanes = 3;

  explicit PlaintextEncoder(const Params& params);

  /// r in planes; its top bit is added to `rounding`.
  void planes(UInt128 plaintext, std::uint64_t* plane, std::size_t stride, std::int64_t& rounding) const {
    const UInt128 r = plaintext * q_low_;
    constexpr std::uint64_t kMask = (std::uint64_t{1} << kPlaneBits) - 1;
    for (std::size_t k = 0; k < kPlanes; ++k) plane[k * stride] = low64(r >> (kPlaneBits * k)) & kMask;
    rounding += static_cast<std::int64_t>(r >> 127);
  }
  /// What the planes are multiplied by, modulo a prime.
  [[nodiscard]] const std::uint64_t* factors(std::size_t modulus) const { return factors_.data() + kPlanes * modulus; }

 private:
  UInt128 q_low_ = 1;
  std::vector<std::uint64_t> factors_;
};

class LatticeKeyOwner final : public KeyOwner {
 public:
  LatticeKeyOwner(std::shared_ptr<const Params> params, const Kernels& kernels, Random& random);

  [[nodiscard]] Bytes public_key() const override { return key_.public_key; }

 private:
  friend struct KeyOwnerProbe;  // tests that measure noise define it

  void do_encrypt(const Plan& plan, const ShareMatrix& m, Random& random, ThreadPool& pool,
                  ByteSink& out) const override;
  [[nodiscard]] ShareMatrix do_open(const Plan& plan, ByteSource& reply, ThreadPool& pool) const override;

  /// A tile's values as planes, and its error with the roundings.
  void encode_tile(const Tiling& t, const ShareMatrix& m, std::size_t tile, Random& random,
                   std::span<std::uint64_t> planes, std::span<std::int64_t> error) const;
  /// Its encryption modulo one prime, packed.
  void encrypt_tile(const Tiling& t, std::size_t modulus, std::span<const std::uint64_t> planes,
                    std::span<const std::int64_t> error, const Seed& seed, std::uint64_t* packed) const;
  void decrypt_part(std::size_t modulus, std::uint64_t* residues) const;
  void open_results(const Tiling& t, const LatticePlan::Area& area, std::span<const std::uint64_t> c1,
                    std::span<const std::byte> results, ShareMatrix& opened) const;

  std::shared_ptr<const Params> params_;
  const Kernels& kernels_;
  SecretKey key_;
  PlaintextEncoder encoder_;
  std::vector<Fraction> one_over_modulus_;
  mutable ScratchPool scratch_;
};

}  // namespace blindfl::he::lattice
