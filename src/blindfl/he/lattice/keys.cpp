#include "blindfl/he/lattice/keys.h"

#include <algorithm>
#include <vector>

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

void to_montgomery(const Modulus& modulus, std::span<std::uint64_t> values) {
  for (std::uint64_t& v : values) v = modulus.to_montgomery(v);
}

}  // namespace

KeyId params_id(const Params& params) {
  return first_bytes(digest_of(params.describe()));
}

void check_residues(const Modulus& modulus, std::span<const std::uint64_t> values, const char* what) {
  std::uint64_t beyond = 0;
  for (const std::uint64_t v : values) beyond |= static_cast<std::uint64_t>(v >= modulus.value());
  require<ProtocolError>(beyond == 0, what, " has a residue that is not below its modulus");
}

std::uint64_t PublicKey::bytes(const Params& params) {
  std::uint64_t bytes = sizeof(KeyId) + sizeof(Seed);
  for (const Modulus& m : params.moduli()) bytes += packed_bytes(params.degree(), m.bits());
  return bytes;
}

PublicKey::PublicKey(const Params& params, ByteView bytes)
    : id(first_bytes(digest_of(bytes))),
      b(params.moduli().size() * params.degree()),
      a(params.moduli().size() * params.degree()) {
  require<ProtocolError>(bytes.size() == PublicKey::bytes(params), "a public key of the lattice scheme has ",
                         PublicKey::bytes(params), " bytes, not ", bytes.size());
  BufferSource in(bytes);
  KeyId parameters;
  in.read(parameters);
  require<ProtocolError>(parameters == params_id(params), "a public key is of other parameters than this session's");
  Seed seed;
  in.read(seed);
  KeyStream stream(seed);
  std::vector<std::uint64_t> packed;
  for (std::size_t l = 0; l < params.moduli().size(); ++l) {
    const Modulus& m = params.moduli()[l];
    packed.resize(packed_bytes(params.degree(), m.bits()) / 8);
    in.read(std::as_writable_bytes(std::span(packed)));
    const auto b_part = part(b, l, params.degree());
    unpack(packed, m.bits(), b_part);
    check_residues(m, b_part, "a public key");
    to_montgomery(m, b_part);
    const auto a_part = part(a, l, params.degree());
    sample_uniform(stream, m, a_part);
    to_montgomery(m, a_part);
  }
}

SecretKey::SecretKey(const Params& params, const Kernels& kernels, Random& random)
    : s(params.moduli().size() * params.degree()), s_reply(params.kept() * params.degree()) {
  const std::size_t n = params.degree();
  AlignedSecret<std::int64_t> secret(n);
  AlignedSecret<std::int64_t> error(n);
  sample_ternary(random, secret);
  sample_error(random, error);
  Seed seed;
  random.fill(seed);
  KeyStream stream(seed);

  BufferSink out;
  const KeyId parameters = params_id(params);
  out.write(parameters);
  out.write(seed);
  Residues a(n);
  SecretResidues b(n);
  std::vector<std::uint64_t> packed;
  for (std::size_t l = 0; l < params.moduli().size(); ++l) {
    const Modulus& m = params.moduli()[l];
    const auto s_part = part(s, l, n);
    lift(secret, m, s_part);
    kernels.forward(s_part.data(), m);
    if (l < params.kept()) {
      std::uint64_t others = 1;
      for (std::size_t k = 0; k < params.kept(); ++k) {
        if (k != l) others = m.multiply(others, params.moduli()[k].value() % m.value());
      }
      const std::uint64_t factor = m.to_montgomery(m.inverse(others));
      const auto reply_part = part(s_reply, l, n);
      for (std::size_t i = 0; i < n; ++i) reply_part[i] = m.multiply(s_part[i], factor);
    }
    to_montgomery(m, s_part);

    sample_uniform(stream, m, a);
    lift(error, m, b);
    kernels.forward(b.data(), m);
    kernels.multiply_subtract(b.data(), a.data(), s_part.data(), n, m);
    packed.assign(packed_bytes(n, m.bits()) / 8, 0);
    pack(b, m.bits(), packed);
    out.write(std::as_bytes(std::span(packed)));
  }
  public_key = out.take();
  id = first_bytes(digest_of(public_key));
}

}  // namespace blindfl::he::lattice
