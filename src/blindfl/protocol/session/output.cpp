#include "blindfl/protocol/session/output.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/base/secret.h"
#include "blindfl/net/channel.h"
#include "blindfl/protocol/session/output_masks.h"
#include "blindfl/protocol/session/session.h"
#include "blindfl/protocol/session/sessions.h"
#include "blindfl/protocol/session/steps.h"

namespace blindfl::protocol {

namespace {

constexpr int kWordBits = 64;

}  // namespace

OutputShare operator+(const OutputShare& a, const OutputShare& b) {
  const int scale = std::max(a.share.scale(), b.share.scale());
  const ShareMatrix at_scale_a = rescale(a.share, scale);
  const ShareMatrix at_scale_b = rescale(b.share, scale);
  const int ring = std::min(at_scale_a.ring_bits(), at_scale_b.ring_bits());
  const auto bits_at = [&](const OutputShare& o) { return o.bits + scale - o.share.scale(); };
  return {narrowed(at_scale_a, ring) + narrowed(at_scale_b, ring),
          std::min(std::max(bits_at(a), bits_at(b)) + 1, ring - kOutputHeadroom)};
}

int output_ring(double largest, int scale) {
  return static_cast<int>(std::ceil(std::log2(largest))) + scale + kOutputHeadroom;
}

void check_output_scale(int output_scale, int product_scale, bool finer_is_asked_for, const std::string& where) {
  require<InvalidArgument>(output_scale >= 0 && output_scale <= product_scale, where, ": Z cannot be opened at ",
                           output_scale, " fractional bits, it has ", product_scale);
  require<InvalidArgument>(output_scale <= kFinestOutputScale || finer_is_asked_for, where, ": Z opened at ",
                           output_scale, " fractional bits gives A's features away to B by lattice reduction; take ",
                           kFinestOutputScale,
                           " at most, or set fine_outputs_reveal_features if A's features are no secret");
}

void check_largest_output(double largest, int output_scale, int product_scale, const std::string& where) {
  require<InvalidArgument>(std::isfinite(largest) && largest >= 1 && largest <= 0x1p40, where,
                           ": the largest output must be between 1 and 2^40");
  const int opened = output_ring(largest, output_scale);
  require<InvalidArgument>(opened <= kMaxOpenedBits, where, ": outputs in a ring of ", opened, " bits at scale ",
                           output_scale, " could overflow when they are opened; at most ", kMaxOpenedBits,
                           " are safe. Lower the output scale or the largest output");
  const int ring = output_ring(largest, product_scale);
  require<InvalidArgument>(ring < ShareMatrix::kMostRingBits, where, ": outputs in a ring of ", ring, " bits at scale ",
                           product_scale, " could overflow; at most ", ShareMatrix::kMostRingBits - 1,
                           " are possible. Lower the scale of features or weights");
}

OutputShare round_output(const OutputShare& output, int scale) {
  const int bits_after = output.bits + scale - output.share.scale();
  const bool lifts = output.share.ring_bits() == ShareMatrix::kMostRingBits;
  require<InvalidArgument>((!lifts || output.bits <= kMaxRescaleBits) && bits_after <= kMaxOpenedBits,
                           "opening an output of ", output.bits, " bits at scale ", output.share.scale(), " to ", scale,
                           " fractional bits could overflow; lower the scale or range of features or weights");
  const ShareMatrix rounded = rescale(output.share, scale);
  return {narrowed(rounded, std::min(rounded.ring_bits(), kWordBits)), std::max(bits_after, 0)};
}

namespace {

net::Message message_of(const SessionShare& part) {
  const ShareMatrix& share = part.output.share;
  return {part.session->place().several() ? steps::kMaskedOutputShare : steps::kOutputShare, part.layer,
          share.values().size() * sizeof(std::uint64_t), share.rows(), share.cols()};
}

// What is rounded fits in words: nothing above its ring travels.
SecretVector<std::uint64_t> words_of(const ShareMatrix& share) {
  require<InvalidArgument>(share.ring_bits() <= kWordBits, "an output is rounded before it is opened");
  SecretVector<std::uint64_t> words(share.values().size());
  std::ranges::transform(share.values(), words.begin(), low64);
  return words;
}

// B sees the sum over all A's, or nothing: without one of them the masks of the others do not add up to 0.
void check_places(std::span<const SessionShare> parts) {
  std::vector<bool> there(parts.front().session->place().of);
  require<InvalidArgument>(parts.size() == there.size(), "an output has shares of ", parts.size(),
                           " A's, and there are ", there.size(),
                           ": every A takes part in every output, and all of them agree on masks before "
                           "(agree_on_masks)");
  for (const SessionShare& part : parts) {
    const Place& place = part.session->place();
    require<InvalidArgument>(place.of == there.size() && !there[place.index],
                             "an output has shares of sessions that did not agree on masks together");
    there[place.index] = true;
    require<InvalidArgument>(
        parts.size() == 1 || part.output.share.ring_bits() == parts.front().output.share.ring_bits(),
        "outputs of several A's are opened modulo the same power of 2: give all layers that are "
        "opened together the same largest_output and output_scale");
  }
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

/// What is left of a ring once its shares are rounded.
int ring_after(const OutputShare& output, int scale) {
  return std::min(output.share.ring_bits() + scale - output.share.scale(), kWordBits);
}

// Among several A's: what leaves is uniformly random modulo the ring of Z, and no bit of it is above that.
void add_mask(const SessionShare& part, SecretVector<std::uint64_t>& words) {
  const std::shared_ptr<OutputMasks>& masks = part.session->output_masks();
  if (!masks) return;
  const ShareMatrix& share = part.output.share;
  const int ring = share.ring_bits();
  const auto mask = masks->next({share.rows(), share.cols(), ring}, part.about);
  std::ranges::transform(words, mask, words.begin(),
                         [&](std::uint64_t a, std::uint64_t b) { return low64(low_bits(a + b, ring)); });
}

}  // namespace

std::vector<SessionShare> round_outputs(std::span<const SessionShare> shares, int scale) {
  require<InvalidArgument>(!shares.empty(), "an output without a share cannot be opened");
  std::vector<SessionShare> rounded(shares.begin(), shares.end());
  if (rounded.size() > 1) {
    const int ring = ring_after(rounded.front().output, scale);
    for (SessionShare& part : rounded) {
      require<InvalidArgument>(ring_after(part.output, scale) == ring,
                               "outputs of several A's are opened modulo the same power of 2: give all layers that are "
                               "opened together the same largest_output and output_scale");
      if (&part == &rounded.front()) continue;
      rounded.front().output = rounded.front().output + part.output;
      part.output = {ShareMatrix(part.output.share.rows(), part.output.share.cols(), scale, ring), 0};
    }
  }
  rounded.front().output = round_output(rounded.front().output, scale);
  return rounded;
}

std::optional<std::vector<double>> open_output(std::span<const SessionShare> rounded) {
  check_alike(rounded);
  const SessionShare& first = rounded.front();
  if (first.session->party() == Party::kA) {
    require<InvalidArgument>(rounded.size() == 1, "A opens outputs to one peer, not to ", rounded.size());
    const Stopwatch::Lap lap(first.session->protocol_time());
    first.session->settle();
    SecretVector<std::uint64_t> words = words_of(first.output.share);
    add_mask(first, words);
    first.session->channel().send(message_of(first), std::as_bytes(std::span(words)));
    return std::nullopt;
  }
  check_places(rounded);
  SecretVector<std::uint64_t> sum(first.output.share.values().size());
  int ring = kWordBits;
  int most_bits = 0;
  double largest = 0;
  for (const SessionShare& part : rounded) {
    const Stopwatch::Lap lap(part.session->protocol_time());
    SecretVector<std::uint64_t> theirs(sum.size());
    naming_peer(*part.session, [&] {
      part.session->settle();
      part.session->channel().receive(message_of(part),
                                      [&](ByteSource& in) { in.read(std::as_writable_bytes(std::span(theirs))); });
    });
    std::ranges::transform(sum, theirs, sum.begin(), std::plus<>());
    std::ranges::transform(sum, words_of(part.output.share), sum.begin(), std::plus<>());
    ring = std::min(ring, part.output.share.ring_bits());
    most_bits = std::max(most_bits, part.output.bits);
    largest += std::ldexp(1.0, part.output.bits);
  }
  // The ring was chosen for all of Z: however many parts there are, their sum must look like one.
  largest = std::min(largest, std::ldexp(1.0, std::max(most_bits, ring - kOutputHeadroom)));
  largest += static_cast<double>(rounded.size());  // of rounding
  std::vector<double> z(sum.size());
  std::ranges::transform(sum, z.begin(),
                         [&](std::uint64_t v) { return static_cast<double>(signed_low_bits(v, ring)); });
  if (std::ranges::any_of(z, [&](double v) { return std::abs(v) > largest; })) {
    for (const SessionShare& part : rounded) part.session->channel().close();
    fail<ProtocolError>(
        "an output is larger than it can be: training diverged (lower the learning rate), outputs are larger than the "
        "layers' largest_output (scale the labels, or raise it at both parties), or the parties' shares do not belong "
        "together, for instance because they trained with different options");
  }
  for (double& v : z) v = std::ldexp(v, -first.output.share.scale());
  return z;
}

void bind_outputs(const Sessions& sessions, std::string_view what, ByteView value) {
  for (Session* session : sessions) {
    if (session->output_masks()) session->output_masks()->bind(what, value);
  }
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
  return {.rows = rows, .real_rows = dz.size() / cols, .share = encode_dense(encoding, rows, cols, padded)};
}

Derivative absent_derivative(std::size_t rows, std::size_t real_rows) {
  return {.rows = rows, .real_rows = real_rows};
}

Derivative shared_derivative(std::size_t real_rows, ShareMatrix share) {
  const std::size_t rows = share.rows();
  return {.rows = rows, .real_rows = real_rows, .shared = std::move(share)};
}

ShareMatrix derivative_share(const Derivative& derivative, int scale, int ring_bits, const std::string& layer_name) {
  const ShareMatrix& share = *derivative.shared;
  // Rounding in a ring takes bits off it.
  const int left = share.ring_bits() == ShareMatrix::kMostRingBits
                       ? share.ring_bits()
                       : std::min(share.ring_bits() + scale - share.scale(), ShareMatrix::kMostRingBits);
  require<InvalidArgument>(left >= ring_bits, "layer '", layer_name, "' takes shares of the derivative at scale ",
                           scale, " modulo 2^", ring_bits, " or more, and these are at scale ", share.scale(),
                           " modulo 2^", share.ring_bits(), ": lift them first");
  return narrowed(rescale(share, scale), ring_bits);
}

ShareMatrix scaled_derivative(const IntMatrix& dz, double factor, int scale, int ring_bits) {
  ShareMatrix scaled(dz.rows(), dz.cols(), scale, ring_bits);
  const auto fill = [&](const auto& rounded) {
    for (std::size_t r = 0; r < dz.rows(); ++r) {
      dz.for_each_in_row(
          r, [&](std::size_t c, std::int64_t v) { scaled.row(r)[c] = static_cast<UInt128>(Int128{rounded(v)}); });
    }
  };
  // Both round half away from 0.
  const int dropped = dz.scale() - scale;
  if (factor == 1 && dropped > 0 && dropped < kWordBits) {
    const std::int64_t half = std::int64_t{1} << (dropped - 1);
    fill([&](std::int64_t v) { return (v + half - (v < 0 ? 1 : 0)) >> dropped; });
  } else {
    const long double units = std::ldexp(static_cast<long double>(factor), scale - dz.scale());
    fill([&](std::int64_t v) { return static_cast<Int128>(std::round(units * static_cast<long double>(v))); });
  }
  scaled.reduce();
  return scaled;
}

IntMatrix rounded_derivative(const IntMatrix& dz, int scale, std::uint64_t bound) {
  const ShareMatrix rounded = lifted(scaled_derivative(dz, 1, scale, kWordBits));
  std::vector<std::int64_t> values(rounded.values().size());
  std::ranges::transform(rounded.values(), values.begin(),
                         [](UInt128 v) { return static_cast<std::int64_t>(static_cast<Int128>(v)); });
  return IntMatrix::dense(dz.rows(), dz.cols(), std::move(values), scale, bound);
}

void check_derivative(const Derivative& derivative, Party party, std::size_t rows, const std::string& layer_name,
                      Top top) {
  require<InvalidArgument>(derivative.rows == rows && derivative.real_rows > 0 && derivative.real_rows <= rows,
                           "layer '", layer_name, "': a derivative of ", derivative.real_rows, " of ", derivative.rows,
                           " rows does not fit a batch of ", rows);
  if (top == Top::kShared) {
    require<InvalidArgument>(!derivative.share.has_value(), "layer '", layer_name,
                             "': a party has all of the derivative, and the layer learns under a shared top");
    require<InvalidArgument>(derivative.shared.has_value() && derivative.shared->rows() == rows, "layer '", layer_name,
                             "' learns under a shared top, and this party has no share of the derivative, or one of "
                             "another number of rows");
    return;
  }
  require<InvalidArgument>(!derivative.shared.has_value(), "layer '", layer_name,
                           "': the derivative is shared, and the layer learns under an open top only");
  if (party == Party::kB) {
    require<InvalidArgument>(derivative.share.has_value(), "layer '", layer_name, "': B has no derivative");
  } else {
    require<InvalidArgument>(!derivative.share.has_value(), "layer '", layer_name,
                             "': A has a share of the derivative, and the layer learns under an open top only");
  }
}

ShareMatrix finished_gradient(const ShareMatrix& raw, const Derivative& derivative, std::size_t batch, int scale) {
  ShareMatrix gradient = rescale(raw, scale);
  if (derivative.real_rows == batch) return gradient;
  const double missing = static_cast<double>(batch) / static_cast<double>(derivative.real_rows);
  return multiply_public(gradient, PublicFactor(missing), scale);
}

}  // namespace blindfl::protocol
