// Functions of shared values, through real ciphertexts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "blindfl/base/error.h"
#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/mpc/prepared_phases.h"
#include "blindfl/mpc/smooth_plan.h"
#include "he/lattice/kernel_set.h"
#include "testing/thrown.h"

namespace blindfl::mpc::smooth_plan_test {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

struct Pair {
  ShareMatrix a;
  ShareMatrix b;
};

class Parties {
 public:
  explicit Parties(const he::LatticeScheme& scheme) : slots_(scheme.slots()) { random_.fill(coin_); }

  [[nodiscard]] Random& random() { return random_; }
  [[nodiscard]] ThreadPool& pool() { return pool_; }
  [[nodiscard]] const std::shared_ptr<const he::Slots>& slots() const { return slots_; }
  [[nodiscard]] const he::Coin& coin() const { return coin_; }

  [[nodiscard]] Pair shared(std::size_t rows, std::size_t cols, const std::vector<double>& z) {
    auto [a, b] = split(encode_ring(rows, cols, z, 20, 2048), random_);
    return {std::move(a), std::move(b)};
  }
  [[nodiscard]] std::shared_ptr<const SmoothPlan> plan(const SmoothFunction& f, std::size_t rows, std::size_t cols,
                                                       std::uint64_t run_replies = 0, double error = 0) {
    return std::make_shared<const SmoothPlan>(
        slots_, f, SmoothSpec{.rows = rows, .cols = cols, .run_replies = run_replies, .error = error});
  }
  [[nodiscard]] std::vector<Pair> evaluate(const std::shared_ptr<const SmoothPlan>& plan, const Pair& z) {
    BufferSink operand;
    SmoothOwner owner(plan, coin_, z.b, random_, pool_, operand);
    EXPECT_EQ(operand.bytes().size(), plan->operand_bytes());
    BufferSource in(operand.bytes());
    BufferSink reply;
    auto kept = multiply_smooth(*plan, coin_, in, z.a, random_, pool_, reply);
    EXPECT_EQ(reply.bytes().size(), plan->reply_bytes());
    BufferSource back(reply.bytes());
    auto opened = owner.open(back, pool_);
    std::vector<Pair> all;
    for (std::size_t i = 0; i < kept.size(); ++i) all.push_back({std::move(kept[i]), std::move(opened[i])});
    return all;
  }

 private:
  std::shared_ptr<const he::Slots> slots_;
  Random random_;
  ThreadPool pool_{2};
  he::Coin coin_{};
};

/// Each fit once: they take longer than what is tested with them.
const SmoothFunction& fitted(const std::vector<Smooth>& functions, double low, double high, double error) {
  static std::map<std::tuple<std::vector<Smooth>, double, double, double>, SmoothFunction> made;
  const auto key = std::tuple(functions, low, high, error);
  const auto found = made.find(key);
  if (found != made.end()) return found->second;
  return made.emplace(key, SmoothFunction::fit({.functions = functions, .low = low, .high = high, .error = error}))
      .first->second;
}

std::vector<double> on_grid(std::vector<double> z) {
  for (double& x : z) x = std::floor(x * 0x1p20) * 0x1p-20;
  return z;
}

std::vector<double> spread(double low, double high, std::size_t n) {
  std::vector<double> z;
  for (std::size_t i = 0; i < n; ++i) z.push_back(low + (high - low) * static_cast<double>(i) / static_cast<double>(n));
  return on_grid(std::move(z));
}

double largest_error(const Pair& found, Smooth f, const std::vector<double>& z) {
  const auto reals = decode_ring(open(found.a, found.b));
  double most = 0;
  for (std::size_t i = 0; i < z.size(); ++i) most = std::max(most, std::abs(reals[i] - value_of(f, z[i])));
  return most;
}

class SmoothOfShares : public ::testing::TestWithParam<std::string> {
 protected:
  he::LatticeScheme scheme_{{&he::lattice::kernels_by_name(GetParam())}};
  Parties parties_{scheme_};
};

TEST_P(SmoothOfShares, ComesOutAsExactAsStated) {
  struct Case {
    std::vector<Smooth> functions;
    double low, high, error;
  };
  for (const Case& c : {Case{{Smooth::kSigmoid}, -12, 12, 1e-4},
                        {{Smooth::kTanh, Smooth::kTanhSlope}, -8, 8, 1e-4},
                        {{Smooth::kExp}, -16, 0.02, 1e-4},
                        {{Smooth::kLog}, 0.99, 10.05, 1e-4},
                        {{Smooth::kSoftplus, Smooth::kSigmoid}, -12, 12, 1e-4},
                        {{Smooth::kGelu, Smooth::kGeluSlope}, -8, 8, 1e-4}}) {
    const auto& f = fitted(c.functions, c.low, c.high, c.error);
    const auto plan = parties_.plan(f, 32, 4);
    const std::vector<std::vector<double>> inputs{
        spread(c.low + 1e-5, c.high, 128), on_grid(std::vector<double>(128, c.low + 1e-5)),
        on_grid(std::vector<double>(128, c.high)), on_grid(std::vector<double>(128, (c.low + c.high) / 2))};
    for (const auto& z : inputs) {
      const auto found = parties_.evaluate(plan, parties_.shared(32, 4, z));
      for (std::size_t i = 0; i < c.functions.size(); ++i) {
        EXPECT_EQ(found[i].a.rows(), 32U);
        EXPECT_LE(largest_error(found[i], c.functions[i], z), plan->error(i)) << f.describe();
        EXPECT_LE(plan->error(i), 3e-4) << f.describe();
      }
    }
    // One party has it all.
    const auto z = spread(c.low + 1e-5, c.high, 128);
    const Pair all{ShareMatrix(32, 4, 20), encode_ring(32, 4, z, 20, 2048)};
    EXPECT_LE(largest_error(parties_.evaluate(plan, all)[0], c.functions[0], z), plan->error(0));
    EXPECT_LE(largest_error(parties_.evaluate(plan, {all.b, all.a})[0], c.functions[0], z), plan->error(0));
  }
}

TEST_P(SmoothOfShares, CanBePreparedAhead) {
  for (const auto& functions : {std::vector{Smooth::kTanh, Smooth::kTanhSlope}, std::vector{Smooth::kSoftplus}}) {
    const auto& f = fitted(functions, -8, 8, 1e-4);
    const auto plan = std::make_shared<const PreparationPlan>(parties_.slots(), f, SmoothSpec{.rows = 25, .cols = 8});
    BufferSink operand;
    PreparingOwner owner(plan, parties_.coin(), parties_.random(), parties_.pool(), operand);
    EXPECT_EQ(operand.bytes().size(), plan->operand_bytes());
    BufferSource in(operand.bytes());
    BufferSink reply;
    PreparedPhases a = prepare_phases(plan, parties_.coin(), in, parties_.random(), parties_.pool(), reply);
    EXPECT_EQ(reply.bytes().size(), plan->reply_bytes());
    BufferSource back(reply.bytes());
    PreparedPhases b = owner.open(back, parties_.pool());
    const auto z = spread(-8, 8, 200);
    const Pair shares = parties_.shared(25, 8, z);
    BufferSink from_a;
    BufferSink from_b;
    a.mask(shares.a, from_a);
    b.mask(shares.b, from_b);
    EXPECT_EQ(from_a.bytes().size(), 800U);
    BufferSource to_a(from_b.bytes());
    BufferSource to_b(from_a.bytes());
    const auto kept = a.finish(f, to_a);
    const auto opened = b.finish(f, to_b);
    for (std::size_t i = 0; i < functions.size(); ++i) {
      EXPECT_LE(largest_error({kept[i], opened[i]}, functions[i], z), plan->error(f.parts()[i]));
      EXPECT_LE(plan->error(f.parts()[i]), 2e-4);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, SmoothOfShares, ::testing::ValuesIn(he::lattice::kernel_names()),
                         [](const auto& test) { return test.param; });

const he::LatticeScheme& scheme() {
  static const he::LatticeScheme made;
  return made;
}

/// exp(z - max), log of the sum, exp(z - max - log): three round trips, no product.
TEST(SmoothChain, SoftmaxOfShares) {
  Parties parties(scheme());
  constexpr std::size_t kRows = 32;
  constexpr std::size_t kCols = 10;
  const auto down = [](const ShareMatrix& m) { return rescale(m, 20); };
  std::vector<double> z;
  SeededRandom seeded(5);
  for (std::size_t r = 0; r < kRows; ++r) {
    std::vector<double> row;
    for (std::size_t c = 0; c < kCols; ++c) row.push_back(5 * seeded.normal());
    const double most = *std::max_element(row.begin(), row.end());
    for (const double x : row) z.push_back(std::max(x - most, -16.0));
  }
  z = on_grid(std::move(z));
  const Pair shares = parties.shared(kRows, kCols, z);
  const auto& exp = fitted({Smooth::kExp}, -16.1, 0.05, 3e-5);
  const auto& log = fitted({Smooth::kLog}, 0.98, 10.1, 3e-5);
  const auto& last = fitted({Smooth::kExp}, -19, 0.05, 3e-5);
  const Pair e = parties.evaluate(parties.plan(exp, kRows, kCols), shares)[0];
  Pair sums{ShareMatrix(kRows, 1, 32), ShareMatrix(kRows, 1, 32)};
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t c = 0; c < kCols; ++c) {
      sums.a.row(r)[0] += e.a.row(r)[c];
      sums.b.row(r)[0] += e.b.row(r)[c];
    }
  }
  const Pair l = parties.evaluate(parties.plan(log, kRows, 1), {down(sums.a), down(sums.b)})[0];
  Pair difference = shares;
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t c = 0; c < kCols; ++c) {
      difference.a.row(r)[c] -= down(l.a).row(r)[0];
      difference.b.row(r)[c] -= down(l.b).row(r)[0];
    }
  }
  const Pair p = parties.evaluate(parties.plan(last, kRows, kCols), difference)[0];
  const auto found = decode_ring(open(p.a, p.b));
  for (std::size_t r = 0; r < kRows; ++r) {
    double sum = 0;
    for (std::size_t c = 0; c < kCols; ++c) sum += std::exp(z[r * kCols + c]);
    for (std::size_t c = 0; c < kCols; ++c) {
      EXPECT_NEAR(found[r * kCols + c], std::exp(z[r * kCols + c]) / sum, 4e-4);
    }
  }
}

TEST(SmoothPlans, AskForNarrowOrWideSharesAsTheyNeed) {
  Parties parties(scheme());
  const auto& sigmoid = fitted({Smooth::kSigmoid}, -8, 8, 1e-3);
  const auto plan = parties.plan(sigmoid, 4, 4);
  const auto z = spread(-8, 8, 16);
  const Pair wide = parties.shared(4, 4, z);
  const Pair narrow{narrowed(wide.a, 32), narrowed(wide.b, 32)};
  EXPECT_LE(largest_error(parties.evaluate(plan, narrow)[0], Smooth::kSigmoid, z), plan->error(0));
  EXPECT_THROW(plan->check(narrowed(wide.a, 31)), InvalidArgument);
  EXPECT_THROW(plan->check(ShareMatrix(4, 4, 21)), InvalidArgument);
  EXPECT_THROW(plan->check(ShareMatrix(4, 3, 20)), InvalidArgument);
  const auto softplus = parties.plan(fitted({Smooth::kSoftplus}, -8, 8, 1e-3), 4, 4);
  ASSERT_TRUE(softplus->function().needs_wide_shares());
  EXPECT_THAT(message_of<InvalidArgument>([&] { softplus->check(narrow.a); }), HasSubstr("modulo 2^128"));
}

TEST(SmoothPlans, LongRunsTakeLargerParameters) {
  Parties parties(scheme());
  const auto& sigmoid = fitted({Smooth::kSigmoid}, -12, 12, 1e-4);
  const auto short_run = parties.plan(sigmoid, 128, 1, 1, 1e-5);
  const auto long_run = parties.plan(sigmoid, 128, 1, 100'000, 1e-5);
  EXPECT_GT(long_run->operand_bytes(), short_run->operand_bytes());
  const auto z = spread(-12, 12, 128);
  EXPECT_LE(largest_error(parties.evaluate(long_run, parties.shared(128, 1, z))[0], Smooth::kSigmoid, z),
            long_run->error(0));
  EXPECT_THROW((void)parties.plan(sigmoid, 128, 1, 100'000, 1e-15), InvalidArgument);
}

TEST(Prepared, ServesForOneZ) {
  Parties parties(scheme());
  const auto& f = fitted({Smooth::kSigmoid}, -8, 8, 1e-3);
  const auto& other = fitted({Smooth::kSigmoid}, -9, 9, 1e-3);
  const auto plan = std::make_shared<const PreparationPlan>(parties.slots(), f, SmoothSpec{.rows = 4, .cols = 1});
  BufferSink operand;
  PreparingOwner owner(plan, parties.coin(), parties.random(), parties.pool(), operand);
  BufferSource in(operand.bytes());
  BufferSink reply;
  PreparedPhases a = prepare_phases(plan, parties.coin(), in, parties.random(), parties.pool(), reply);
  const ShareMatrix z(4, 1, 20);
  const Bytes zeros(16);
  const auto finish = [&](PreparedPhases& p, const SmoothFunction& function) {
    BufferSource peer(zeros);
    (void)p.finish(function, peer);
  };
  BufferSink out;
  EXPECT_THROW(finish(a, f), InvalidArgument) << "before z - r was sent";
  EXPECT_THROW(a.mask(ShareMatrix(5, 1, 20), out), InvalidArgument);
  a.mask(z, out);
  EXPECT_THAT(message_of<InvalidArgument>([&] { a.mask(z, out); }), HasSubstr("have been used"));
  EXPECT_THAT(message_of<InvalidArgument>([&] { finish(a, other); }), HasSubstr("other frequencies"));
  PreparedPhases moved = std::move(a);
  finish(moved, f);
  EXPECT_THROW(finish(moved, f), InvalidArgument);
  EXPECT_THROW(moved.mask(z, out), InvalidArgument);
  BufferSource back(reply.bytes());
  PreparedPhases b = owner.open(back, parties.pool());
  b.mask(z, out);
  BufferSource few(ByteView(zeros).first(15));
  EXPECT_THROW((void)b.finish(f, few), ProtocolError);
  EXPECT_THROW(finish(b, f), InvalidArgument) << "gone";
  BufferSource again(reply.bytes());
  EXPECT_THROW((void)owner.open(again, parties.pool()), InvalidArgument);
}

// What travels in the open is z - r: uniform.
TEST(Prepared, MasksAreFresh) {
  constexpr std::size_t kValues = 256;
  Parties parties(scheme());
  const auto& f = fitted({Smooth::kSigmoid}, -8, 8, 1e-3);
  const auto plan = std::make_shared<const PreparationPlan>(parties.slots(), f, SmoothSpec{.rows = kValues, .cols = 1});
  Bytes sent[2];
  for (Bytes& bytes : sent) {
    BufferSink operand;
    PreparingOwner owner(plan, parties.coin(), parties.random(), parties.pool(), operand);
    BufferSource in(operand.bytes());
    BufferSink reply;
    PreparedPhases a = prepare_phases(plan, parties.coin(), in, parties.random(), parties.pool(), reply);
    BufferSink out;
    a.mask(ShareMatrix(kValues, 1, 20), out);
    bytes = out.take();
  }
  EXPECT_NE(sent[0], sent[1]);
  // Of a z that is 0 everywhere: every bit of r is a coin toss.
  for (std::size_t bit = 0; bit < 32; ++bit) {
    std::size_t ones = 0;
    for (const Bytes& bytes : sent) {
      BufferSource in(bytes);
      while (in.remaining() > 0) ones += in.read_u32() >> bit & 1;
    }
    EXPECT_NEAR(static_cast<double>(ones), kValues, 6 * 0.5 * std::sqrt(2.0 * kValues)) << bit;
  }
}

}  // namespace
}  // namespace blindfl::mpc::smooth_plan_test
