#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/base/digest.h"
#include "blindfl/net/identity.h"
#include "blindfl/protocol/session/place.h"

// What A's tell each other by way of B when they agree on masks. All have one size, however many A's there are, so that
// parties that disagree about their number can say so. docs/formats.md, "Masks between", has the bytes.

namespace blindfl::protocol {

constexpr std::size_t kPeerNameBytes = 64;

/// Throws E, naming `what`, unless a name has 1 to kPeerNameBytes printable characters.
template <class E>
void check_peer_name(const std::string& name, const char* what);

struct MaskOffer {
  static constexpr std::size_t kNonceBytes = 32;
  static constexpr std::size_t kKeyBytes = 32;
  using Began = std::array<std::byte, kDigestBytes>;
  static constexpr std::size_t kBytes = 8 + 2 * kPeerNameBytes + kDigestBytes + kNonceBytes + kKeyBytes;
  std::uint32_t peers = 0;  ///< A's that the sender counts, itself included
  std::string name{};
  std::string run{};
  Began began{};  ///< digest of the offers that the run began with; zeros in these
  std::array<std::byte, kNonceBytes> nonce{};
  std::array<std::byte, kKeyBytes> key{};  ///< X25519, public

  bool operator==(const MaskOffer&) const = default;
};

/// Why a party refuses an A.
enum class Refusal : std::uint32_t {
  kNone,
  kNumber,     ///< it counts another number of A's
  kDoubled,    ///< another A has the same name
  kName,       ///< nobody of that name is expected
  kRun,        ///< it is in another run, or one of this name that began otherwise
  kAltered,    ///< its own offer did not come back as it was sent
  kKey,        ///< its key is none
  kExpired,    ///< its certificate's time is over, or has not begun
  kSignature,  ///< its proof is not by the pinned certificate, for another B, or of something else
};
constexpr auto kLastRefusal = Refusal::kSignature;

struct MaskVerdict {
  static constexpr std::size_t kBytes = 8;
  Refusal refusal = Refusal::kNone;
  std::uint32_t whom = 0;  ///< its place

  bool operator==(const MaskVerdict&) const = default;
};

struct MaskProof {
  static constexpr std::size_t kBytes = MaskVerdict::kBytes + 4 + net::kMaxSignatureBytes;
  MaskVerdict verdict{};  ///< of the offers
  Bytes signature{};      ///< none if it refuses, and none of B's

  bool operator==(const MaskProof&) const = default;
};

// Readers throw ProtocolError, saying what, unless it is what the writers write.

void write(const MaskOffer& offer, ByteSink& out);
void write(const MaskVerdict& verdict, ByteSink& out);
void write(const MaskProof& proof, ByteSink& out);
void read(MaskOffer& offer, ByteSource& in);
void read(MaskVerdict& verdict, ByteSource& in);
void read(MaskProof& proof, ByteSource& in);

/// Up to `kMostOf<Said>` of one kind, and zeros up to that number. Verdicts and proofs may have one more than there are
/// A's: B's own, the last.
template <class Said>
constexpr std::size_t kMostOf = kMostPeers + 1;
template <>
inline constexpr std::size_t kMostOf<MaskOffer> = kMostPeers;

template <class Said>
constexpr std::size_t kListBytes = 4 + kMostOf<Said>* Said::kBytes;

template <class Said>
void write_list(const std::vector<Said>& all, ByteSink& out);
template <class Said>
[[nodiscard]] std::vector<Said> read_list(ByteSource& in);

/// What all offers together are known by: the same at all parties that saw the same.
[[nodiscard]] Bytes digest_of_offers(const std::vector<MaskOffer>& offers);
/// What an A signs: what it is for, the offers, its own name, the fingerprint (net::fingerprint) of the B that it has
/// a link to.
[[nodiscard]] Bytes signed_message(const Bytes& offers_digest, const std::string& name, const std::string& b);

/// "'a1'", or "B" for the place after all A's.
[[nodiscard]] std::string quoted_name(std::size_t place, const std::vector<MaskOffer>& offers);
/// "'a1' refuses 'a2': ..."; `by` is the place of who refuses, the last being B.
[[nodiscard]] std::string words_of(const MaskVerdict& verdict, std::size_t by, const std::vector<MaskOffer>& offers);

}  // namespace blindfl::protocol
