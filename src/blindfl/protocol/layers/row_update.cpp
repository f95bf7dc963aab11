#include "blindfl/protocol/layers/row_update.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "blindfl/base/saved_state.h"
#include "blindfl/base/secret.h"
#include "blindfl/protocol/layers/layer_state.h"

namespace blindfl::protocol {

RowUpdate::RowUpdate(Weight& weight, const SgdPlan& plan)
    : weight_(weight), plan_(plan), sums_(plan), position_(weight_.piece.rows()) {}

std::size_t RowUpdate::touch(std::size_t row) {
  if (position_[row] == 0) {
    rows_.push_back(static_cast<std::uint32_t>(row));
    up_to_.push_back(steps_);
    momentum_.resize(momentum_.size() + weight_.piece.cols());
    gradient_.resize(momentum_.size());
    position_[row] = static_cast<std::uint32_t>(rows_.size());
  }
  return position_[row] - 1;
}

void RowUpdate::subtract(std::size_t row, std::size_t col, double step) {
  const auto units = static_cast<Int128>(std::round(std::ldexp(step, weight_.piece.scale())));
  UInt128& value = weight_.piece.row(row)[col];
  value = low_bits(value - static_cast<UInt128>(units), weight_.piece.ring_bits());
}

void RowUpdate::catch_up(std::size_t position) {
  const std::size_t idle = steps_ - up_to_[position];
  if (idle == 0) return;
  if (sums_.has_momentum()) {
    const MomentumSums::Idle meanwhile = sums_.idle(up_to_[position], idle);
    for (std::size_t c = 0; c < weight_.piece.cols(); ++c) {
      double& momentum = momentum_[position * weight_.piece.cols() + c];
      subtract(rows_[position], c, momentum * meanwhile.moved);
      momentum *= meanwhile.momentum;
    }
  }
  up_to_[position] = steps_;
}

void RowUpdate::refresh(const IntMatrix& x) {
  for (std::size_t r = 0; r < x.rows(); ++r) {
    x.for_each_in_row(r, [&](std::size_t col, std::int64_t value) {
      if (value != 0 && position_[col] != 0) catch_up(position_[col] - 1);
    });
  }
}

void RowUpdate::refresh_all() {
  for (std::size_t i = 0; i < rows_.size(); ++i) catch_up(i);
}

void RowUpdate::add_gradient(const IntMatrix& x, const Derivative& derivative) {
  const IntMatrix& dz = *derivative.share;
  const double mean = std::ldexp(1.0 / static_cast<double>(derivative.real_rows), -dz.scale() - x.scale());
  std::vector<double> values;
  values.reserve(dz.rows() * dz.cols());
  for (const std::int64_t v : dz.to_dense()) values.push_back(mean * static_cast<double>(v));
  pending_.push_back({x, std::move(values)});
}

void RowUpdate::step() {
  require<InvalidArgument>(!pending_.empty(), "a step without a backward pass through '", weight_.name,
                           "', whose momentum was planned for gradients at every step");
  const std::size_t cols = weight_.piece.cols();
  const std::vector<Pending> passes = std::exchange(pending_, {});
  std::vector<std::size_t> touched;
  for (const Pending& pass : passes) {
    for (std::size_t r = 0; r < pass.x.rows(); ++r) {
      pass.x.for_each_in_row(r, [&](std::size_t col, std::int64_t value) {
        if (value == 0) return;
        const std::size_t position = touch(col);
        touched.push_back(position);
        for (std::size_t c = 0; c < cols; ++c) {
          gradient_[position * cols + c] += static_cast<double>(value) * pass.derivative[r * cols + c];
        }
      });
    }
  }
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  const double rate = plan_.learning_rate_at(steps_);
  for (const std::size_t position : touched) {
    catch_up(position);
    for (std::size_t c = 0; c < cols; ++c) {
      double& momentum = momentum_[position * cols + c];
      momentum = plan_.options().momentum * momentum + std::exchange(gradient_[position * cols + c], 0.0);
      subtract(rows_[position], c, rate * momentum);
    }
    up_to_[position] = steps_ + 1;
  }
  ++steps_;
}

namespace {

constexpr std::uint32_t kRowUpdateMark = 0x52554642;  // "BFUR"
constexpr std::uint32_t kRowUpdateVersion = 2;

Bytes state_digest(const Weight& weight, const SgdPlan& plan) {
  Settings settings = plan.options().settings();
  settings.add("rows", weight.piece.rows()).add("cols", weight.piece.cols()).add("scale", weight.piece.scale());
  return settings.digest();
}

}  // namespace

void RowUpdate::save(ByteSink& out) const {
  require<InvalidArgument>(pending_.empty(), "state is saved between steps, not between a backward pass and its step");
  out.write_u32(kRowUpdateMark);
  out.write_u32(kRowUpdateVersion);
  out.write(state_digest(weight_, plan_));
  out.write_u64(steps_);
  write_share(out, weight_.piece);
  out.write_u64(rows_.size());
  const std::size_t cols = weight_.piece.cols();
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    out.write_u32(rows_[i]);
    out.write_u64(up_to_[i]);
    out.write(std::as_bytes(std::span(momentum_).subspan(i * cols, cols)));
  }
}

void RowUpdate::load(ByteSource& in) {
  reading_state([&] {
    require<DataError>(in.read_u32() == kRowUpdateMark && in.read_u32() == kRowUpdateVersion,
                       "the saved state is not that of rows, or of another version");
    Bytes digest(kDigestBytes);
    in.read(digest);
    require<DataError>(digest == state_digest(weight_, plan_),
                       "the saved state belongs to a layer of another shape or training plan");
    Weight copy = weight_;
    RowUpdate read(copy, plan_);
    read.steps_ = in.read_u64();
    copy.piece = read_share(in, copy.piece);
    const std::uint64_t count = in.read_u64();
    require<DataError>(read.steps_ <= plan_.options().steps && count <= position_.size(),
                       "the saved state counts more steps than were planned, or more rows than there are");
    const std::size_t cols = weight_.piece.cols();
    // What it moves a weight by must be a number that a share can hold.
    const double largest = std::ldexp(1.0 / std::max(1.0, sums_.largest_coefficient()), 120 - weight_.piece.scale());
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint32_t row = in.read_u32();
      require<DataError>(row < position_.size() && read.position_[row] == 0,
                         "the saved state has a row that cannot be");
      const std::size_t position = read.touch(row);
      read.up_to_[position] = in.read_u64();
      require<DataError>(read.up_to_[position] <= read.steps_, "the saved state has a row from the future");
      const auto momentum = std::span(read.momentum_).subspan(position * cols, cols);
      in.read(std::as_writable_bytes(momentum));
      require<DataError>(std::ranges::all_of(momentum, [&](double m) { return std::abs(m) < largest; }),
                         "the saved state has a momentum that cannot be");
    }
    weight_.piece = std::move(copy.piece);
    steps_ = read.steps_;
    position_ = std::move(read.position_);
    rows_ = std::move(read.rows_);
    up_to_ = std::move(read.up_to_);
    momentum_ = std::move(read.momentum_);
    gradient_ = std::move(read.gradient_);
    pending_.clear();
  });
}

}  // namespace blindfl::protocol
