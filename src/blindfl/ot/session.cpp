#include "blindfl/ot/session.h"

#include <algorithm>

#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"

namespace blindfl::ot {

namespace {

constexpr std::string_view kDomain = "BlindFL oblivious transfer 1: ";
constexpr std::size_t kNameBytes = 16;

OtSession::Digest to_array(const Bytes& digest) {
  OtSession::Digest array{};
  std::ranges::copy(digest, array.begin());
  return array;
}

}  // namespace

std::string_view name_of(OtStep step) {
  switch (step) {
    case OtStep::kSenderHello:
      return "base points";
    case OtStep::kReceiverHello:
      return "base point";
    case OtStep::kTrees:
      return "trees";
    case OtStep::kExtension:
      return "extension";
  }
  return "message";
}

OtSession::OtSession(const OtSpec& spec) : tree_depth_(spec.tree_depth) {
  require<InvalidArgument>(spec.tree_depth == 2 || spec.tree_depth == 4 || spec.tree_depth == 8,
                           "oblivious transfer: trees of depth 2, 4 or 8, not ", spec.tree_depth);
  digest_ = to_array(digest_of(write_to_bytes([&](ByteSink& out) {
    out.write_text(kDomain);
    out.write(spec.id);
    out.write_text(blindfl::name_of(spec.sender));
    out.write_u32(static_cast<std::uint32_t>(spec.tree_depth));
    out.write_u32(kTileOts);
  })));
  name_ = derived("name", 0);
}

OtSession::Digest OtSession::derived(std::string_view purpose, std::uint64_t number) const {
  BufferSink out(digest_.size() + purpose.size() + 12);
  out.write(digest_);
  out.write_text(purpose);
  out.write_u64(number);
  return to_array(digest_of(out.bytes()));
}

void OtSession::write_header(ByteSink& out, OtStep step, std::uint64_t first_tile, std::size_t tiles) const {
  out.write(ByteView(name_).first(kNameBytes));
  out.write_u32(static_cast<std::uint32_t>(step));
  out.write_u32(static_cast<std::uint32_t>(tiles));
  out.write_u64(first_tile);
}

ByteView OtSession::checked_body(ByteView message, OtStep step, std::uint64_t first_tile, std::size_t tiles,
                                 std::size_t body_bytes) const {
  const std::string_view what = name_of(step);
  require<ProtocolError>(message.size() == kHeaderBytes + body_bytes, "oblivious transfer: the peer's message (", what,
                         ") has ", message.size(), " bytes, not ", kHeaderBytes + body_bytes);
  BufferSource header(message.first(kHeaderBytes));
  std::array<std::byte, kNameBytes> name{};
  header.read(name);
  require<ProtocolError>(std::ranges::equal(name, ByteView(name_).first(kNameBytes)),
                         "oblivious transfer: the peer's message (", what,
                         ") is of another session, direction or set of parameters");
  require<ProtocolError>(header.read_u32() == static_cast<std::uint32_t>(step),
                         "oblivious transfer: the peer's message is not the one that comes next (", what, ")");
  require<ProtocolError>(header.read_u32() == tiles && header.read_u64() == first_tile,
                         "oblivious transfer: the peer's message (", what,
                         ") is not for the tiles that come next here: the parties are out of step");
  return message.subspan(kHeaderBytes);
}

}  // namespace blindfl::ot
