#include "blindfl/protocol/layers/momentum_sums.h"

#include <algorithm>
#include <cmath>

namespace blindfl::protocol {

namespace {

constexpr double kFadedBits = 32;

}  // namespace

MomentumSums::MomentumSums(const SgdPlan& plan) : momentum_(plan.options().momentum) {
  pieces_.push_back({0, plan.options().learning_rate});
  for (const LearningRateChange& change : plan.options().schedule) {
    pieces_.push_back({change.step, change.learning_rate});
  }
  window_ = momentum_ == 0 ? 1 : static_cast<std::size_t>(std::ceil(kFadedBits / -std::log2(momentum_)));
  // c_s is a mean of the rates from s on, over 1 - mu: it is largest where a piece starts.
  for (const Piece& piece : pieces_) largest_ = std::max(largest_, coefficient(piece.from));
}

double MomentumSums::coefficient(std::size_t step) const {
  const auto power = [&](std::size_t t) { return std::pow(momentum_, static_cast<double>(t - step)); };
  double sum = 0;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const bool last = i + 1 == pieces_.size();
    if (!last && pieces_[i + 1].from <= step) continue;
    const double begin = power(std::max(pieces_[i].from, step));
    const double end = last ? 0.0 : power(pieces_[i + 1].from);
    sum += pieces_[i].rate * (begin - end) / (1.0 - momentum_);
  }
  return sum;
}

double MomentumSums::growth(std::size_t step) const {
  return std::pow(momentum_, -static_cast<double>(step % window_));
}

double MomentumSums::largest_growth() const {
  return std::pow(momentum_, -static_cast<double>(window_));
}

double MomentumSums::fading(std::size_t steps, std::size_t window) const {
  return coefficient(steps) * std::pow(momentum_, static_cast<double>(steps) - static_cast<double>(window * window_));
}

MomentumSums::Idle MomentumSums::idle(std::size_t step, std::size_t idle) const {
  const double faded = std::pow(momentum_, static_cast<double>(idle));
  return {faded, momentum_ * (coefficient(step) - faded * coefficient(step + idle))};
}

}  // namespace blindfl::protocol
