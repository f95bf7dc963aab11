#include "blindfl/protocol/align/alignment_offer.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "blindfl/base/error.h"
#include "blindfl/net/channel.h"
#include "blindfl/protocol/align/steps.h"

namespace blindfl::protocol {

namespace {

constexpr std::uint32_t kOfferVersion = 1;
constexpr net::Message kOfferMessage{steps::kKeptAlignments, 0, kAlignmentOfferBytes};

void send_offer(Session& session, const AlignmentOffer& offer) {
  session.channel().send(kOfferMessage, [&](ByteSink& out) { write_alignment_offer(offer, out); });
}

AlignmentOffer receive_offer(Session& session) {
  AlignmentOffer offer;
  session.channel().receive(kOfferMessage, [&](ByteSource& in) { offer = read_alignment_offer(in); });
  return offer;
}

AlignmentOffer in_both(const AlignmentOffer& first, const AlignmentOffer& second) {
  AlignmentOffer both;
  std::ranges::copy_if(first, std::back_inserter(both),
                       [&](const AlignmentId& id) { return std::ranges::find(second, id) != second.end(); });
  return both;
}

}  // namespace

AlignmentId alignment_id(std::string_view name) {
  const Bytes digest = digest_of(std::string("BlindFL scored alignment 1: ").append(name));
  AlignmentId id{};
  std::ranges::copy(digest, id.begin());
  return id;
}

void write_alignment_offer(const AlignmentOffer& offer, ByteSink& out) {
  require<InvalidArgument>(offer.size() <= kMostOffered, "an offer has at most ", kMostOffered, " alignments");
  out.write_u32(kOfferVersion);
  out.write_u32(static_cast<std::uint32_t>(offer.size()));
  for (std::size_t i = 0; i < kMostOffered; ++i) out.write(i < offer.size() ? offer[i] : AlignmentId{});
}

AlignmentOffer read_alignment_offer(ByteSource& in) {
  require<ProtocolError>(in.read_u32() == kOfferVersion, "kept alignments: they are of another version");
  const std::uint32_t count = in.read_u32();
  require<ProtocolError>(count <= kMostOffered, "kept alignments: there are too many");
  AlignmentOffer offer(kMostOffered);
  for (AlignmentId& id : offer) in.read(id);
  const auto is_empty = [](const AlignmentId& id) { return id == AlignmentId{}; };
  require<ProtocolError>(std::all_of(offer.begin() + count, offer.end(), is_empty),
                         "kept alignments: there are more than they say");
  offer.resize(count);
  return offer;
}

AlignmentOffer exchange_alignment_offers(Session& session, const AlignmentOffer& mine) {
  send_offer(session, mine);
  return receive_offer(session);
}

std::optional<AlignmentId> common_alignment(const AlignmentOffer& of_a, const AlignmentOffer& of_b) {
  const AlignmentOffer common = in_both(of_a, of_b);
  return common.empty() ? std::nullopt : std::optional(common.front());
}

std::optional<AlignmentId> agree_on_kept_alignment(const Sessions& sessions, const AlignmentOffer& mine) {
  Session& first = **sessions.begin();
  if (!sessions.several()) {
    const AlignmentOffer theirs = exchange_alignment_offers(first, mine);
    return first.party() == Party::kA ? common_alignment(mine, theirs) : common_alignment(theirs, mine);
  }
  AlignmentOffer common;
  for (Session* session : sessions) {
    AlignmentOffer theirs;
    naming_peer(*session, [&] { theirs = receive_offer(*session); });
    common = session == &first ? in_both(theirs, mine) : in_both(common, theirs);
  }
  if (common.size() > 1) common.erase(common.begin() + 1, common.end());
  for (Session* session : sessions) naming_peer(*session, [&] { send_offer(*session, common); });
  return common.empty() ? std::nullopt : std::optional(common.front());
}

}  // namespace blindfl::protocol
