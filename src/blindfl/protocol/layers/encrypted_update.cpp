#include "blindfl/protocol/layers/encrypted_update.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "blindfl/base/saved_state.h"

namespace blindfl::protocol {

using he::paillier::BigInt;
using he::paillier::CryptoTensor;
using he::paillier::Integers;
using he::paillier::Limb;

namespace {

/// Fractional bits of the factors that windows are multiplied with.
constexpr int kFactorBits = 64;

net::Message product_message(const EncryptedUpdateParams& params, std::uint32_t layer, std::size_t rows) {
  return {params.spec().product_step, layer, params.reply_bytes(rows), rows, params.out()};
}

net::Message derivative_message(const EncryptedUpdateParams& params, std::uint32_t layer, std::size_t rows) {
  return {params.spec().derivative_step, layer, params.derivative_bytes(rows), rows, params.out()};
}

/// A public factor as an integer at `kFactorBits` and the scale at which windows stand against the sum.
BigInt window_factor(const EncryptedUpdateParams& params, std::size_t steps, std::size_t window) {
  const double factor = params.sums().fading(steps, window);
  const int scale = kFactorBits + params.derivative_scale() - params.history_scale();
  BigInt x;
  mpz_set_d(x, std::round(std::ldexp(factor, scale)));
  return x;
}

void round_down(BigInt& x, int bits) {
  if (bits <= 0) {
    mpz_mul_2exp(x, x, static_cast<mp_bitcnt_t>(-bits));
    return;
  }
  const auto shift = static_cast<mp_bitcnt_t>(bits);
  mpz_add(x, x, BigInt::power_of_two(shift - 1));
  mpz_fdiv_q_2exp(x, x, shift);
}

/// `factor` times a share at `share_scale`, at `scale`: in integers, so that two parties' results add up to what the
/// factor makes of the sum.
BigInt scaled_share(UInt128 share, int share_scale, double factor, int scale) {
  const PublicFactor exact(std::ldexp(factor, scale - share_scale));
  BigInt x = he::paillier::to_big(static_cast<Int128>(share));
  mpz_mul_si(x, x, exact.mantissa);
  round_down(x, exact.exponent);
  return x;
}

/// What a gradient of this step is multiplied by: for the sum, or for its window's.
double step_factor(const MomentumSums& sums, std::size_t step, bool history) {
  return history ? sums.growth(step) : sums.coefficient(step);
}

/// Of the mean loss over a full batch; a descent, so that the holder only ever adds.
double share_mean(const EncryptedUpdateParams& params) {
  return -1.0 / static_cast<double>(params.batch());
}

/// Adds this party's share to the peer's, which is encrypted.
void add_share(CryptoTensor& to, const ShareMatrix& own, double factor) {
  const he::paillier::CryptoShape& shape = to.shape();
  const std::size_t width = shape.cols_per_group();
  std::vector<Limb*> rows;
  Integers plaintexts;
  for (std::size_t r = 0; r < shape.rows; ++r) {
    Limb* limbs = to.touch(r);
    for (std::size_t g = 0; g < shape.groups(); ++g) {
      Integers values;
      for (std::size_t c = g * width; c < std::min(shape.cols, (g + 1) * width); ++c) {
        values.push_back(scaled_share(own.row(r)[c], own.scale(), factor, shape.scale));
      }
      rows.push_back(limbs + g * to.key().ring().stride());
      plaintexts.push_back(shape.slots.pack(std::span<const BigInt>(values)));
    }
  }
  to.key().add(rows, plaintexts);
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
constexpr std::uint32_t kStateVersion = 1;

void write_header(ByteSink& out, std::uint32_t mark, const EncryptedUpdateParams& params, const std::string& key_id,
                  std::size_t steps, std::size_t passes) {
  out.write_u32(mark);
  out.write_u32(kStateVersion);
  out.write(params.digest(key_id));
  out.write_u64(steps);
  out.write_u64(passes);
}

void read_header(ByteSource& in, std::uint32_t mark, const EncryptedUpdateParams& params, const std::string& key_id,
                 std::size_t& steps, std::size_t& passes) {
  require<DataError>(in.read_u32() == mark && in.read_u32() == kStateVersion,
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

void write_rows(const CryptoTensor& m, ByteSink& out, ThreadPool& pool) {
  const std::size_t groups = m.shape().groups();
  std::vector<const Limb*> rows;
  out.write_u64(m.written().size());
  for (const std::uint32_t row : m.written()) {
    out.write_u32(row);
    for (std::size_t g = 0; g < groups; ++g) rows.push_back(m.find(row) + g * m.key().ring().stride());
  }
  m.key().write(rows, out, pool);
}

CryptoTensor read_rows(const CryptoTensor& like, ByteSource& in, ThreadPool& pool) {
  CryptoTensor m(like.shared_key(), like.shape());
  const std::uint64_t count = in.read_u64();
  require<DataError>(count <= m.shape().rows, "the saved state has more rows than the layer");
  const std::size_t groups = m.shape().groups();
  // Rows take memory before they are read.
  const std::uint64_t row_bytes = sizeof(std::uint32_t) + groups * m.key().ring().row_bytes();
  require<DataError>(in.remaining() / row_bytes >= count, "the saved state is cut short");
  std::vector<Limb*> rows;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint32_t row = in.read_u32();
    require<DataError>(row < m.shape().rows && m.find(row) == nullptr, "the saved state has a row that cannot be");
    Limb* limbs = m.touch(row);
    for (std::size_t g = 0; g < groups; ++g) rows.push_back(limbs + g * m.key().ring().stride());
  }
  m.key().read(rows, in, pool);
  return m;
}

void check_step(std::size_t pending) {
  require<InvalidArgument>(pending > 0,
                           "a step without a backward pass through a layer that is updated under encryption: its "
                           "momentum was planned for gradients at every step");
}

}  // namespace

ShareMatrix combine_sums(const EncryptedUpdateParams& params, std::size_t rows, std::size_t steps,
                         const Integers& shares) {
  const std::size_t count = rows * params.out();
  ShareMatrix result(rows, params.out(), params.product_scale());
  const auto out = result.values();
  const bool momentum = params.sums().has_momentum();
  const std::size_t window = params.sums().window_of(steps);
  const BigInt current = momentum ? window_factor(params, steps, window) : BigInt();
  const BigInt previous = momentum && window > 0 ? window_factor(params, steps, window - 1) : BigInt();
  BigInt x;
  for (std::size_t i = 0; i < count; ++i) {
    mpz_mul_2exp(x, shares[i], kFactorBits);
    if (momentum) {
      mpz_submul(x, current, shares[count + i]);
      mpz_submul(x, previous, shares[2 * count + i]);
    }
    // Integers and not yet residues: each party rounds its own, and the sum is off by one unit at most.
    round_down(x, kFactorBits + params.excess_scale());
    out[i] = he::paillier::low128(x);
  }
  return result;
}

EncryptedUpdateHolder::EncryptedUpdateHolder(std::shared_ptr<const EncryptedUpdateParams> params,
                                             const he::paillier::PaillierMultiplier& peer)
    : params_(std::move(params)),
      peer_(peer),
      sum_(peer.key(), params_->weights(false)),
      current_(peer.key(), params_->weights(true)),
      previous_(peer.key(), params_->weights(true)) {
  peer_.randomizers().expect(params_->reply(params_->batch()).ciphertexts());
}

// Which weights these are, as far as this party can tell: their key and shape, and how many steps they have seen.
MaskedProduct EncryptedUpdateHolder::masked_product(const Session& session, std::uint32_t layer,
                                                    const he::paillier::ReplyLayout& layout) const {
  return {
      session.party(), params_->spec().product_step, layer, write_to_bytes([&](ByteSink& out) {
        out.write(params_->digest(peer_.key()->id()));
        for (const std::uint64_t number :
             {static_cast<std::uint64_t>(steps_), static_cast<std::uint64_t>(layout.rows),
              static_cast<std::uint64_t>(layout.cols), static_cast<std::uint64_t>(layout.groups),
              static_cast<std::uint64_t>(layout.cols_per_group), static_cast<std::uint64_t>(layout.rows_per_ciphertext),
              static_cast<std::uint64_t>(layout.slots.width()), static_cast<std::uint64_t>(layout.value_bits),
              static_cast<std::uint64_t>(layout.mask_bits)}) {
          out.write_u64(number);
        }
      })};
}

ShareMatrix EncryptedUpdateHolder::send_product(Session& session, std::uint32_t layer, const IntMatrix& x) {
  const he::paillier::ReplyLayout layout = params_->reply(x.rows());
  // The parts one below the other, so that they are packed together.
  he::paillier::CryptoShape shape{layout.rows, layout.cols, layout.slots, 0, layout.value_bits};
  CryptoTensor values(peer_.key(), shape);
  const std::size_t limbs = shape.groups() * peer_.key()->ring().stride();
  const CryptoTensor* sources[] = {&sum_, &current_, &previous_};
  for (std::size_t part = 0; part < params_->parts(); ++part) {
    const CryptoTensor product = multiply(x, *sources[part], params_->most_terms(), session.pool());
    for (std::size_t r = 0; r < x.rows(); ++r) {
      std::copy_n(product.find(r), limbs, values.touch(part * x.rows() + r));
    }
  }
  Random masks = session.masks(masked_product(session, layer, layout), x);
  Integers kept;
  session.channel().send(product_message(*params_, layer, x.rows()), [&](ByteSink& out) {
    kept = write_masked(layout, values, peer_.randomizers(), session.random(), masks, session.pool(), out);
  });
  for (BigInt& mask : kept) mpz_neg(mask, mask);
  return combine_sums(*params_, x.rows(), steps_, kept);
}

void EncryptedUpdateHolder::receive_derivative(Session& session, std::uint32_t layer, const IntMatrix& x) {
  receive(session, layer, x, nullptr);
}

void EncryptedUpdateHolder::receive_derivative(Session& session, std::uint32_t layer, const IntMatrix& x,
                                               const ShareMatrix& own) {
  check_share(*params_, own);
  receive(session, layer, x, &own);
}

void EncryptedUpdateHolder::receive(Session& session, std::uint32_t layer, const IntMatrix& x, const ShareMatrix* own) {
  check_passes(*params_, passes_ + 1, pending_.size() + 1);
  pool_ = &session.pool();
  std::optional<Pending> pending;
  session.channel().receive(derivative_message(*params_, layer, x.rows()), [&](ByteSource& in) {
    const auto read = [&](bool history) {
      return read_tensor(peer_.key(), params_->derivative(x.rows(), history), in, session.pool());
    };
    pending = Pending{x, read(false), std::nullopt};
    if (params_->sums().has_momentum()) pending->history = read(true);
  });
  // Only now is it known to be intact.
  if (own != nullptr) {
    const auto factor = [&](bool history) {
      return share_mean(*params_) * step_factor(params_->sums(), steps_, history);
    };
    add_share(pending->derivative, *own, factor(false));
    if (pending->history) add_share(*pending->history, *own, factor(true));
  }
  pending_.push_back(std::move(*pending));
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
    add_transposed_product(sum_, pass.x, pass.derivative, *pool_);
    if (pass.history) add_transposed_product(current_, pass.x, *pass.history, *pool_);
  }
  ++steps_;
  if (params_->sums().has_momentum() && steps_ % params_->sums().window() == 0) {
    previous_ = std::exchange(current_, CryptoTensor(peer_.key(), params_->weights(true)));
  }
}

void EncryptedUpdateHolder::save(ByteSink& out, ThreadPool& pool) const {
  require<InvalidArgument>(pending_.empty(), "state is saved between steps, not between a backward pass and its step");
  write_header(out, kHolderMark, *params_, peer_.key()->id(), steps_, passes_);
  for (const CryptoTensor* m : {&sum_, &current_, &previous_}) write_rows(*m, out, pool);
}

void EncryptedUpdateHolder::load(ByteSource& in, ThreadPool& pool) {
  reading_state([&] {
    std::size_t steps = 0;
    std::size_t passes = 0;
    read_header(in, kHolderMark, *params_, peer_.key()->id(), steps, passes);
    CryptoTensor sum = read_rows(sum_, in, pool);
    CryptoTensor current = read_rows(current_, in, pool);
    CryptoTensor previous = read_rows(previous_, in, pool);
    sum_ = std::move(sum);
    current_ = std::move(current);
    previous_ = std::move(previous);
    steps_ = steps;
    passes_ = passes;
    pending_.clear();
  });
}

ShareMatrix EncryptedUpdateOwner::receive_product(Session& session, std::uint32_t layer, std::size_t rows) {
  Integers opened;
  session.channel().receive(product_message(*params_, layer, rows), [&](ByteSource& in) {
    opened = open_masked(params_->reply(rows), key_, in, session.pool());
  });
  return combine_sums(*params_, rows, steps_, opened);
}

void EncryptedUpdateOwner::send_derivative(Session& session, std::uint32_t layer, const Derivative& derivative) {
  const IntMatrix& dz = *derivative.values;
  const std::vector<std::int64_t> values = dz.to_dense();
  // Of the mean loss over the real rows; a descent, so that A only ever adds.
  const double mean = -std::ldexp(1.0 / static_cast<double>(derivative.real_rows), -dz.scale());
  send(session, layer, dz.rows(), mean, [&](std::size_t row, std::size_t col, double factor, int scale) {
    const auto v = static_cast<double>(values[row * dz.cols() + col]);
    return he::paillier::to_big(static_cast<Int128>(std::round(std::ldexp(factor * v, scale))));
  });
}

void EncryptedUpdateOwner::send_derivative(Session& session, std::uint32_t layer, const ShareMatrix& share) {
  check_share(*params_, share);
  send(session, layer, share.rows(), share_mean(*params_),
       [&](std::size_t row, std::size_t col, double factor, int scale) {
         return scaled_share(share.row(row)[col], share.scale(), factor, scale);
       });
}

void EncryptedUpdateOwner::send(Session& session, std::uint32_t layer, std::size_t rows, double mean,
                                const Scaled& scaled) {
  check_passes(*params_, passes_ + 1, pending_ + 1);
  const MomentumSums& sums = params_->sums();
  session.channel().send(derivative_message(*params_, layer, rows), [&](ByteSink& out) {
    for (const bool history : {false, true}) {
      if (history && !sums.has_momentum()) continue;
      const double factor = mean * step_factor(sums, steps_, history);
      const he::paillier::CryptoShape shape = params_->derivative(rows, history);
      const auto value = [&](std::size_t row, std::size_t col) { return scaled(row, col, factor, shape.scale); };
      write_encrypted(key_, shape, value, session.random(), session.pool(), out);
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
  write_header(out, kOwnerMark, *params_, key_.public_key().id(), steps_, passes_);
}

void EncryptedUpdateOwner::load(ByteSource& in) {
  reading_state([&] {
    std::size_t steps = 0;
    std::size_t passes = 0;
    read_header(in, kOwnerMark, *params_, key_.public_key().id(), steps, passes);
    steps_ = steps;
    passes_ = passes;
    pending_ = 0;
  });
}

}  // namespace blindfl::protocol
