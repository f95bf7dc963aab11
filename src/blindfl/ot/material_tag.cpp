#include "blindfl/ot/material_tag.h"

#include <algorithm>

#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"

namespace blindfl::ot {

namespace {

using Place = OtSession::Digest;

void hash_into(std::span<std::byte, MaterialTag::kBytes> tag, std::string_view purpose,
               std::initializer_list<std::uint64_t> numbers, std::initializer_list<Place> places) {
  const Bytes digest = digest_of(write_to_bytes([&](ByteSink& out) {
    out.write_text(purpose);
    for (const std::uint64_t number : numbers) out.write_u64(number);
    for (const Place& place : places) out.write(place);
  }));
  std::ranges::copy_n(digest.begin(), MaterialTag::kBytes, tag.begin());
}

}  // namespace

MaterialTag::MaterialTag(std::string_view purpose, std::initializer_list<std::uint64_t> numbers,
                         const RandomOtSender& sender, const RandomOtReceiver& receiver) {
  // In an order that both parties find: what one sends the other receives.
  const Place one = sender.place();
  const Place other = receiver.place();
  hash_into(tag_, purpose, numbers, {std::min(one, other), std::max(one, other)});
}

MaterialTag::MaterialTag(std::string_view purpose, std::initializer_list<std::uint64_t> numbers, const Place& place) {
  hash_into(tag_, purpose, numbers, {place});
}

void MaterialTag::write(ByteSink& out) const {
  out.write(tag_);
}

void MaterialTag::check(ByteSource& in) const {
  std::array<std::byte, kBytes> peer{};
  in.read(peer);
  require<ProtocolError>(peer == tag_,
                         "the peer's random OTs are not those that were taken here: the parties are out of step");
}

}  // namespace blindfl::ot
