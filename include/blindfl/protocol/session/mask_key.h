#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "blindfl/base/bytes.h"
#include "blindfl/base/party.h"
#include "blindfl/base/random.h"
#include "blindfl/base/secret.h"
#include "blindfl/he/scheme.h"
#include "blindfl/net/step.h"
#include "blindfl/tensor/int_matrix.h"

namespace blindfl::protocol {

/// Which product a mask is for: all that decides what it hides, but for the matrix and the weights.
struct MaskedProduct {
  Party multiplier{};  ///< whose mask it is
  net::Step step{};    ///< that the reply travels in
  std::uint32_t layer = 0;
  Bytes layout{};  ///< scheme, parameters and shape: which mask stands where
};

/// What keys that repeat are made from: all of it. The same secret key under two coins would be no secret.
struct RepeatedKeys {
  Party owner{};
  std::string scheme{};
  std::string parameters{};
  he::KeySetup setup{};
};

/// A step of a product whose messages repeat, by all that it is computed from: where any of it is another, so is its
/// randomness. What meets the same randomness twice is then the same twice, and tells nothing new.
struct RepeatedStep {
  enum class Kind : std::uint8_t {
    kEncrypt = 1,   ///< of M, at the key's owner
    kMultiply = 2,  ///< X with it, at the multiplier
    kOpen = 3,      ///< of the reply, at the key's owner
  };

  Kind kind{};
  Party party{};     ///< who takes the step
  net::Step step{};  ///< that its message travels in: the operand of the first, the reply of the others
  std::uint32_t layer = 0;
  Bytes product{};     ///< `facts_of` scheme and plan
  Bytes public_key{};  ///< digest of the key's
  Bytes matrix{};      ///< digest of M, or of X; empty in `kOpen`
  Bytes received{};    ///< digest of the operand, or of the reply, as it arrived; empty in `kEncrypt`
};

/// A party's own secret for masks and messages that repeat: what is drawn is a pseudo-random function of it, of the
/// model, of the product and of the matrix that is multiplied. See `RepeatableScoring`.
///
/// `model` stands for the weights, of both parties: whoever draws a key, or keeps one, gives each state of them another
/// name, for instance a digest of the saved shares. The same mask for the same rows under two states of the weights
/// would show the peer the difference of two products.
class MaskKey {
 public:
  static constexpr std::size_t kSecretBytes = KeyStream::kKeyBytes;
  static constexpr std::size_t kLongestModel = 256;

  /// Throws InvalidArgument if `model` is empty or longer than `kLongestModel`.
  [[nodiscard]] static MaskKey draw(Random& random, std::string model);
  /// The same secret for another model. Throws as `draw` does.
  [[nodiscard]] MaskKey for_model(std::string model) const { return {secret_, std::move(model)}; }

  [[nodiscard]] const std::string& model() const { return model_; }

  /// Where the masks of this product with `x` come from. Cost: one SHA-256 over `x`.
  [[nodiscard]] Random masks(const MaskedProduct& product, const IntMatrix& x) const;

  // Where whole messages repeat.

  /// Where keys come from.
  [[nodiscard]] Random randomness(const RepeatedKeys& keys) const;
  /// Where everything that a step draws comes from. Throws InvalidArgument if a digest is missing.
  [[nodiscard]] Random randomness(const RepeatedStep& step) const;
  /// This party's part of the coins of such keys: 32 bytes for the peer. Reveals: whether key and model are those of an
  /// earlier scoring.
  [[nodiscard]] Bytes coin_part() const;

  /// What tells this key and model from others, and tells nobody the key.
  [[nodiscard]] std::string fingerprint() const;

  /// Writes secret and model: for this party's own files, and for nobody else's eyes.
  void save(ByteSink& out) const;
  /// Reads what `save` wrote and leaves what follows. Throws DataError if it is not that.
  [[nodiscard]] static MaskKey load(ByteSource& in);

 private:
  MaskKey(SecretVector<std::byte> secret, std::string model);
  [[nodiscard]] Random derived(ByteView context) const;

  SecretVector<std::byte> secret_;
  std::string model_;
};

}  // namespace blindfl::protocol
