#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/he/lattice/key_owner.h"
#include "blindfl/he/lattice/multiplier.h"
#include "blindfl/he/lattice/packing.h"
#include "blindfl/share/products.h"

// What tests of noise and of hiding see that nobody else does.

namespace blindfl::he::lattice {

struct InsecureParams {
  static Params make(const ParamsSpec& spec) { return {spec, Params::Floor::kIgnored}; }
};

struct KeyOwnerProbe {
  static const SecretKey& key(const LatticeKeyOwner& owner) { return owner.key_; }
  static void switch_noise(LatticeKeyOwner& owner, bool on) { owner.noise_ = on; }
};

struct MultiplierProbe {
  static void switch_fresh_encryption(LatticeMultiplier& m, bool on) { m.fresh_encryption_ = on; }
  static void switch_noise(LatticeMultiplier& m, bool on) { m.noise_ = on; }

  /// What will re-randomise the next reply, transformed, modulo each prime. It must have been prepared.
  static std::vector<Residues> next_randomizer(const LatticeMultiplier& m) {
    std::vector<Residues> u;
    for (std::size_t l = 0; l < m.params_->moduli().size(); ++l) {
      const std::uint64_t* from = m.stock_.back().values.data() + l * m.stride();
      u.emplace_back(from, from + m.params_->degree());
    }
    return u;
  }
  /// The next two replies will be re-randomised alike. Both must have been prepared.
  static void repeat_next_randomizer(const LatticeMultiplier& m) {
    const auto& next = m.stock_.back().values;
    std::ranges::copy(next, m.stock_[m.stock_.size() - 2].values.begin());
  }
};

/// A tile of a reply as it travels: its digits, those of the first prime without what was cut off.
struct DigitTile {
  LatticePlan::Area area;
  std::vector<Residues> digits;
};

/// The format is that of lattice_plan.h, read without the product's code.
inline std::vector<DigitTile> read_reply(const LatticePlan& plan, ByteView bytes) {
  const Params& params = plan.params();
  BufferSource in(bytes.subspan(sizeof(KeyId)));
  std::vector<DigitTile> tiles;
  for (const LatticePlan::Area& area : plan.reply_order()) {
    DigitTile tile{area, {}};
    for (std::size_t l = 0; l < params.moduli().size(); ++l) {
      const Modulus& m = params.moduli()[l];
      const int first = params.moduli().front().bits();
      const int cut = l == 0 ? std::min(plan.budget().cut, first) : l == 1 ? std::max(plan.budget().cut - first, 0) : 0;
      if (cut == m.bits()) {
        tile.digits.emplace_back(params.degree());
        continue;
      }
      Residues words(packed_words(params.degree(), m.bits() - cut));
      in.read(std::as_writable_bytes(std::span(words)));
      Residues digits(params.degree());
      EXPECT_TRUE(portable_kernels().unpack(digits.data(), 64, words.data(), digits.size(), m.bits() - cut,
                                            ((m.value() - 1) >> cut) + 1));
      tile.digits.push_back(std::move(digits));
    }
    tiles.push_back(std::move(tile));
  }
  EXPECT_EQ(in.remaining(), 0U);
  return tiles;
}

/// The number that digits stand for, modulo one prime.
inline Residues residues_of(const Params& params, const std::vector<Residues>& digits, std::size_t modulus) {
  const Modulus& m = params.moduli()[modulus];
  Residues sum(params.degree());
  for (std::size_t i = 0; i < sum.size(); ++i) {
    std::uint64_t x = 0;
    for (std::size_t l = digits.size(); l-- > 0;) {
      x = m.add(m.multiply(x, params.moduli()[l].value() % m.value()), digits[l][i] % m.value());
    }
    sum[i] = x;
  }
  return sum;
}

/// A transformed polynomial modulo one prime, as signed coefficients.
inline std::vector<std::int64_t> coefficients(const Params& params, const Kernels& kernels, Residues transformed,
                                              std::size_t modulus) {
  const Modulus& m = params.moduli()[modulus];
  kernels.inverse(transformed.data(), m, m.last_stage());
  std::vector<std::int64_t> values;
  for (const std::uint64_t v : transformed) {
    values.push_back(v > m.value() / 2 ? static_cast<std::int64_t>(v) - static_cast<std::int64_t>(m.value())
                                       : static_cast<std::int64_t>(v));
  }
  return values;
}

/// A secret key's polynomial: -1, 0, 1.
inline std::vector<std::int64_t> secret_of(const Params& params, const Kernels& kernels, const SecretKey& key) {
  const Modulus& m = params.moduli()[0];
  const std::uint64_t one_over_radix = m.inverse(m.to_montgomery(1));
  Residues s(params.degree());
  for (std::size_t i = 0; i < s.size(); ++i) s[i] = m.multiply(key.s[i], one_over_radix);
  return coefficients(params, kernels, std::move(s), 0);
}

/// What two shares miss `expected` by, in units of their ring, as reals.
inline std::vector<double> errors_of(const ShareMatrix& sum, const ShareMatrix& expected) {
  std::vector<double> errors;
  const ShareMatrix difference = sum - expected;
  for (const UInt128 v : difference.values()) {
    errors.push_back(static_cast<double>(signed_low_bits(v, difference.ring_bits())));
  }
  return errors;
}

/// A party with a key and one that multiplies under it, with everything in reach.
class Lab {
 public:
  explicit Lab(const ParamsSpec& spec, const Kernels& kernels = *available_kernels().front())
      : params_(std::make_shared<const Params>(InsecureParams::make(spec))), kernels_(kernels) {}

  [[nodiscard]] const std::shared_ptr<const Params>& params() const { return params_; }
  [[nodiscard]] const Kernels& kernels() const { return kernels_; }
  [[nodiscard]] Random& random() { return random_; }
  [[nodiscard]] LatticeKeyOwner& owner() { return owner_; }
  [[nodiscard]] LatticeMultiplier& multiplier() { return multiplier_; }
  [[nodiscard]] const SecretKey& key() const { return KeyOwnerProbe::key(owner_); }
  [[nodiscard]] PublicKey public_key() const { return {*params_, kernels_, coin_, owner_.public_key()}; }
  [[nodiscard]] ThreadPool& pool() { return pool_; }
  void switch_noise(bool of_multiplier, bool of_owner) {
    MultiplierProbe::switch_noise(multiplier_, of_multiplier);
    KeyOwnerProbe::switch_noise(owner_, of_owner);
  }

  /// The cheapest plan that hides enough; none if there is none.
  [[nodiscard]] std::shared_ptr<const LatticePlan> plan(const ProductSpec& spec) const {
    return LatticePlan::choose({params_}, spec);
  }
  /// With a budget that hides what it likes, in the first tiling.
  [[nodiscard]] std::shared_ptr<const LatticePlan> plan(const ProductSpec& spec, const NoiseBudget& budget) const {
    const std::vector<Tiling> all = tilings(params_->degree(), spec);
    const auto one = std::ranges::find_if(all, [](const Tiling& t) { return t.row_tiles * t.inner_tiles == 1; });
    return std::make_shared<const LatticePlan>(params_, spec, one == all.end() ? all.front() : *one, budget);
  }
  /// The same plan in the ring of 2^128, without a cut: shares are ciphertexts but for what is far below a unit.
  [[nodiscard]] std::shared_ptr<const LatticePlan> fine(const LatticePlan& plan, bool cut = false) const {
    ProductSpec spec = plan.spec();
    spec.ring_bits = 128;
    NoiseBudget budget = plan.budget();
    if (!cut) budget.cut = 0;
    return std::make_shared<const LatticePlan>(params_, spec, plan.tiling(), budget);
  }

  [[nodiscard]] Bytes encrypt(const Plan& plan, const ShareMatrix& m) {
    return write_to_bytes([&](ByteSink& out) { owner_.encrypt(plan, m, random_, pool_, out); });
  }
  [[nodiscard]] std::unique_ptr<const Operand> load(const Plan& plan, ByteView bytes) {
    BufferSource in(bytes);
    return multiplier_.load(plan, in, pool_);
  }
  struct Reply {
    Bytes bytes;
    ShareMatrix kept;
  };
  [[nodiscard]] Reply multiply(const Plan& plan, const IntMatrix& x, const Operand& operand, Random& random) {
    Reply reply;
    reply.bytes =
        write_to_bytes([&](ByteSink& out) { reply.kept = multiplier_.multiply(plan, x, operand, random, pool_, out); });
    EXPECT_EQ(reply.bytes.size(), plan.reply_bytes());
    return reply;
  }
  [[nodiscard]] Reply multiply(const Plan& plan, const IntMatrix& x, const Operand& operand) {
    return multiply(plan, x, operand, random_);
  }
  [[nodiscard]] ShareMatrix open(const Plan& plan, ByteView bytes) {
    BufferSource in(bytes);
    return owner_.open(plan, in, random_, pool_);
  }

 private:
  static Coin tossed(Random& random) {
    Coin coin;
    random.fill(coin);
    return coin;
  }

  std::shared_ptr<const Params> params_;
  const Kernels& kernels_;
  Random random_;
  ThreadPool pool_{2};
  Coin coin_ = tossed(random_);
  LatticeKeyOwner owner_{params_, kernels_, coin_, random_};
  LatticeMultiplier multiplier_{params_, kernels_, coin_, owner_.public_key()};
};

/// One product taken apart, in units of the plan's result. The same randomness gives the same ciphertext with noise and
/// without.
struct TakenApart {
  Bytes reply;
  Bytes whole_reply;                             ///< the same before anything was cut off
  std::vector<double> nu;                        ///< what hides nothing: 2^t / q * nu
  std::vector<double> cut;                       ///< 2^t / q * rho s
  std::vector<double> kept_exact, opened_exact;  ///< shares before noise and rounding: where they stand between units
  std::vector<double> kept_noise;                ///< what the multiplier's share has beside its ciphertext
  std::vector<double> opened_noise;              ///< the same of the key owner's share
};

inline TakenApart take_apart(Lab& lab, const LatticePlan& plan, const IntMatrix& x, const ShareMatrix& m,
                             const Bytes& operand_bytes) {
  std::array<std::byte, KeyStream::kKeyBytes> key{};
  lab.random().fill(key);
  const int fine_bits = 128 - plan.spec().ring_bits;
  const auto fine = lab.fine(plan);
  const auto fine_cut = lab.fine(plan, true);
  const auto operand = lab.load(plan, operand_bytes);
  const auto fine_operand = lab.load(*fine, operand_bytes);
  Random first = Random::derived(key, {});
  Random second = Random::derived(key, {});
  Random third = Random::derived(key, {});
  TakenApart all;
  const Lab::Reply reply = lab.multiply(plan, x, *operand, first);
  const ShareMatrix opened = lab.open(plan, reply.bytes);
  all.reply = reply.bytes;
  lab.switch_noise(false, false);
  const Lab::Reply exact = lab.multiply(*fine, x, *fine_operand, second);
  EXPECT_EQ(lab.multiply(*fine_cut, x, *fine_operand, third).bytes, reply.bytes) << "the same ciphertext";
  all.whole_reply = exact.bytes;
  const ShareMatrix opened_whole = lab.open(*fine, exact.bytes);
  const ShareMatrix opened_cut = lab.open(*fine_cut, reply.bytes);
  lab.switch_noise(true, true);
  const auto in_fine = [&](const ShareMatrix& share) {
    ShareMatrix wide(share.rows(), share.cols(), share.scale());
    for (std::size_t i = 0; i < share.values().size(); ++i) wide.values()[i] = share.values()[i] << fine_bits;
    return wide;
  };
  const auto units = [&](const ShareMatrix& a, const ShareMatrix& b) {
    std::vector<double> values = errors_of(a, b);
    for (double& v : values) v = std::ldexp(v, -fine_bits);
    return values;
  };
  const auto between_units = [&](const ShareMatrix& share) {
    std::vector<double> values;
    for (const UInt128 v : share.values()) {
      values.push_back(std::ldexp(static_cast<double>(signed_low_bits(v, fine_bits)), -fine_bits));
    }
    return values;
  };
  all.nu = units(exact.kept + opened_whole, in_fine(blindfl::multiply(x, m)));
  all.cut = units(opened_cut, opened_whole);
  all.kept_exact = between_units(exact.kept);
  all.opened_exact = between_units(opened_cut);
  all.kept_noise = units(in_fine(reply.kept), exact.kept);
  all.opened_noise = units(in_fine(opened), opened_cut);
  return all;
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

inline double deviation(const std::vector<double>& values) {
  double squares = 0;
  for (const double v : values) squares += v * v;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

/// The density of a sum of four numbers, each uniform in [-1/2, 1/2]: what noise is made of.
inline double noise_density(double x) {
  x = std::abs(x);
  if (x >= 2) return 0;
  return x >= 1 ? (2 - x) * (2 - x) * (2 - x) / 6 : (4 - 6 * x * x + 3 * x * x * x) / 6;
}
/// Its integral from -2 to x.
inline double noise_distribution(double x) {
  if (x > 0) return 1 - noise_distribution(-x);
  if (x <= -2) return 0;
  const double y = 2 + x;
  return y <= 1 ? y * y * y * y / 24 : y * y * y * y / 24 - (y - 1) * (y - 1) * (y - 1) * (y - 1) / 6;
}

/// Kolmogorov and Smirnov's distance between two samples, in units of what chance gives. Chance exceeds 3.5 once in
/// 2 * exp(-24.5), 5e-11.
constexpr double kFar = 3.5;

template <class T>
double distance(std::vector<T> a, std::vector<T> b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  double most = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const T x = std::min(a[i], b[j]);
    while (i < a.size() && a[i] == x) ++i;
    while (j < b.size() && b[j] == x) ++j;
    most = std::max(most, std::abs(static_cast<double>(i) / static_cast<double>(a.size()) -
                                   static_cast<double>(j) / static_cast<double>(b.size())));
  }
  return most * std::sqrt(static_cast<double>(a.size() * b.size()) / static_cast<double>(a.size() + b.size()));
}

/// The same between a sample and all numbers from `least` to `most`, each as likely.
inline double distance_from_uniform(std::vector<double> values, double least, double most) {
  std::ranges::sort(values);
  double largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double expected = std::clamp((values[i] - least) / (most - least), 0.0, 1.0);
    const auto n = static_cast<double>(values.size());
    largest = std::max({largest, std::abs(expected - static_cast<double>(i) / n),
                        std::abs(expected - static_cast<double>(i + 1) / n)});
  }
  return largest * std::sqrt(static_cast<double>(values.size()));
}
/// And noise of words of so many bits.
inline double distance_from_noise(std::vector<double> values, int noise_word) {
  for (double& v : values) v = noise_distribution(std::ldexp(v, -noise_word));
  return distance_from_uniform(std::move(values), 0, 1);
}

}  // namespace blindfl::he::lattice
