#include <gmp.h>

#include <cstring>

#include "blindfl/base/error.h"
#include "blindfl/he/paillier/ring_loops.h"

namespace blindfl::he::paillier {

namespace {

/// One residue at a time, in GMP's functions on limbs, of which only those run here that take the same time for any
/// operands. Digits are always below m.
template <std::size_t N>
class PortableDigits {
 public:
  static constexpr std::string_view kName = "portable";
  static constexpr int kLimbBits = 64;
  static constexpr std::size_t kLimbs = N;
  static constexpr std::size_t kLanes = 1;
  static constexpr std::size_t kSelected = 1;
  /// Of GMP's functions for secrets.
  static constexpr std::size_t kScratch = 2 * N;

  struct Number {
    Limb digits[2][N];
  };

  PortableDigits(const Limb* m, Limb negated_inverse, const Limb* squared_radix)
      : m_(m), negated_inverse_(negated_inverse), squared_radix_(squared_radix) {
    require<Error>(mpn_sec_mul_itch(N, N) <= mp_size_t{kScratch} && mpn_sec_sqr_itch(N) <= mp_size_t{kScratch},
                   "this GMP needs more memory for a product than was known");
  }

  static void load(Number& to, const Limb* const* rows) { std::memcpy(&to, rows[0], sizeof(to)); }
  static void store(Limb* const* rows, std::size_t /*count*/, const Number& x) { std::memcpy(rows[0], &x, sizeof(x)); }
  static void broadcast(Number& to, const Limb* row) { std::memcpy(&to, row, sizeof(to)); }

  void multiply(Number& to, const Number& a, const Number& b) const {
    Limb low[N];
    Quotient quotient;
    Limb sum[2 * N];
    times(sum, a.digits[0], b.digits[0]);
    reduce<1>(low, sum, 0, quotient);

    Limb other[2 * N];
    times(sum, a.digits[0], b.digits[1]);
    times(other, a.digits[1], b.digits[0]);
    const Limb top = mpn_add_n(sum, sum, other, 2 * N);
    finish(to, low, sum, top, quotient);
  }

  void square(Number& to, const Number& a) const {
    Limb low[N];
    Quotient quotient;
    Limb sum[2 * N];
    Limb scratch[kScratch];
    mpn_sec_sqr(sum, a.digits[0], N, scratch);
    reduce<1>(low, sum, 0, quotient);

    times(sum, a.digits[0], a.digits[1]);
    const Limb top = mpn_lshift(sum, sum, 2 * N, 1);
    finish(to, low, sum, top, quotient);
  }

  void add_plaintext(Number& x, const Limb* const* values) const {
    Limb value[N];
    Limb sum[2 * N];
    Quotient quotient;
    times(sum, values[0], squared_radix_);
    reduce<1>(value, sum, 0, quotient);
    times(sum, x.digits[0], value);
    reduce<1>(value, sum, 0, quotient);
    Limb top = mpn_add_n(x.digits[1], x.digits[1], value, N);
    subtract_m_once(x.digits[1], top);
  }

  void leave(Number& x) const {
    Limb low[N];
    Quotient quotient;
    Limb sum[2 * N] = {};
    std::memcpy(sum, x.digits[0], sizeof(x.digits[0]));
    reduce<1>(low, sum, 0, quotient);
    std::memcpy(sum, x.digits[1], sizeof(x.digits[1]));
    std::memset(sum + N, 0, sizeof(x.digits[1]));
    finish(x, low, sum, 0, quotient);
  }

  static void select(Number* to, const Number* table, std::size_t entries, const std::uint8_t* indices) {
    mpn_sec_tabselect(to->digits[0], table->digits[0], 2 * N, static_cast<mp_size_t>(entries), indices[0]);
  }

 private:
  /// What a reduction took of m: a number between -R and R, as a signed one of twice the limbs.
  struct Quotient {
    Limb limbs[2 * N];
    Limb negative = 0;
  };

  static void times(Limb (&to)[2 * N], const Limb* a, const Limb* b) {
    Limb scratch[kScratch];
    mpn_sec_mul(to, a, N, b, N, scratch);
  }

  /// to = (sum + quotient m) / R, a digit. `top` stands above the sum, which is more than -R and, for `Times` = 1 or 2,
  /// not more than `Times` (m - 1)^2 + R.
  template <int Times>
  void reduce(Limb (&to)[N], Limb (&sum)[2 * N], Limb top, Quotient& quotient) const {
    Limb carries[N];
    for (std::size_t i = 0; i < N; ++i) {
      quotient.limbs[i] = sum[i] * negated_inverse_;
      carries[i] = mpn_addmul_1(sum + i, m_, N, quotient.limbs[i]);
    }
    // Not negative: it is more than -1.
    top += mpn_add_n(to, sum + N, carries, N);
    Limb kept = 0;
    for (int i = 0; i < Times; ++i) kept = subtract_m_once(to, top);
    // Where m was taken from the digit, R is from the quotient.
    quotient.negative = kept ^ 1;
    for (std::size_t i = N; i < 2 * N; ++i) quotient.limbs[i] = 0 - quotient.negative;
  }

  /// Takes m from `top` R + x, unless that is below m. Returns whether it was.
  Limb subtract_m_once(Limb (&x)[N], Limb& top) const {
    top -= mpn_sub_n(x, x, m_, N);
    const Limb negative = top >> 63;
    top += mpn_cnd_add_n(negative, x, x, m_, N);
    return negative;
  }

  /// to = low + m (sum - quotient) / R: what the first digit took of m is missing in the second.
  void finish(Number& to, const Limb (&low)[N], Limb (&sum)[2 * N], Limb top, Quotient& quotient) const {
    top -= mpn_sub_n(sum, sum, quotient.limbs, 2 * N);
    reduce<2>(to.digits[1], sum, top + quotient.negative, quotient);
    std::memcpy(to.digits[0], low, sizeof(low));
  }

  const Limb* m_;
  Limb negated_inverse_;
  const Limb* squared_radix_;
};

}  // namespace

std::unique_ptr<const Ring> make_portable_ring(const BigInt& m) {
  switch ((m.bits() + 63) / 64) {
    case 8:
      return std::make_unique<RingOf<PortableDigits<8>>>(m);
    case 16:
      return std::make_unique<RingOf<PortableDigits<16>>>(m);
    case 24:
      return std::make_unique<RingOf<PortableDigits<24>>>(m);
    case 32:
      return std::make_unique<RingOf<PortableDigits<32>>>(m);
    case 48:
      return std::make_unique<RingOf<PortableDigits<48>>>(m);
    default:
      return nullptr;
  }
}

}  // namespace blindfl::he::paillier
