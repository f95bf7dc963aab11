#include "blindfl/protocol/session/output.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "blindfl/base/error.h"
#include "blindfl/base/secret.h"
#include "blindfl/net/channel.h"
#include "blindfl/protocol/session/session.h"
#include "blindfl/protocol/session/steps.h"

namespace blindfl::protocol {

OutputShare operator+(const OutputShare& a, const OutputShare& b) {
  const int scale = std::max(a.share.scale(), b.share.scale());
  const auto bits_at = [&](const OutputShare& o) { return o.bits + scale - o.share.scale(); };
  return {rescale(a.share, scale) + rescale(b.share, scale), std::max(bits_at(a), bits_at(b)) + 1};
}

void check_output_scale(int output_scale, int product_scale, bool finer_is_asked_for, const std::string& where) {
  require<InvalidArgument>(output_scale >= 0 && output_scale <= product_scale, where, ": Z cannot be opened at ",
                           output_scale, " fractional bits, it has ", product_scale);
  require<InvalidArgument>(output_scale <= kFinestOutputScale || finer_is_asked_for, where, ": Z opened at ",
                           output_scale, " fractional bits gives A's features away to B by lattice reduction; take ",
                           kFinestOutputScale,
                           " at most, or set fine_outputs_reveal_features if A's features are no secret");
}

OutputShare round_output(const OutputShare& output, int scale) {
  const int bits_after = output.bits + scale - output.share.scale();
  require<InvalidArgument>(output.bits <= kMaxRescaleBits && bits_after <= kMaxOpenedBits, "opening an output of ",
                           output.bits, " bits at scale ", output.share.scale(), " to ", scale,
                           " fractional bits could overflow; lower the scale or range of features or weights");
  return {rescale(output.share, scale), std::max(bits_after, 0)};
}

namespace {

net::Message message_of(const SessionShare& part) {
  const ShareMatrix& share = part.output.share;
  return {steps::kOutputShare, part.layer, share.values().size() * sizeof(std::uint64_t), share.rows(), share.cols()};
}

// Z itself is small, so the low half of a share is enough, and the high half need not travel.
SecretVector<std::uint64_t> low_half(const ShareMatrix& share) {
  SecretVector<std::uint64_t> low(share.values().size());
  std::ranges::transform(share.values(), low.begin(), low64);
  return low;
}

void check_alike(std::span<const SessionShare> parts) {
  require<InvalidArgument>(!parts.empty(), "an output without a share cannot be opened");
  const SessionShare& first = parts.front();
  for (const SessionShare& part : parts) {
    const ShareMatrix& share = part.output.share;
    require<InvalidArgument>(
        part.session->party() == first.session->party() && share.rows() == first.output.share.rows() &&
            share.cols() == first.output.share.cols() && share.scale() == first.output.share.scale(),
        "outputs of several sessions that are opened together need the same role, shape and scale");
  }
}

}  // namespace

std::optional<std::vector<double>> open_output(std::span<const SessionShare> rounded) {
  check_alike(rounded);
  const SessionShare& first = rounded.front();
  if (first.session->party() == Party::kA) {
    require<InvalidArgument>(rounded.size() == 1, "A opens outputs to one peer, not to ", rounded.size());
    const Stopwatch::Lap lap(first.session->protocol_time());
    first.session->settle();
    const SecretVector<std::uint64_t> low = low_half(first.output.share);
    first.session->channel().send(message_of(first), std::as_bytes(std::span(low)));
    return std::nullopt;
  }
  SecretVector<std::uint64_t> sum(first.output.share.values().size());
  double largest = 0;
  for (const SessionShare& part : rounded) {
    const Stopwatch::Lap lap(part.session->protocol_time());
    part.session->settle();
    SecretVector<std::uint64_t> theirs(sum.size());
    part.session->channel().receive(message_of(part),
                                    [&](ByteSource& in) { in.read(std::as_writable_bytes(std::span(theirs))); });
    std::ranges::transform(sum, theirs, sum.begin(), std::plus<>());
    std::ranges::transform(sum, low_half(part.output.share), sum.begin(), std::plus<>());
    largest += std::ldexp(1.0, part.output.bits) + 1;
  }
  std::vector<double> z(sum.size());
  std::ranges::transform(sum, z.begin(),
                         [](std::uint64_t v) { return static_cast<double>(static_cast<std::int64_t>(v)); });
  if (std::ranges::any_of(z, [&](double v) { return std::abs(v) > largest; })) {
    for (const SessionShare& part : rounded) part.session->channel().close();
    fail<ProtocolError>(
        "an output is larger than it can be: the parties' shares do not belong together, for instance "
        "because they trained with different options");
  }
  for (double& v : z) v = std::ldexp(v, -first.output.share.scale());
  return z;
}

std::optional<std::vector<double>> open_output(Session& session, std::uint32_t layer, const OutputShare& rounded) {
  const SessionShare only{&session, layer, rounded};
  return open_output(std::span(&only, 1));
}

Derivative encode_derivative(const FixedPoint& encoding, std::size_t rows, std::size_t cols,
                             std::span<const double> dz) {
  require<InvalidArgument>(cols > 0 && dz.size() % cols == 0 && dz.size() / cols <= rows, "a derivative of ", dz.size(),
                           " values does not make at most ", rows, " rows of ", cols);
  std::vector<double> padded(dz.begin(), dz.end());
  padded.resize(rows * cols);
  return {rows, dz.size() / cols, encode_dense(encoding, rows, cols, padded)};
}

Derivative absent_derivative(std::size_t rows, std::size_t real_rows) {
  return {rows, real_rows, std::nullopt};
}

void check_derivative(const Derivative& derivative, Party party, std::size_t rows, const std::string& layer_name) {
  require<InvalidArgument>(derivative.rows == rows && derivative.real_rows > 0 && derivative.real_rows <= rows,
                           "layer '", layer_name, "': a derivative of ", derivative.real_rows, " of ", derivative.rows,
                           " rows does not fit a batch of ", rows);
  if (party == Party::kB) {
    require<InvalidArgument>(derivative.share.has_value(), "layer '", layer_name, "': B has no derivative");
  } else {
    require<InvalidArgument>(!derivative.share.has_value(), "layer '", layer_name,
                             "': A has a share of the derivative, and layers learn under an open top only");
  }
}

ShareMatrix finished_gradient(const ShareMatrix& raw, const Derivative& derivative, std::size_t batch, int scale) {
  ShareMatrix gradient = rescale(raw, scale);
  if (derivative.real_rows == batch) return gradient;
  const double missing = static_cast<double>(batch) / static_cast<double>(derivative.real_rows);
  return multiply_public(gradient, PublicFactor(missing), scale);
}

}  // namespace blindfl::protocol
