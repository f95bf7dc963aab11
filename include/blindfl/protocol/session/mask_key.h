#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "blindfl/base/bytes.h"
#include "blindfl/base/party.h"
#include "blindfl/base/random.h"
#include "blindfl/base/secret.h"
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

/// A party's own secret for masks that repeat: a mask is a pseudo-random function of it, of the model, of the product
/// and of the matrix that is multiplied. See `RepeatableScoring`.
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

  /// What tells this key and model from others, and tells nobody the key.
  [[nodiscard]] std::string fingerprint() const;

  /// Writes secret and model: for this party's own files, and for nobody else's eyes.
  void save(ByteSink& out) const;
  /// Reads what `save` wrote and leaves what follows. Throws DataError if it is not that.
  [[nodiscard]] static MaskKey load(ByteSource& in);

 private:
  MaskKey(SecretVector<std::byte> secret, std::string model);

  SecretVector<std::byte> secret_;
  std::string model_;
};

}  // namespace blindfl::protocol
