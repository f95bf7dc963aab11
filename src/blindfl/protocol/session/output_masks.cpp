#include "blindfl/protocol/session/output_masks.h"

#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/base/int128.h"
#include "blindfl/protocol/session/hashed_fields.h"

namespace blindfl::protocol {

namespace {

constexpr std::string_view kMaskOfOutput = "blindfl mask of an output 1";
constexpr std::string_view kPairSecret = "blindfl secret of two A's 1";

}  // namespace

OutputMasks::OutputMasks(std::vector<std::string> names, std::size_t own, std::vector<Key> keys)
    : names_(std::move(names)), own_(own), keys_(std::move(keys)) {
  bool fits = own_ < names_.size() && keys_.size() == names_.size();
  for (std::size_t i = 0; fits && i < keys_.size(); ++i) {
    fits = keys_[i].size() == (i == own_ ? 0 : KeyStream::kKeyBytes);
  }
  require<InvalidArgument>(fits, "masks between A's need a key with each other A, and none with this one");
}

Random OutputMasks::stream(std::size_t other, ByteView context) const {
  return Random::derived(std::span(keys_[other]).first<KeyStream::kKeyBytes>(), context);
}

void OutputMasks::bind(std::string_view what, ByteView value) {
  bound_.insert_or_assign(std::string(what), Bytes(value.begin(), value.end()));
}

SecretVector<std::uint64_t> OutputMasks::next(const Shape& shape, ByteView about) {
  require<InvalidArgument>(shape.ring_bits > 0 && shape.ring_bits <= 64, "masks of outputs are modulo 2^64 at most");
  const Bytes context = write_to_bytes([&](ByteSink& out) {
    write_field(out, as_bytes(kMaskOfOutput));
    out.write_u64(opened_);
    out.write_u64(shape.rows);
    out.write_u64(shape.cols);
    out.write_u32(static_cast<std::uint32_t>(shape.ring_bits));
    write_field(out, about);
    for (const auto& [what, value] : bound_) {
      write_field(out, as_bytes(what));
      write_field(out, value);
    }
  });
  ++opened_;
  SecretVector<std::uint64_t> mask(shape.rows * shape.cols);
  SecretVector<std::uint64_t> words(mask.size());
  for (std::size_t other = 0; other < names_.size(); ++other) {
    if (other == own_) continue;
    stream(other, context).fill_integers(std::span<std::uint64_t>(words));
    // One of the two adds what the other subtracts.
    for (std::size_t i = 0; i < mask.size(); ++i) mask[i] += own_ < other ? words[i] : 0 - words[i];
  }
  for (std::uint64_t& word : mask) word = low64(low_bits(word, shape.ring_bits));
  return mask;
}

OutputMasks::Key OutputMasks::secret_with(std::size_t other, std::string_view purpose) const {
  require<InvalidArgument>(other < names_.size() && other != own_, "there is no other A at place ", other);
  Key secret(KeyStream::kKeyBytes);
  stream(other, write_to_bytes([&](ByteSink& out) {
           write_field(out, as_bytes(kPairSecret));
           write_field(out, as_bytes(purpose));
         }))
      .fill(secret);
  return secret;
}

}  // namespace blindfl::protocol
