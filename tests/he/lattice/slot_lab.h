#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <vector>

#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/he/lattice/slot_plan.h"
#include "blindfl/he/slots.h"

namespace blindfl::he::lattice {

/// Two parties and all that they exchange for a product of slots.
struct SlotRun {
  Bytes operand;
  Bytes reply;
  std::vector<ShareMatrix> kept;
  std::vector<ShareMatrix> opened;
};

struct SlotShares {
  std::vector<std::uint32_t> multiplier;
  std::vector<std::uint32_t> owner;
};

class SlotLab {
 public:
  explicit SlotLab(const Slots& slots) : slots_(slots) { random_.fill(coin_); }

  [[nodiscard]] Random& random() { return random_; }
  [[nodiscard]] ThreadPool& pool() { return pool_; }
  [[nodiscard]] const Coin& coin() const { return coin_; }

  [[nodiscard]] SlotRun run(const std::shared_ptr<const SlotPlan>& plan, const SlotShares& shares) {
    SlotRun all;
    std::unique_ptr<SlotKey> key;
    all.operand =
        write_to_bytes([&](ByteSink& out) { key = slots_.encrypt(plan, coin_, shares.owner, random_, pool_, out); });
    BufferSource operand(all.operand);
    all.reply = write_to_bytes([&](ByteSink& out) {
      all.kept = slots_.multiply(*plan, coin_, operand, shares.multiplier, random_, pool_, out);
    });
    EXPECT_EQ(operand.remaining(), 0U);
    BufferSource reply(all.reply);
    all.opened = key->open(reply, pool_);
    EXPECT_EQ(reply.remaining(), 0U);
    EXPECT_EQ(all.operand.size(), plan->operand_bytes());
    EXPECT_EQ(all.reply.size(), plan->reply_bytes());
    return all;
  }

  /// Uniform shares of values modulo 2^32.
  [[nodiscard]] SlotShares shares_of(const std::vector<std::uint32_t>& values) {
    SlotShares shares;
    for (const std::uint32_t z : values) {
      shares.multiplier.push_back(static_cast<std::uint32_t>(random_.next_u64()));
      shares.owner.push_back(z - shares.multiplier.back());
    }
    return shares;
  }

 private:
  const Slots& slots_;
  Random random_;
  ThreadPool pool_{2};
  Coin coin_{};
};

/// What shares of one matrix add up to.
inline std::vector<double> opened_reals(const SlotRun& run, std::size_t matrix) {
  return decode_ring(run.kept[matrix] + run.opened[matrix]);
}

/// The sum that a function stands for.
inline double exact_sum(const SlotSpec& spec, std::size_t function, std::uint32_t z) {
  double sum = 0;
  for (std::size_t j = 0; j < spec.frequencies.size(); ++j) {
    const double t = 2 * std::numbers::pi * static_cast<double>(spec.frequencies[j] * z) * 0x1p-32;
    sum += spec.functions[function][j].re * std::cos(t) - spec.functions[function][j].im * std::sin(t);
  }
  return sum;
}

/// The largest error of all functions and values, in standard deviations.
inline double largest_deviation(const SlotPlan& plan, const SlotRun& run, const SlotShares& shares) {
  double most = 0;
  for (std::size_t f = 0; f < plan.spec().functions.size(); ++f) {
    const auto found = opened_reals(run, f);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double error = found[i] - exact_sum(plan.spec(), f, shares.multiplier[i] + shares.owner[i]);
      most = std::max(most, std::abs(error) / plan.deviation(f));
    }
  }
  return most;
}

/// Odd multiples of `m`, with coefficients that fall off as those of a sigmoid.
inline SlotSpec slot_spec(std::size_t values, std::size_t frequencies, std::size_t functions = 1,
                          std::uint32_t m = 97) {
  SlotSpec spec{.values = values};
  for (std::size_t j = 0; j < frequencies; ++j) spec.frequencies.push_back(m * static_cast<std::uint32_t>(2 * j + 1));
  for (std::size_t f = 0; f < functions; ++f) {
    spec.functions.emplace_back();
    for (std::size_t j = 0; j < frequencies; ++j) {
      const auto d = static_cast<double>(j + 1);
      spec.functions[f].push_back({0.1 * static_cast<double>(f) / d, -0.6 / (d * d)});
    }
  }
  return spec;
}

}  // namespace blindfl::he::lattice
