#include "blindfl/share/digit_plan.h"

#include <algorithm>
#include <cassert>

namespace blindfl {

namespace {

constexpr int kWordDigit = 52;
constexpr UInt128 kOne = 1;

std::size_t digits_of(int bits, int digit_bits) {
  return static_cast<std::size_t>((bits + digit_bits - 1) / digit_bits);
}

// `left` of the lower digits and `right` of all: half of each.
UInt128 halves(int digit_bits, std::size_t digits) {
  UInt128 sum = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    const int shift = digit_bits * static_cast<int>(i) + digit_bits - 1;
    if (shift < 128) sum += kOne << shift;
  }
  return sum;
}

void add_place(DigitPlan& plan, int shift) {
  assert(plan.place_count < DigitPlan::kMostPlaces);
  plan.places[plan.place_count++] = {shift, static_cast<std::uint8_t>(plan.pair_count), 0};
}

void add_pair(DigitPlan& plan, std::size_t left, std::size_t right, bool high) {
  assert(plan.pair_count < DigitPlan::kMostPairs && plan.place_count > 0);
  plan.pairs[plan.pair_count++] = {static_cast<std::uint8_t>(left), static_cast<std::uint8_t>(right), high};
  ++plan.places[plan.place_count - 1].count;
}

std::size_t most_pairs(const DigitPlan& plan) {
  std::size_t most = 1;
  for (std::size_t p = 0; p < plan.place_count; ++p) most = std::max<std::size_t>(most, plan.places[p].count);
  return most;
}

// One left digit, and right ones short enough for no product to have an upper half.
DigitPlan short_unsigned_digits(int right_bits, int ring_bits) {
  DigitPlan plan;
  plan.left_bits = kWordDigit;
  plan.left_digits = 1;
  plan.right_digits = digits_of(ring_bits, right_bits);
  plan.right_bits = right_bits;
  for (std::size_t j = 0; j < plan.right_digits; ++j) {
    add_place(plan, right_bits * static_cast<int>(j));
    add_pair(plan, 0, j, false);
  }
  return plan;
}

DigitPlan long_unsigned_digits(UInt128 most_left, int ring_bits) {
  DigitPlan plan;
  plan.left_bits = plan.right_bits = kWordDigit;
  plan.left_digits = digits_of(std::max(1, bit_length(most_left)), kWordDigit);
  plan.right_digits = digits_of(ring_bits, kWordDigit);
  const auto most_of = [](UInt128 most, std::size_t digit) {
    return std::min(most >> (kWordDigit * digit), (kOne << kWordDigit) - 1);
  };
  for (std::size_t place = 0; place < plan.right_digits; ++place) {
    add_place(plan, kWordDigit * static_cast<int>(place));
    for (std::size_t i = 0; i < plan.left_digits; ++i) {
      for (std::size_t j = 0; j < plan.right_digits; ++j) {
        if (i + j == place) add_pair(plan, i, j, false);
        const UInt128 product = most_of(most_left, i) * most_of(~static_cast<UInt128>(0) >> (128 - ring_bits), j);
        if (i + j + 1 == place && product >> kWordDigit != 0) add_pair(plan, i, j, true);
      }
    }
  }
  return plan;
}

struct Signed {
  DigitPlan plan;
  std::size_t cost = 0;  // of one value of the result, in products of digits
};

// All digits of `bits` bits but a single left one, which may be of any length.
Signed signed_digits_of(int bits, bool single_left, std::uint64_t bound, int ring_bits, std::size_t inner) {
  constexpr std::size_t kCarryCost = 48;
  DigitPlan plan;
  plan.left_bits = plan.right_bits = bits;
  plan.right_digits = digits_of(ring_bits, bits);
  plan.right_offset = halves(bits, plan.right_digits);
  plan.left_digits = 1;
  const UInt128 half = kOne << (bits - 1);
  if (!single_left) {
    while (((bound + halves(bits, plan.left_digits - 1)) >> (bits * (static_cast<int>(plan.left_digits) - 1))) >=
           half) {
      ++plan.left_digits;
    }
  }
  plan.left_offset = low64(halves(bits, plan.left_digits - 1));
  for (std::size_t place = 0; place < plan.right_digits; ++place) {
    add_place(plan, bits * static_cast<int>(place));
    for (std::size_t i = 0; i < std::min(plan.left_digits, place + 1); ++i) add_pair(plan, i, place - i, false);
  }
  const UInt128 most_left = single_left ? std::max<std::uint64_t>(bound, 1) : half;
  plan.terms = static_cast<std::size_t>((kOne << 53) / (most_left * half * most_pairs(plan)));
  if (plan.terms == 0) return {plan, 0};
  const std::size_t carries = (inner + plan.terms - 1) / plan.terms * plan.place_count;
  return {plan, plan.pair_count * inner + carries * kCarryCost};
}

}  // namespace

DigitPlan unsigned_digits(std::uint64_t bound, int ring_bits) {
  const UInt128 most_left = static_cast<UInt128>(bound) * 2;
  DigitPlan plan = long_unsigned_digits(most_left, ring_bits);
  int bits = kWordDigit;
  while (bits > 1 && most_left * ((kOne << bits) - 1) >= kOne << kWordDigit) --bits;
  if (digits_of(ring_bits, bits) < plan.pair_count) plan = short_unsigned_digits(bits, ring_bits);
  plan.left_offset = bound;
  plan.terms = (std::size_t{1} << (64 - kWordDigit)) / most_pairs(plan);
  return plan;
}

DigitPlan signed_digits(std::uint64_t bound, int ring_bits, std::size_t inner) {
  constexpr int kShortest = 16;
  constexpr int kLongest = 40;
  Signed best;
  for (int bits = kShortest; bits <= kLongest; ++bits) {
    for (const bool single_left : {true, false}) {
      const Signed found = signed_digits_of(bits, single_left, bound, ring_bits, inner);
      if (found.plan.terms > 0 && (best.plan.terms == 0 || found.cost < best.cost)) best = found;
    }
  }
  return best.plan;
}

}  // namespace blindfl
