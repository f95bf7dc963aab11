#include "blindfl/train/resume_handshake.h"

#include <algorithm>

#include "blindfl/base/error.h"
#include "blindfl/base/text.h"
#include "blindfl/net/channel.h"
#include "blindfl/run/steps.h"

namespace blindfl::train {

namespace {

constexpr std::uint64_t kStop = 1;
constexpr std::uint64_t kBetter = 2;
constexpr std::uint64_t kEnough = 4;

constexpr std::uint64_t kOfferBytes = 640;
constexpr std::size_t kNameBytes = 64;
constexpr std::size_t kPadding = kOfferBytes - 8 - kNameBytes - 8 - RunOffer::kMostSteps * 8;
constexpr std::uint32_t kOfferVersion = 1;

bool is_zero(std::byte b) {
  return b == std::byte{0};
}

std::uint64_t newest(const RunOffer& offer) {
  return offer.steps.empty() ? 0 : std::ranges::max(offer.steps);
}

std::string words_of(const RunOffer& offer) {
  if (offer.run.empty()) return "no run";
  if (offer.steps.empty()) return "run " + offer.run + " without a checkpoint";
  return "run " + offer.run + " up to step " + std::to_string(newest(offer));
}

}  // namespace

void write_vote(const StopVote& vote, ByteSink& out) {
  out.write_u64((vote.stop ? kStop : 0) | (vote.better ? kBetter : 0) | (vote.enough ? kEnough : 0));
}

StopVote read_vote(ByteSource& in) {
  const std::uint64_t bits = in.read_u64();
  require<ProtocolError>(bits <= (kStop | kBetter | kEnough), "stop vote: the peer says what nobody understands");
  return {.stop = (bits & kStop) != 0, .better = (bits & kBetter) != 0, .enough = (bits & kEnough) != 0};
}

StopVote exchange_votes(protocol::Session& session, std::uint64_t step, const StopVote& mine) {
  const net::Message message{run::steps::kStopVote, static_cast<std::uint32_t>(step), 8};
  session.channel().send(message, [&](ByteSink& out) { write_vote(mine, out); });
  StopVote theirs;
  session.channel().receive(message, [&](ByteSource& in) { theirs = read_vote(in); });
  return theirs;
}

void write_offer(const RunOffer& offer, ByteSink& out) {
  require<InvalidArgument>(offer.run.size() <= kNameBytes && offer.steps.size() <= RunOffer::kMostSteps,
                           "a run's offer is too long");
  out.write_u32(kOfferVersion);
  out.write_u32(0);
  Bytes name(kNameBytes);
  std::ranges::copy(as_bytes(offer.run), name.begin());
  out.write(name);
  out.write_u64(offer.steps.size());
  for (std::size_t i = 0; i < RunOffer::kMostSteps; ++i) out.write_u64(i < offer.steps.size() ? offer.steps[i] : 0);
  out.write(Bytes(kPadding));
}

RunOffer read_offer(ByteSource& in) {
  require<ProtocolError>(in.read_u32() == kOfferVersion && in.read_u32() == 0, "run offer: it is of another version");
  RunOffer offer;
  Bytes name(kNameBytes);
  in.read(name);
  const auto end = std::ranges::find(name, std::byte{0});
  for (auto b = name.begin(); b != end; ++b) {
    const auto c = static_cast<char>(*b);
    require<ProtocolError>(c > ' ' && c <= '~', "run offer: its name is not printable");
    offer.run += c;
  }
  bool zeros = std::all_of(end, name.end(), is_zero);
  const std::uint64_t count = in.read_u64();
  require<ProtocolError>(count <= RunOffer::kMostSteps, "run offer: it has too many steps");
  offer.steps.reserve(count);
  for (std::size_t i = 0; i < RunOffer::kMostSteps; ++i) {
    const std::uint64_t step = in.read_u64();
    if (i < count) offer.steps.push_back(step);
    zeros = zeros && (i < count || step == 0);
  }
  Bytes rest(kPadding);
  in.read(rest);
  // Room for what nobody agreed on would be room for a hidden message.
  require<ProtocolError>(zeros && std::ranges::all_of(rest, is_zero), "run offer: there is something beside it");
  return offer;
}

RunOffer exchange_offers(protocol::Session& session, const RunOffer& mine) {
  const net::Message message{run::steps::kRunOffer, 0, kOfferBytes};
  session.channel().send(message, [&](ByteSink& out) { write_offer(mine, out); });
  RunOffer theirs;
  session.channel().receive(message, [&](ByteSource& in) { theirs = read_offer(in); });
  return theirs;
}

std::size_t newer_than(const RunOffer& offer, std::uint64_t step) {
  return static_cast<std::size_t>(std::ranges::count_if(offer.steps, [&](std::uint64_t s) { return s > step; }));
}

std::string words_of_going_back(const RunOffer& mine, const RunOffer& theirs, std::uint64_t step) {
  return "this party has checkpoints up to step " + std::to_string(newest(mine)) + ", the peer up to step " +
         std::to_string(newest(theirs)) + ", and the newest that both have is of step " + std::to_string(step) +
         ": going back sets " + std::to_string(newer_than(mine, step)) +
         " newer checkpoints of this party aside, in checkpoints/superseded";
}

std::optional<std::uint64_t> common_step(const RunOffer& mine, const RunOffer& theirs, const ResumeOptions& options) {
  if (!mine.run.empty() && mine.run == theirs.run) {
    std::optional<std::uint64_t> best;
    for (const std::uint64_t step : mine.steps) {
      const bool both = std::ranges::find(theirs.steps, step) != theirs.steps.end();
      if (both && step >= best.value_or(0)) best = step;
    }
    if (best) return best;
  }
  require<ConfigError>(newest(mine) == 0 && newest(theirs) == 0,
                       "there is nothing that both parties can resume: here is ", words_of(mine), ", at the peer ",
                       words_of(theirs), "; ", options.way_out);
  return std::nullopt;
}

void confirm_going_back(const ResumeOptions& options, const RunOffer& mine, const RunOffer& theirs,
                        std::uint64_t step) {
  if (newer_than(mine, step) <= 1 || options.go_back) return;
  const std::string words = words_of_going_back(mine, theirs, step);
  if (options.confirm && options.confirm(words + ". Go back?")) return;
  fail<ConfigError>(words, ". ", options.way_back,
                    " does that; or let the peer bring its newer checkpoints back first");
}

}  // namespace blindfl::train
