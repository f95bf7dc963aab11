#include "blindfl/protocol/session/product.h"

#include <string>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/protocol/session/hashed_fields.h"

namespace blindfl::protocol {

namespace {

using Kind = RepeatedStep::Kind;

net::Message operand_message(const he::Plan& plan, const ProductSteps& steps) {
  return {steps.operand, steps.layer, plan.operand_bytes(), plan.spec().inner, plan.spec().cols};
}

net::Message reply_message(const he::Plan& plan, const ProductSteps& steps) {
  return {steps.reply, steps.layer, plan.reply_bytes(), plan.spec().rows, plan.spec().cols};
}

/// Null where randomness is fresh. Throws InvalidArgument if the keys are not the plan's.
const MaskKey* repeats(const Session& session, const SchemeKeys& keys, const he::Plan& plan) {
  require<InvalidArgument>(keys.key_set == plan.key_set(), "product of ", plan.spec().describe(), ": its keys are '",
                           plan.key_set(), "', not '", keys.key_set, "'");
  return session.repeats(keys);
}

/// The scheme, its keys and the layout, each with its length in front.
void write_words(const he::Scheme& scheme, const he::Plan& plan, ByteSink& out) {
  for (const std::string& words :
       {std::string(scheme.name()), scheme.parameters(), plan.key_set(), plan.operand_layout()}) {
    write_field(out, as_bytes(words));
  }
}

/// What an encryption depends on beside the matrix and the key. Not the number of rows and what follows from it: an
/// operand serves all plans of its layout, whichever came first.
Bytes operand_facts_of(const he::Scheme& scheme, const he::Plan& plan) {
  return write_to_bytes([&](ByteSink& out) {
    write_words(scheme, plan, out);
    const he::ProductSpec& spec = plan.spec();
    for (const std::uint64_t number :
         {static_cast<std::uint64_t>(spec.inner), static_cast<std::uint64_t>(spec.cols),
          static_cast<std::uint64_t>(spec.right_scale), static_cast<std::uint64_t>(spec.right_bits),
          static_cast<std::uint64_t>(spec.ring_bits), plan.operand_bytes()}) {
      out.write_u64(number);
    }
  });
}

/// All that the randomness of a step follows from.
RepeatedStep repeated_step(Kind kind, const Session& session, const SchemeKeys& keys, const he::Plan& plan,
                           const ProductSteps& steps) {
  return {.kind = kind,
          .party = session.party(),
          .step = kind == Kind::kEncrypt ? steps.operand : steps.reply,
          .layer = steps.layer,
          .product = kind == Kind::kEncrypt ? operand_facts_of(keys.scheme, plan) : facts_of(keys.scheme, plan),
          .public_key = kind == Kind::kMultiply ? keys.peer_digest : keys.own_digest};
}

}  // namespace

Bytes facts_of(const he::Scheme& scheme, const he::Plan& plan) {
  return write_to_bytes([&](ByteSink& out) {
    write_words(scheme, plan, out);
    // A new field of a spec does not compile until it is here, too.
    const auto& [rows, inner, cols, left_bound, left_scale, right_scale, right_bits, run_values, ring_bits, noise_bits,
                 lifted_bits] = plan.spec();
    for (const std::uint64_t number :
         {static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(inner), static_cast<std::uint64_t>(cols),
          left_bound, static_cast<std::uint64_t>(left_scale), static_cast<std::uint64_t>(right_scale),
          static_cast<std::uint64_t>(right_bits), run_values, static_cast<std::uint64_t>(ring_bits),
          static_cast<std::uint64_t>(noise_bits), static_cast<std::uint64_t>(lifted_bits), plan.operand_bytes(),
          plan.reply_bytes()}) {
      out.write_u64(number);
    }
  });
}

void send_operand(Session& session, const SchemeKeys& keys, const he::Plan& plan, const ProductSteps& steps,
                  const ShareMatrix& m) {
  // Checked before the first byte leaves, so that the caller's mistake does not cost the link.
  he::check_right(plan, m);
  const MaskKey* repeated = repeats(session, keys, plan);
  const auto source = [&] {
    if (repeated == nullptr) return session.random();
    RepeatedStep step = repeated_step(Kind::kEncrypt, session, keys, plan, steps);
    step.matrix = digest_of_matrix(m);
    return repeated->randomness(step);
  };
  Random random = source();
  session.channel().send(operand_message(plan, steps),
                         [&](ByteSink& out) { keys.owner->encrypt(plan, m, random, session.pool(), out); });
}

ReceivedOperand receive_operand(Session& session, const SchemeKeys& keys, const he::Plan& plan,
                                const ProductSteps& steps) {
  const bool repeated = repeats(session, keys, plan) != nullptr;
  ReceivedOperand received;
  session.channel().receive(operand_message(plan, steps), [&](ByteSource& in) {
    if (!repeated) {
      received.operand = keys.peer->load(plan, in, session.pool());
      return;
    }
    DigestingSource digesting(in);
    received.operand = keys.peer->load(plan, digesting, session.pool());
    received.digest = digesting.digest();
  });
  return received;
}

ShareMatrix send_product(Session& session, const SchemeKeys& keys, const he::Plan& plan, const ProductSteps& steps,
                         const IntMatrix& x, const ReceivedOperand& operand, const he::LeftMatrix* left) {
  he::check_left(plan, x);
  const MaskKey* repeated = repeats(session, keys, plan);
  require<InvalidArgument>(operand.operand != nullptr && operand.digest.empty() == (repeated == nullptr), "product of ",
                           plan.spec().describe(), ": its operand did not arrive under these keys");
  ShareMatrix share;
  // The reply hides how it was computed, not only its value: see docs/protocols.md, re-randomisation.
  const auto send = [&](Random random, Random masks) {
    session.channel().send(reply_message(plan, steps), [&](ByteSink& out) {
      share = left != nullptr ? keys.peer->multiply_prepared(plan, *left, *operand.operand, random, session.pool(), out)
                              : keys.peer->multiply(plan, x, *operand.operand, random, masks, session.pool(), out);
    });
  };
  if (repeated == nullptr) {
    if (!session.repeats_masks()) {
      send(session.random(), session.random());
      return share;
    }
    // A product whose masks repeat must be the same in all of this.
    const MaskedProduct product{session.party(), steps.reply, steps.layer, facts_of(keys.scheme, plan)};
    send(session.random(), session.masks(product, x));
    return share;
  }
  RepeatedStep step = repeated_step(Kind::kMultiply, session, keys, plan, steps);
  step.matrix = digest_of_matrix(x);
  step.received = operand.digest;
  Random random = repeated->randomness(step);
  Random masks = random.fork();
  send(std::move(random), std::move(masks));
  return share;
}

ShareMatrix receive_product(Session& session, const SchemeKeys& keys, const he::Plan& plan, const ProductSteps& steps) {
  const MaskKey* repeated = repeats(session, keys, plan);
  ShareMatrix share;
  session.channel().receive(reply_message(plan, steps), [&](ByteSource& in) {
    if (repeated == nullptr) {
      Random random = session.random();
      share = keys.owner->open(plan, in, random, session.pool());
      return;
    }
    // As a whole: what is drawn while it is opened depends on its last byte.
    Bytes reply(plan.reply_bytes());
    in.read(reply);
    RepeatedStep step = repeated_step(Kind::kOpen, session, keys, plan, steps);
    step.received = digest_of(reply);
    Random random = repeated->randomness(step);
    BufferSource whole(reply);
    share = keys.owner->open(plan, whole, random, session.pool());
  });
  return share;
}

}  // namespace blindfl::protocol
