#include "blindfl/app/plan/machine_speed.h"

#include <ctime>

#include <algorithm>
#include <limits>
#include <utility>

#include "blindfl/he/keys.h"
#include "blindfl/he/plan.h"
#include "blindfl/share/share_matrix.h"

namespace blindfl::app {

namespace {

constexpr std::size_t kRows = 128;
constexpr std::size_t kInner = 62;
constexpr std::uint64_t kBound = std::uint64_t{1} << 20;
/// A scheme that answers quickly is measured more often, because short times are less certain.
constexpr double kEnoughSeconds = 0.2;
constexpr int kMostRepeats = 20;

/// This thread's processor time: others on the machine count little.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

IntMatrix random_features(Random& random) {
  std::vector<std::int64_t> values(kRows * kInner);
  for (std::int64_t& v : values) {
    v = static_cast<std::int64_t>(random.next_u64() % (2 * kBound)) - static_cast<std::int64_t>(kBound);
  }
  return IntMatrix::dense(kRows, kInner, std::move(values), 16, kBound);
}

/// The best of some products: what disturbs makes them longer only.
double measure(const he::Scheme& scheme, Random& random) {
  // Some schemes carry many columns at once and some few values: both get about as much to do as small layers.
  const he::ProductSpec spec{.rows = kRows,
                             .inner = kInner,
                             .cols = scheme.columns_at_once(),
                             .left_bound = kBound,
                             .left_scale = 16,
                             .right_scale = 32,
                             .ring_bits = 68,
                             .noise_bits = 31};
  ThreadPool pool;
  const auto plan = scheme.plan(spec);
  const he::ProductTimes expected = plan->times(static_cast<double>(kRows * kInner));
  const he::KeySetup setup{.set = plan->key_set()};
  const auto owner = scheme.generate_keys(setup, random);
  const auto multiplier = scheme.multiplier(setup, owner->public_key());
  const IntMatrix x = random_features(random);
  const ShareMatrix m = random_share(spec.inner, spec.cols, spec.right_scale, random, spec.ring_bits);
  double best = std::numeric_limits<double>::infinity();
  double spent = 0;
  for (int i = 0; i < kMostRepeats && (i < 2 || spent < kEnoughSeconds); ++i) {
    BufferSink operand_bytes;
    BufferSink reply;
    const double start = cpu_seconds();
    owner->encrypt(*plan, m, random, pool, operand_bytes);
    BufferSource operand_in(operand_bytes.bytes());
    const auto operand = multiplier->load(*plan, operand_in, pool);
    (void)multiplier->multiply(*plan, x, *operand, random, pool, reply);
    BufferSource reply_in(reply.bytes());
    (void)owner->open(*plan, reply_in, random, pool);
    const double took = cpu_seconds() - start;
    best = std::min(best, took);
    spent += took;
  }
  return best / (expected.encrypt + expected.load + expected.multiply + expected.open);
}

}  // namespace

double MachineSpeed::factor(std::string_view scheme) const {
  const auto found = factors.find(scheme);
  return found == factors.end() ? 1.0 : found->second;
}

MachineSpeed measure_speed(const std::vector<const he::Scheme*>& schemes, Random& random) {
  MachineSpeed speed;
  for (const he::Scheme* scheme : schemes) speed.factors.emplace(scheme->name(), measure(*scheme, random));
  return speed;
}

}  // namespace blindfl::app
