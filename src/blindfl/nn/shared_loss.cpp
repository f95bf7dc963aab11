#include "blindfl/nn/shared_loss.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/mpc/bit_shares.h"
#include "blindfl/mpc/maximum.h"
#include "blindfl/mpc/openings.h"
#include "blindfl/mpc/right_rows.h"
#include "blindfl/mpc/row_weights.h"
#include "blindfl/mpc/shared_elements.h"
#include "blindfl/mpc/top_parts.h"
#include "blindfl/nn/all_checks.h"
#include "blindfl/nn/labels.h"
#include "blindfl/nn/shared_weight.h"
#include "blindfl/nn/watched_function.h"
#include "blindfl/nn/watched_values.h"
#include "blindfl/protocol/session/room_lift.h"

namespace blindfl::nn {

namespace {

using mpc::kLossRing;
using mpc::kLossScale;

constexpr double kLargestLabel = 0x1p11;
constexpr int kLossFactorScale = kLossScale / 2;
/// Of the sum of losses, and of the count of rows that are right.
constexpr int kOpenedScale = 10;
/// A count of rows, so that its noise is finer than what is opened.
constexpr int kCountScale = 20;
constexpr double kLargestLossSum = 0x1p26;
/// Of differences of scores.
constexpr int kMarginBits = mpc::kComparedBits + 1;
/// Rows that are compared at a time: few round trips for many batches, and memory for 50 random OTs each.
constexpr std::size_t kComparedRows = 8192;

/// Local: `values` less a column of them, on each column.
ShareMatrix less_column(ShareMatrix values, const ShareMatrix& column) {
  for (std::size_t r = 0; r < values.rows(); ++r) {
    for (std::size_t c = 0; c < values.cols(); ++c) values.row(r)[c] -= column.values()[r];
  }
  values.reduce();
  return values;
}

/// Throws DataError naming a row whose weight, or count times weight, is beyond what is assumed of derivatives. (Labels
/// of kLinear have a limit of their own.)
void check_weights(Family family, const data::Batch& batch) {
  for (std::size_t i = 0; i < batch.weights.size(); ++i) {
    const double weight = batch.weights[i];
    require<DataError>(weight >= 0 && weight < protocol::kRowWeightLimit, "weight of row ", i,
                       " of the batch: under a shared top weights are from 0 to below ", protocol::kRowWeightLimit);
    require<DataError>(family != Family::kPoisson || weight * batch.labels[i] <= mpc::kLargestWatchedDerivative,
                       "label of row ", i, " of the batch: under a shared top counts times weights are up to ",
                       mpc::kLargestWatchedDerivative, ". Cut off the largest weights");
  }
}

/// Local: the sum of each row.
ShareMatrix row_sums(const ShareMatrix& values) {
  ShareMatrix sums(values.rows(), 1, values.scale(), values.ring_bits());
  for (std::size_t r = 0; r < values.rows(); ++r) {
    for (const UInt128 v : values.row(r)) sums.values()[r] += v;
  }
  sums.reduce();
  return sums;
}

}  // namespace

struct SharedLossImpl::Parts {
  Parts(protocol::Session& s, Family f, std::size_t n, const SharedTopOptions& o)
      : session(s), layer(s.new_layer()), family(f), outputs(n), options(o) {
    for (const mpc::FunctionSpec& spec : mpc::loss_functions(f, n, o)) {
      functions.push_back(std::make_unique<WatchedFunction>(s, spec, o));
    }
    if (mpc::watches_derivatives(f, o)) {
      constexpr double kLargest = mpc::kLargestWatchedDerivative;
      differences.emplace(
          s, o.row_weights ? "predictions less their labels, times their weights," : "scores less their labels",
          -kLargest, kLargest);
    }
    s.agree("a loss on shares", protocol::Settings().add("rows have weights", o.row_weights));
  }

  /// Of multinomial scores: the scores less the largest of their row, and the logarithm of the sum of their
  /// exponentials.
  struct Normalised {
    ShareMatrix below;
    ShareMatrix largest;
    ShareMatrix logs;
  };
  [[nodiscard]] Normalised normalised(const ShareMatrix& z);
  /// This party's share of what the family predicts, where that takes a function.
  [[nodiscard]] ShareMatrix predicted(const ShareMatrix& z);
  /// What is only needed to know the loss, and made when it is first asked for.
  struct ForValues {
    std::unique_ptr<WatchedFunction> softplus;  ///< of kLogistic
    std::unique_ptr<mpc::SharedElements> products;
  };
  ForValues& for_values();
  /// Of each row of the batch, a column each.
  struct Values {
    ShareMatrix losses;   ///< at `kLossScale` in the ring of `kLossRing` bits
    ShareMatrix margins;  ///< of classes: see mpc::count_right; else empty
  };
  [[nodiscard]] Values values_of(const ShareMatrix& z, const data::Batch& batch);
  /// The margins of kMultinomial: negative where the largest score that was found is of another class than the row's.
  [[nodiscard]] ShareMatrix margins_of(const ShareMatrix& z, const ShareMatrix& largest, const data::Batch& batch);
  /// Labels as the same, at B; `times` are factors of the rows, or none.
  [[nodiscard]] ShareMatrix targets(const data::Batch& batch, std::size_t rows, int scale,
                                    std::span<const double> times = {}) const;
  /// A weight for each row, padding included, at B, where rows have weights; else nothing.
  [[nodiscard]] std::vector<double> weights(const data::Batch& batch) const;
  /// Shares of rows times their weights, in the ring of 2^128, where rows have some; else `share`.
  [[nodiscard]] ShareMatrix weigh(ShareMatrix share, std::span<const double> weights);

  protocol::Session& session;
  std::uint32_t layer;
  Family family;
  std::size_t outputs;
  SharedTopOptions options;
  std::vector<std::unique_ptr<WatchedFunction>> functions;
  std::optional<WatchedValues> differences;  ///< where nothing else bounds them
  std::optional<ForValues> values;
};

ShareMatrix SharedLossImpl::Parts::predicted(const ShareMatrix& z) {
  if (family != Family::kMultinomial) return std::move(functions.at(0)->evaluate(z).front());
  // softmax(z) = exp(z - max - log sum exp(z - max)).
  const Normalised scores = normalised(z);
  return std::move(functions.at(2)->evaluate(less_column(scores.below, scores.logs)).front());
}

SharedLossImpl::Parts::Normalised SharedLossImpl::Parts::normalised(const ShareMatrix& z) {
  const ShareMatrix scores = narrowed(z, mpc::kValueRing);
  Normalised made{.below = {},
                  .largest = mpc::maximum(session, layer, scores, mpc::kComparedBits, mpc::dropped_score_bits(outputs)),
                  .logs = {}};
  made.below = less_column(scores, made.largest);
  const ShareMatrix sums = row_sums(functions.at(0)->evaluate(made.below).front());
  made.logs =
      narrowed(rescale(functions.at(1)->evaluate(rescale(sums, kSharedScale)).front(), kSharedScale), mpc::kValueRing);
  return made;
}

SharedLossImpl::Parts::ForValues& SharedLossImpl::Parts::for_values() {
  if (values) return *values;
  values.emplace();
  const mpc::LossValueParts parts = mpc::loss_value_parts(family, outputs, options);
  if (parts.softplus) values->softplus = std::make_unique<WatchedFunction>(session, *parts.softplus, options);
  values->products =
      std::make_unique<mpc::SharedElements>(session, parts.products, protocol::Party::kB, options.scheme);
  return *values;
}

// Of the exponential families it is the logarithm of what normalises, less the product of labels and scores; of kLinear
// half the square of the difference. A weight goes to one factor of each product.
SharedLossImpl::Parts::Values SharedLossImpl::Parts::values_of(const ShareMatrix& z, const data::Batch& batch) {
  ForValues& parts = for_values();
  const bool at_b = session.party() == protocol::Party::kB;
  const std::vector<double> of_rows = weights(batch);
  // Shares that are right modulo 2^kLossRing at that scale.
  const auto at_scale = [&](const ShareMatrix& share, int scale) {
    const int ring = kLossRing + share.scale() - scale;
    const bool narrow = share.ring_bits() < ring;
    return narrowed(rescale(narrow ? protocol::lift_with_room(session, layer, share, ring) : share, scale), kLossRing);
  };
  if (family == Family::kLinear) {
    // At the scale that differences are watched at in training.
    ShareMatrix difference = narrowed(z, mpc::kValueRing);
    if (at_b) difference -= narrowed(targets(batch, z.rows(), kSharedScale), mpc::kValueRing);
    const ShareMatrix times_weights = weigh(difference, of_rows);
    differences->see(narrowed(times_weights, mpc::kValueRing));
    const ShareMatrix factor = at_scale(difference, kLossFactorScale);
    const ShareMatrix squares =
        parts.products->product(factor, options.row_weights ? at_scale(times_weights, kLossFactorScale) : factor);
    ShareMatrix halves(squares.rows(), 1, kLossScale + 1, kLossRing);
    std::ranges::copy(squares.values(), halves.values().begin());
    return {.losses = std::move(halves), .margins = {}};
  }
  ShareMatrix labels(z.rows(), outputs, kLossFactorScale, kLossRing);
  if (at_b) labels = narrowed(targets(batch, z.rows(), kLossFactorScale, of_rows), kLossRing);
  ShareMatrix normaliser;
  ShareMatrix margins;
  if (family == Family::kMultinomial) {
    const Normalised scores = normalised(z);
    normaliser = scores.largest + scores.logs;
    margins = margins_of(narrowed(z, mpc::kValueRing), scores.largest, batch);
  } else {
    if (family == Family::kLogistic) margins = narrowed(z, mpc::kValueRing);
    WatchedFunction& function = family == Family::kLogistic ? *parts.softplus : *functions.at(0);
    normaliser = std::move(function.evaluate(z).front());
  }
  const ShareMatrix scores = at_scale(narrowed(z, mpc::kValueRing), kLossFactorScale);
  return {.losses = at_scale(weigh(std::move(normaliser), of_rows), kLossScale) -
                    row_sums(parts.products->product(scores, labels)),
          .margins = std::move(margins)};
}

// Rows of padding are of some class.
ShareMatrix SharedLossImpl::Parts::margins_of(const ShareMatrix& z, const ShareMatrix& largest,
                                              const data::Batch& batch) {
  std::vector<double> classes;
  if (session.party() == protocol::Party::kB) {
    classes = batch.labels;
    classes.resize(z.rows());
  }
  return mpc::own_scores(session, layer, z, classes) - largest;
}

std::vector<double> SharedLossImpl::Parts::weights(const data::Batch& batch) const {
  if (!options.row_weights || session.party() != protocol::Party::kB) return {};
  std::vector<double> all = batch.weights.empty() ? std::vector<double>(batch.labels.size(), 1.0) : batch.weights;
  all.resize(options.batch);
  return all;
}

ShareMatrix SharedLossImpl::Parts::weigh(ShareMatrix share, std::span<const double> of_rows) {
  if (!options.row_weights) return share;
  if (share.ring_bits() < ShareMatrix::kMostRingBits) share = protocol::lift_with_room(session, layer, share);
  return mpc::weighted(session, layer, share, of_rows);
}

ShareMatrix SharedLossImpl::Parts::targets(const data::Batch& batch, std::size_t rows, int scale,
                                           std::span<const double> times) const {
  std::vector<double> values(rows * outputs);
  for (std::size_t r = 0; r < batch.labels.size(); ++r) {
    const double factor = times.empty() ? 1 : times[r];
    if (family == Family::kMultinomial) {
      values[r * outputs + static_cast<std::size_t>(batch.labels[r])] = factor;
    } else {
      values[r] = factor * batch.labels[r];
    }
  }
  return encode_ring(rows, outputs, values, scale, kLargestLabel);
}

SharedLossImpl::SharedLossImpl(protocol::Session& session, Family family, std::size_t outputs,
                               const SharedTopOptions& options)
    : parts_(std::make_unique<Parts>(session, family, outputs, options)) {}

SharedLossImpl::~SharedLossImpl() = default;

SharedLossImpl::Step::Step(SharedTensor scores, SharedDerivative derivative)
    : scores_(std::move(scores)), derivative_(std::move(derivative)) {}

void SharedLossImpl::Step::backward() {
  require<InvalidArgument>(static_cast<bool>(scores_.backward),
                           "one backward pass for each forward pass, which was not made without gradients");
  std::exchange(scores_.backward, nullptr)(derivative_);
}

SharedLossImpl::Step SharedLossImpl::forward(const SharedTensor& scores, const data::Batch& batch) {
  Parts& parts = *parts_;
  const Stopwatch::Lap lap(parts.session.protocol_time());
  check(scores, batch);
  const bool at_b = parts.session.party() == protocol::Party::kB;
  const std::size_t padded = scores.share.rows();
  const bool linear = parts.family == Family::kLinear;
  SharedDerivative derivative{.share =
                                  linear ? narrowed(scores.share, mpc::kValueRing) : parts.predicted(scores.share)};
  ShareMatrix& share = derivative.share;
  if (at_b) share -= narrowed(parts.targets(batch, padded, share.scale()), share.ring_bits());
  for (std::size_t r = scores.rows; r < padded; ++r) std::ranges::fill(share.row(r), UInt128{0});
  if (parts.options.row_weights) share = parts.weigh(std::move(share), parts.weights(batch));
  if (parts.differences) parts.differences->see(narrowed(rescale(share, kSharedScale), mpc::kValueRing));
  return {scores, std::move(derivative)};
}

void SharedLossImpl::check(const SharedTensor& scores, const data::Batch& batch) const {
  require<InvalidArgument>(scores.share.cols() == parts_->outputs && scores.share.rows() == parts_->options.batch,
                           "a loss of batches of ", parts_->options.batch, " rows with ", parts_->outputs,
                           " scores each, not ", scores.share.rows(), " with ", scores.share.cols());
  require<InvalidArgument>(batch.counts.empty(),
                           "under a shared top all rows are real: placeholders among them need an open one");
  require<InvalidArgument>(batch.weights.empty() || parts_->options.row_weights,
                           "rows have weights: both parties say so beforehand (SharedTopOptions::row_weights)");
  if (parts_->session.party() != protocol::Party::kB) return;
  require<InvalidArgument>(batch.labels.size() == scores.rows, "a loss of ", scores.rows,
                           " rows needs as many labels, not ", batch.labels.size());
  check_labels(parts_->family, std::span<const double>(batch.labels), parts_->outputs, mpc::kLargestSharedDerivative);
  require<InvalidArgument>(batch.weights.empty() || batch.weights.size() == scores.rows, "a loss of ", scores.rows,
                           " rows needs as many weights, or none, not ", batch.weights.size());
  check_weights(parts_->family, batch);
}

void SharedLossImpl::add(Tally& tally, const SharedTensor& scores, const data::Batch& batch) {
  const Stopwatch::Lap lap(parts_->session.protocol_time());
  check(scores, batch);
  Parts::Values values = parts_->values_of(scores.share, batch);
  for (std::size_t r = scores.rows; r < values.losses.rows(); ++r) values.losses.values()[r] = 0;
  const ShareMatrix sum = mpc::sum_of(values.losses);
  tally.loss_ = tally.loss_ ? *tally.loss_ + sum : sum;
  tally.rows_ += scores.rows;
  if (values.margins.rows() == 0) return;
  const std::span<const UInt128> margins = values.margins.values();
  tally.margins_.insert(tally.margins_.end(), margins.begin(),
                        margins.begin() + static_cast<std::ptrdiff_t>(scores.rows));
  // For two classes a score is not negative where class 1 is taken; whether that is right is a bit of B's.
  const bool turns = parts_->family == Family::kLogistic && parts_->session.party() == protocol::Party::kB;
  for (std::size_t r = 0; r < scores.rows; ++r) tally.turned_.push_back(turns && batch.labels[r] <= 0.5);
  if (tally.margins_.size() >= kComparedRows) compare(tally);
}

void SharedLossImpl::compare(Tally& tally) {
  const SecretVector<UInt128> margins = std::exchange(tally.margins_, {});
  const std::vector<bool> turned = std::exchange(tally.turned_, {});
  ShareMatrix compared(margins.size(), 1, kSharedScale, mpc::kValueRing);
  std::ranges::copy(margins, compared.values().begin());
  mpc::BitShares bits(turned.size());
  for (std::size_t i = 0; i < turned.size(); ++i) {
    bits.words()[i / 64] |= static_cast<std::uint64_t>(turned[i] ? 1 : 0) << (i % 64);
  }
  const ShareMatrix right = mpc::count_right(parts_->session, parts_->layer, compared, bits, kMarginBits);
  tally.right_ = tally.right_ ? *tally.right_ + right : right;
}

std::optional<SharedMeans> SharedLossImpl::open_means(Tally tally) {
  require<InvalidArgument>(tally.rows_ > 0, "a mean needs at least one row");
  const Stopwatch::Lap lap(parts_->session.protocol_time());
  if (!tally.margins_.empty()) compare(tally);
  const auto rows = static_cast<double>(tally.rows_);
  const auto opened = [&](const ShareMatrix& sum, double largest) {
    return mpc::open_sum(parts_->session, parts_->layer, sum,
                         {.scale = kOpenedScale, .noise_bits = bit_length(tally.rows_), .largest = largest});
  };
  const auto loss = opened(*tally.loss_, kLargestLossSum);
  // Noise is at most 2^-8 of the rows.
  const auto right = tally.right_ ? opened(rescale(*tally.right_, kCountScale), 2 * rows) : std::nullopt;
  if (!loss) return std::nullopt;
  SharedMeans means{.loss = *loss / rows};
  if (right) means.accuracy = std::clamp(*right / rows, 0.0, 1.0);
  return means;
}

void SharedLossImpl::check_ranges() {
  AllChecks checks;
  for (const auto& function : parts_->functions) checks.run([&] { function->check_range(); });
  if (parts_->differences) checks.run([&] { parts_->differences->check(); });
  if (parts_->values && parts_->values->softplus) checks.run([&] { parts_->values->softplus->check_range(); });
  checks.finish();
}

}  // namespace blindfl::nn
