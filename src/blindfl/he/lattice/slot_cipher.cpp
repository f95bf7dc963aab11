#include "blindfl/he/lattice/slot_cipher.h"

#include <algorithm>

namespace blindfl::he::lattice {

namespace {

/// 1 / x, within 2^-104 of it.
RealPair reciprocal(const RealPair& x) {
  const double first = 1 / x.high;
  // Newton's step: r + r (1 - x r).
  const RealPair r{first, 0};
  const RealPair rest = minus(RealPair{1, 0}, times<ScalarArithmetic>(x, r));
  return plus(r, times<ScalarArithmetic>(r, rest));
}

/// The whole part of a number below 2^123 in magnitude; the rest is added to `fraction`. The compilers' own conversion
/// takes several times as long.
Int128 whole_part(double x, double& fraction) {
  const auto upper = static_cast<std::int64_t>(x * 0x1p-60);
  const double rest = x - static_cast<double>(upper) * 0x1p60;
  const auto lower = static_cast<std::int64_t>(rest);
  fraction += rest - static_cast<double>(lower);
  return static_cast<Int128>(upper) * (std::int64_t{1} << 60) + lower;
}

/// Times a factor, rounded to the nearest whole number. Whatever a peer sent, what comes out is below 2^122:
/// LatticeSlotPlan::largest_share is at most 2^112, and no slot is larger than sqrt(N g) / 8 times that.
UInt128 rounded(const RealPair& x, double factor) {
  constexpr double kMagic = 6755399441055744;  // 1.5 * 2^52: a sum with it has no fraction
  const RealPair scaled = times<ScalarArithmetic>(x, RealPair{factor, 0});
  double fraction = 0;
  const Int128 whole = whole_part(scaled.high, fraction) + whole_part(scaled.low, fraction);
  return static_cast<UInt128>(whole + static_cast<std::int64_t>((fraction + kMagic) - kMagic));
}

}  // namespace

SlotCipher::SlotCipher(std::shared_ptr<const Params> params, const Kernels& kernels)
    : Polynomials(std::move(params), kernels),
      slot_kernels_(slot_kernels(kernels.name)),
      tables_(degree()),
      weights_(moduli()) {
  RealPair product{1, 0};
  for (std::size_t l = moduli(); l-- > 0;) {
    product = times<ScalarArithmetic>(product, RealPair{static_cast<double>(this->params().moduli()[l].value()), 0});
    weights_[l] = reciprocal(product);
  }
}

void SlotCipher::phases(const LatticeSlotPlan& plan, const SlotChunk& chunk, std::span<const std::uint32_t> share,
                        const Phases& out) const {
  const auto& frequencies = plan.spec().frequencies;
  AlignedSecret<std::uint32_t> angles(phase_room(plan, chunk));
  const auto own = share.subspan(chunk.first, chunk.count);
  std::uint32_t* to = angles.data();
  for (const std::uint32_t m : frequencies) {
    // Modulo 2^32: a whole turn.
    for (std::size_t v = 0; v < chunk.count; ++v) to[v] = m * own[v];
    to += chunk.count;
  }
  std::fill(to, angles.data() + angles.size(), 0);
  slot_kernels_.phases(out.re.data(), out.im.data(), angles.data(), angles.size());
}

void SlotCipher::encode(const LatticeSlotPlan& plan, const SlotChunk& chunk, std::size_t operand, const Phases& phases,
                        const ComplexNumber* factors, double scale, std::span<std::int64_t> out) const {
  const std::size_t slots = tables_.slots();
  const std::size_t first = operand * chunk.side_by_side;
  const std::size_t frequencies = chunk.frequencies_of(operand, plan.spec().frequencies.size());
  auto lease = scratch().lease(2 * slots, 2);
  const auto re = lease.take_reals(slots);
  const auto im = lease.take_reals(slots);
  for (std::size_t h = 0; h < frequencies; ++h) {
    const ComplexNumber c = factors == nullptr ? ComplexNumber{1, 0} : factors[first + h];
    const double* from_re = phases.re.data() + (first + h) * chunk.count;
    const double* from_im = phases.im.data() + (first + h) * chunk.count;
    double* to_re = re.data() + h * chunk.count;
    double* to_im = im.data() + h * chunk.count;
    for (std::size_t v = 0; v < chunk.count; ++v) {
      to_re[v] = c.re * from_re[v] - c.im * from_im[v];
      to_im[v] = c.re * from_im[v] + c.im * from_re[v];
    }
  }
  std::fill(re.begin() + static_cast<std::ptrdiff_t>(frequencies * chunk.count), re.end(), 0.0);
  std::fill(im.begin() + static_cast<std::ptrdiff_t>(frequencies * chunk.count), im.end(), 0.0);
  slot_kernels_.encode(tables_, re.data(), im.data(), scale, out.data());
}

void SlotCipher::collect(const LatticeSlotPlan& plan, const SlotChunk& chunk, std::size_t index,
                         const std::uint64_t* digits, std::vector<ShareMatrix>& shares) const {
  const std::size_t slots = tables_.slots();
  DigitFraction fraction{.digits = moduli()};
  for (std::size_t l = 0; l < moduli(); ++l) {
    fraction.values[l] = digits + l * degree();
    fraction.weights[l] = weights_[l];
  }
  auto lease = scratch().lease(4 * slots, 4);
  const SlotValues values{lease.take_reals(slots).data(), lease.take_reals(slots).data(),
                          lease.take_reals(slots).data(), lease.take_reals(slots).data()};
  slot_kernels_.decode(tables_, fraction, values);
  const std::size_t frequencies = plan.spec().frequencies.size();
  const double unit = plan.unit(plan.separate() ? 0 : index);
  if (plan.separate()) {
    for (std::size_t h = 0; h < chunk.frequencies_of(index, frequencies); ++h) {
      const auto re = shares[0].row(index * chunk.side_by_side + h).subspan(chunk.first, chunk.count);
      const auto im = shares[1].row(index * chunk.side_by_side + h).subspan(chunk.first, chunk.count);
      for (std::size_t v = 0; v < chunk.count; ++v) {
        const std::size_t at = h * chunk.count + v;
        re[v] = rounded({values.real[at], values.real_low[at]}, unit);
        im[v] = rounded({values.imag[at], values.imag_low[at]}, unit);
      }
    }
    return;
  }
  const auto row = shares[index].row(0).subspan(chunk.first, chunk.count);
  for (std::size_t v = 0; v < chunk.count; ++v) {
    RealPair sum{0, 0};
    for (std::size_t at = v; at < chunk.side_by_side * chunk.count; at += chunk.count) {
      sum = plus(sum, RealPair{values.real[at], values.real_low[at]});
    }
    row[v] = rounded(sum, unit);
  }
}

std::vector<ShareMatrix> empty_results(const LatticeSlotPlan& plan) {
  const SlotSpec& spec = plan.spec();
  std::vector<ShareMatrix> shares;
  const std::size_t rows = plan.separate() ? spec.frequencies.size() : 1;
  for (std::size_t i = 0; i < (plan.separate() ? 2 : spec.functions.size()); ++i) {
    shares.emplace_back(rows, spec.values, spec.result_scale);
  }
  return shares;
}

}  // namespace blindfl::he::lattice
