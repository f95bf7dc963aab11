#include "blindfl/mpc/smooth.h"

#include <cmath>

namespace blindfl::mpc {

namespace {

constexpr double kLogTwo = 0x1.62e42fefap-1;  // 36 bits: multiples up to 2^16 are exact
constexpr double kLogTwoRest = 0x1.cf79abc9e3b39p-40;
constexpr double kOneOverRootTwo = 0.70710678118654752;
constexpr double kTwoOverRootPi = 1.1283791670955126;

// Rounding, scaling by powers of two and square roots are exact in IEEE 754; the rest is + - * /.

double exponential(double x) {
  if (x < -745) return 0;
  const double k = std::floor(x / (kLogTwo + kLogTwoRest) + 0.5);
  const double r = (x - k * kLogTwo) - k * kLogTwoRest;
  double sum = 1;
  for (int i = 18; i > 0; --i) sum = 1 + sum * r / i;
  return std::ldexp(sum, static_cast<int>(k));
}

double logarithm(double x) {
  int k = 0;
  double m = std::frexp(x, &k);
  if (m < kOneOverRootTwo) {
    m *= 2;
    --k;
  }
  const double f = (m - 1) / (m + 1);
  const double s = f * f;
  double sum = 0;
  for (int i = 31; i > 0; i -= 2) sum = sum * s + 1.0 / i;
  return k * kLogTwo + (2 * f * sum + k * kLogTwoRest);
}

/// The error function, by a series of positive terms.
double error_function(double x) {
  if (x < 0) return -error_function(-x);
  if (x > 6) return 1;
  double term = x;
  double sum = x;
  for (int i = 1; i < 200; ++i) {
    term *= 2 * x * x / (2 * i + 1);
    sum += term;
  }
  return kTwoOverRootPi * exponential(-x * x) * sum;
}

double sigmoid(double z) {
  const double e = exponential(-std::fabs(z));
  return z >= 0 ? 1 / (1 + e) : e / (1 + e);
}
double hyperbolic_tangent(double z) {
  const double e = exponential(-2 * std::fabs(z));
  const double t = (1 - e) / (1 + e);
  return z >= 0 ? t : -t;
}
/// The normal distribution and its density.
double normal(double z) {
  return (1 + error_function(z * kOneOverRootTwo)) / 2;
}
double normal_density(double z) {
  return kTwoOverRootPi * kOneOverRootTwo / 2 * exponential(-z * z / 2);
}

}  // namespace

std::string_view name_of(Smooth function) {
  switch (function) {
    case Smooth::kSigmoid:
      return "sigmoid";
    case Smooth::kSigmoidSlope:
      return "sigmoid'";
    case Smooth::kTanh:
      return "tanh";
    case Smooth::kTanhSlope:
      return "tanh'";
    case Smooth::kExp:
      return "exp";
    case Smooth::kLog:
      return "log";
    case Smooth::kReciprocal:
      return "1/z";
    case Smooth::kSoftplus:
      return "softplus";
    case Smooth::kGelu:
      return "GELU";
    case Smooth::kGeluSlope:
      return "GELU'";
    case Smooth::kSilu:
      return "SiLU";
    case Smooth::kSiluSlope:
      return "SiLU'";
  }
  return "unknown";
}

double value_of(Smooth function, double z) {
  switch (function) {
    case Smooth::kSigmoid:
      return sigmoid(z);
    case Smooth::kSigmoidSlope:
      return sigmoid(z) * sigmoid(-z);
    case Smooth::kTanh:
      return hyperbolic_tangent(z);
    case Smooth::kTanhSlope:
      return 4 * sigmoid(2 * z) * sigmoid(-2 * z);
    case Smooth::kExp:
      return exponential(z);
    case Smooth::kLog:
      return logarithm(z);
    case Smooth::kReciprocal:
      return 1 / z;
    case Smooth::kSoftplus:
      return std::fmax(z, 0) + logarithm(1 + exponential(-std::fabs(z)));
    case Smooth::kGelu:
      return z * normal(z);
    case Smooth::kGeluSlope:
      return normal(z) + z * normal_density(z);
    case Smooth::kSilu:
      return z * sigmoid(z);
    case Smooth::kSiluSlope:
      return sigmoid(z) + z * sigmoid(z) * sigmoid(-z);
  }
  return 0;
}

bool defined_at(Smooth function, double z) {
  return (function != Smooth::kLog && function != Smooth::kReciprocal) || z > 0;
}

bool grows(Smooth function) {
  switch (function) {
    case Smooth::kExp:
    case Smooth::kLog:
    case Smooth::kReciprocal:
    case Smooth::kSoftplus:
    case Smooth::kGelu:
    case Smooth::kSilu:
      return true;
    default:
      return false;
  }
}

}  // namespace blindfl::mpc
