#include "blindfl/protocol/session/mask_messages.h"

#include <algorithm>

#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "blindfl/base/text.h"
#include "blindfl/protocol/session/hashed_fields.h"

namespace blindfl::protocol {

namespace {

constexpr std::uint32_t kOfferVersion = 2;
constexpr std::string_view kOffersPurpose = "blindfl offers of masks 1";
constexpr std::string_view kProofPurpose = "blindfl proof of a mask's key 2";

void write_name(const std::string& name, ByteSink& out) {
  Bytes padded(kPeerNameBytes);
  std::ranges::copy(as_bytes(name), padded.begin());
  out.write(padded);
}

std::string read_name(ByteSource& in, const char* what) {
  std::string name(kPeerNameBytes, '\0');
  in.read(std::as_writable_bytes(std::span(name)));
  const std::size_t end = name.find('\0');
  if (end != std::string::npos) {
    require<ProtocolError>(name.find_first_not_of('\0', end) == std::string::npos,
                           "mask offer: there is something after ", what);
    name.resize(end);
  }
  check_peer_name<ProtocolError>(name, what);
  return name;
}

/// Room for what nobody agreed on would be room for a hidden message.
void read_zeros(ByteSource& in, std::size_t count) {
  Bytes rest(count);
  in.read(rest);
  require<ProtocolError>(std::ranges::all_of(rest, [](std::byte b) { return b == std::byte{0}; }),
                         "a message about masks has something after its end");
}

const char* reason(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNumber:
      return "it counts another number of A's; name all of them in the jobs of all parties";
    case Refusal::kDoubled:
      return "two A's have this name; give each its own";
    case Refusal::kName:
      return "no A of this name is expected; call each A alike in the jobs of all parties";
    case Refusal::kRun:
      return "it is in another run; name the folder of the same run at all parties, or begin a new one";
    case Refusal::kAltered:
      return "its key message did not come back as it was sent: it was forged or replayed on its way";
    case Refusal::kKey:
      return "its key is not one: the message was forged";
    case Refusal::kExpired:
      return "its certificate has expired, or is not valid yet: it must make a new one, or set its clock";
    case Refusal::kSignature:
      return "its key message is not signed by the certificate that is named for it, or not for this B, or was forged "
             "or replayed; compare the certificate's fingerprint and B's by phone, and get them again";
    case Refusal::kNone:
      break;
  }
  return "nothing";
}

}  // namespace

template <class E>
void check_peer_name(const std::string& name, const char* what) {
  require<E>(!name.empty() && name.size() <= kPeerNameBytes && is_printable(name), what, " has 1 to ", kPeerNameBytes,
             " printable characters");
}
template void check_peer_name<InvalidArgument>(const std::string& name, const char* what);
template void check_peer_name<ProtocolError>(const std::string& name, const char* what);

void write(const MaskOffer& offer, ByteSink& out) {
  out.write_u32(kOfferVersion);
  out.write_u32(offer.peers);
  write_name(offer.name, out);
  write_name(offer.run, out);
  out.write(offer.began);
  out.write(offer.nonce);
  out.write(offer.key);
}

void read(MaskOffer& offer, ByteSource& in) {
  require<ProtocolError>(in.read_u32() == kOfferVersion, "mask offer: it is of another version");
  offer.peers = in.read_u32();
  offer.name = read_name(in, "the name of an A");
  offer.run = read_name(in, "the name of a run");
  in.read(offer.began);
  in.read(offer.nonce);
  in.read(offer.key);
}

void write(const MaskVerdict& verdict, ByteSink& out) {
  out.write_u32(static_cast<std::uint32_t>(verdict.refusal));
  out.write_u32(verdict.whom);
}

void read(MaskVerdict& verdict, ByteSource& in) {
  const std::uint32_t refusal = in.read_u32();
  require<ProtocolError>(refusal <= static_cast<std::uint32_t>(kLastRefusal),
                         "mask verdict: it says what nobody understands");
  verdict.refusal = static_cast<Refusal>(refusal);
  verdict.whom = in.read_u32();
  require<ProtocolError>(verdict.whom < kMostPeers && (verdict.refusal != Refusal::kNone || verdict.whom == 0),
                         "mask verdict: it names an A that there is not");
}

void write(const MaskProof& proof, ByteSink& out) {
  require<InvalidArgument>(proof.signature.size() <= net::kMaxSignatureBytes, "a signature is too long");
  write(proof.verdict, out);
  out.write_u32(static_cast<std::uint32_t>(proof.signature.size()));
  out.write(proof.signature);
  out.write(Bytes(net::kMaxSignatureBytes - proof.signature.size()));
}

void read(MaskProof& proof, ByteSource& in) {
  read(proof.verdict, in);
  const std::uint32_t size = in.read_u32();
  require<ProtocolError>(size <= net::kMaxSignatureBytes, "mask proof: its signature is too long");
  proof.signature.resize(size);
  in.read(proof.signature);
  read_zeros(in, net::kMaxSignatureBytes - size);
}

template <class Said>
void write_list(const std::vector<Said>& all, ByteSink& out) {
  require<InvalidArgument>(all.size() <= kMostOf<Said>, "there are too many A's");
  out.write_u32(static_cast<std::uint32_t>(all.size()));
  for (const Said& said : all) write(said, out);
  out.write(Bytes((kMostOf<Said> - all.size()) * Said::kBytes));
}

template <class Said>
std::vector<Said> read_list(ByteSource& in) {
  const std::uint32_t count = in.read_u32();
  require<ProtocolError>(count >= 2 && count <= kMostOf<Said>, "a message about masks counts A's that there are not");
  std::vector<Said> all(count);
  for (Said& said : all) read(said, in);
  read_zeros(in, (kMostOf<Said> - count) * Said::kBytes);
  return all;
}

template void write_list<MaskOffer>(const std::vector<MaskOffer>& all, ByteSink& out);
template void write_list<MaskProof>(const std::vector<MaskProof>& all, ByteSink& out);
template void write_list<MaskVerdict>(const std::vector<MaskVerdict>& all, ByteSink& out);
template std::vector<MaskOffer> read_list<MaskOffer>(ByteSource& in);
template std::vector<MaskProof> read_list<MaskProof>(ByteSource& in);
template std::vector<MaskVerdict> read_list<MaskVerdict>(ByteSource& in);

Bytes digest_of_offers(const std::vector<MaskOffer>& offers) {
  return digest_of(write_to_bytes([&](ByteSink& out) {
    write_field(out, as_bytes(kOffersPurpose));
    write_list(offers, out);
  }));
}

Bytes signed_message(const Bytes& offers_digest, const std::string& name, const std::string& b) {
  return write_to_bytes([&](ByteSink& out) {
    write_field(out, as_bytes(kProofPurpose));
    write_field(out, offers_digest);
    write_field(out, as_bytes(name));
    write_field(out, as_bytes(b));
  });
}

std::string quoted_name(std::size_t place, const std::vector<MaskOffer>& offers) {
  return place < offers.size() ? "'" + offers[place].name + "'" : std::string("B");
}

std::string words_of(const MaskVerdict& verdict, std::size_t by, const std::vector<MaskOffer>& offers) {
  return quoted_name(by, offers) + " refuses " + quoted_name(verdict.whom, offers) + ": " + reason(verdict.refusal);
}

}  // namespace blindfl::protocol
