#include "blindfl/protocol/layers/encrypted_update.h"

#include <utility>

#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "blindfl/base/saved_state.h"
#include "blindfl/net/channel.h"

namespace blindfl::protocol {

namespace {

net::Message product_message(const EncryptedUpdateParams& params, std::uint32_t layer, std::size_t rows) {
  return {params.spec().product_step, layer, params.reply_bytes(rows), rows, params.out()};
}

net::Message derivative_message(const EncryptedUpdateParams& params, std::uint32_t layer, std::size_t rows) {
  return {params.spec().derivative_step, layer, params.derivative_bytes(rows), rows, params.out()};
}

/// What a gradient of this step is multiplied by: for the sum, or for its window's.
double step_factor(const MomentumSums& sums, std::size_t step, bool history) {
  return history ? sums.growth(step) : sums.coefficient(step);
}

/// Of the mean loss over a full batch; a descent, so that the holder only ever adds.
double share_mean(const EncryptedUpdateParams& params) {
  return -1.0 / static_cast<double>(params.batch());
}

void check_share(const EncryptedUpdateParams& params, const ShareMatrix& share) {
  const EncryptedUpdateSpec& spec = params.spec();
  require<InvalidArgument>(spec.share_bits > 0 && share.scale() == spec.share_scale && share.cols() == spec.out,
                           "layer '", spec.name, "': a share of a derivative is not what updates were made for");
  // Shares are signed numbers that fit: see `rescale`.
  const UInt128 half = static_cast<UInt128>(1) << spec.share_bits;
  UInt128 beyond = 0;
  for (const UInt128 v : share.values()) beyond |= (v + half) >> (spec.share_bits + 1);
  require<InvalidArgument>(beyond == 0, "layer '", spec.name, "': a share of a derivative has more than ",
                           spec.share_bits, " bits");
}

/// Of all passes so far, and of those since the last step, one more included.
void check_passes(const EncryptedUpdateParams& params, std::size_t passes, std::size_t in_step) {
  const SgdOptions& sgd = params.plan().options();
  require<InvalidArgument>(in_step <= sgd.passes_per_step, "layer '", params.spec().name, "': backward pass ", in_step,
                           " of one step, and ", sgd.passes_per_step,
                           " were declared: encrypted sums have no room for it. Declare more (sgd.passes_per_step)");
  require<InvalidArgument>(passes <= params.most_passes(), "layer '", params.spec().name,
                           "': a backward pass more than the ", sgd.steps,
                           " steps that were declared: encrypted sums have no room for it. Declare more (sgd.steps)");
}

/// What saved state begins with, so that nothing else is taken for it.
constexpr std::uint32_t kHolderMark = 0x41554642;  // "BFUA"
constexpr std::uint32_t kOwnerMark = 0x42554642;   // "BFUB"
constexpr std::uint32_t kEncryptedUpdateVersion = 1;

void write_header(ByteSink& out, std::uint32_t mark, const EncryptedUpdateParams& params, const std::string& key_id,
                  std::size_t steps, std::size_t passes) {
  out.write_u32(mark);
  out.write_u32(kEncryptedUpdateVersion);
  out.write(params.digest(key_id));
  out.write_u64(steps);
  out.write_u64(passes);
}

void read_header(ByteSource& in, std::uint32_t mark, const EncryptedUpdateParams& params, const std::string& key_id,
                 std::size_t& steps, std::size_t& passes) {
  require<DataError>(in.read_u32() == mark && in.read_u32() == kEncryptedUpdateVersion,
                     "the saved state is not that of an update under encryption, or of another version");
  Bytes digest(kDigestBytes);
  in.read(digest);
  require<DataError>(digest == params.digest(key_id),
                     "the saved state belongs to a layer of another shape or training plan, or to other keys");
  steps = in.read_u64();
  passes = in.read_u64();
  require<DataError>(steps <= passes && steps <= params.plan().options().steps && passes <= params.most_passes(),
                     "the saved state counts more steps than were planned");
}

void check_step(std::size_t pending) {
  require<InvalidArgument>(pending > 0,
                           "a step without a backward pass through a layer that is updated under encryption: its "
                           "momentum was planned for gradients at every step");
}

}  // namespace

EncryptedUpdateHolder::EncryptedUpdateHolder(std::shared_ptr<const EncryptedUpdateParams> params,
                                             const he::UpdateHolder& peer)
    : params_(std::move(params)),
      peer_(peer),
      sum_(peer.zeros(params_->weights(false))),
      current_(peer.zeros(params_->weights(true))),
      previous_(peer.zeros(params_->weights(true))) {
  peer_.expect(params_->reply(params_->batch()));
}

// Which weights these are, as far as this party can tell: their key and shape, and how many steps they have seen.
MaskedProduct EncryptedUpdateHolder::masked_product(const Session& session, std::uint32_t layer,
                                                    std::size_t rows) const {
  return {session.party(), params_->spec().product_step, layer, write_to_bytes([&](ByteSink& out) {
            out.write(params_->digest(peer_.key_id()));
            out.write_u64(steps_);
            params_->updates().write_layout(params_->reply(rows), out);
          })};
}

ShareMatrix EncryptedUpdateHolder::send_product(Session& session, std::uint32_t layer, const IntMatrix& x) {
  const he::UpdateReply reply = params_->reply(x.rows());
  const Matrix products =
      peer_.multiply(reply, x, params_->most_terms(), {sum_.get(), current_.get(), previous_.get()}, session.pool());
  Random masks = session.masks(masked_product(session, layer, x.rows()), x);
  Random random = session.random();
  ShareMatrix share;
  session.channel().send(product_message(*params_, layer, x.rows()), [&](ByteSink& out) {
    share = peer_.write_masked(reply, *products, params_->product(steps_), random, masks, session.pool(), out);
  });
  return share;
}

void EncryptedUpdateHolder::receive_derivative(Session& session, std::uint32_t layer, const IntMatrix& x,
                                               const ShareMatrix* own) {
  if (own != nullptr) check_share(*params_, *own);
  check_passes(*params_, passes_ + 1, pending_.size() + 1);
  pool_ = &session.pool();
  Pending pending{x, nullptr, nullptr};
  session.channel().receive(derivative_message(*params_, layer, x.rows()), [&](ByteSource& in) {
    const auto read = [&](bool history) {
      return peer_.read(params_->derivative(x.rows(), history), in, session.pool());
    };
    pending.derivative = read(false);
    if (params_->sums().has_momentum()) pending.history = read(true);
  });
  // Only now is it known to be intact.
  if (own != nullptr) {
    const auto factor = [&](bool history) {
      return share_mean(*params_) * step_factor(params_->sums(), steps_, history);
    };
    peer_.add(*pending.derivative, *own, factor(false));
    if (pending.history) peer_.add(*pending.history, *own, factor(true));
  }
  pending_.push_back(std::move(pending));
  ++passes_;
}

// What never reaches a sum takes no room in it.
void EncryptedUpdateHolder::discard() {
  passes_ -= pending_.size();
  pending_.clear();
}

void EncryptedUpdateHolder::step() {
  check_step(pending_.size());
  const std::vector<Pending> passes = std::exchange(pending_, {});
  for (const Pending& pass : passes) {
    peer_.add_transposed_product(*sum_, pass.x, *pass.derivative, *pool_);
    if (pass.history) peer_.add_transposed_product(*current_, pass.x, *pass.history, *pool_);
  }
  ++steps_;
  if (params_->sums().has_momentum() && steps_ % params_->sums().window() == 0) {
    previous_ = std::exchange(current_, peer_.zeros(params_->weights(true)));
  }
}

void EncryptedUpdateHolder::save(ByteSink& out, ThreadPool& pool) const {
  require<InvalidArgument>(pending_.empty(), "state is saved between steps, not between a backward pass and its step");
  write_header(out, kHolderMark, *params_, peer_.key_id(), steps_, passes_);
  for (const Matrix* m : {&sum_, &current_, &previous_}) peer_.save(**m, out, pool);
}

void EncryptedUpdateHolder::load(ByteSource& in, ThreadPool& pool) {
  reading_state([&] {
    std::size_t steps = 0;
    std::size_t passes = 0;
    read_header(in, kHolderMark, *params_, peer_.key_id(), steps, passes);
    Matrix sum = peer_.load(params_->weights(false), in, pool);
    Matrix current = peer_.load(params_->weights(true), in, pool);
    Matrix previous = peer_.load(params_->weights(true), in, pool);
    sum_ = std::move(sum);
    current_ = std::move(current);
    previous_ = std::move(previous);
    steps_ = steps;
    passes_ = passes;
    pending_.clear();
  });
}

ShareMatrix EncryptedUpdateOwner::receive_product(Session& session, std::uint32_t layer, std::size_t rows) {
  ShareMatrix share;
  session.channel().receive(product_message(*params_, layer, rows), [&](ByteSource& in) {
    share = key_.open(params_->reply(rows), params_->product(steps_), in, session.pool());
  });
  return share;
}

// Of the mean loss over the real rows; a descent, so that A only ever adds.
void EncryptedUpdateOwner::send_derivative(Session& session, std::uint32_t layer, const Derivative& derivative) {
  send(session, layer, *derivative.share, -1.0 / static_cast<double>(derivative.real_rows));
}

void EncryptedUpdateOwner::send_derivative(Session& session, std::uint32_t layer, const ShareMatrix& share) {
  check_share(*params_, share);
  send(session, layer, share, share_mean(*params_));
}

template <class Values>
void EncryptedUpdateOwner::send(Session& session, std::uint32_t layer, const Values& values, double mean) {
  check_passes(*params_, passes_ + 1, pending_ + 1);
  const MomentumSums& sums = params_->sums();
  Random random = session.random();
  session.channel().send(derivative_message(*params_, layer, values.rows()), [&](ByteSink& out) {
    for (const bool history : {false, true}) {
      if (history && !sums.has_momentum()) continue;
      const double factor = mean * step_factor(sums, steps_, history);
      key_.write_encrypted(params_->derivative(values.rows(), history), values, factor, random, session.pool(), out);
    }
  });
  ++passes_;
  ++pending_;
}

void EncryptedUpdateOwner::discard() {
  passes_ -= std::exchange(pending_, 0);
}

void EncryptedUpdateOwner::step() {
  check_step(pending_);
  pending_ = 0;
  ++steps_;
}

void EncryptedUpdateOwner::save(ByteSink& out) const {
  require<InvalidArgument>(pending_ == 0, "state is saved between steps, not between a backward pass and its step");
  write_header(out, kOwnerMark, *params_, key_.key_id(), steps_, passes_);
}

void EncryptedUpdateOwner::load(ByteSource& in) {
  reading_state([&] {
    std::size_t steps = 0;
    std::size_t passes = 0;
    read_header(in, kOwnerMark, *params_, key_.key_id(), steps, passes);
    steps_ = steps;
    passes_ = passes;
    pending_ = 0;
  });
}

}  // namespace blindfl::protocol
