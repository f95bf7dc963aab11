#include "blindfl/mpc/openings.h"

#include <algorithm>
#include <cmath>

#include "blindfl/base/error.h"
#include "blindfl/mpc/steps.h"
#include "blindfl/net/channel.h"
#include "blindfl/protocol/session/crossing.h"

namespace blindfl::mpc {

namespace {

constexpr int kWord = 64;
constexpr std::size_t kNoiseWords = 4;

ShareMatrix rounded_to_words(const ShareMatrix& share, int scale) {
  const ShareMatrix rounded = rescale(share, scale);
  return narrowed(rounded, std::min(rounded.ring_bits(), kWord));
}

/// A's rounded shares to B, which adds its own.
std::optional<std::vector<double>> opened_to_b(Session& session, net::Step step, std::uint32_t layer,
                                               const ShareMatrix& rounded, double largest) {
  session.settle();
  const net::Message message{step, layer, rounded.values().size() * sizeof(std::uint64_t), rounded.rows(),
                             rounded.cols()};
  if (session.party() == Party::kA) {
    SecretVector<std::uint64_t> words(rounded.values().size());
    std::ranges::transform(rounded.values(), words.begin(), low64);
    session.channel().send(message, std::as_bytes(std::span(words)));
    return std::nullopt;
  }
  SecretVector<std::byte> theirs(message.size);
  session.channel().receive(message, [&](ByteSource& in) { in.read(theirs); });
  return protocol::closing(session, [&] {
    BufferSource in(theirs);
    return opened_values(rounded, in, largest);
  });
}

}  // namespace

std::vector<double> opened_values(const ShareMatrix& rounded, ByteSource& theirs, double largest) {
  std::vector<double> values;
  values.reserve(rounded.values().size());
  for (const UInt128 own : rounded.values()) {
    const UInt128 sum = low64(own) + theirs.read_u64();
    values.push_back(std::ldexp(static_cast<double>(signed_low_bits(sum, rounded.ring_bits())), -rounded.scale()));
  }
  require<ProtocolError>(std::ranges::none_of(values, [&](double v) { return std::abs(v) > largest; }),
                         "an opened value is larger than it can be: training diverged, or the parties' shares do not "
                         "belong together");
  return values;
}

ShareMatrix sum_of(const ShareMatrix& values) {
  ShareMatrix sum(1, 1, values.scale(), values.ring_bits());
  for (const UInt128 v : values.values()) sum.values()[0] += v;
  sum.reduce();
  return sum;
}

ShareMatrix with_noise(ShareMatrix share, const SumOpening& opening, Random& random) {
  const int word_bits = share.scale() - opening.scale + opening.noise_bits;
  require<InvalidArgument>(opening.scale >= 0 && opening.scale <= share.scale() && opening.noise_bits >= 0 &&
                               word_bits >= 1 && word_bits <= kWord,
                           "opening: noise of ", opening.noise_bits, " bits at ", opening.scale,
                           " fractional bits on a share at scale ", share.scale(), " does not fit in a word");
  SecretVector<std::uint64_t> words(kNoiseWords * share.values().size());
  random.fill_integers(std::span(words));
  for (std::size_t i = 0; i < words.size(); ++i) share.values()[i / kNoiseWords] += words[i] >> (kWord - word_bits);
  for (UInt128& v : share.values()) v -= static_cast<UInt128>(kNoiseWords / 2) << word_bits;
  share.reduce();
  return share;
}

std::optional<double> open_sum(Session& session, std::uint32_t layer, const ShareMatrix& values,
                               const SumOpening& opening) {
  ShareMatrix sum = sum_of(values);
  Random random = session.random();
  const ShareMatrix noisy = with_noise(sum, opening, random);
  if (session.party() == Party::kA) sum = noisy;
  const auto opened =
      opened_to_b(session, steps::kSumShare, layer, rounded_to_words(sum, opening.scale), opening.largest);
  return opened ? std::optional(opened->front()) : std::nullopt;
}

std::optional<std::vector<double>> open_scores(Session& session, std::uint32_t layer, const ShareMatrix& scores,
                                               int score_bits, double largest) {
  require<InvalidArgument>(score_bits >= 0 && score_bits <= scores.scale(), "opening: scores at scale ", scores.scale(),
                           " have no ", score_bits, " fractional bits");
  return opened_to_b(session, steps::kScoreShare, layer, rounded_to_words(scores, score_bits), largest);
}

}  // namespace blindfl::mpc
