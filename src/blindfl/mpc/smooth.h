#pragma once

#include <string_view>

namespace blindfl::mpc {

/// Functions that a sum of a few waves comes close to on an interval.
enum class Smooth {
  kSigmoid,
  kSigmoidSlope,
  kTanh,
  kTanhSlope,
  kExp,
  kLog,
  kReciprocal,
  kSoftplus,
  kGelu,
  kGeluSlope,
  kSilu,
  kSiluSlope,
};

[[nodiscard]] std::string_view name_of(Smooth function);

/// Its value, within a few units of the last place of 1 or of itself, whichever is larger. Made of operations that IEEE
/// 754 defines to the last bit, and not of the system's library: both parties get the same.
[[nodiscard]] double value_of(Smooth function, double z);

/// Logarithms and reciprocals are for z above 0.
[[nodiscard]] bool defined_at(Smooth function, double z);

/// Whether a linear term helps to fit it: it grows.
[[nodiscard]] bool grows(Smooth function);

}  // namespace blindfl::mpc
