#include "blindfl/protocol/align/alignment_offer.h"

#include <algorithm>
#include <string>

#include "blindfl/base/error.h"
#include "blindfl/net/channel.h"
#include "blindfl/protocol/align/steps.h"

namespace blindfl::protocol {

namespace {

constexpr std::uint32_t kOfferVersion = 1;

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
  const net::Message message{steps::kKeptAlignments, 0, kAlignmentOfferBytes};
  session.channel().send(message, [&](ByteSink& out) { write_alignment_offer(mine, out); });
  AlignmentOffer theirs;
  session.channel().receive(message, [&](ByteSource& in) { theirs = read_alignment_offer(in); });
  return theirs;
}

std::optional<AlignmentId> common_alignment(const AlignmentOffer& of_a, const AlignmentOffer& of_b) {
  for (const AlignmentId& id : of_a) {
    if (std::ranges::find(of_b, id) != of_b.end()) return id;
  }
  return std::nullopt;
}

}  // namespace blindfl::protocol
