#include "blindfl/he/paillier/paillier_updates.h"

#include <algorithm>
#include <cmath>

#include "blindfl/base/error.h"
#include "blindfl/he/paillier/expected_times.h"
#include "blindfl/he/paillier/paillier_scheme.h"

namespace blindfl::he::paillier {

namespace {

/// Fractional bits of the factors that products are multiplied with.
constexpr int kFactorBits = 64;

template <class Tensor = const CryptoTensor, class Matrix>
Tensor& own(Matrix& m) {
  auto* mine = dynamic_cast<Tensor*>(&m);
  require<InvalidArgument>(mine != nullptr, "an encrypted matrix of another scheme");
  return *mine;
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

/// `factor` times a share at `share_scale`, at `scale`.
BigInt scaled_share(UInt128 share, int share_scale, double factor, int scale) {
  const PublicFactor exact(std::ldexp(factor, scale - share_scale));
  BigInt x = to_big(static_cast<Int128>(share));
  mpz_mul_si(x, x, exact.mantissa);
  round_down(x, exact.exponent);
  return x;
}

/// This party's share of the sum from its integer shares of the products. Integers and not yet residues: each party
/// rounds its own.
ShareMatrix combine(const UpdateReply& reply, const PublicSum& sum, const Integers& shares) {
  require<InvalidArgument>(sum.factors.size() == reply.parts, "a sum of ", sum.factors.size(), " products, of which ",
                           reply.parts, " travel");
  const std::size_t count = reply.rows * reply.cols;
  std::vector<BigInt> factors(reply.parts);
  for (std::size_t part = 0; part < reply.parts; ++part) {
    mpz_set_d(factors[part], std::round(std::ldexp(sum.factors[part], kFactorBits)));
  }
  ShareMatrix result(reply.rows, reply.cols, sum.scale);
  const auto out = result.values();
  BigInt x;
  for (std::size_t i = 0; i < count; ++i) {
    mpz_mul(x, factors[0], shares[i]);
    for (std::size_t part = 1; part < reply.parts; ++part) mpz_addmul(x, factors[part], shares[part * count + i]);
    round_down(x, kFactorBits + sum.shift);
    out[i] = low128(x);
  }
  return result;
}

}  // namespace

CryptoShape PaillierUpdates::shape(const EncryptedShape& shape) const {
  return {shape.rows, shape.cols, Slots(params_.plaintext_bits(), shape.width), shape.scale, shape.bits};
}

ReplyLayout PaillierUpdates::layout(const UpdateReply& reply) const {
  return {params_, reply.rows * reply.parts, reply.cols, reply.bits, reply.hiding};
}

std::uint64_t PaillierUpdates::matrix_bytes(const EncryptedShape& matrix) const {
  return static_cast<std::uint64_t>(matrix.rows * shape(matrix).groups()) * params_.ciphertext_bytes();
}

std::uint64_t PaillierUpdates::reply_bytes(const UpdateReply& reply) const {
  return static_cast<std::uint64_t>(layout(reply).ciphertexts()) * params_.ciphertext_bytes();
}

void PaillierUpdates::write_layout(const UpdateReply& reply, ByteSink& out) const {
  const ReplyLayout l = layout(reply);
  for (const std::size_t number : {l.rows, l.cols, l.groups, l.cols_per_group, l.rows_per_ciphertext}) {
    out.write_u64(number);
  }
  for (const int number : {l.slots.width(), l.value_bits, l.mask_bits}) {
    out.write_u64(static_cast<std::uint64_t>(number));
  }
}

UpdateCosts PaillierUpdates::costs(const UpdateWork& work) const {
  const ExpectedTimes expected(params_);
  const ReplyLayout masked = layout(work.reply);
  const std::size_t groups = shape(work.weights).groups();
  const std::size_t batch = work.reply.rows;
  const std::size_t in = work.weights.rows;
  const std::size_t derivatives = work.copies * batch * groups;
  const auto parts = static_cast<double>(work.reply.parts);
  const auto copies = static_cast<double>(work.copies);
  const double touched = expected_rows(in, work.entries);
  const double own_shares = work.shared ? static_cast<double>(derivatives) : 0.0;
  UpdateCosts costs;
  costs.holder = parts * expected.multiply(batch, in, groups, work.entries, work.bound) +
                 expected.write_masked(masked) + expected.load(derivatives) + expected.add(own_shares) +
                 copies * expected.multiply(in, batch, groups, work.entries, work.bound) +
                 copies * expected.add(touched * static_cast<double>(groups));
  costs.owner = expected.open_masked(masked) + expected.encrypt(derivatives);
  costs.row_memory = groups * expected.row_memory();
  costs.index_memory = sizeof(std::uint32_t);
  return costs;
}

std::unique_ptr<EncryptedMatrix> PaillierUpdateHolder::zeros(const EncryptedShape& shape) const {
  return std::make_unique<CryptoTensor>(key_, updates_.shape(shape));
}

std::unique_ptr<EncryptedMatrix> PaillierUpdateHolder::read(const EncryptedShape& shape, ByteSource& in,
                                                            ThreadPool& pool) const {
  return std::make_unique<CryptoTensor>(read_tensor(key_, updates_.shape(shape), in, pool));
}

void PaillierUpdateHolder::add(EncryptedMatrix& to, const ShareMatrix& share, double factor) const {
  auto& m = own<CryptoTensor>(to);
  const CryptoShape& shape = m.shape();
  const std::size_t width = shape.cols_per_group();
  std::vector<Limb*> rows;
  Integers plaintexts;
  for (std::size_t r = 0; r < shape.rows; ++r) {
    Limb* limbs = m.touch(r);
    for (std::size_t g = 0; g < shape.groups(); ++g) {
      Integers values;
      for (std::size_t c = g * width; c < std::min(shape.cols, (g + 1) * width); ++c) {
        values.push_back(scaled_share(share.row(r)[c], share.scale(), factor, shape.scale));
      }
      rows.push_back(limbs + g * key_->ring().stride());
      plaintexts.push_back(shape.slots.pack(std::span<const BigInt>(values)));
    }
  }
  key_->add(rows, plaintexts);
}

void PaillierUpdateHolder::add_transposed_product(EncryptedMatrix& to, const IntMatrix& x, const EncryptedMatrix& m,
                                                  ThreadPool& pool) const {
  paillier::add_transposed_product(own<CryptoTensor>(to), x, own(m), pool);
}

std::unique_ptr<EncryptedMatrix> PaillierUpdateHolder::multiply(const UpdateReply& reply, const IntMatrix& x,
                                                                std::size_t most_terms,
                                                                const std::vector<const EncryptedMatrix*>& matrices,
                                                                ThreadPool& pool) const {
  const ReplyLayout layout = updates_.layout(reply);
  const CryptoShape shape{layout.rows, layout.cols, layout.slots, 0, layout.value_bits};
  auto values = std::make_unique<CryptoTensor>(key_, shape);
  const std::size_t limbs = shape.groups() * key_->ring().stride();
  for (std::size_t part = 0; part < reply.parts; ++part) {
    const CryptoTensor product = paillier::multiply(x, own(*matrices[part]), most_terms, pool);
    for (std::size_t r = 0; r < x.rows(); ++r) {
      std::copy_n(product.find(r), limbs, values->touch(part * x.rows() + r));
    }
  }
  return values;
}

ShareMatrix PaillierUpdateHolder::write_masked(const UpdateReply& reply, const EncryptedMatrix& products,
                                               const PublicSum& sum, Random& random, Random& masks, ThreadPool& pool,
                                               ByteSink& out) const {
  Integers kept = paillier::write_masked(updates_.layout(reply), own(products), randomizers_, random, masks, pool, out);
  for (BigInt& mask : kept) mpz_neg(mask, mask);
  return combine(reply, sum, kept);
}

void PaillierUpdateHolder::save(const EncryptedMatrix& matrix, ByteSink& out, ThreadPool& pool) const {
  const CryptoTensor& m = own(matrix);
  const std::size_t groups = m.shape().groups();
  std::vector<const Limb*> rows;
  out.write_u64(m.written().size());
  for (const std::uint32_t row : m.written()) {
    out.write_u32(row);
    for (std::size_t g = 0; g < groups; ++g) rows.push_back(m.find(row) + g * key_->ring().stride());
  }
  key_->write(rows, out, pool);
}

std::unique_ptr<EncryptedMatrix> PaillierUpdateHolder::load(const EncryptedShape& shape, ByteSource& in,
                                                            ThreadPool& pool) const {
  auto m = std::make_unique<CryptoTensor>(key_, updates_.shape(shape));
  const std::uint64_t count = in.read_u64();
  require<DataError>(count <= m->shape().rows, "the saved state has more rows than the layer");
  const std::size_t groups = m->shape().groups();
  // Rows take memory before they are read.
  const std::uint64_t row_bytes = sizeof(std::uint32_t) + groups * key_->ring().row_bytes();
  require<DataError>(in.remaining() / row_bytes >= count, "the saved state is cut short");
  std::vector<Limb*> rows;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint32_t row = in.read_u32();
    require<DataError>(row < m->shape().rows && m->find(row) == nullptr, "the saved state has a row that cannot be");
    Limb* limbs = m->touch(row);
    for (std::size_t g = 0; g < groups; ++g) rows.push_back(limbs + g * key_->ring().stride());
  }
  key_->read(rows, in, pool);
  return m;
}

void PaillierUpdateOwner::write_encrypted(const EncryptedShape& shape, const IntMatrix& values, double factor,
                                          Random& random, ThreadPool& pool, ByteSink& out) const {
  const std::vector<std::int64_t> dense = values.to_dense();
  const auto value = [&](std::size_t row, std::size_t col) {
    const auto v = static_cast<double>(dense[row * values.cols() + col]);
    return to_big(static_cast<Int128>(std::round(std::ldexp(factor * v, shape.scale - values.scale()))));
  };
  paillier::write_encrypted(key_, updates_.shape(shape), value, random, pool, out);
}

void PaillierUpdateOwner::write_encrypted(const EncryptedShape& shape, const ShareMatrix& share, double factor,
                                          Random& random, ThreadPool& pool, ByteSink& out) const {
  const auto value = [&](std::size_t row, std::size_t col) {
    return scaled_share(share.row(row)[col], share.scale(), factor, shape.scale);
  };
  paillier::write_encrypted(key_, updates_.shape(shape), value, random, pool, out);
}

ShareMatrix PaillierUpdateOwner::open(const UpdateReply& reply, const PublicSum& sum, ByteSource& in,
                                      ThreadPool& pool) const {
  return combine(reply, sum, open_masked(updates_.layout(reply), key_, in, pool));
}

}  // namespace blindfl::he::paillier
