#include "blindfl/protocol/align/psi_all.h"

#include <algorithm>
#include <iterator>

#include "blindfl/base/error.h"
#include "blindfl/protocol/align/pseudonyms.h"
#include "blindfl/protocol/align/psi_all_parties.h"
#include "blindfl/protocol/align/psi_transfer.h"
#include "blindfl/protocol/align/steps.h"
#include "blindfl/protocol/session/session.h"

namespace blindfl::protocol {

namespace {

void check_peers(const Sessions& sessions, const AlignedPeers& peers) {
  if (sessions.party() == Party::kB) {
    const auto count = static_cast<std::size_t>(std::distance(sessions.begin(), sessions.end()));
    require<InvalidArgument>(peers.names.size() == count, "B has ", count, " sessions with A's, and ",
                             peers.names.size(), " names for them");
    require<InvalidArgument>(peers.secrets.empty(), "B has no part in what pairs of A's share");
    return;
  }
  require<InvalidArgument>(peers.own < peers.names.size(), "an A is at place ", peers.own, " of ", peers.names.size());
  if (peers.names.size() == 1) return;
  require<InvalidArgument>(peers.secrets.size() == peers.names.size(), "an A needs a secret with each of the ",
                           peers.names.size(), " A's, its own place left empty, and has ", peers.secrets.size());
  for (std::size_t other = 0; other < peers.names.size(); ++other) {
    require<InvalidArgument>(peers.secrets[other].size() == (other == peers.own ? 0 : kPairSecretBytes),
                             "what this party shares with ", peers.names[other], " must be ", kPairSecretBytes,
                             " bytes; with itself, none");
  }
}

}  // namespace

std::string_view reason_against_several(AlignmentKind kind) {
  switch (kind) {
    case AlignmentKind::kBoth:
      return {};
    case AlignmentKind::kOnlyB:
      return "each A must put its row about the same person at each place, and so would learn which of its ids another "
             "A, whose rows the places are, has too";
    case AlignmentKind::kUnion:
      return "every party would learn how many ids any number of them have in common, and all but the fewest rows "
             "would "
             "be placeholders at some party";
  }
  fail<InvalidArgument>("there is no kind of alignment number ", static_cast<int>(kind));
}

Alignment align_all(const Sessions& sessions, std::span<const std::string> ids, const AlignedPeers& peers,
                    const AlignmentOptions& options) {
  check_peers(sessions, peers);
  Session& first = **sessions.begin();
  if (peers.names.size() == 1) return align(first, ids, options);
  const std::string_view reason = reason_against_several(options.kind);
  require<ConfigError>(reason.empty(), "an alignment of the kind '", name_of(options.kind),
                       "' is not possible with several A's: ", reason);
  check_alignment(ids, options);
  return sessions.party() == Party::kA ? align_all_at_a(first, ids, peers, options)
                                       : align_all_at_b(sessions, ids, peers, options);
}

void agree_on_all(Session& session, std::size_t place, std::size_t count, const AlignmentOptions& options) {
  session.agree("the alignment", Settings()
                                     .add("kind", name_of(options.kind))
                                     .add("ids_per_message", std::uint64_t{options.ids_per_message})
                                     .add("number of A's", std::uint64_t{count})
                                     .add("place of this A", std::uint64_t{place + 1}));
  session.settle();
}

void send_field_elements(Session& session, const ListedItems& list, std::span<const FieldElement> elements) {
  for (std::uint64_t begin = 0; begin < list.count; begin += list.per_message) {
    const auto piece = elements.subspan(begin, list.size_at(begin));
    session.channel().send(list.message_at(begin), [&](ByteSink& out) { out.write_u128(piece); });
  }
}

std::vector<FieldElement> receive_field_elements(Session& session, const ListedItems& list) {
  std::vector<FieldElement> elements;
  for (std::uint64_t begin = 0; begin < list.count; begin += list.per_message) {
    std::vector<FieldElement> piece(list.size_at(begin));
    session.channel().receive(list.message_at(begin), [&](ByteSource& in) { in.read_u128(piece); });
    check_field_elements(piece);
    elements.insert(elements.end(), piece.begin(), piece.end());
  }
  return elements;
}

ListedItems hidden_list(std::uint64_t ids, const AlignmentOptions& options) {
  // As many bytes in a message as points have.
  return {steps::kHiddenIds, kFieldElementBytes, HiddenShape::of(ids).numbers(),
          options.ids_per_message * sizeof(Point) / kFieldElementBytes};
}

ListedItems common_list(std::uint64_t ids, const AlignmentOptions& options) {
  return {steps::kCommonIds, sizeof(PseudonymTag), ids, options.ids_per_message};
}

}  // namespace blindfl::protocol
