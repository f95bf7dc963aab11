#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/base/bytes.h"

namespace blindfl {
class Random;
}

namespace blindfl::he {

// The two sides of a product: he/keys.h. What it takes: he/plan.h. What some schemes offer beyond: he/updates.h,
// he/slots.h.
class Elements;
class KeyOwner;
class Multiplier;
class Plan;
struct ProductSpec;
class Slots;
class Updates;

/// Public randomness that neither party chose alone.
using Coin = std::array<std::byte, 32>;

/// What a pair of keys is made for.
struct KeySetup {
  std::string set{};  ///< `Plan::key_set()` of the products that it serves
  Coin coin{};        ///< of both parties, fresh for each session, owner and set
};

/// A scheme with its parameters chosen and checked.
class Scheme {
 public:
  Scheme() = default;
  Scheme(const Scheme&) = delete;
  Scheme& operator=(const Scheme&) = delete;
  virtual ~Scheme() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Everything both parties must agree on, as text.
  [[nodiscard]] virtual std::string parameters() const = 0;
  /// The sets of parameters that plans choose from, each with keys of its own; one without a name where there is no
  /// choice.
  [[nodiscard]] virtual std::vector<std::string> key_sets() const { return {std::string()}; }
  [[nodiscard]] virtual std::uint64_t public_key_bytes(const std::string& key_set) const = 0;
  /// Whether a multiplier whose randomness repeats (for the same matrix, operand and key) may repeat a whole message.
  /// Otherwise only its masks may, and what re-randomises must be fresh.
  [[nodiscard]] virtual bool repeats_messages() const { return false; }
  /// Bits of security against who has no key, classical: 112 or 128. 0: none, or parameters that only tests have.
  [[nodiscard]] virtual int security_bits() const { return 0; }
  /// Between schemes that take the same time, the higher one is taken.
  [[nodiscard]] virtual int preference() const { return 0; }
  /// Columns of M that a product carries for about the price of one: as many as small layers have, at most.
  [[nodiscard]] virtual std::size_t columns_at_once() const { return 1; }
  /// Updates under encryption, for schemes whose encrypted matrices can be added to; null for others.
  [[nodiscard]] virtual std::shared_ptr<const Updates> updates() const { return nullptr; }
  /// Exact element-wise products of shared matrices, for schemes that have them; null for others.
  [[nodiscard]] virtual std::shared_ptr<const Elements> elements() const { return nullptr; }
  /// Element-wise products of phases, for functions of shared values, for schemes that have them; null for others.
  [[nodiscard]] virtual std::shared_ptr<const Slots> slots() const { return nullptr; }

  /// Throws InvalidArgument, with the reason, if the product could overflow or this scheme cannot carry it out.
  [[nodiscard]] std::shared_ptr<const Plan> plan(const ProductSpec& spec) const;

  [[nodiscard]] virtual std::unique_ptr<KeyOwner> generate_keys(const KeySetup& setup, Random& random) const = 0;
  /// What `KeyOwner::save` wrote; reads no further. Throws DataError, without a byte of the key, if it is not that, is
  /// damaged, is of other parameters, or if keys of this scheme are never saved.
  [[nodiscard]] virtual std::unique_ptr<KeyOwner> load_keys(ByteSource& in) const;
  /// Throws ProtocolError if the bytes are not a public key of this scheme, these parameters and this setup.
  [[nodiscard]] virtual std::unique_ptr<Multiplier> multiplier(const KeySetup& setup, ByteView public_key) const = 0;

 private:
  [[nodiscard]] virtual std::shared_ptr<const Plan> do_plan(const ProductSpec& spec) const = 0;
};

}  // namespace blindfl::he
