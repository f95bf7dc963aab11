// An encrypted matrix of the Paillier scheme; one that is accepted is then multiplied. Input: see small_paillier.h.

#include "blindfl/base/error.h"
#include "small_paillier.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace blindfl;
  fuzz::Input input(data, size);
  const fuzz::PaillierSetting setting(input);
  fuzz::SmallPaillier& paillier = setting.paillier();
  const fuzz::Product& product = setting.product();
  const he::Plan& plan = *product.plan;
  const Bytes bytes = setting.message(input, product.operand);
  // What must be accepted, and nothing else.
  const bool right = paillier.is_message(bytes, product.operand);
  std::unique_ptr<const he::Operand> operand;
  BufferSource in(bytes);
  try {
    operand = paillier.multiplier->load(plan, in, setting.pool());
  } catch (const ProtocolError&) {
    fuzz::check(!right, "an operand is not refused");
    return 0;
  }
  fuzz::check(in.remaining() == 0, "an operand is read to its end");
  fuzz::check(right, "only an operand is accepted");
  BufferSink out;
  const ShareMatrix share =
      paillier.multiplier->multiply(plan, product.x, *operand, paillier.random, setting.pool(), out);
  fuzz::check(share.rows() == plan.spec().rows && share.cols() == plan.spec().cols, "a share has the plan's shape");
  fuzz::check(out.bytes().size() == plan.reply_bytes(), "a reply has the plan's size");
  fuzz::check(paillier.is_message(out.bytes(), product.reply), "a reply is made of ciphertexts");
  // Numbers that its slots cannot hold are the operand's maker's own fault, and it is told.
  try {
    BufferSource reply(out.bytes());
    (void)paillier.owner->open(plan, reply, paillier.random, setting.pool());
  } catch (const ProtocolError&) {
    fuzz::check(bytes != product.operand, "a right reply opens");
  }
  return 0;
}
