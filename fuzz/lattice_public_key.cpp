// A public key of the lattice scheme; one that is accepted is then multiplied under. Input: see small_lattice.h.

#include <algorithm>

#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "small_lattice.h"

namespace {

using namespace blindfl;

/// What its maker could send next: an encrypted matrix under the key, which is named by the digest of coin and key.
Bytes operand_under(const he::Coin& coin, const Bytes& key, Bytes operand) {
  Bytes all(coin.begin(), coin.end());
  all.insert(all.end(), key.begin(), key.end());
  std::ranges::copy_n(digest_of(all).begin(), 16, operand.begin());
  return operand;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const fuzz::Setting setting(input);
  fuzz::SmallLattice& lattice = setting.lattice();
  const fuzz::Product& product = setting.product();
  const Bytes key = setting.message(input, lattice.owner->public_key());
  std::unique_ptr<he::Multiplier> multiplier;
  try {
    multiplier = lattice.scheme.multiplier(lattice.setup, key);
  } catch (const ProtocolError&) {
    return 0;
  }
  fuzz::check(key.size() == lattice.scheme.public_key_bytes(lattice.setup.set), "a key has the scheme's size");
  fuzz::check(fuzz::are_reduced(ByteView(key).subspan(fuzz::kIdBytes), lattice.params),
              "a key's residues are below their moduli");
  multiplier->expect(*product.plan);
  (void)multiplier->prepare();
  const Bytes bytes = operand_under(lattice.setup.coin, key, product.operand);
  BufferSource in(bytes);
  const auto operand = multiplier->load(*product.plan, in, setting.pool());
  BufferSink reply;
  (void)multiplier->multiply(*product.plan, product.x, *operand, lattice.random, setting.pool(), reply);
  fuzz::check(reply.bytes().size() == product.plan->reply_bytes(), "a reply has the plan's size");
  return 0;
}
