#pragma once

#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/mpc/bit_shares.h"
#include "blindfl/ot/pool.h"

// Products of shared bits: Beaver, "Efficient Multiparty Protocols Using Circuit Randomization", CRYPTO 1991.
//
// A triple is shares of random bits a, b and of c = a b. To multiply x and y, both parties open x + a and y + b, which
// tells nothing, and take c + (x + a) b + (y + b) a + (x + a)(y + b), the last at one party only (all XOR).
// Triples come from a random OT in each direction: the receiver's choice is its share of a; the sum of the sender's two
// pads is the sender's share of b; and the pad that the receiver has is the sender's first, plus choice times that sum:
// shares of the cross product (Beaver 1995; two bits of each pad give two b for one a). So a product x y together with
// x z costs one random OT each way, and three opened bits.

namespace blindfl::mpc {

/// Triples (a, b, a b), (a, b', a b') for a number of bits. Used once.
struct SharedFactorTriples {
  /// Takes `count` random OTs of each pool. Throws InvalidArgument if one has too few.
  SharedFactorTriples(std::size_t count, ot::RandomOtSender& sender, ot::RandomOtReceiver& receiver);
  SharedFactorTriples(SharedFactorTriples&&) = default;
  SharedFactorTriples& operator=(SharedFactorTriples&&) = default;
  SharedFactorTriples(const SharedFactorTriples&) = delete;
  SharedFactorTriples& operator=(const SharedFactorTriples&) = delete;
  ~SharedFactorTriples() = default;

  BitShares a;
  BitShares b;
  BitShares b_second;
  BitShares c;
  BitShares c_second;
};

/// Shares of x y, and of x z if `z` is given. Cost: each party opens as many planes as there are factors, one flight.
class BitProducts {
 public:
  /// `z` may be null. `adds_public` at exactly one of the parties. Throws InvalidArgument if sizes differ.
  BitProducts(SharedFactorTriples triples, const BitShares& x, const BitShares& y, const BitShares* z,
              bool adds_public);

  /// This party's masked factors.
  void write(ByteSink& out) const;
  /// Planes that `read` takes.
  [[nodiscard]] std::size_t planes() const { return opened_.size(); }

  struct Products {
    BitShares xy;
    BitShares xz;  ///< empty without z
  };
  /// With the peer's masked factors, as many as `planes()`.
  [[nodiscard]] Products finish(std::span<const BitShares> peer) const;

 private:
  SharedFactorTriples triples_;
  std::vector<BitShares> opened_;
  bool adds_public_;
};

}  // namespace blindfl::mpc
