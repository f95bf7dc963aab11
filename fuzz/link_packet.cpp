// Packets of a link, one after the other, into a resumable stream in the middle of its life. Input: for each packet a
// length (two bytes; 65535: cut the connection and greet again) and its bytes.

#include "blindfl/base/error.h"
#include "blindfl/net/resumable_stream.h"
#include "input.h"

namespace {

using namespace blindfl;

constexpr std::size_t kCut = 65535;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  net::ResumableStream stream({net::kLargestData}, [] {});
  net::ResumableStream peer({net::kLargestData}, [] {});
  stream.write(Bytes(1000, std::byte{7}));
  stream.connected(peer.hello());
  (void)stream.next_packet();
  std::uint64_t delivered = 0;
  try {
    while (!input.rest().empty()) {
      const std::size_t length = input.take_u16();
      if (length == kCut) {
        stream.disconnected();
        stream.connected(peer.hello());
        (void)stream.next_packet();
        continue;
      }
      const ByteView taken = input.take(length);
      net::LinkPacket packet = net::decode_packet(Bytes(taken.begin(), taken.end()));
      if (const auto* hello = std::get_if<net::HelloPacket>(&packet)) {
        fuzz::check(net::encode_packet(*hello) == Bytes(taken.begin(), taken.end()), "a hello has one spelling");
        stream.disconnected();
        stream.connected(*hello);
        continue;
      }
      if (const auto* bytes = std::get_if<net::DataPacket>(&packet)) delivered += bytes->bytes().size();
      stream.deliver(std::move(packet));
      fuzz::check(delivered <= stream.window(), "a peer cannot send more than the window");
    }
  } catch (const ProtocolError&) {
  } catch (const TransportError&) {
  } catch (const ConfigError&) {
  }
  return 0;
}
