#include "blindfl/protocol/session/saved_keys.h"

#include <string>

#include "blindfl/base/error.h"
#include "blindfl/base/saved_state.h"
#include "blindfl/base/secret_sink.h"
#include "blindfl/base/text.h"

namespace blindfl::protocol {

namespace {

constexpr std::uint32_t kSavedKeysMark = 0x4B534642;  // "BFSK"
constexpr std::uint32_t kKeysVersion = 1;
constexpr std::size_t kMaxWords = 4096;

/// One scheme's keys; `bytes` is all that was saved of them.
std::unique_ptr<he::KeyOwner> read_one(const he::Scheme& scheme, const std::string& parameters, ByteView bytes) {
  require<DataError>(parameters == scheme.parameters(), "the saved keys of the scheme '", scheme.name(),
                     "' are of other parameters: '", scheme.parameters(), "' here and '", printable(parameters),
                     "' in the saved keys. Use the same key size as before");
  BufferSource in(bytes);
  auto keys = scheme.load_keys(in);
  require<DataError>(in.remaining() == 0, "the saved keys of the scheme '", scheme.name(), "' are damaged: too long");
  return keys;
}

}  // namespace

void write_keys(ByteSink& out, std::span<const OwnKeys> all) {
  out.write_u32(kSavedKeysMark);
  out.write_u32(kKeysVersion);
  out.write_u32(static_cast<std::uint32_t>(all.size()));
  for (const OwnKeys& own : all) {
    SecretSink key;
    own.keys->save(key);
    out.write_text(own.scheme->name());
    out.write_text(own.scheme->parameters());
    out.write_u64(key.bytes().size());
    out.write(key.bytes());
  }
}

std::vector<std::unique_ptr<he::KeyOwner>> read_keys(ByteView saved, std::span<const he::Scheme* const> schemes) {
  std::vector<std::unique_ptr<he::KeyOwner>> keys(schemes.size());
  reading_state([&] {
    BufferSource in(saved);
    require<DataError>(in.read_u32() == kSavedKeysMark && in.read_u32() == kKeysVersion,
                       "these are not saved keys, or of another version of their format");
    const std::uint32_t count = in.read_u32();
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::string name = in.read_text(kMaxWords);
      const std::string parameters = in.read_text(kMaxWords);
      const std::uint64_t size = in.read_u64();
      require<DataError>(size <= in.remaining(), "the saved keys are damaged or cut short");
      SecretVector<std::byte> bytes(size);
      in.read(bytes);
      for (std::size_t s = 0; s < schemes.size(); ++s) {
        if (schemes[s]->name() != name) continue;
        require<DataError>(!keys[s], "the saved keys are damaged: two are of the scheme '", schemes[s]->name(), "'");
        keys[s] = read_one(*schemes[s], parameters, bytes);
      }
    }
    require<DataError>(in.remaining() == 0, "the saved keys are damaged: too long");
  });
  return keys;
}

}  // namespace blindfl::protocol
