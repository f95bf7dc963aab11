#pragma once

#include <cstdint>

#include "blindfl/he/phase_series.h"
#include "blindfl/he/slots.h"

namespace blindfl::he {

/// e^(2 pi i angle / 2^32), each part within 2^-51: the same everywhere, because nothing is used but + and *. For
/// public angles: it branches on them.
[[nodiscard]] inline ComplexNumber phase_of(std::uint32_t angle) {
  const std::uint32_t quarter = (angle + 0x20000000U) >> 30;
  const double t = static_cast<double>(static_cast<std::int32_t>(angle - (quarter << 30))) * kPhaseUnit;
  const double s = t * t;
  double sine = kSineSeries[6];
  for (int k = 5; k >= 0; --k) sine = sine * s + kSineSeries[k];
  double cosine = kCosineSeries[7];
  for (int k = 6; k >= 0; --k) cosine = cosine * s + kCosineSeries[k];
  const ComplexNumber u{cosine * s + 1.0, sine * s * t + t};
  switch (quarter & 3U) {
    case 0:
      return u;
    case 1:
      return {-u.im, u.re};
    case 2:
      return {-u.re, -u.im};
    default:
      return {u.im, -u.re};
  }
}

}  // namespace blindfl::he
