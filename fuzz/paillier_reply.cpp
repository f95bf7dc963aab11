// A masked product of the Paillier scheme, as its key's owner opens it. Input: see small_paillier.h.

#include "blindfl/base/error.h"
#include "small_paillier.h"

namespace {

using namespace blindfl;

/// What must be accepted, and nothing else: see he/paillier/masked_reply.h.
bool is_reply(const fuzz::SmallPaillier& paillier, const fuzz::Product& product, const Bytes& bytes) {
  if (!paillier.is_message(bytes, product.reply)) return false;
  const he::paillier::ReplyLayout& l = dynamic_cast<const he::paillier::PaillierPlan&>(*product.plan).reply();
  using fuzz::BigInt;
  const BigInt least = BigInt(0) - BigInt::power_of_two(static_cast<std::size_t>(l.value_bits));
  const BigInt most = BigInt::power_of_two(static_cast<std::size_t>(l.mask_bits)) - least;
  const BigInt slot = BigInt::power_of_two(static_cast<std::size_t>(l.slots.width()));
  for (std::size_t i = 0; i < l.ciphertexts(); ++i) {
    BigInt m = paillier.decrypt(ByteView(bytes).subspan(fuzz::kIdBytes + i * paillier.row_bytes()));
    for (std::size_t k = 0; k < l.rows_per_ciphertext * l.cols_per_group; ++k) {
      BigInt value = m % slot;
      if (value >= slot / BigInt(2)) value = value - slot;
      m = (m - value) / slot;
      const std::size_t row = i / l.groups * l.rows_per_ciphertext + k / l.cols_per_group;
      const std::size_t col = i % l.groups * l.cols_per_group + k % l.cols_per_group;
      if (row < l.rows && col < l.cols && (value < least || value >= most)) return false;
    }
    if (m.sign() != 0) return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const fuzz::PaillierSetting setting(input);
  fuzz::SmallPaillier& paillier = setting.paillier();
  const fuzz::Product& product = setting.product();
  const Bytes bytes = setting.message(input, product.reply);
  try {
    BufferSource in(bytes);
    const ShareMatrix opened = paillier.owner->open(*product.plan, in, paillier.random, setting.pool());
    const he::ProductSpec& spec = product.plan->spec();
    fuzz::check(in.remaining() == 0, "a reply is read to its end");
    fuzz::check(opened.rows() == spec.rows && opened.cols() == spec.cols, "a product has the plan's shape");
    fuzz::check(is_reply(paillier, product, bytes), "only a reply is accepted");
  } catch (const ProtocolError&) {
    fuzz::check(!is_reply(paillier, product, bytes), "a reply is not refused");
  }
  return 0;
}
