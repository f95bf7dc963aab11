#include "blindfl/he/keys.h"

#include <string_view>

#include "blindfl/base/error.h"

namespace blindfl::he {

namespace {

void check_size(const ByteSource& in, std::uint64_t expected, std::string_view what) {
  require<ProtocolError>(in.remaining() == expected, what, " has ", in.remaining(), " bytes, expected ", expected);
}

}  // namespace

void KeyOwner::encrypt(const Plan& plan, const ShareMatrix& m, Random& random, ThreadPool& pool, ByteSink& out) const {
  check_right(plan, m);
  do_encrypt(plan, m, random, pool, out);
}

ShareMatrix KeyOwner::open(const Plan& plan, ByteSource& reply, Random& random, ThreadPool& pool) const {
  check_size(reply, plan.reply_bytes(), "a masked product");
  return do_open(plan, reply, random, pool);
}

void KeyOwner::save(ByteSink& /*out*/) const {
  fail<InvalidArgument>("keys of this scheme are not saved: every session makes fresh ones");
}

std::unique_ptr<const Operand> Multiplier::load(const Plan& plan, ByteSource& in, ThreadPool& pool) const {
  check_size(in, plan.operand_bytes(), "an encrypted matrix");
  return do_load(plan, in, pool);
}

ShareMatrix Multiplier::multiply(const Plan& plan, const IntMatrix& x, const Operand& operand, Random& random,
                                 Random& masks, ThreadPool& pool, ByteSink& reply) const {
  check_left(plan, x);
  return do_multiply(plan, x, operand, random, masks, pool, reply);
}

std::unique_ptr<const LeftMatrix> Multiplier::prepare_left(const Plan& plan, const IntMatrix& x,
                                                           ThreadPool& pool) const {
  check_left(plan, x);
  return do_prepare_left(plan, x, pool);
}

ShareMatrix Multiplier::do_multiply_prepared(const Plan& plan, const LeftMatrix& /*left*/, const Operand& /*operand*/,
                                             Random& /*random*/, ThreadPool& /*pool*/, ByteSink& /*reply*/) const {
  fail<InvalidArgument>("product of ", plan.spec().describe(), ": a matrix that was prepared by another scheme");
}

}  // namespace blindfl::he
