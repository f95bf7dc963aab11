#include "blindfl/mpc/top_parts.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "blindfl/base/error.h"
#include "blindfl/base/int128.h"
#include "blindfl/protocol/layers/lifted_gradient.h"

namespace blindfl::mpc {

namespace {

/// Fractional bits of products between layers that are not noise.
constexpr int kValuePrecision = 18;
/// Gradients of weights: what an optimizer keeps, at most.
constexpr int kGradientScale = 28;
constexpr std::uint64_t kProductsOfLayer = 3;

constexpr double kActivationError = 3e-5;
/// How far off functions are, in probabilities; and in expected counts, up to e^kLargestLogCount.
constexpr double kProbabilityError = 2e-5;
constexpr double kCountError = 5e-4;
constexpr double kLargestLogCount = 5;
/// Exponentials of differences to a row's largest score add up to no more than the number of classes, and to this where
/// the largest was missed by a little.
constexpr double kSumRoom = 0.1;
/// 29 bits of differences are left: a block less, and a flight.
constexpr int kMostDroppedScoreBits = 6;
/// Of losses as values: what is opened is their sum, with 10 fractional bits and noise of the size of the last for each
/// row.
constexpr double kLossError = 1e-4;

int bits_of(double largest) {
  return static_cast<int>(std::ceil(std::log2(largest)));
}

std::uint64_t passes_of(const SharedTopOptions& options) {
  return protocol::counted_passes(options.run, options.sgd) * options.run.layers;
}

SharedProductSpec common_spec(const SharedTopOptions& options) {
  return {.batch = options.batch,
          .left_scale = kSharedScale,
          .left_ring = kValueRing,
          .run_products = passes_of(options),
          .sharing = kProductsOfLayer,
          .scheme = options.scheme};
}

/// Between layers.
SharedProductSpec value_spec(const SharedTopOptions& options) {
  SharedProductSpec spec = common_spec(options);
  spec.right_scale = kFactorScale;
  spec.precision = kValuePrecision;
  spec.result_scale = kSharedScale;
  spec.result_ring = kValueRing;
  return spec;
}

SharedProductSpec output_spec(std::size_t in, std::size_t out, const SharedTopOptions& options) {
  SharedProductSpec spec = value_spec(options);
  spec.form = ProductForm::kPlain;
  spec.left_cols = in;
  spec.other = out;
  spec.largest = 64 * options.largest_value;
  return spec;
}

/// Of the gradient of a bias, at `kSharedScale`.
int bias_bits(const SharedTopOptions& options) {
  return bits_of(static_cast<double>(options.batch) * kLargestSharedDerivative) + kSharedScale;
}

/// Gradients beyond what is assumed are right up to this many bits more.
constexpr int kSpareGradientBits = 4;

std::uint64_t gradients_of_run(std::size_t values, const SharedTopOptions& options) {
  return static_cast<std::uint64_t>(
      std::min(static_cast<double>(values * kProductsOfLayer) * static_cast<double>(passes_of(options)), 0x1p62));
}

SharedProductSpec gradient_spec(std::size_t in, std::size_t out, const SharedTopOptions& options) {
  SharedProductSpec spec = common_spec(options);
  spec.form = ProductForm::kLeftTransposed;
  spec.left_cols = in;
  spec.other = out;
  spec.right_scale = kSharedScale;
  spec.largest = largest_weight_gradient(options);
  spec.precision = protocol::gradient_precision(options.batch);
  // Shares must not outgrow 2^127 where an optimizer adds them up.
  const int bits = bits_of(spec.largest);
  const int scale = 2 * kSharedScale;
  const protocol::LiftedGradient lifted{
      .scale = scale, .ring_bits = he::ring_for_lifts(bits + scale, gradients_of_run(in * out, options))};
  spec.result_scale = lifted.kept_scale(kGradientScale);
  // Two bits of the ring stay free where it is lifted.
  spec.result_ring = bits + kSpareGradientBits + 2 + spec.result_scale;
  return spec;
}

SharedProductSpec derivative_spec(std::size_t in, std::size_t out, const SharedTopOptions& options) {
  SharedProductSpec spec = value_spec(options);
  spec.form = ProductForm::kRightTransposed;
  spec.left_cols = out;
  spec.other = in;
  spec.largest = 64 * kLargestSharedDerivative;
  return spec;
}

struct Functions {
  const char* name;
  Smooth function;
  Smooth slope;
};

Functions functions_of(SmoothActivation activation) {
  switch (activation) {
    case SmoothActivation::kTanh:
      return {"tanh", Smooth::kTanh, Smooth::kTanhSlope};
    case SmoothActivation::kSigmoid:
      return {"sigmoid", Smooth::kSigmoid, Smooth::kSigmoidSlope};
    case SmoothActivation::kGelu:
      return {"GELU", Smooth::kGelu, Smooth::kGeluSlope};
    case SmoothActivation::kSilu:
      return {"SiLU", Smooth::kSilu, Smooth::kSiluSlope};
  }
  fail<InvalidArgument>("there is no such activation");
}

std::vector<FunctionSpec> multinomial_functions(std::size_t classes, double range) {
  const auto count = static_cast<double>(classes);
  return {{.what = "the scores, less the largest of their row,",
           .functions = {Smooth::kExp},
           .low = -range,
           .high = 0.01,
           .error = kProbabilityError,
           .cols = classes},
          {.what = "sums of exponentials",
           .functions = {Smooth::kLog},
           .low = 0.9,
           .high = count + kSumRoom,
           .error = kProbabilityError,
           .cols = 1},
          {.what = "logarithms of probabilities",
           .functions = {Smooth::kExp},
           .low = -range - std::log(count),
           .high = 0.01,
           .error = kProbabilityError,
           .cols = classes}};
}

}  // namespace

double largest_weight_gradient(const SharedTopOptions& options) {
  return static_cast<double>(options.batch) * kLargestSharedDerivative * 4;
}

LinearProducts linear_products(std::size_t in, std::size_t out, const SharedTopOptions& options) {
  LinearProducts products{.output = output_spec(in, out, options),
                          .gradient = gradient_spec(in, out, options),
                          .derivative = derivative_spec(in, out, options),
                          .bias_ring = bias_ring(out, options)};
  const SharedProductSpec& gradient = products.gradient;
  const int bits = bits_of(gradient.largest) + gradient.result_scale;
  products.gradient_ring = he::ring_for_lifts(bits, gradients_of_run(in * out, options));
  products.gradient_failure =
      std::ldexp(static_cast<double>(in * out), bits - products.gradient_ring) + bias_failure(out, options);
  return products;
}

int bias_ring(std::size_t width, const SharedTopOptions& options) {
  return he::ring_for_lifts(bias_bits(options), gradients_of_run(width, options));
}

double bias_failure(std::size_t width, const SharedTopOptions& options) {
  return std::ldexp(static_cast<double>(width), bias_bits(options) - bias_ring(width, options));
}

ActivationParts activation_parts(SmoothActivation activation, std::size_t width, const SharedTopOptions& options) {
  const Functions functions = functions_of(activation);
  return {.function = {.what = std::string("a hidden layer before ") + functions.name,
                       .functions = {functions.function, functions.slope},
                       .low = -options.hidden_range,
                       .high = options.hidden_range,
                       .error = kActivationError,
                       .cols = width},
          .slopes = {.rows = options.batch,
                     .cols = width,
                     .ring_bits = kSlopeRing,
                     .run_values = options.batch * width * passes_of(options)}};
}

he::ElementSpec factor_products(std::size_t factors, const SharedTopOptions& options) {
  return {.rows = options.batch,
          .cols = factors,
          .ring_bits = kSlopeRing,
          .run_values = kFactorProducts * options.batch * factors * passes_of(options)};
}

double largest_factor_derivative(const SharedTopOptions& options) {
  return kLargestFactor * (options.row_weights ? protocol::kRowWeightLimit : 1);
}

std::vector<FunctionSpec> loss_functions(Family family, std::size_t outputs, const SharedTopOptions& options) {
  const double range = options.score_range;
  switch (family) {
    case Family::kLogistic:
      return {{.what = "the scores",
               .functions = {Smooth::kSigmoid},
               .low = -range,
               .high = range,
               .error = kProbabilityError,
               .cols = 1}};
    case Family::kMultinomial:
      return multinomial_functions(outputs, range);
    case Family::kPoisson:
      return {{.what = "logarithms of expected counts",
               .functions = {Smooth::kExp},
               .low = -2 * kLargestLogCount,
               .high = kLargestLogCount,
               .error = kCountError,
               .noise = kCountError / 100,
               .cols = 1}};
    case Family::kLinear:
      return {};
  }
  fail<InvalidArgument>("there is no such family");
}

// A score is above what was found by less than 2^dropped units for each time that columns were halved, and a sum of
// exponentials of differences to it by as much for each class: by half the room at most.
int dropped_score_bits(std::size_t classes) {
  constexpr auto kMostUnits = static_cast<std::uint64_t>(kSumRoom / 2 * (1 << kSharedScale));
  const std::uint64_t units = std::uint64_t{classes} * static_cast<std::uint64_t>(bit_length(classes - 1));
  int dropped = kMostDroppedScoreBits;
  while (dropped > 0 && units > kMostUnits >> dropped) --dropped;
  return dropped;
}

bool watches_derivatives(Family family, const SharedTopOptions& options) {
  return family == Family::kLinear || (family == Family::kPoisson && options.row_weights);
}

LossValueParts loss_value_parts(Family family, std::size_t outputs, const SharedTopOptions& options) {
  LossValueParts parts{.softplus = {},
                       .products = {.rows = options.batch,
                                    .cols = outputs,
                                    .ring_bits = kLossRing,
                                    .run_values = options.batch * outputs * passes_of(options)}};
  if (family == Family::kLogistic) {
    parts.softplus = {.what = "the scores",
                      .functions = {Smooth::kSoftplus},
                      .low = -options.score_range,
                      .high = options.score_range,
                      .error = kLossError,
                      .cols = 1};
  }
  return parts;
}

}  // namespace blindfl::mpc
