#include "blindfl/nn/shared_factorization.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/mpc/shared_elements.h"
#include "blindfl/mpc/top_parts.h"
#include "blindfl/nn/model_parts.h"
#include "blindfl/nn/watched_values.h"
#include "blindfl/nn/wide_derivative.h"

namespace blindfl::nn {

namespace {

/// Half of each row's sum: the same sum with one fractional bit more.
ShareMatrix half_sums(const ShareMatrix& values) {
  ShareMatrix sums(values.rows(), 1, values.scale() + 1, values.ring_bits());
  for (std::size_t r = 0; r < values.rows(); ++r) {
    for (const UInt128 value : values.row(r)) sums.values()[r] += value;
  }
  sums.reduce();
  return sums;
}

/// One column, `cols` times.
ShareMatrix repeated(const ShareMatrix& column, std::size_t cols) {
  ShareMatrix all(column.rows(), cols, column.scale(), column.ring_bits());
  for (std::size_t r = 0; r < column.rows(); ++r) std::ranges::fill(all.row(r), column.values()[r]);
  return all;
}

/// Of the source layer of a factorisation machine. Nobody sees a derivative under a shared top: nothing else would
/// notice that it has outgrown what gradients have room for.
MatMulOptions with_room_for_factors(const MatMulOptions& options, const SharedTopOptions& top_options) {
  const double needed = mpc::largest_factor_derivative(top_options);
  require<InvalidArgument>(options.derivative.largest >= needed,
                           "a factorisation machine under a shared top has derivatives up to ", needed,
                           ", and derivative.largest is ", options.derivative.largest, "; raise it at both parties");
  return for_shared_top(options);
}

}  // namespace

struct SharedFactorizationImpl::Parts {
  Parts(protocol::Session& s, std::size_t count, const SharedTopOptions& o)
      : session(s),
        layer(s.new_layer()),
        factors(count),
        products(s, mpc::factor_products(count, o), protocol::Party::kB, o.scheme),
        watched(s, "the factors of a factorisation machine", -mpc::kLargestFactor, mpc::kLargestFactor) {}

  /// Shares of the derivative by all of z.
  [[nodiscard]] SharedDerivative backward(const SharedDerivative& d, const ShareMatrix& z);

  protocol::Session& session;
  std::uint32_t layer;
  std::size_t factors;
  mpc::SharedElements products;
  WatchedValues watched;
};

SharedDerivative SharedFactorizationImpl::Parts::backward(const SharedDerivative& d, const ShareMatrix& z) {
  const Stopwatch::Lap lap(session.protocol_time());
  const ShareMatrix by_score = derivative_in(session, layer, d, mpc::kSlopeRing);
  const ShareMatrix product = products.product(repeated(by_score, factors), z);
  ShareMatrix all(z.rows(), 1 + factors, kSharedScale, mpc::kValueRing);
  place_columns(all, 0, narrow_derivative(d));
  // Rounding in a ring never fails.
  place_columns(all, 1, narrowed(rescale(product, kSharedScale), mpc::kValueRing));
  return {.share = std::move(all)};
}

SharedFactorizationImpl::SharedFactorizationImpl(protocol::Session& session, std::size_t factors,
                                                 const SharedTopOptions& options)
    : parts_(std::make_shared<Parts>(session, factorization_width(factors) - 1, options)) {}

SharedFactorizationImpl::~SharedFactorizationImpl() = default;

SharedTensor SharedFactorizationImpl::forward(const SharedTensor& x) {
  require<InvalidArgument>(x.share.cols() == 1 + parts_->factors, "a factorisation machine of ", parts_->factors,
                           " factors takes one value a row more than that, not ", x.share.cols());
  const Stopwatch::Lap lap(parts_->session.protocol_time());
  const ShareMatrix narrow = narrowed(x.share, mpc::kValueRing);
  const ShareMatrix values = select_columns(narrow, 1, parts_->factors);
  parts_->watched.see(values);
  ShareMatrix z = protocol::lift_with_room(parts_->session, parts_->layer, values, mpc::kSlopeRing);
  const ShareMatrix squares = rescale(half_sums(parts_->products.product(z, z)), kSharedScale);
  SharedTensor made{
      .session = x.session, .share = select_columns(narrow, 0, 1) + narrowed(squares, mpc::kValueRing), .rows = x.rows};
  if (!torch::GradMode::is_enabled()) return made;
  made.backward = [parts = parts_, z = std::move(z), below = x.backward](const SharedDerivative& d) {
    SharedDerivative by_z = parts->backward(d, z);
    if (below) below(by_z);
  };
  return made;
}

void SharedFactorizationImpl::check_ranges() {
  parts_->watched.check();
}

void SharedFactorizationImpl::pretty_print(std::ostream& stream) const {
  stream << "blindfl::SharedFactorization(factors=" << parts_->factors << ")";
}

SharedFactorizationMachineImpl::SharedFactorizationMachineImpl(protocol::Session& session, const FeatureShape& shape,
                                                               std::size_t factors, const MatMulOptions& options,
                                                               const SharedTopOptions& top_options)
    : SharedModel(session),
      source(register_module(
          "source", MatMul(session, shape, factorization_width(factors), with_room_for_factors(options, top_options)))),
      pairs(register_module("pairs", SharedFactorization(session, factors, top_options))),
      bias(register_module("bias", SharedBias(session, std::size_t{1}, 0.0, top_options))) {}

SharedDeepFmImpl::SharedDeepFmImpl(protocol::Session& session, const FeatureShape& numeric,
                                   const CategoryShape& categories, std::size_t factors,
                                   const std::vector<std::size_t>& hidden, Activation activation,
                                   const TwoSourceOptions& options, const SharedTopOptions& top_options)
    : SharedModel(session),
      source(register_module("source", MatMul(session, with_pairs(session, numeric), factorization_width(factors),
                                              with_room_for_factors(options.numeric, top_options)))),
      pairs(register_module("pairs", SharedFactorization(session, factors, top_options))),
      deep(register_module("deep", EmbedMatMul(session, with_fields(session, categories),
                                               first_of(hidden, "the deep part"), for_shared_top(options.categories)))),
      bias(register_module("bias", SharedBias(session, hidden.front(),
                                              bias_deviation(embedded_inputs(session, categories)), top_options))),
      top(register_module("top", make_shared_top(session, hidden, std::size_t{1}, activation, top_options))) {}

SharedTensor SharedDeepFmImpl::scores(const data::Batch& batch) {
  const SharedTensor of_pairs = pairs(shared_output(source->shares(batch)));
  const SharedTensor of_fields = shared_output(deep->shares(batch));
  return top(bias(of_fields)) + of_pairs;
}

}  // namespace blindfl::nn
