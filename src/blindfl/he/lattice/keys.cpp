#include "blindfl/he/lattice/keys.h"

#include <algorithm>
#include <cmath>

#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "blindfl/he/lattice/packing.h"
#include "blindfl/he/lattice/sampler.h"

namespace blindfl::he::lattice {

namespace {

KeyId first_bytes(const Bytes& digest) {
  KeyId id;
  std::copy_n(digest.begin(), id.size(), id.begin());
  return id;
}

template <class Values>
std::span<std::uint64_t> part(Values& values, std::size_t index, std::size_t degree) {
  return std::span<std::uint64_t>(values).subspan(index * degree, degree);
}

/// out = in * factor, for all values alike in time: a division by the modulus would not be.
void scale(const Kernels& kernels, const Modulus& modulus, std::uint64_t factor, std::span<const std::uint64_t> in,
           std::span<std::uint64_t> out) {
  const std::uint64_t montgomery = modulus.to_montgomery(factor);
  SecretResidues copy(in.begin(), in.end());
  std::fill(out.begin(), out.end(), 0);
  kernels.accumulate(out.data(), {&montgomery, 1, out.size(), copy.data(), copy.size(), 1}, out.size(), modulus);
}

Bytes digest_of_setup(std::string purpose, const Params& params, const Coin& coin) {
  purpose += params.describe();
  Bytes all(as_bytes(purpose).begin(), as_bytes(purpose).end());
  all.insert(all.end(), coin.begin(), coin.end());
  return digest_of(all);
}

/// The stream that both parties expand `a` from.
KeyStream stream_of(const Params& params, const Coin& coin) {
  const Bytes digest = digest_of_setup("blindfl lattice public randomness 2, ", params, coin);
  return KeyStream(std::span(digest).first<KeyStream::kKeyBytes>());
}

/// Of everything that makes a key: whoever has another coin has another key.
KeyId id_of(const Coin& coin, ByteView public_key) {
  Bytes all(coin.begin(), coin.end());
  all.insert(all.end(), public_key.begin(), public_key.end());
  return first_bytes(digest_of(all));
}

/// Residues of a key look uniform. Zeros or text do not: half of them in the lower half, within 8 standard deviations.
/// A key made to deceive passes; this tells a mistake from a key.
void check_plausible(const Modulus& modulus, std::span<const std::uint64_t> residues) {
  const auto low =
      static_cast<double>(std::ranges::count_if(residues, [&](std::uint64_t x) { return x < modulus.value() / 2; }));
  const auto n = static_cast<double>(residues.size());
  require<ProtocolError>(std::abs(low - n / 2) <= 4 * std::sqrt(n), "a public key does not look like one");
}

}  // namespace

KeyId setup_id(const Params& params, const Coin& coin) {
  return first_bytes(digest_of_setup("blindfl lattice key 2, ", params, coin));
}

void unpack_residues(const Params& params, std::size_t modulus, const Kernels& kernels, const std::uint64_t* words,
                     std::uint64_t* out, std::size_t stride, const char* what) {
  const Modulus& m = params.moduli()[modulus];
  const bool below = kernels.unpack(out, stride, words, params.degree(), m.bits(), m.value());
  require<ProtocolError>(below, what, " has a residue that is not below its modulus");
}

std::uint64_t PublicKey::bytes(const Params& params) {
  std::uint64_t bytes = sizeof(KeyId);
  for (const Modulus& m : params.moduli()) bytes += packed_bytes(params.degree(), m.bits());
  return bytes;
}

PublicKey::PublicKey(const Params& params, const Kernels& kernels, const Coin& coin, ByteView bytes)
    : id(id_of(coin, bytes)), b(params.moduli().size() * params.degree()), a(params.moduli().size() * params.degree()) {
  require<ProtocolError>(bytes.size() == PublicKey::bytes(params), "a public key of the lattice scheme has ",
                         PublicKey::bytes(params), " bytes, not ", bytes.size());
  const std::size_t n = params.degree();
  BufferSource in(bytes);
  KeyId setup;
  in.read(setup);
  require<ProtocolError>(setup == setup_id(params, coin),
                         "a public key is of other parameters, or of another coin, than this session's");
  Residues packed(in.remaining() / sizeof(std::uint64_t));
  in.read(std::as_writable_bytes(std::span(packed)));
  const std::uint64_t* rest = packed.data();
  KeyStream stream = stream_of(params, coin);
  Residues words(n);
  for (std::size_t l = 0; l < params.moduli().size(); ++l) {
    unpack_residues(params, l, kernels, rest, b.data() + l * n, 64, "a public key");
    rest += packed_words(n, params.moduli()[l].bits());
    check_plausible(params.moduli()[l], std::span(b).subspan(l * n, n));
    sample_uniform(kernels, stream, params.moduli()[l], a.data() + l * n, 64, words);
  }
}

SecretKey::SecretKey(const Params& params, const Kernels& kernels, const Coin& coin, Random& random)
    : s(params.moduli().size() * params.degree()), s_reply(params.moduli().size() * params.degree()) {
  const std::size_t n = params.degree();
  AlignedSecret<std::int64_t> secret(n);
  AlignedSecret<std::int64_t> error(n);
  SecretResidues words(n);
  sample_ternary(kernels, random, secret, words);
  sample_error(kernels, random, error, words);
  KeyStream stream = stream_of(params, coin);

  BufferSink out(PublicKey::bytes(params));
  out.write(setup_id(params, coin));
  Residues a(n);
  SecretResidues b(n);
  Residues packed(n);
  for (std::size_t l = 0; l < params.moduli().size(); ++l) {
    const Modulus& m = params.moduli()[l];
    const auto s_part = part(s, l, n);
    kernels.lift(s_part.data(), secret.data(), n, m);
    kernels.forward(s_part.data(), m);
    scale(kernels, m, m.to_montgomery(params.one_over_others(l)), s_part, part(s_reply, l, n));
    scale(kernels, m, m.to_montgomery(1), s_part, s_part);

    sample_uniform(kernels, stream, m, a.data(), 64, words);
    kernels.lift(b.data(), error.data(), n, m);
    kernels.forward(b.data(), m);
    kernels.multiply_subtract(b.data(), a.data(), s_part.data(), n, m);
    kernels.pack(packed.data(), b.data(), n, m.bits());
    out.write(std::as_bytes(std::span(packed).first(packed_words(n, m.bits()))));
  }
  public_key = out.take();
  id = id_of(coin, public_key);
}

}  // namespace blindfl::he::lattice
