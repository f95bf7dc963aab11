#include "blindfl/net/link_packet.h"

#include <gtest/gtest.h>

#include "blindfl/base/error.h"

namespace blindfl::net::link_packet_test {
namespace {

Nonce nonce_of(int first) {
  Nonce nonce;
  for (std::size_t i = 0; i < nonce.size(); ++i) nonce[i] = static_cast<std::byte>(static_cast<std::size_t>(first) + i);
  return nonce;
}

Bytes packet(char kind, std::size_t body) {
  Bytes bytes(1 + body);
  bytes[0] = static_cast<std::byte>(kind);
  return bytes;
}

TEST(LinkPacket, SaysHelloInTheDocumentedBytes) {
  const HelloPacket hello{1, nonce_of(10), nonce_of(100), 0x0102, 0x01000000};
  const Bytes bytes = encode_packet(hello);
  ASSERT_EQ(bytes.size(), 53U);
  EXPECT_EQ(bytes[0], std::byte{'H'});
  EXPECT_EQ(bytes[1], std::byte{1});
  EXPECT_EQ(bytes[5], std::byte{10});
  EXPECT_EQ(bytes[21], std::byte{100});
  EXPECT_EQ(bytes[37], std::byte{0x02});
  EXPECT_EQ(bytes[38], std::byte{0x01});
  EXPECT_EQ(bytes[48], std::byte{0x01});
  const auto back = std::get<HelloPacket>(decode_packet(bytes));
  EXPECT_EQ(back.version, 1U);
  EXPECT_EQ(back.mine, hello.mine);
  EXPECT_EQ(back.yours, hello.yours);
  EXPECT_EQ(back.received, hello.received);
  EXPECT_EQ(back.window, hello.window);
}

TEST(LinkPacket, ComesBackAsItWasSent) {
  EXPECT_EQ(std::get<CreditPacket>(decode_packet(encode_packet(CreditPacket{77}))).consumed, 77U);
  EXPECT_TRUE(std::holds_alternative<ByeSeenPacket>(decode_packet(encode_packet(ByeSeenPacket{}))));
  const auto bye = std::get<ByePacket>(decode_packet(encode_packet(ByePacket{ByeReason::kInterrupted, "lunch"})));
  EXPECT_EQ(bye.reason, ByeReason::kInterrupted);
  EXPECT_EQ(bye.words, "lunch");
  EXPECT_EQ(std::get<NotePacket>(decode_packet(encode_packet(NotePacket{"it waits\nfor bank"}))).words,
            "it waits?for bank");
  const auto data = std::get<DataPacket>(decode_packet({kDataKind, std::byte{1}, std::byte{2}}));
  EXPECT_EQ(Bytes(data.bytes().begin(), data.bytes().end()), (Bytes{std::byte{1}, std::byte{2}}));
}

TEST(LinkPacket, OfAnotherSizeOrKindIsRefused) {
  EXPECT_THROW((void)decode_packet({}), ProtocolError);
  for (const auto& [kind, good] : {std::pair{'H', 52U}, {'A', 8U}, {'C', 0U}}) {
    for (std::size_t body = 0; body < 60; ++body) {
      if (body == good) {
        EXPECT_NO_THROW((void)decode_packet(packet(kind, body))) << kind << body;
      } else {
        EXPECT_THROW((void)decode_packet(packet(kind, body)), ProtocolError) << kind << body;
      }
    }
  }
  EXPECT_THROW((void)decode_packet(packet('D', 0)), ProtocolError);
  EXPECT_NO_THROW((void)decode_packet(packet('D', kLargestData)));
  EXPECT_THROW((void)decode_packet(packet('D', kLargestData + 1)), ProtocolError);
  EXPECT_THROW((void)decode_packet(packet('B', 0)), ProtocolError);
  EXPECT_THROW((void)decode_packet(packet('B', 2 + kLongestReason)), ProtocolError);
  EXPECT_THROW((void)decode_packet(packet('N', 0)), ProtocolError);
  EXPECT_NO_THROW((void)decode_packet(packet('N', kLongestReason)));
  EXPECT_THROW((void)decode_packet(packet('N', 1 + kLongestReason)), ProtocolError);
  for (int kind = 0; kind < 256; ++kind) {
    if (std::string_view("HDABCN").find(static_cast<char>(kind)) != std::string_view::npos) continue;
    EXPECT_THROW((void)decode_packet(packet(static_cast<char>(kind), 8)), ProtocolError);
  }
}

TEST(LinkPacket, CarriesWordsThatCanBeShownOnAScreen) {
  Bytes bye = packet('B', 5);
  bye[1] = std::byte{1};
  bye[2] = std::byte{'a'};
  bye[3] = std::byte{0x1B};  // would begin a terminal's control sequence
  bye[4] = std::byte{'\n'};
  bye[5] = std::byte{0xFF};
  EXPECT_EQ(std::get<ByePacket>(decode_packet(bye)).words, "a???");
  EXPECT_EQ(encode_packet(ByePacket{ByeReason::kError, std::string(1000, 'x')}).size(), 2 + kLongestReason);
  bye[1] = std::byte{9};
  EXPECT_THROW((void)decode_packet(bye), ProtocolError);
}

}  // namespace
}  // namespace blindfl::net::link_packet_test
