#include "blindfl/he/elements.h"

#include "blindfl/base/error.h"

namespace blindfl::he {

namespace {

void check_shares(const ElementSpec& spec, const ShareMatrix& x, const ShareMatrix& y) {
  for (const ShareMatrix* m : {&x, &y}) {
    require<InvalidArgument>(m->rows() == spec.rows && m->cols() == spec.cols && m->ring_bits() == spec.ring_bits,
                             spec.describe(), ": a share of ", m->rows(), "x", m->cols(), " values modulo 2^",
                             m->ring_bits(), " is not one of its factors");
  }
}

}  // namespace

std::string ElementSpec::describe() const {
  return "element-wise product of " + std::to_string(rows) + "x" + std::to_string(cols) + " values modulo 2^" +
         std::to_string(ring_bits);
}

std::shared_ptr<const ElementPlan> Elements::plan(const ElementSpec& spec) const {
  require<InvalidArgument>(spec.rows > 0 && spec.cols > 0 && spec.rows <= (std::size_t{1} << 40) / spec.cols,
                           spec.describe(), ": values must be from 1 to 2^40");
  require<InvalidArgument>(spec.ring_bits >= 1 && spec.ring_bits <= 64, spec.describe(),
                           ": rings must have from 1 to 64 bits");
  return do_plan(spec);
}

std::unique_ptr<ElementKey> Elements::encrypt(const std::shared_ptr<const ElementPlan>& plan, const Coin& coin,
                                              const ShareMatrix& x, const ShareMatrix& y, Random& random,
                                              ThreadPool& pool, ByteSink& out) const {
  check_shares(plan->spec(), x, y);
  return do_encrypt(plan, coin, x, y, random, pool, out);
}

ShareMatrix Elements::multiply(const ElementPlan& plan, const Coin& coin, ByteSource& operand, const ShareMatrix& x,
                               const ShareMatrix& y, Random& random, ThreadPool& pool, ByteSink& reply) const {
  check_shares(plan.spec(), x, y);
  return do_multiply(plan, coin, operand, x, y, random, pool, reply);
}

ShareMatrix ElementKey::open(ByteSource& reply, ThreadPool& pool) {
  require<InvalidArgument>(!used_, "a key of an element-wise product opens one reply, and has done so");
  used_ = true;
  struct Forget {
    ElementKey& key;
    ~Forget() { key.forget(); }
  } forget{*this};
  return do_open(reply, pool);
}

}  // namespace blindfl::he
