#include "blindfl/ot/tables/use.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"

namespace blindfl::ot {

TableBinding::TableBinding(const TablePlan& plan, const TableUse& use, const OtSession::Digest& place) {
  const Bytes digest = digest_of(write_to_bytes([&](ByteSink& out) {
    out.write_text("BlindFL table by oblivious transfer 1");
    out.write(use.session);
    out.write_text(name_of(use.chooser));
    out.write_u32(use.layer);
    out.write_u64(use.step);
    out.write_u64(plan.shape().lookups);
    out.write_u64(plan.shape().categories);
    out.write_u64(plan.shape().cols);
    out.write_u32(plan.way() == TableWay::kBins ? 1 : 0);
    out.write(place);
  }));
  std::ranges::copy(digest, digest_.begin());
}

TableBinding::Tag TableBinding::tag(std::string_view message, std::size_t word_bytes) const {
  const Bytes digest = digest_of(write_to_bytes([&](ByteSink& out) {
    out.write(digest_);
    out.write_text(message);
    out.write_u64(word_bytes);
  }));
  Tag tag{};
  std::ranges::copy_n(digest.begin(), kTagBytes, tag.begin());
  return tag;
}

void TableBinding::write_tag(std::span<std::byte> out, std::string_view message, std::size_t word_bytes) const {
  std::ranges::copy(tag(message, word_bytes), out.begin());
}

ByteView TableBinding::checked_body(ByteView message, std::string_view name, std::uint64_t bytes,
                                    std::size_t word_bytes) const {
  require<ProtocolError>(message.size() == bytes, "table: the peer's message (", name, ") has ", message.size(),
                         " bytes, not ", bytes);
  require<ProtocolError>(std::ranges::equal(message.first(kTagBytes), tag(name, word_bytes)),
                         "table: the peer's message (", name,
                         ") is not for these keys: the parties are out of step, or have other tables");
  return message.subspan(kTagBytes);
}

CipherKeys TableBinding::keys(TableDomain domain, std::size_t count, const Kernels& kernels) const {
  Block master;
  std::memcpy(&master, digest_.data(), sizeof master);
  const CipherKeys cipher(kernels, &master, 1);
  std::vector<Block> keys(count);
  for (std::size_t i = 0; i < count; ++i) keys[i] = {i, static_cast<std::uint64_t>(domain)};
  kernels.encrypt(cipher.at(0), keys.data(), keys.data(), count);
  return {kernels, keys.data(), count};
}

}  // namespace blindfl::ot
