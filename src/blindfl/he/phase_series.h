#pragma once

namespace blindfl::he {

/// Taylor's coefficients of sin(t) / t - 1 in t^2, t^4, ..., and of cos(t) - 1: enough up to pi / 4.
inline constexpr double kSineSeries[7] = {-1.0 / 6,        1.0 / 120,        -1.0 / 5040,         1.0 / 362880,
                                          -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000};
inline constexpr double kCosineSeries[8] = {-1.0 / 2,       1.0 / 24,        -1.0 / 720,         1.0 / 40320,
                                            -1.0 / 3628800, 1.0 / 479001600, -1.0 / 87178291200, 1.0 / 20922789888000};
/// 2 pi / 2^32.
inline constexpr double kPhaseUnit = 1.4629180792671596e-9;

}  // namespace blindfl::he
