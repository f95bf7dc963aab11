// The first messages of a session: hello, and settings in words where the parties disagree. Input: switches (1: right
// version, 2: the other role, 4: right digest, 8: the words come, too), then the hello, then the words.

#include <algorithm>
#include <cstring>
#include <string_view>

#include "blindfl/base/error.h"
#include "blindfl/net/memory_channel.h"
#include "blindfl/protocol/session/hello_layout.h"
#include "blindfl/protocol/session/session.h"
#include "blindfl/protocol/session/steps.h"
#include "input.h"
#include "testing/plain/plain_scheme.h"

namespace {

using namespace blindfl;

using protocol::kHelloBytes;
constexpr std::size_t kSettingsBytes = 4096;

Bytes right_digest(const he::Scheme& scheme) {
  return protocol::Settings().add("scheme", scheme.name()).add("parameters", scheme.parameters()).digest();
}

void put_version(Bytes& hello) {
  std::ranges::copy(write_to_bytes([](ByteSink& out) { out.write_u32(protocol::kProtocolVersion); }), hello.begin());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const unsigned switches = input.take_byte();
  const testing::PlainScheme scheme;
  Bytes hello(kHelloBytes);
  std::ranges::copy(input.take(kHelloBytes), hello.begin());
  if ((switches & 1) != 0) put_version(hello);
  if ((switches & 2) != 0) hello[4] = std::byte{'B'};
  if ((switches & 4) != 0) std::ranges::copy(right_digest(scheme), hello.begin() + 37);
  Bytes words(kSettingsBytes);
  std::ranges::copy(input.take(kSettingsBytes), words.begin());

  const auto [mine, theirs] = net::make_memory_channels();
  theirs->send({protocol::steps::kHello, 0, kHelloBytes}, hello);
  if ((switches & 8) != 0) {
    theirs->send({protocol::steps::kSettings, 0, kSettingsBytes}, words);
  } else {
    Random random;
    theirs->send({protocol::steps::kPublicKey, 0, scheme.public_key_bytes({})},
                 scheme.generate_keys({}, random)->public_key());
  }
  const bool right = (switches & 15) == 7;
  try {
    const protocol::Session session(protocol::Party::kA, *mine, scheme);
    fuzz::check(session.id().size() == 32, "a session has an id");
  } catch (const ProtocolError&) {
    fuzz::check(!right, "a right hello is not refused");
  } catch (const ConfigError& error) {
    fuzz::check(!right, "a right hello is not refused");
    for (const char c : std::string_view(error.what())) fuzz::check(c >= ' ' && c <= '~', "words fit for a screen");
  }
  const std::string_view text(reinterpret_cast<const char*>(words.data()), words.size());
  const protocol::Settings parsed = protocol::Settings::parse(text);
  fuzz::check(protocol::Settings::differences(parsed, parsed).empty() || !parsed.text().empty(), "alike is alike");
  return 0;
}
