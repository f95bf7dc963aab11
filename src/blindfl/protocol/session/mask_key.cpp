#include "blindfl/protocol/session/mask_key.h"

#include <string_view>
#include <utility>

#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "blindfl/base/saved_state.h"
#include "blindfl/base/text.h"
#include "blindfl/protocol/session/hashed_fields.h"

namespace blindfl::protocol {

namespace {

constexpr std::uint32_t kMaskKeyMark = 0x4B4D4642;  // "BFMK"
constexpr std::uint32_t kMaskKeyVersion = 1;

// What is hashed begins with what it is for.
constexpr std::string_view kMaskPurpose = "blindfl masks that repeat 1";
constexpr std::string_view kKeysPurpose = "blindfl keys that repeat 1";
constexpr std::string_view kStepPurpose = "blindfl messages that repeat 1";
constexpr std::string_view kCoinPurpose = "blindfl part of a scoring's coin 1";
constexpr std::string_view kFingerprintPurpose = "blindfl mask key 1";

}  // namespace

MaskKey::MaskKey(SecretVector<std::byte> secret, std::string model)
    : secret_(std::move(secret)), model_(std::move(model)) {
  require<InvalidArgument>(!model_.empty() && model_.size() <= kLongestModel, "the name of a model has 1 to ",
                           kLongestModel, " characters, not ", model_.size());
}

MaskKey MaskKey::draw(Random& random, std::string model) {
  SecretVector<std::byte> secret(kSecretBytes);
  random.fill(secret);
  return {std::move(secret), std::move(model)};
}

Random MaskKey::masks(const MaskedProduct& product, const IntMatrix& x) const {
  const Bytes context = write_to_bytes([&](ByteSink& out) {
    write_field(out, as_bytes(kMaskPurpose));
    write_field(out, as_bytes(model_));
    out.write_u8(product.multiplier == Party::kA ? 'A' : 'B');
    out.write_u32(product.step.number());
    out.write_u32(product.layer);
    write_field(out, product.layout);
    write_field(out, digest_of_matrix(x));
  });
  return derived(context);
}

Random MaskKey::derived(ByteView context) const {
  return Random::derived(std::span(secret_).first<kSecretBytes>(), context);
}

Random MaskKey::randomness(const RepeatedKeys& keys) const {
  return derived(write_to_bytes([&](ByteSink& out) {
    write_field(out, as_bytes(kKeysPurpose));
    write_field(out, as_bytes(model_));
    out.write_u8(keys.owner == Party::kA ? 'A' : 'B');
    write_field(out, as_bytes(keys.scheme));
    write_field(out, as_bytes(keys.parameters));
    write_field(out, as_bytes(keys.setup.set));
    write_field(out, keys.setup.coin);
  }));
}

Random MaskKey::randomness(const RepeatedStep& step) const {
  using Kind = RepeatedStep::Kind;
  const auto fits = [](const Bytes& digest, bool wanted) { return digest.size() == (wanted ? kDigestBytes : 0); };
  require<InvalidArgument>(fits(step.public_key, true) && fits(step.matrix, step.kind != Kind::kOpen) &&
                               fits(step.received, step.kind != Kind::kEncrypt),
                           "randomness that repeats must follow from all that it meets, and a digest of it is missing");
  return derived(write_to_bytes([&](ByteSink& out) {
    write_field(out, as_bytes(kStepPurpose));
    write_field(out, as_bytes(model_));
    out.write_u8(static_cast<std::uint8_t>(step.kind));
    out.write_u8(step.party == Party::kA ? 'A' : 'B');
    out.write_u32(step.step.number());
    out.write_u32(step.layer);
    write_field(out, step.product);
    write_field(out, step.public_key);
    write_field(out, step.matrix);
    write_field(out, step.received);
  }));
}

Bytes MaskKey::coin_part() const {
  return keyed_digest_of(secret_, write_to_bytes([&](ByteSink& out) {
                           write_field(out, as_bytes(kCoinPurpose));
                           write_field(out, as_bytes(model_));
                         }));
}

std::string MaskKey::fingerprint() const {
  const Bytes named = write_to_bytes([&](ByteSink& out) {
    write_field(out, as_bytes(kFingerprintPurpose));
    write_field(out, as_bytes(model_));
  });
  return to_hex(keyed_digest_of(secret_, named));
}

void MaskKey::save(ByteSink& out) const {
  out.write_u32(kMaskKeyMark);
  out.write_u32(kMaskKeyVersion);
  out.write(secret_);
  out.write_u32(static_cast<std::uint32_t>(model_.size()));
  out.write(as_bytes(model_));
}

MaskKey MaskKey::load(ByteSource& in) {
  SecretVector<std::byte> secret(kSecretBytes);
  std::string model;
  reading_state([&] {
    require<DataError>(in.read_u32() == kMaskKeyMark && in.read_u32() == kMaskKeyVersion,
                       "the saved state is not a key for masks that repeat, or of another version");
    in.read(secret);
    const std::uint32_t size = in.read_u32();
    require<DataError>(size > 0 && size <= kLongestModel, "the saved key for masks names no model that can be");
    model.resize(size);
    in.read(std::as_writable_bytes(std::span(model)));
  });
  return {std::move(secret), std::move(model)};
}

}  // namespace blindfl::protocol
