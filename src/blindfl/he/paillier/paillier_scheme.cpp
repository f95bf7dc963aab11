#include "blindfl/he/paillier/paillier_scheme.h"

#include <algorithm>

#include "blindfl/base/error.h"
#include "blindfl/base/saved_state.h"
#include "blindfl/base/secret.h"
#include "blindfl/he/paillier/crypto_tensor.h"
#include "blindfl/he/paillier/masked_reply.h"
#include "blindfl/he/paillier/paillier_plan.h"

namespace blindfl::he {

PaillierScheme::PaillierScheme(const paillier::Params& params, const Options& options)
    : params_(params),
      kernels_(options.kernels.empty() ? std::string(paillier::available_kernels().front()) : options.kernels) {}

std::unique_ptr<KeyOwner> PaillierScheme::generate_keys(const KeySetup& /*setup*/, Random& random) const {
  return std::make_unique<paillier::PaillierKeyOwner>(paillier::SecretKey::generate(params_, kernels_, random));
}

std::unique_ptr<KeyOwner> PaillierScheme::load_keys(ByteSource& in) const {
  SecretVector<std::byte> saved(paillier::SecretKey::saved_bytes(params_));
  reading_state([&] { in.read(saved); });
  return std::make_unique<paillier::PaillierKeyOwner>(paillier::SecretKey::restore(params_, kernels_, saved));
}

std::unique_ptr<Multiplier> PaillierScheme::multiplier(const KeySetup& /*setup*/, ByteView public_key) const {
  return std::make_unique<paillier::PaillierMultiplier>(
      std::make_shared<const paillier::PublicKey>(params_, kernels_, public_key));
}

std::shared_ptr<const Plan> PaillierScheme::do_plan(const ProductSpec& spec) const {
  return std::make_shared<paillier::PaillierPlan>(params_, spec);
}

namespace paillier {

namespace {

struct PaillierOperand final : Operand {
  explicit PaillierOperand(CryptoTensor m) : tensor(std::move(m)) {}
  CryptoTensor tensor;
};

const PaillierPlan& own(const Plan& plan) {
  const auto* mine = dynamic_cast<const PaillierPlan*>(&plan);
  require<InvalidArgument>(mine != nullptr, "a plan of another scheme");
  return *mine;
}

void write_id(const PublicKey& key, ByteSink& out) {
  out.write(as_bytes(key.id()));
}

void check_id(const PublicKey& key, ByteSource& in, const char* error) {
  Bytes id(PaillierPlan::kIdBytes);
  in.read(id);
  require<ProtocolError>(std::ranges::equal(id, as_bytes(key.id())), error);
}

ShareMatrix to_share(const ReplyLayout& layout, const ProductSpec& spec, const Integers& values) {
  ShareMatrix share(layout.rows, layout.cols, spec.result_scale(), spec.ring_bits);
  const auto out = share.values();
  for (std::size_t i = 0; i < values.size(); ++i) out[i] = low128(values[i]);
  share.reduce();
  return share;
}

}  // namespace

void write_encrypted(const SecretKey& key, const CryptoShape& shape,
                     const std::function<BigInt(std::size_t, std::size_t)>& value, Random& random, ThreadPool& pool,
                     ByteSink& out) {
  constexpr std::size_t kChunk = 512;  // ciphertexts in memory at a time
  constexpr std::size_t kGrain = 32;
  const PublicKey& public_key = key.public_key();
  const std::size_t groups = shape.groups();
  const std::size_t total = shape.rows * groups;
  const std::size_t width = shape.cols_per_group();
  Rows rows(public_key.ring(), std::min(kChunk, total));
  std::vector<Limb*> pointers;
  for (std::size_t i = 0; i < rows.count(); ++i) pointers.push_back(rows[i]);
  for (std::size_t first = 0; first < total; first += kChunk) {
    const std::size_t count = std::min(kChunk, total - first);
    std::vector<Random> generators;
    for (std::size_t i = 0; i < count; i += kGrain) generators.push_back(random.fork());
    pool.parallel_for(generators.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t piece = begin; piece < end; ++piece) {
        const std::size_t from = piece * kGrain;
        const std::size_t to = std::min(count, from + kGrain);
        Integers plaintexts;
        for (std::size_t i = from; i < to; ++i) {
          const std::size_t row = (first + i) / groups;
          const std::size_t col = (first + i) % groups * width;
          Integers values;
          for (std::size_t c = col; c < std::min(shape.cols, col + width); ++c) values.push_back(value(row, c));
          plaintexts.push_back(shape.slots.pack(std::span<const BigInt>(values)));
        }
        key.encrypt(std::span(pointers).subspan(from, to - from), plaintexts, generators[piece]);
      }
    });
    public_key.write(std::vector<const Limb*>(pointers.begin(), pointers.begin() + static_cast<std::ptrdiff_t>(count)),
                     out, pool);
  }
}

void PaillierKeyOwner::do_encrypt(const Plan& plan, const ShareMatrix& m, Random& random, ThreadPool& pool,
                                  ByteSink& out) const {
  const auto value = [&](std::size_t row, std::size_t col) {
    return to_big(signed_low_bits(m.row(row)[col], m.ring_bits()));
  };
  write_id(key_.public_key(), out);
  write_encrypted(key_, own(plan).operand(), value, random, pool, out);
}

ShareMatrix PaillierKeyOwner::do_open(const Plan& plan, ByteSource& reply, Random& /*random*/, ThreadPool& pool) const {
  const ReplyLayout& layout = own(plan).reply();
  check_id(key_.public_key(), reply, "a masked product is encrypted under a key that is not this party's");
  return to_share(layout, plan.spec(), open_masked(layout, key_, reply, pool));
}

void PaillierMultiplier::expect(const Plan& plan) const {
  randomizers_.expect(own(plan).reply().ciphertexts());
}

std::unique_ptr<const Operand> PaillierMultiplier::do_load(const Plan& plan, ByteSource& in, ThreadPool& pool) const {
  check_id(*key_, in, "an encrypted matrix is encrypted under a key that is not the peer's");
  return std::make_unique<PaillierOperand>(read_tensor(key_, own(plan).operand(), in, pool));
}

ShareMatrix PaillierMultiplier::do_multiply(const Plan& plan, const IntMatrix& x, const Operand& operand,
                                            Random& random, Random& masks, ThreadPool& pool, ByteSink& out) const {
  const auto* m = dynamic_cast<const PaillierOperand*>(&operand);
  const CryptoShape& shape = own(plan).operand();
  require<InvalidArgument>(m != nullptr && m->tensor.shape().rows == shape.rows &&
                               m->tensor.shape().cols == shape.cols && m->tensor.shape().slots == shape.slots &&
                               m->tensor.key().id() == key_->id(),
                           "the encrypted matrix was not loaded for this product");
  const CryptoTensor product = paillier::multiply(x, m->tensor, x.cols(), pool);
  write_id(*key_, out);
  Integers kept = write_masked(own(plan).reply(), product, randomizers_, random, masks, pool, out);
  for (BigInt& mask : kept) mpz_neg(mask, mask);
  return to_share(own(plan).reply(), plan.spec(), kept);
}

}  // namespace paillier
}  // namespace blindfl::he
