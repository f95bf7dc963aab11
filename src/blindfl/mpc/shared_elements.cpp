#include "blindfl/mpc/shared_elements.h"

#include "blindfl/base/error.h"
#include "blindfl/mpc/round_trip.h"
#include "blindfl/mpc/steps.h"

namespace blindfl::mpc {

std::shared_ptr<const he::Elements> elements_of(const he::Scheme& scheme) {
  auto elements = scheme.elements();
  require<ConfigError>(elements != nullptr, "products of shared values need element-wise products, which the scheme '",
                       scheme.name(), "' does not have");
  return elements;
}

PartyCost element_cost(const he::ElementPlan& plan, Party owner) {
  const bool a_owns = owner == Party::kA;
  return {.a_bytes = a_owns ? plan.operand_bytes() : plan.reply_bytes(),
          .b_bytes = a_owns ? plan.reply_bytes() : plan.operand_bytes(),
          .flights = 2};
}

SharedElements::SharedElements(Session& session, const he::ElementSpec& spec, Party owner, std::string_view scheme)
    : session_(session),
      elements_(elements_of(session.scheme(scheme))),
      plan_(elements_->plan(spec)),
      owner_(owner),
      layer_(session.new_layer()) {
  session_.agree("element-wise products of shared values",
                 protocol::Settings().add("products", plan_->describe()).add("owner", name_of(owner)));
}

ShareMatrix SharedElements::product(const ShareMatrix& x, const ShareMatrix& y) {
  const he::ElementSpec& spec = plan_->spec();
  for (const ShareMatrix* m : {&x, &y}) {
    require<InvalidArgument>(m->rows() == spec.rows && m->cols() == spec.cols, spec.describe(), ": a factor is ",
                             m->rows(), " x ", m->cols());
  }
  const ShareMatrix narrow_x = narrowed(x, spec.ring_bits);
  const ShareMatrix narrow_y = narrowed(y, spec.ring_bits);
  session_.settle();
  const he::Coin coin = session_.next_operand_coin();
  Random random = session_.random();
  ThreadPool& pool = session_.pool();
  const RoundTrip trip{{steps::kElementOperand, layer_, plan_->operand_bytes(), spec.rows, spec.cols},
                       {steps::kElementReply, layer_, plan_->reply_bytes(), spec.rows, spec.cols}};
  if (session_.party() == owner_) {
    std::unique_ptr<he::ElementKey> key;
    return encrypt_and_open<ShareMatrix>(
        session_, trip,
        [&](ByteSink& out) { key = elements_->encrypt(plan_, coin, narrow_x, narrow_y, random, pool, out); },
        [&](ByteSource& in) { return key->open(in, pool); });
  }
  return receive_and_multiply<ShareMatrix>(session_, trip, [&](ByteSource& in, ByteSink& out) {
    return elements_->multiply(*plan_, coin, in, narrow_x, narrow_y, random, pool, out);
  });
}

}  // namespace blindfl::mpc
