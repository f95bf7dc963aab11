#include "blindfl/he/paillier/ring_base.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "blindfl/base/error.h"
#include "blindfl/base/int128.h"
#include "blindfl/base/secret.h"

namespace blindfl::he::paillier {

namespace {

static_assert(std::is_same_v<Limb, mp_limb_t> && GMP_NUMB_BITS == 64);
static_assert(std::endian::native == std::endian::little, "digits are copied as they lie in memory");

constexpr int kWordBits = 64;
/// Rows that are turned into bytes at once: few enough to stay in the nearest cache.
constexpr std::size_t kRowsAtOnce = 16;

/// The same number in limbs of another width.
void repack(std::span<Limb> to, int to_bits, std::span<const Limb> from, int from_bits) {
  UInt128 held = 0;
  int bits = 0;
  std::size_t next = 0;
  for (Limb& limb : to) {
    while (bits < to_bits && next < from.size()) {
      held |= UInt128{from[next++]} << bits;
      bits += from_bits;
    }
    limb = static_cast<Limb>(held) & (~Limb{0} >> (kWordBits - to_bits));
    held >>= to_bits;
    bits -= to_bits;
  }
}

/// -1/a modulo 2^64 for an odd a: each of Newton's steps doubles the number of right bits, and a itself has three.
Limb negated_inverse_of(Limb a) {
  Limb x = a;
  for (int bits = 3; bits < kWordBits; bits *= 2) x *= 2 - a * x;
  return 0 - x;
}

}  // namespace

RingBase::RingBase(const BigInt& m, const Form& form)
    : form_(form),
      m_(m),
      m_squared_(m * m),
      stride_((2 * form.digit_limbs + 7) / 8 * 8),
      negated_inverse_(negated_inverse_of(mpz_getlimbn(m, 0))),
      constants_(2 * stride_ + form.digit_limbs),
      m_words_((m.bits() + kWordBits - 1) / kWordBits) {
  const BigInt radix = BigInt::power_of_two(static_cast<std::size_t>(form.limb_bits) * form.digit_limbs);
  write_plain_digits(constants_.data(), radix % m_squared_);
  write_plain_digits(constants_.data() + stride_, radix * radix % m_squared_);
  write_limbs(constants_.data() + 2 * stride_, form.digit_limbs, m);
  m.to_bytes(std::as_writable_bytes(std::span(m_words_)));
}

RingBase::~RingBase() = default;

std::string_view RingBase::kernels() const {
  return form_.kernels;
}
const BigInt& RingBase::modulus() const {
  return m_;
}
std::size_t RingBase::stride() const {
  return stride_;
}
std::size_t RingBase::lanes() const {
  return form_.lanes;
}
const Limb* RingBase::one() const {
  return constants_.data();
}
const Limb* RingBase::squared_radix() const {
  return constants_.data() + stride_;
}
const Limb* RingBase::modulus_digit() const {
  return constants_.data() + 2 * stride_;
}
Limb RingBase::negated_inverse() const {
  return negated_inverse_;
}

void RingBase::copy_row(Limb* to, const Limb* from) const {
  if (to != from) std::memcpy(to, from, stride_ * sizeof(Limb));
}

void RingBase::write_limbs(Limb* to, std::size_t limbs, const BigInt& x) const {
  std::size_t written = 0;
  mpz_export(to, &written, -1, sizeof(Limb), 0, static_cast<std::size_t>(kWordBits - form_.limb_bits), x);
  std::fill(to + written, to + limbs, Limb{0});
}

void RingBase::write_plain_digits(Limb* row, const BigInt& x) const {
  write_limbs(row, form_.digit_limbs, x % m_);
  write_limbs(row + form_.digit_limbs, stride_ - form_.digit_limbs, x / m_);
}

void RingBase::write_digit(Limb* to, const BigInt& x) const {
  require<InvalidArgument>(x.sign() >= 0 && x < m_, "a digit is a number from 0 to m - 1");
  write_limbs(to, stride_ / 2, x);
}

void RingBase::write(Limb* to, const BigInt& x) const {
  require<InvalidArgument>(x.sign() >= 0 && x < m_squared_, "a residue is a number from 0 to m^2 - 1");
  write_plain_digits(to, x);
  enter(to, 1);
}

BigInt RingBase::read(const Limb* row) const {
  AlignedSecret<Limb> plain(stride_);
  leave(plain.data(), row, 1);
  const auto number = [&](const Limb* digit) {
    BigInt x;
    mpz_import(x, form_.digit_limbs, -1, sizeof(Limb), 0, static_cast<std::size_t>(kWordBits - form_.limb_bits), digit);
    return x;
  };
  return number(plain.data()) + number(plain.data() + form_.digit_limbs) * m_;
}

void RingBase::to_bytes(const Limb* rows, std::size_t count, std::byte* out) const {
  AlignedSecret<Limb> plain(std::min(count, kRowsAtOnce) * stride_);
  AlignedSecret<Limb> words(m_words_.size());
  for (std::size_t begin = 0; begin < count; begin += kRowsAtOnce) {
    const std::size_t some = std::min(count - begin, kRowsAtOnce);
    leave(plain.data(), rows + begin * stride_, some);
    for (std::size_t i = 0; i < 2 * some; ++i, out += digit_bytes()) {
      const Limb* digit = plain.data() + i / 2 * stride_ + i % 2 * form_.digit_limbs;
      repack(words, kWordBits, {digit, form_.digit_limbs}, form_.limb_bits);
      std::memcpy(out, words.data(), digit_bytes());
    }
  }
}

bool RingBase::from_bytes(Limb* rows, std::size_t count, const std::byte* in) const {
  AlignedSecret<Limb> words(m_words_.size());
  for (std::size_t i = 0; i < 2 * count; ++i, in += digit_bytes()) {
    std::memcpy(words.data(), in, digit_bytes());
    if (mpn_cmp(words.data(), m_words_.data(), static_cast<mp_size_t>(words.size())) >= 0) return false;
    Limb* digit = rows + i / 2 * stride_ + i % 2 * form_.digit_limbs;
    repack({digit, form_.digit_limbs}, form_.limb_bits, words, kWordBits);
  }
  enter(rows, count);
  return true;
}

void RingBase::power(std::span<const Row> rows, const BigInt& exponent) const {
  require<InvalidArgument>(exponent.sign() >= 0, "an exponent is not negative");
  const std::size_t count = (exponent.bits() + kWindowBits - 1) / kWindowBits;
  if (count == 0) {
    for (const Row& row : rows) copy_row(row.to, one());
    return;
  }
  SecretVector<std::uint8_t> windows(count);
  for (std::size_t w = 0; w < count; ++w) {
    for (std::size_t bit = kWindowBits; bit-- > 0;) {
      const int value = mpz_tstbit(exponent, (count - 1 - w) * kWindowBits + bit);
      windows[w] = static_cast<std::uint8_t>(2 * windows[w] + value);
    }
  }
  power_windows(rows, windows);
}

namespace {

using Chains = std::vector<Ring::Chain>;

/// Chains in pieces, which lanes can work on side by side, and then the chains of the pieces' products.
///
/// However a chain is cut, it takes the same number of products; only lanes that wait for the longest among them are
/// a loss. In all they wait no longer than one longest piece takes, and so pieces are short against the whole.
class Pieces {
 public:
  Pieces(const Chains& chains, std::size_t longest, std::size_t stride) {
    std::size_t cut = 0;
    for (const Ring::Chain& chain : chains) {
      if (chain.count > longest) cut += pieces_of(chain, longest);
    }
    products_.resize(cut * stride);
    rows_.reserve(cut);  // chains point into it
    for (const Ring::Chain& chain : chains) {
      if (chain.count > longest) {
        add_pieces(chain, pieces_of(chain, longest), stride);
      } else {
        now_.push_back(chain);
      }
    }
    std::ranges::stable_sort(now_, std::ranges::greater{}, &Ring::Chain::count);
  }

  /// What to multiply first, the longest first; and what then.
  [[nodiscard]] const Chains& now() const { return now_; }
  [[nodiscard]] const Chains& later() const { return later_; }

 private:
  static std::size_t pieces_of(const Ring::Chain& chain, std::size_t longest) {
    return (chain.count + longest - 1) / longest;
  }

  void add_pieces(const Ring::Chain& chain, std::size_t count, std::size_t stride) {
    later_.push_back({chain.to, rows_.data() + rows_.size(), count});
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t begin = i * chain.count / count;
      const std::size_t end = (i + 1) * chain.count / count;
      if (end - begin == 1) {
        rows_.push_back(chain.factors[begin]);
        continue;
      }
      Limb* to = products_.data() + rows_.size() * stride;
      now_.push_back({to, chain.factors + begin, end - begin});
      rows_.push_back(to);
    }
  }

  Chains now_;
  Chains later_;
  AlignedSecret<Limb> products_;
  std::vector<const Limb*> rows_;
};

constexpr std::size_t kShortestPiece = 2;
constexpr std::size_t kLongestPiece = 64;
/// The longest piece is this part of all factors: where 8 lanes wait for it, a sixteenth of the time.
constexpr std::size_t kPieces = 128;

}  // namespace

void RingBase::multiply_chains(std::span<const Chain> chains) const {
  Chains all;
  for (const Chain& chain : chains) {
    if (chain.count < 2) {
      copy_row(chain.to, chain.count == 0 ? one() : chain.factors[0]);
    } else {
      all.push_back(chain);
    }
  }
  if (form_.lanes == 1) return multiply_sorted(all);

  std::vector<Pieces> rounds;  // one's products are the factors of the next
  while (!all.empty()) {
    std::size_t factors = 0;
    for (const Chain& chain : all) factors += chain.count;
    rounds.emplace_back(all, std::clamp(factors / kPieces, kShortestPiece, kLongestPiece), stride_);
    multiply_sorted(rounds.back().now());
    all = rounds.back().later();
  }
}

}  // namespace blindfl::he::paillier
