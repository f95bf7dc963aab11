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
// From B with several A's.
constexpr std::uint32_t kOfAll = 1;
constexpr std::uint32_t kRefused = 2;

bool is_zero(std::byte b) {
  return b == std::byte{0};
}

std::uint64_t newest(const RunOffer& offer) {
  return offer.steps.empty() ? 0 : std::ranges::max(offer.steps);
}

std::string up_to(const RunOffer& offer) {
  return std::string("up to step ").append(std::to_string(newest(offer)));
}

std::string offer_words(const RunOffer& offer) {
  if (!offer.other.empty()) return "no run that all of its peers have, since " + offer.other + " has another";
  if (offer.run.empty()) return offer.of_all ? "no run that all of its peers have" : "no run";
  if (offer.steps.empty()) return "run " + offer.run + " without a checkpoint";
  return "run " + offer.run + " " + up_to(offer);
}

/// ", the peer has this", or ", peer 1 has this, peer 2 has that".
std::string each_of(std::span<const RunOffer> theirs, const std::string& before,
                    const std::function<std::string(const RunOffer&)>& words) {
  std::string text;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const std::string number = theirs.size() == 1 ? "the peer" : "peer " + std::to_string(i + 1);
    text.append(before).append(theirs[i].peer.empty() ? number : theirs[i].peer).append(" ").append(words(theirs[i]));
  }
  return text;
}

/// The steps that this party and all others have, of the same run.
std::vector<std::uint64_t> steps_of_all(const RunOffer& mine, std::span<const RunOffer> theirs) {
  std::vector<std::uint64_t> steps = mine.steps;
  for (const RunOffer& offer : theirs) {
    if (mine.run.empty() || offer.run != mine.run) return {};
    std::erase_if(steps, [&](std::uint64_t step) { return std::ranges::find(offer.steps, step) == offer.steps.end(); });
  }
  return steps;
}

/// Whether nobody has taken a step yet, as far as this party knows.
bool nothing_is_lost(const RunOffer& mine, std::span<const RunOffer> theirs) {
  return newest(mine) == 0 && std::ranges::all_of(theirs, [](const RunOffer& offer) {
           return newest(offer) == 0 && !(offer.of_all && offer.run.empty());
         });
}

/// Who has another run than most; empty if nobody has, or if there are no names.
std::string with_another_run(const RunOffer& mine, std::span<const RunOffer> theirs) {
  const auto with = [&](const std::string& run) {
    const auto same = [&](const RunOffer& offer) { return offer.run == run; };
    return std::ranges::count_if(theirs, same) + (mine.run == run ? 1 : 0);
  };
  std::string most = mine.run;
  for (const RunOffer& offer : theirs) {
    if (with(offer.run) > with(most)) most = offer.run;
  }
  for (const RunOffer& offer : theirs) {
    if (offer.run != most && !offer.peer.empty()) return offer.peer.substr(0, kNameBytes);
  }
  return mine.run != most ? "B" : "";
}

/// What B with several A's says to all of them.
RunOffer offer_of_all(const protocol::Sessions& sessions, const RunOffer& mine, std::span<const RunOffer> theirs) {
  RunOffer offer{.run = {}, .steps = steps_of_all(mine, theirs), .of_all = true};
  if (!offer.steps.empty()) {
    offer.run = mine.run;
  } else if (nothing_is_lost(mine, theirs)) {
    offer.run = sessions.id();
  } else {
    offer.other = with_another_run(mine, theirs);
  }
  return offer;
}

/// What each peer says. Two parties speak at once; B with several A's hears all of them and then says `answer` to it.
template <class Said>
std::vector<Said> exchange(const protocol::Sessions& sessions, const net::Message& message,
                           void (*write)(const Said&, ByteSink&), Said (*read)(ByteSource&), const Said& mine,
                           const std::function<Said(const std::vector<Said>&)>& answer) {
  const auto say = [&](const Said& said) {
    for (protocol::Session* session : sessions) {
      protocol::naming_peer(*session,
                            [&] { session->channel().send(message, [&](ByteSink& out) { write(said, out); }); });
    }
  };
  if (!sessions.several()) say(mine);
  std::vector<Said> theirs;
  for (protocol::Session* session : sessions) {
    protocol::naming_peer(
        *session, [&] { session->channel().receive(message, [&](ByteSource& in) { theirs.push_back(read(in)); }); });
  }
  if (sessions.several()) say(answer(theirs));
  return theirs;
}

/// The vote with the wish of all to stop in it.
StopVote with_stops(StopVote vote, const std::vector<StopVote>& all) {
  for (const StopVote& other : all) vote.stop = vote.stop || other.stop;
  return vote;
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

StopVote exchange_votes(const protocol::Sessions& sessions, std::uint64_t step, const StopVote& mine) {
  const net::Message message{run::steps::kStopVote, static_cast<std::uint32_t>(step), 8};
  const std::vector<StopVote> theirs =
      exchange<StopVote>(sessions, message, write_vote, read_vote, mine,
                         [&](const std::vector<StopVote>& all) { return with_stops(mine, all); });
  // Of validation only B speaks, and whoever hears B hears nobody else.
  return with_stops(theirs.back(), theirs);
}

void write_offer(const RunOffer& offer, ByteSink& out) {
  require<InvalidArgument>(offer.run.size() <= kNameBytes && offer.steps.size() <= RunOffer::kMostSteps,
                           "a run's offer is too long");
  out.write_u32(kOfferVersion);
  out.write_u32(!offer.other.empty() ? kRefused : offer.of_all ? kOfAll : 0);
  Bytes name(kNameBytes);
  std::ranges::copy(as_bytes(offer.other.empty() ? offer.run : offer.other), name.begin());
  out.write(name);
  out.write_u64(offer.steps.size());
  for (std::size_t i = 0; i < RunOffer::kMostSteps; ++i) out.write_u64(i < offer.steps.size() ? offer.steps[i] : 0);
  out.write(Bytes(kPadding));
}

RunOffer read_offer(ByteSource& in) {
  RunOffer offer;
  const std::uint32_t version = in.read_u32();
  const std::uint32_t of_all = in.read_u32();
  require<ProtocolError>(version == kOfferVersion && of_all <= kRefused, "run offer: it is of another version");
  offer.of_all = of_all != 0;
  Bytes name(kNameBytes);
  in.read(name);
  const auto end = std::ranges::find(name, std::byte{0});
  for (auto b = name.begin(); b != end; ++b) {
    const auto c = static_cast<char>(*b);
    // Names of parties may have spaces.
    require<ProtocolError>((c > ' ' || of_all == kRefused) && c >= ' ' && c <= '~',
                           "run offer: its name is not printable");
    (of_all == kRefused ? offer.other : offer.run) += c;
  }
  require<ProtocolError>(of_all != kRefused || !offer.other.empty(), "run offer: it names nobody");
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

std::vector<RunOffer> exchange_offers(const protocol::Sessions& sessions, const RunOffer& mine) {
  const auto named = [&](std::vector<RunOffer> theirs) {
    for (std::size_t i = 0; i < theirs.size(); ++i) theirs[i].peer = sessions[i].peer_name();
    return theirs;
  };
  return named(exchange<RunOffer>(
      sessions, {run::steps::kRunOffer, 0, kOfferBytes}, write_offer, read_offer, mine,
      [&](const std::vector<RunOffer>& theirs) { return offer_of_all(sessions, mine, named(theirs)); }));
}

std::size_t newer_than(const RunOffer& offer, std::uint64_t step) {
  return static_cast<std::size_t>(std::ranges::count_if(offer.steps, [&](std::uint64_t s) { return s > step; }));
}

std::string words_of_going_back(const RunOffer& mine, std::span<const RunOffer> theirs, std::uint64_t step) {
  return std::string("this party has checkpoints ") + up_to(mine) + each_of(theirs, ", ", up_to) +
         ", and the newest that " + (theirs.size() == 1 ? "both" : "all") + " have is of step " + std::to_string(step) +
         ": going back sets " + std::to_string(newer_than(mine, step)) +
         " newer checkpoints of this party aside, in checkpoints/superseded";
}

std::optional<std::uint64_t> common_step(const RunOffer& mine, std::span<const RunOffer> theirs,
                                         const ResumeOptions& options) {
  const std::vector<std::uint64_t> steps = steps_of_all(mine, theirs);
  if (!steps.empty()) return std::ranges::max(steps);
  require<ConfigError>(nothing_is_lost(mine, theirs),
                       theirs.size() == 1 ? "there is nothing that both parties can resume"
                                          : "there is nothing that all parties can resume",
                       ": here is ", offer_words(mine), each_of(theirs, ", at ", offer_words), "; ", options.way_out);
  return std::nullopt;
}

std::string name_of_new_run(const protocol::Sessions& sessions, std::span<const RunOffer> theirs) {
  for (const RunOffer& offer : theirs) {
    if (offer.of_all && sessions.party() == Party::kA) return offer.run;
  }
  return sessions.id();
}

void confirm_going_back(const ResumeOptions& options, const RunOffer& mine, std::span<const RunOffer> theirs,
                        std::uint64_t step) {
  if (newer_than(mine, step) <= 1 || options.go_back) return;
  const std::string words = words_of_going_back(mine, theirs, step);
  if (options.confirm && options.confirm(words + ". Go back?")) return;
  fail<ConfigError>(words, ". ", options.way_back,
                    " does that; or let the peer bring its newer checkpoints back first");
}

}  // namespace blindfl::train
