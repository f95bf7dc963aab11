// An encrypted matrix of the lattice scheme; one that is accepted is then multiplied. Input: see small_lattice.h.

#include "blindfl/base/error.h"
#include "small_lattice.h"

namespace {

using namespace blindfl;

/// What must be accepted, and nothing else: see he/lattice/lattice_plan.h.
bool is_operand(const fuzz::SmallLattice& lattice, const fuzz::Product& product, const Bytes& bytes) {
  return bytes.size() == product.operand.size() &&
         std::equal(bytes.begin(), bytes.begin() + fuzz::kIdBytes, product.operand.begin()) &&
         fuzz::are_reduced(ByteView(bytes).subspan(fuzz::kIdBytes + sizeof(he::lattice::Seed)), lattice.params);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const fuzz::Setting setting(input);
  fuzz::SmallLattice& lattice = setting.lattice();
  const fuzz::Product& product = setting.product();
  const he::Plan& plan = *product.plan;
  const Bytes bytes = setting.message(input, product.operand);
  std::unique_ptr<const he::Operand> operand;
  try {
    BufferSource in(bytes);
    operand = lattice.multiplier->load(plan, in, setting.pool());
    fuzz::check(in.remaining() == 0, "an operand is read to its end");
  } catch (const ProtocolError&) {
    fuzz::check(!is_operand(lattice, product, bytes), "an operand is not refused");
    return 0;
  }
  fuzz::check(is_operand(lattice, product, bytes), "only an operand is accepted");
  BufferSink out;
  const ShareMatrix share =
      lattice.multiplier->multiply(plan, product.x, *operand, lattice.random, setting.pool(), out);
  fuzz::check(share.rows() == plan.spec().rows && share.cols() == plan.spec().cols, "a share has the plan's shape");
  // Whatever the operand was, what this party makes of it is a reply.
  BufferSource reply(out.bytes());
  (void)lattice.owner->open(plan, reply, lattice.random, setting.pool());
  return 0;
}
