// A masked product of the lattice scheme, as its key's owner opens it. Input: see small_lattice.h.

#include "blindfl/base/error.h"
#include "small_lattice.h"

namespace {

using namespace blindfl;

/// What must be accepted, and nothing else: see he/lattice/lattice_plan.h.
bool is_reply(const fuzz::SmallLattice& lattice, const fuzz::Product& product, const Bytes& bytes) {
  if (bytes.size() != product.reply.size() ||
      !std::equal(bytes.begin(), bytes.begin() + fuzz::kIdBytes, product.reply.begin())) {
    return false;
  }
  const auto& plan = he::lattice::LatticePlan::of(*product.plan, lattice.params);
  return fuzz::are_reduced(ByteView(bytes).subspan(fuzz::kIdBytes), lattice.params, plan.budget().cut);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const fuzz::Setting setting(input);
  fuzz::SmallLattice& lattice = setting.lattice();
  const fuzz::Product& product = setting.product();
  const Bytes bytes = setting.message(input, product.reply);
  try {
    BufferSource in(bytes);
    const ShareMatrix opened = lattice.owner->open(*product.plan, in, lattice.random, setting.pool());
    fuzz::check(is_reply(lattice, product, bytes), "only a reply is accepted");
    const he::ProductSpec& spec = product.plan->spec();
    fuzz::check(in.remaining() == 0, "a reply is read to its end");
    fuzz::check(opened.rows() == spec.rows && opened.cols() == spec.cols, "a product has the plan's shape");
  } catch (const ProtocolError&) {
    fuzz::check(!is_reply(lattice, product, bytes), "a reply is not refused");
  }
  return 0;
}
