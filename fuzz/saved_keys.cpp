// Saved keys of a session, as a party loads them from its file. Input: a byte with how the rest becomes a file: as it
// stands (bit 0), or else as edits of a right one.

#include <memory>

#include "blindfl/base/error.h"
#include "blindfl/base/secret_sink.h"
#include "blindfl/he/paillier/paillier_scheme.h"
#include "blindfl/protocol/session/saved_keys.h"
#include "input.h"
#include "testing/insecure_paillier.h"

namespace {

using namespace blindfl;

struct Keys {
  he::PaillierScheme scheme{he::paillier::InsecureParams::make(), {}};
  Random random;
  std::unique_ptr<he::KeyOwner> owner = scheme.generate_keys({}, random);

  [[nodiscard]] Bytes save(const he::KeyOwner& keys) const {
    const protocol::OwnKeys own{&scheme, &keys};
    return write_to_bytes([&](ByteSink& out) { write_keys(out, std::span(&own, 1)); });
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Keys keys;
  static const Bytes right = keys.save(*keys.owner);
  fuzz::Input input(data, size);
  const bool as_it_stands = (input.take_byte() & 1U) != 0;
  const ByteView rest = input.rest();
  const Bytes file = as_it_stands ? Bytes(rest.begin(), rest.end()) : fuzz::edited(input, right);
  const he::Scheme* scheme = &keys.scheme;
  try {
    const auto read = protocol::read_keys(file, std::span(&scheme, 1));
    // Keys of schemes that are not asked for are passed over.
    if (read[0] != nullptr) fuzz::check(keys.save(*read[0]).size() <= file.size(), "keys are as long as they were");
    if (file == right) fuzz::check(keys.save(*read[0]) == right, "what was loaded is saved");
  } catch (const DataError&) {
    fuzz::check(file != right, "right ones are not refused");
  }
  return 0;
}
