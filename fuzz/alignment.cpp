// All that a peer sends to a party that aligns its ids. Input: a byte with the kind (bits 0, 1; 3 is 0), the party (bit
// 2: B), a wrong digest at the end (bit 3), and a count that the input announces (bit 4: 8 bytes follow) in place of
// the right one; a byte with the number of the peer's ids (bits 0 to 2); then for each list that the party expects a
// byte with how many points it lacks (bits 0, 1) or has too many (bits 2, 3), and for each point a byte: a point of its
// own if it is 0, the identity if it is 1, 32 bytes that follow if it is 2, and else one of 16 points.

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "blindfl/net/memory_channel.h"
#include "blindfl/net/steps.h"
#include "blindfl/protocol/align/psi.h"
#include "blindfl/protocol/align/psi_points.h"
#include "blindfl/protocol/align/steps.h"
#include "blindfl/protocol/session/hello_layout.h"
#include "blindfl/protocol/session/session.h"
#include "blindfl/protocol/session/steps.h"
#include "input.h"
#include "testing/plain/plain_scheme.h"

namespace {

using namespace blindfl;
using net::Step;
using protocol::AlignmentKind;
using protocol::Party;
using protocol::Point;
using protocol::Points;

constexpr std::size_t kPerMessage = 4;
constexpr std::size_t kTable = 256;
constexpr std::size_t kMostSent = 12;  ///< of the peer's ids: of more it sends none

const std::vector<std::string>& own_ids() {
  static const std::vector<std::string> ids{"anna", "bert", "carl", "dora", "emil"};
  return ids;
}

/// Points of the group: the peer can only have hashed or multiplied something, and this party's key is secret.
const Points& table() {
  static const Points points = [] {
    std::vector<std::string> ids(kTable);
    std::vector<std::uint32_t> rows(kTable);
    for (std::uint32_t i = 0; i < kTable; ++i) {
      ids[i] = "point " + std::to_string(i);
      rows[i] = i;
    }
    ThreadPool pool;
    return protocol::hash_to_points(ids, rows, pool);
  }();
  return points;
}

bool are_right(std::span<const Point> points) {
  ThreadPool pool;
  try {
    protocol::check_points(points, "points", pool);
    protocol::check_distinct(points, "points");
  } catch (const ProtocolError&) {
    return false;
  }
  return true;
}

/// The peer's side of a link on which everything is sent before this party starts.
class Peer {
 public:
  Peer(net::Channel& channel, fuzz::Input& input) : channel_(channel), input_(input) {}

  void open(const he::Scheme& scheme, Party party, AlignmentKind kind) {
    const Bytes digest =
        protocol::Settings().add("scheme", scheme.name()).add("parameters", scheme.parameters()).digest();
    channel_.send({protocol::steps::kHello, 0, protocol::kHelloBytes}, [&](ByteSink& out) {
      out.write_u32(protocol::kProtocolVersion);
      out.write_u8(party == Party::kA ? 'A' : 'B');
      out.write(Bytes(32));
      out.write(digest);
    });
    Random random;
    channel_.send({protocol::steps::kPublicKey, 0, scheme.public_key_bytes({})},
                  scheme.generate_keys({}, random)->public_key());
    channel_.send({protocol::steps::kAgreement, 0, kDigestBytes},
                  protocol::Settings()
                      .add("what", "the alignment")
                      .add("kind", name_of(kind))
                      .add("ids_per_message", std::uint64_t{kPerMessage})
                      .digest());
  }

  void send_count(std::uint64_t count) {
    right_ = right_ && count <= kMostSent;
    channel_.send({protocol::steps::kIdCount, 0, 8}, [&](ByteSink& out) { out.write_u64(count); });
  }

  void send_list(Step step, std::size_t expected) {
    const unsigned sizes = input_.take_byte();
    const std::size_t lacks = std::min<std::size_t>(expected, sizes & 3);
    const std::size_t count = expected - lacks + (sizes >> 2 & 3);
    right_ = right_ && count >= expected;
    surplus_ = surplus_ || count > expected;
    Points points;
    for (std::size_t i = 0; i < count; ++i) points.push_back(next_point());
    right_ = right_ && are_right(std::span(points).first(std::min(count, expected)));
    for (std::size_t begin = 0; begin < count; begin += kPerMessage) {
      const auto piece = std::as_bytes(std::span(points).subspan(begin, std::min(kPerMessage, count - begin)));
      channel_.send({step, static_cast<std::uint32_t>(begin / kPerMessage), piece.size()}, piece);
    }
  }

  void send_order(bool wrong) {
    Bytes digest = digest_of(ByteView());  // nothing is common
    if (wrong) digest[0] ^= std::byte{1};
    right_ = right_ && !wrong;
    channel_.send({protocol::steps::kAlignedOrder, 0, digest.size()}, digest);
  }

  /// All that this party reads is right.
  [[nodiscard]] bool right() const { return right_; }
  /// There is more than it should read: it may stop before it comes there.
  [[nodiscard]] bool surplus() const { return surplus_; }

 private:
  Point next_point() {
    const unsigned kind = input_.take_byte();
    if (kind == 0) return table()[16 + next_++ % (kTable - 16)];
    Point point{};
    if (kind > 2) return table()[kind % 16];
    if (kind == 2) std::ranges::copy(input_.take(point.size()), point.begin());
    return point;
  }

  net::Channel& channel_;
  fuzz::Input& input_;
  std::size_t next_ = 0;
  bool right_ = true;
  bool surplus_ = false;
};

std::uint64_t take_count(fuzz::Input& input, bool any) {
  if (!any) return input.take_byte() & 7U;
  std::uint64_t count = 0;
  for (int i = 0; i < 8; ++i) count |= std::uint64_t{input.take_byte()} << (8 * i);
  return count;
}

void check_alignment(const protocol::Alignment& alignment, AlignmentKind kind, Party party, std::size_t peer_ids) {
  fuzz::check(alignment.rows.size() == alignment.real.size(), "there is a truth for each row");
  fuzz::check(kind != AlignmentKind::kUnion, "a peer without this party's secrets cannot know the union's names");
  for (const std::uint32_t row : alignment.rows) fuzz::check(row < own_ids().size(), "every row exists");
  if (kind == AlignmentKind::kBoth) fuzz::check(alignment.size() == 0, "nothing is common");
  if (kind != AlignmentKind::kOnlyB) return;
  const bool at_a = party == Party::kA;
  fuzz::check(alignment.size() == (at_a ? own_ids().size() : peer_ids), "the rows are A's");
  fuzz::check(std::ranges::count(alignment.real, !at_a) == 0, "nothing is common");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const unsigned switches = input.take_byte();
  constexpr std::array kKinds{AlignmentKind::kBoth, AlignmentKind::kOnlyB, AlignmentKind::kUnion, AlignmentKind::kBoth};
  const AlignmentKind kind = kKinds[switches & 3];
  const Party party = (switches & 4) != 0 ? Party::kB : Party::kA;
  const std::uint64_t announced = take_count(input, (switches & 16) != 0);
  const std::size_t peer_ids = announced <= kMostSent ? announced : 0;
  const std::size_t ids = own_ids().size();

  const testing::PlainScheme scheme;
  const auto [mine, theirs] = net::make_memory_channels();
  Peer peer(*theirs, input);
  peer.open(scheme, peer_of(party), kind);
  peer.send_count(announced);
  peer.send_list(protocol::steps::kBlindedIds, peer_ids);
  const bool returns = kind != AlignmentKind::kOnlyB || party == Party::kB;
  if (returns) peer.send_list(protocol::steps::kDoubleBlindedIds, ids);
  if (kind == AlignmentKind::kUnion) {
    peer.send_list(protocol::steps::kShuffledIds, ids);
    peer.send_list(protocol::steps::kMissingIds, ids);
    peer.send_list(protocol::steps::kNamedIds, peer_ids);
  }
  if (kind != AlignmentKind::kOnlyB) peer.send_order((switches & 8) != 0);
  // A list that ends early must not let this party wait for ever.
  theirs->send({net::steps::kPing, 0, 0}, Bytes());

  try {
    protocol::Session session(party, *mine, scheme);
    const auto alignment = align(session, own_ids(), {.kind = kind, .ids_per_message = kPerMessage});
    fuzz::check(peer.right(), "a wrong message is refused");
    check_alignment(alignment, kind, party, peer_ids);
  } catch (const ProtocolError&) {
    fuzz::check(!peer.right() || peer.surplus() || kind == AlignmentKind::kUnion, "right messages are not refused");
  } catch (const DataError&) {
    fuzz::check(kind != AlignmentKind::kBoth, "this kind takes a peer without ids");
  }
  return 0;
}
