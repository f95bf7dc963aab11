// Functions of shared values, and exact element-wise products: microseconds of each party, bytes, largest errors. One
// thread, medians of processor time.
//
// usage: bench_slots [repetitions]

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numbers>

#include "blindfl/he/elements.h"
#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/he/lattice/slot_kernels.h"
#include "blindfl/mpc/prepared_phases.h"
#include "blindfl/mpc/smooth_plan.h"
#include "timing.h"

namespace blindfl::bench {
namespace {

/// Microseconds of `body`, the median of some runs.
template <class Body>
double microseconds(int repetitions, Body&& body) {
  std::vector<double> all;
  for (int i = 0; i < repetitions; ++i) {
    const double start = cpu_seconds();
    body();
    all.push_back((cpu_seconds() - start) * 1e6);
  }
  return median(all);
}

struct Parties {
  he::LatticeScheme scheme;
  std::shared_ptr<const he::Slots> slots = scheme.slots();
  Random random;
  ThreadPool pool{1};
  he::Coin coin{};
};

void report_kernels(int repetitions) {
  const he::lattice::SlotTables tables(4096);
  const std::size_t n = tables.slots();
  Random random;
  AlignedVector<std::uint32_t> angles(n);
  random.fill_integers(std::span(angles));
  AlignedVector<double> parts[4] = {AlignedVector<double>(n), AlignedVector<double>(n), AlignedVector<double>(n),
                                    AlignedVector<double>(n)};
  AlignedVector<std::int64_t> coefficients(2 * n);
  AlignedVector<std::uint64_t> digits(2 * n);
  for (auto& d : digits) d = random.next_u64() >> 14;
  const he::lattice::DigitFraction fraction{2, {digits.data(), digits.data()}, {{0x1p-100, 0}, {0x1p-50, 0}}};
  for (const he::lattice::Kernels* kernels : he::lattice::available_kernels()) {
    const auto& slots = he::lattice::slot_kernels(kernels->name);
    const double phases =
        microseconds(repetitions, [&] { slots.phases(parts[0].data(), parts[1].data(), angles.data(), n); });
    const double encode = microseconds(repetitions, [&] {
      slots.phases(parts[0].data(), parts[1].data(), angles.data(), n);
      slots.encode(tables, parts[0].data(), parts[1].data(), 0x1p30, coefficients.data());
    });
    const double decode = microseconds(repetitions, [&] {
      slots.decode(tables, fraction, {parts[0].data(), parts[1].data(), parts[2].data(), parts[3].data()});
    });
    std::printf("%-9s microseconds for 2048 slots: phases %.1f, encode %.1f, decode %.1f\n", slots.name.data(), phases,
                encode - phases, decode);
  }
}

double largest_error(const ShareMatrix& a, const ShareMatrix& b, mpc::Smooth f, const std::vector<double>& z) {
  const auto reals = decode_ring(open(a, b));
  double most = 0;
  for (std::size_t i = 0; i < z.size(); ++i) most = std::max(most, std::abs(reals[i] - mpc::value_of(f, z[i])));
  return most;
}

struct Task {
  std::vector<mpc::Smooth> functions;
  double low;
  double high;
  double error;
  std::size_t values;
  std::uint64_t run_replies = 0;
  double noise = 0;
};

std::pair<std::vector<double>, std::pair<ShareMatrix, ShareMatrix>> shared(Parties& p, const Task& task) {
  std::vector<double> z;
  for (std::size_t i = 0; i < task.values; ++i) {
    const double x = task.low + (task.high - task.low) * static_cast<double>(p.random.next_u64() >> 11) * 0x1p-53;
    z.push_back(std::ceil(x * 0x1p20) * 0x1p-20);
  }
  return {z, split(encode_ring(task.values, 1, z, 20, 2048), p.random)};
}

/// Expected, as plans say it, and measured.
void print_times(const std::vector<double> (&times)[3], const he::ProductTimes& expected) {
  std::printf(
      "microseconds, expected / measured: owner encrypts %.0f / %.0f, multiplier %.0f / %.0f, owner opens %.0f / %.0f",
      expected.encrypt * 1e6, median(times[0]), expected.multiply * 1e6, median(times[1]), expected.open * 1e6,
      median(times[2]));
}

void report_task(Parties& p, const Task& task, int repetitions) {
  const double start = cpu_seconds();
  const auto f = mpc::SmoothFunction::fit(
      {.functions = task.functions, .low = task.low, .high = task.high, .error = task.error, .noise = task.noise});
  const double fit = cpu_seconds() - start;
  const auto plan = std::make_shared<const mpc::SmoothPlan>(
      p.slots, f,
      mpc::SmoothSpec{.rows = task.values, .cols = 1, .run_replies = task.run_replies, .error = task.error});
  const auto [z, shares] = shared(p, task);
  std::vector<double> times[3];
  std::vector<double> errors(task.functions.size());
  for (int i = 0; i < repetitions; ++i) {
    BufferSink operand(plan->operand_bytes());
    BufferSink reply(plan->reply_bytes());
    const double t0 = cpu_seconds();
    mpc::SmoothOwner owner(plan, p.coin, shares.second, p.random, p.pool, operand);
    const double t1 = cpu_seconds();
    BufferSource in(operand.bytes());
    const auto kept = mpc::multiply_smooth(*plan, p.coin, in, shares.first, p.random, p.pool, reply);
    const double t2 = cpu_seconds();
    BufferSource back(reply.bytes());
    const auto opened = owner.open(back, p.pool);
    const double t3 = cpu_seconds();
    times[0].push_back((t1 - t0) * 1e6);
    times[1].push_back((t2 - t1) * 1e6);
    times[2].push_back((t3 - t2) * 1e6);
    for (std::size_t k = 0; k < errors.size(); ++k) {
      errors[k] = std::max(errors[k], largest_error(kept[k], opened[k], task.functions[k], z));
    }
  }
  std::printf("%s, %zu values, run of %llu replies, fit %.2f s: %zu + %zu ciphertexts, %.1f + %.1f KB; ",
              f.describe().c_str(), task.values, static_cast<unsigned long long>(task.run_replies), fit,
              plan->products()->operand_ciphertexts(), plan->products()->reply_ciphertexts(),
              static_cast<double>(plan->operand_bytes()) / 1e3, static_cast<double>(plan->reply_bytes()) / 1e3);
  print_times(times, plan->products()->times());
  std::printf("; errors");
  for (std::size_t k = 0; k < errors.size(); ++k) std::printf(" %.1e (stated %.1e)", errors[k], plan->error(k));
  std::printf("\n");
}

void report_ahead(Parties& p, const Task& task, int repetitions) {
  const auto f =
      mpc::SmoothFunction::fit({.functions = task.functions, .low = task.low, .high = task.high, .error = task.error});
  const auto plan =
      std::make_shared<const mpc::PreparationPlan>(p.slots, f, mpc::SmoothSpec{.rows = task.values, .cols = 1});
  const auto [z, shares] = shared(p, task);
  std::vector<double> times[3];
  for (int i = 0; i < repetitions; ++i) {
    BufferSink operand(plan->operand_bytes());
    BufferSink reply(plan->reply_bytes());
    const double t0 = cpu_seconds();
    mpc::PreparingOwner owner(plan, p.coin, p.random, p.pool, operand);
    const double t1 = cpu_seconds();
    BufferSource in(operand.bytes());
    auto a = mpc::prepare_phases(plan, p.coin, in, p.random, p.pool, reply);
    const double t2 = cpu_seconds();
    BufferSource back(reply.bytes());
    auto b = owner.open(back, p.pool);
    const double t3 = cpu_seconds();
    BufferSink from_a;
    BufferSink from_b;
    a.mask(shares.first, from_a);
    b.mask(shares.second, from_b);
    BufferSource to_a(from_b.bytes());
    const double t4 = cpu_seconds();
    (void)a.finish(f, to_a);
    times[0].push_back((t1 - t0 + t3 - t2) * 1e6);
    times[1].push_back((t2 - t1) * 1e6);
    times[2].push_back((cpu_seconds() - t4) * 1e6);
  }
  std::printf("ahead: %s, %zu values: %.1f + %.1f KB; microseconds: owner %.0f, multiplier %.0f; later %.0f each\n",
              f.describe().c_str(), task.values, static_cast<double>(plan->operand_bytes()) / 1e3,
              static_cast<double>(plan->reply_bytes()) / 1e3, median(times[0]), median(times[1]), median(times[2]));
}

void report_elements(Parties& p, std::size_t values, int ring_bits, std::uint64_t run_values, int repetitions) {
  const auto elements = p.scheme.elements();
  const auto plan = elements->plan({.rows = values, .cols = 1, .ring_bits = ring_bits, .run_values = run_values});
  const auto factor = [&] { return random_share(values, 1, 0, p.random, ring_bits); };
  const ShareMatrix x = factor();
  const ShareMatrix y = factor();
  std::vector<double> times[3];
  for (int i = 0; i < repetitions; ++i) {
    BufferSink operand(plan->operand_bytes());
    BufferSink reply(plan->reply_bytes());
    const double t0 = cpu_seconds();
    const auto key = elements->encrypt(plan, p.coin, x, y, p.random, p.pool, operand);
    const double t1 = cpu_seconds();
    BufferSource in(operand.bytes());
    (void)elements->multiply(*plan, p.coin, in, x, y, p.random, p.pool, reply);
    const double t2 = cpu_seconds();
    BufferSource back(reply.bytes());
    (void)key->open(back, p.pool);
    times[0].push_back((t1 - t0) * 1e6);
    times[1].push_back((t2 - t1) * 1e6);
    times[2].push_back((cpu_seconds() - t2) * 1e6);
  }
  const double bytes = static_cast<double>(plan->operand_bytes() + plan->reply_bytes());
  std::printf(
      "exact product of %zu values modulo 2^%d, run of %llu: %.1f + %.1f KB (%.0f bytes a value), failures of the "
      "run 2^%.1f; ",
      values, ring_bits, static_cast<unsigned long long>(run_values), static_cast<double>(plan->operand_bytes()) / 1e3,
      static_cast<double>(plan->reply_bytes()) / 1e3, bytes / static_cast<double>(values),
      std::log2(plan->failures_of_run()));
  print_times(times, plan->times());
  std::printf("\n");
}

}  // namespace
}  // namespace blindfl::bench

int main(int argc, char** argv) {
  using namespace blindfl::bench;
  using blindfl::mpc::Smooth;
  const int repetitions = argc > 1 ? std::atoi(argv[1]) : 15;
  report_kernels(5 * repetitions);
  Parties parties;
  const std::vector<Task> tasks{
      {{Smooth::kSigmoid}, -12, 12, 1e-4, 128},
      {{Smooth::kSigmoid}, -24, 24, 1e-4, 128},
      {{Smooth::kSigmoid}, -12, 12, 1e-4, 128, 1 << 12},
      {{Smooth::kSigmoid}, -48, 48, 1e-4, 128, 1 << 12},
      {{Smooth::kSigmoid}, -12, 12, 1e-4, 1024, 1 << 12},
      {{Smooth::kTanh, Smooth::kTanhSlope}, -8, 8, 1e-4, 8192},
      {{Smooth::kTanh, Smooth::kTanhSlope}, -8, 8, 1e-4, 8192, 1 << 15},
      {{Smooth::kExp}, -16, 0.05, 1e-4, 1280, 0, 3e-6},
      {{Smooth::kExp}, -16, 0.05, 1e-4, 1280, 1 << 12, 3e-6},
      {{Smooth::kTanh, Smooth::kTanhSlope}, -16, 16, 3e-5, 1024, 1 << 15},
      {{Smooth::kTanh, Smooth::kTanhSlope}, -16, 16, 3e-5, 2048, 1 << 15},
  };
  for (const Task& task : tasks) report_task(parties, task, task.values > 4000 ? repetitions / 3 + 1 : repetitions);
  report_ahead(parties, tasks[0], repetitions);
  report_ahead(parties, tasks[5], repetitions / 3 + 1);
  report_elements(parties, 8192, 64, 1 << 24, repetitions / 3 + 1);
  report_elements(parties, 8192, 40, 1 << 24, repetitions / 3 + 1);
  report_elements(parties, 2048, 64, 1 << 24, repetitions / 3 + 1);
  report_elements(parties, 128, 64, 1 << 20, repetitions / 3 + 1);
  return 0;
}
