#include "blindfl/protocol/session/mask_key.h"

#include <string_view>
#include <utility>

#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "blindfl/base/saved_state.h"
#include "blindfl/base/text.h"

namespace blindfl::protocol {

namespace {

constexpr std::uint32_t kMaskKeyMark = 0x4B4D4642;  // "BFMK"
constexpr std::uint32_t kMaskKeyVersion = 1;

// What is hashed begins with what it is for.
constexpr std::string_view kMaskPurpose = "blindfl masks that repeat 1";
constexpr std::string_view kFingerprintPurpose = "blindfl mask key 1";

/// With its length in front: no two lists of fields make the same bytes.
void write_field(ByteSink& out, ByteView field) {
  out.write_u64(field.size());
  out.write(field);
}

/// Words on their way into a digest.
class HashedWords {
 public:
  HashedWords() { words_.reserve(kAtOnce); }

  void add(std::uint64_t word) {
    words_.push_back(word);
    if (words_.size() == kAtOnce) flush();
  }
  [[nodiscard]] Bytes finish() {
    flush();
    return digest_.finish();
  }

 private:
  static constexpr std::size_t kAtOnce = 4096;

  void flush() {
    digest_.add(std::as_bytes(std::span(words_)));
    words_.clear();
  }

  SecretVector<std::uint64_t> words_;
  DigestOfPieces digest_;
};

/// Different for any two matrices of different shape, encoding or values.
Bytes digest_of_matrix(const IntMatrix& x) {
  const bool dense = x.kind() == IntMatrix::Kind::kDense;
  HashedWords words;
  for (const std::uint64_t fact :
       {static_cast<std::uint64_t>(dense), static_cast<std::uint64_t>(x.rows()), static_cast<std::uint64_t>(x.cols()),
        static_cast<std::uint64_t>(x.scale()), x.bound()}) {
    words.add(fact);
  }
  for (std::size_t r = 0; r < x.rows(); ++r) {
    if (dense) {
      x.for_each_in_row(r, [&](std::size_t, std::int64_t value) { words.add(static_cast<std::uint64_t>(value)); });
      continue;
    }
    x.for_each_in_row(r, [&](std::size_t column, std::int64_t value) {
      words.add(column);
      words.add(static_cast<std::uint64_t>(value));
    });
    words.add(~std::uint64_t{0});  // the end of a row: no column has this number
  }
  return words.finish();
}

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
  return Random::derived(std::span(secret_).first<kSecretBytes>(), context);
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
