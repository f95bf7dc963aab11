#include "blindfl/net/link_packet.h"

#include <algorithm>

#include "blindfl/base/error.h"
#include "blindfl/base/text.h"

namespace blindfl::net {

namespace {

enum class Kind : std::uint8_t {
  kHello = 'H',
  kData = static_cast<std::uint8_t>(kDataKind),
  kCredit = 'A',
  kBye = 'B',
  kByeSeen = 'C',
  kNote = 'N'
};

constexpr std::size_t kHelloBytes = 4 + 16 + 16 + 8 + 8;

LinkPacket decode_hello(BufferSource& in) {
  HelloPacket hello;
  hello.version = in.read_u32();
  in.read(hello.mine);
  in.read(hello.yours);
  hello.received = in.read_u64();
  hello.window = in.read_u64();
  return hello;
}

}  // namespace

std::string printable_words(std::string_view words) {
  return printable(words.substr(0, kLongestReason));
}

Bytes encode_packet(const LinkPacket& packet) {
  BufferSink out;
  const auto begin = [&](Kind kind) { out.write_u8(static_cast<std::uint8_t>(kind)); };
  if (const auto* hello = std::get_if<HelloPacket>(&packet)) {
    begin(Kind::kHello);
    out.write_u32(hello->version);
    out.write(hello->mine);
    out.write(hello->yours);
    out.write_u64(hello->received);
    out.write_u64(hello->window);
  } else if (const auto* data = std::get_if<DataPacket>(&packet)) {
    return data->packet;
  } else if (const auto* credit = std::get_if<CreditPacket>(&packet)) {
    begin(Kind::kCredit);
    out.write_u64(credit->consumed);
  } else if (const auto* bye = std::get_if<ByePacket>(&packet)) {
    begin(Kind::kBye);
    out.write_u8(static_cast<std::uint8_t>(bye->reason));
    const auto words = std::as_bytes(std::span(bye->words));
    out.write(words.first(std::min(words.size(), kLongestReason)));
  } else if (const auto* note = std::get_if<NotePacket>(&packet)) {
    begin(Kind::kNote);
    const auto words = std::as_bytes(std::span(note->words));
    out.write(words.first(std::min(words.size(), kLongestReason)));
  } else {
    begin(Kind::kByeSeen);
  }
  return out.take();
}

LinkPacket decode_packet(Bytes bytes) {
  require<ProtocolError>(!bytes.empty(), "the peer sent an empty packet");
  const std::size_t body = bytes.size() - 1;
  BufferSource in(bytes);
  const auto kind = static_cast<Kind>(in.read_u8());
  const auto check_size = [&](bool fits) {
    require<ProtocolError>(fits, "the peer sent a packet of ", body, " bytes, which its kind cannot have");
  };
  switch (kind) {
    case Kind::kHello:
      check_size(body == kHelloBytes);
      return decode_hello(in);
    case Kind::kData:
      check_size(body >= 1 && body <= kLargestData);
      return DataPacket{std::move(bytes)};
    case Kind::kCredit:
      check_size(body == 8);
      return CreditPacket{in.read_u64()};
    case Kind::kBye: {
      check_size(body >= 1 && body <= 1 + kLongestReason);
      const std::uint8_t reason = in.read_u8();
      require<ProtocolError>(reason <= static_cast<std::uint8_t>(ByeReason::kInterrupted),
                             "the peer closes the link for a reason that is none: ", static_cast<unsigned>(reason));
      return ByePacket{static_cast<ByeReason>(reason),
                       printable_words({reinterpret_cast<const char*>(bytes.data()) + 2, body - 1})};
    }
    case Kind::kByeSeen:
      check_size(body == 0);
      return ByeSeenPacket{};
    case Kind::kNote:
      check_size(body >= 1 && body <= kLongestReason);
      return NotePacket{printable_words({reinterpret_cast<const char*>(bytes.data()) + 1, body})};
  }
  fail<ProtocolError>("the peer sent a packet of kind ", static_cast<unsigned>(kind), ", which is none");
}

}  // namespace blindfl::net
