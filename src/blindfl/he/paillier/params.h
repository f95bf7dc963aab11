#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace blindfl::he::paillier {

/// What a user may ask for.
struct ParamsSpec {
  /// Of the modulus n: 2048 (112-bit security) or 3072 (128-bit security).
  int key_bits = 2048;
};

/// Parameters that passed every check.
class Params {
 public:
  /// Randomness that travels to the key's owner, who knows the factors of n, is this much longer than n.
  static constexpr std::size_t kExtraBits = 128;
  /// The owner's exponents under each factor p of n are this much longer than p, so that none of the p - 1 powers is
  /// likelier than another by more than 2^-kOwnerExtraBits.
  static constexpr std::size_t kOwnerExtraBits = 64;

  /// Throws InvalidArgument if keys of this size are not offered.
  explicit Params(const ParamsSpec& spec);

  [[nodiscard]] int key_bits() const { return key_bits_; }
  /// NIST SP 800-57: 112 for 2048 bits, 128 for 3072; 0 for keys that only tests have.
  [[nodiscard]] int security_bits() const { return key_bits_ >= 3072 ? 128 : key_bits_ >= 2048 ? 112 : 0; }
  /// Signed plaintexts of this many bits, sign included, always fit.
  [[nodiscard]] int plaintext_bits() const { return key_bits_ - 1; }
  [[nodiscard]] std::size_t key_bytes() const { return static_cast<std::size_t>(key_bits_) / 8; }
  [[nodiscard]] std::size_t ciphertext_bytes() const { return 2 * key_bytes(); }
  /// Everything both parties must agree on, as text.
  [[nodiscard]] std::string describe() const;

 private:
  // Only tests may go below the floor: they define this.
  friend struct InsecureParams;
  enum class Floor { kEnforced, kIgnored };
  Params(const ParamsSpec& spec, Floor floor);

  int key_bits_;
};

}  // namespace blindfl::he::paillier
