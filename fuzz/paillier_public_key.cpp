// A public key of the Paillier scheme; one that is accepted is then multiplied under, with the switch for two threads:
// its tables take long. Input: see small_paillier.h.

#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "blindfl/base/text.h"
#include "small_paillier.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace blindfl;
  using fuzz::BigInt;
  fuzz::Input input(data, size);
  const fuzz::PaillierSetting setting(input);
  fuzz::SmallPaillier& paillier = setting.paillier();
  const fuzz::Product& product = setting.product();
  const Bytes valid = paillier.owner->public_key();
  const Bytes bytes = setting.message(input, valid);
  std::unique_ptr<he::Multiplier> multiplier;
  try {
    multiplier = paillier.scheme.multiplier({}, bytes);
  } catch (const ProtocolError&) {
    fuzz::check(bytes != valid, "a right key is not refused");
    return 0;
  }
  fuzz::check(bytes.size() == paillier.scheme.public_key_bytes({}), "a key has the scheme's size");
  const std::size_t digit = bytes.size() / 3;
  const auto n = BigInt::from_bytes(ByteView(bytes).first(digit));
  const auto low = BigInt::from_bytes(ByteView(bytes).subspan(digit, digit));
  const auto high = BigInt::from_bytes(ByteView(bytes).subspan(2 * digit));
  fuzz::check(n.bits() == 8 * digit && mpz_fdiv_ui(n, 4) == 1, "a modulus has its size and form");
  fuzz::check(low < n && high < n && low > BigInt(1) && gcd(low, n) == BigInt(1), "a base is a unit");
  if (!setting.two_threads()) return 0;
  multiplier->expect(*product.plan);
  (void)multiplier->prepare();
  try {
    // Under another key, what its maker could send next.
    Bytes bytes_in = product.operand;
    const std::string id = to_hex(ByteView(digest_of(bytes)).first(8));
    std::ranges::copy(as_bytes(id), bytes_in.begin());
    BufferSource in(bytes_in);
    const auto operand = multiplier->load(*product.plan, in, setting.pool());
    BufferSink reply;
    (void)multiplier->multiply(*product.plan, product.x, *operand, paillier.random, setting.pool(), reply);
    fuzz::check(reply.bytes().size() == product.plan->reply_bytes(), "a reply has the plan's size");
  } catch (const ProtocolError&) {
    fuzz::check(bytes != valid, "under the right key the operand is one");
  }
  return 0;
}
