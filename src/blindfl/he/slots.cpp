#include "blindfl/he/slots.h"

#include <algorithm>
#include <cmath>

#include "blindfl/base/digest.h"

namespace blindfl::he {

namespace {

constexpr double kLargestCoefficient = 1 << 20;

void check_share(const SlotSpec& spec, std::size_t values) {
  require<InvalidArgument>(values == spec.values, spec.describe(), ": a share of ", values, " values is not one of it");
}

}  // namespace

std::string SlotSpec::describe() const {
  return "slots for " + std::to_string(values) + " values, " + std::to_string(frequencies.size()) + " frequencies, " +
         std::to_string(functions.size()) + " functions";
}

void check_spec(const SlotSpec& spec) {
  const auto ok = [&](bool condition, const char* what) {
    require<InvalidArgument>(condition, spec.describe(), ": ", what);
  };
  ok(spec.values > 0 && spec.values <= std::size_t{1} << 40, "values must be from 1 to 2^40");
  ok(!spec.frequencies.empty() && spec.frequencies.size() <= kMostFrequencies, "frequencies must be from 1 to 1024");
  ok(spec.result_scale >= 0 && spec.result_scale <= 40, "the result's scale must be from 0 to 40");
  ok(std::isfinite(spec.error) && spec.error >= 0, "the error must not be negative");
  for (const auto& function : spec.functions) {
    ok(function.size() == spec.frequencies.size(), "each function needs a coefficient for each frequency");
    ok(std::ranges::all_of(function,
                           [](const ComplexNumber& c) { return std::hypot(c.re, c.im) <= kLargestCoefficient; }),
       "coefficients must be at most 2^20");
    ok(std::ranges::any_of(function, [](const ComplexNumber& c) { return c.re != 0 || c.im != 0; }),
       "a function is 0 everywhere");
  }
}

std::shared_ptr<const SlotPlan> Slots::plan(const SlotSpec& spec) const {
  check_spec(spec);
  return do_plan(spec);
}

std::unique_ptr<SlotKey> Slots::encrypt(const std::shared_ptr<const SlotPlan>& plan, const Coin& coin,
                                        std::span<const std::uint32_t> share, Random& random, ThreadPool& pool,
                                        ByteSink& out) const {
  check_share(plan->spec(), share.size());
  return do_encrypt(plan, coin, share, random, pool, out);
}

std::vector<ShareMatrix> Slots::multiply(const SlotPlan& plan, const Coin& coin, ByteSource& operand,
                                         std::span<const std::uint32_t> share, Random& random, ThreadPool& pool,
                                         ByteSink& reply) const {
  check_share(plan.spec(), share.size());
  return do_multiply(plan, coin, operand, share, random, pool, reply);
}

Coin coin_of_operand(const Coin& session, std::uint64_t number) {
  const Bytes digest = digest_of(write_to_bytes([&](ByteSink& out) {
    out.write_text("blindfl coin of an operand 1");
    out.write(session);
    out.write_u64(number);
  }));
  Coin coin;
  std::copy_n(digest.begin(), coin.size(), coin.begin());
  return coin;
}

std::vector<ShareMatrix> SlotKey::open(ByteSource& reply, ThreadPool& pool) {
  require<InvalidArgument>(!used_, "a key of slots opens one reply, and has done so");
  used_ = true;
  struct Forget {
    SlotKey& key;
    ~Forget() { key.forget(); }
  } forget{*this};
  return do_open(reply, pool);
}

}  // namespace blindfl::he
