#include "blindfl/protocol/layers/oblivious_product.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/net/channel.h"
#include "blindfl/protocol/session/hashed_fields.h"
#include "blindfl/share/integer_pieces.h"
#include "blindfl/share/products.h"

namespace blindfl::protocol {

namespace {

using Lookup = std::uint64_t;
static_assert(kPieceRing == 64, "look-ups are of words modulo 2^64");

/// `most` for each row, one after the other: its categories, those that count twice twice, and then the spare one,
/// which is the last.
std::vector<std::uint32_t> categories_of(const IntMatrix& x, std::size_t most, const std::string& layer) {
  std::vector<std::uint32_t> all(x.rows() * most, static_cast<std::uint32_t>(x.cols()));
  for (std::size_t r = 0; r < x.rows(); ++r) {
    std::size_t left = most;
    x.for_each_in_row(r, [&](std::size_t c, std::int64_t v) {
      require<InvalidArgument>(x.scale() == 0 && v >= 0 && static_cast<std::uint64_t>(v) <= left, "layer '", layer,
                               "', row ", r, " of the batch: a table by oblivious transfer takes up to ", most,
                               " whole categories of a row of this field");
      for (; v > 0; --v) all[r * most + --left] = static_cast<std::uint32_t>(c);
    });
  }
  return all;
}

/// Sums of `most` rows each.
template <class Word>
SecretVector<Word> summed(const SecretVector<Word>& words, std::size_t most, std::size_t cols) {
  if (most == 1) return words;
  SecretVector<Word> sums(words.size() / most);
  for (std::size_t i = 0; i < words.size(); ++i) sums[i / (most * cols) * cols + i % cols] += words[i];
  return sums;
}

/// Each row `most` times.
SecretVector<UInt128> repeated(const ShareMatrix& rows, std::size_t most) {
  SecretVector<UInt128> all;
  all.reserve(rows.values().size() * most);
  for (std::size_t r = 0; r < rows.rows(); ++r) {
    const auto row = rows.values().subspan(r * rows.cols(), rows.cols());
    for (std::size_t i = 0; i < most; ++i) all.insert(all.end(), row.begin(), row.end());
  }
  return all;
}

/// The first rows of it: what there is for the spare category is left out.
template <class Word>
ShareMatrix matrix_of(std::span<const Word> words, std::size_t rows, std::size_t cols, int scale, int ring_bits) {
  ShareMatrix m(rows, cols, scale, ring_bits);
  std::copy_n(words.begin(), rows * cols, m.values().begin());
  m.reduce();
  return m;
}

}  // namespace

ot::TablePlan lookup_plan(std::size_t lookups, std::size_t categories, std::size_t dimension) {
  require<InvalidArgument>(categories <= kMostLookupCategories, "a table by oblivious transfer has at most ",
                           kMostLookupCategories, " categories, and this one has ", categories);
  return ot::TablePlan({.lookups = lookups, .categories = categories + 1, .cols = dimension});
}

ObliviousProduct::ObliviousProduct(Session& session, std::shared_ptr<Weight> weight, ObliviousProductSpec spec)
    : WeightProduct(session, std::move(weight)), spec_(std::move(spec)) {}

template <class Step>
auto ObliviousProduct::closing(Step&& step) {
  try {
    return step();
  } catch (const ProtocolError&) {
    session_.channel().close();
    throw;
  }
}

const ot::TablePlan& ObliviousProduct::plan(std::size_t rows) {
  const auto known = plans_.find(rows);
  if (known != plans_.end()) return known->second;
  return plans_.emplace(rows, lookup_plan(rows * spec_.most, weight_->piece.rows(), spec_.dimension)).first->second;
}

ot::TableUse ObliviousProduct::next_use() {
  return {.session = session_.coin("embedding tables"),
          .chooser = weight_->features_of,
          .layer = spec_.layer,
          .step = step_++};
}

net::Message ObliviousProduct::message(net::Step step, std::uint64_t size) const {
  return {step, spec_.layer, size};
}

net::Message ObliviousProduct::table_message(std::size_t rows) {
  const std::uint64_t digest = session_.repeats_masks() ? kDigestBytes : 0;
  return {steps::kPaddedTable, spec_.layer, plan(rows).gather_bytes(sizeof(Lookup)) + digest, weight_->piece.rows(),
          spec_.dimension};
}

ShareMatrix ObliviousProduct::rounded_table() const {
  const ShareMatrix& piece = weight_->piece;
  return rescale(narrowed(piece, kPieceRing + piece.scale() - spec_.lookup_scale), spec_.lookup_scale);
}

OtCount ObliviousProduct::ots(std::size_t rows) {
  const std::uint64_t count = plan(rows).ots();
  return mine() ? OtCount{.receiving = count} : OtCount{.sending = count};
}

void ObliviousProduct::ask(LookupKeys& keys, const IntMatrix& x) {
  const std::vector<std::uint32_t> categories = categories_of(x, spec_.most, spec_.layer_name);
  Random random = session_.random();
  keys.ask = keys.chooser
                 .emplace(plan(x.rows()), next_use(), categories, session_.ots().receiver(), random,
                          ot::fastest_kernels(), &seeds_)
                 .ask();
}

void ObliviousProduct::send_ask(LookupKeys& keys) {
  session_.channel().send(message(steps::kLookupAsk, keys.ask.size()), keys.ask);
  keys.ask.clear();
}

void ObliviousProduct::receive_ask(LookupKeys& keys, std::size_t rows) {
  keys.ask = session_.channel().receive(message(steps::kLookupAsk, ask_bytes(rows)));
}

void ObliviousProduct::take_ask(LookupKeys& keys, std::size_t rows) {
  keys.keeper.emplace(plan(rows), next_use(), session_.ots().sender(), ot::fastest_kernels(), &seeds_);
}

void ObliviousProduct::make_answer(LookupKeys& keys) {
  if (keys.ask.empty()) return;
  Random random = session_.random();
  keys.answer = keys.keeper->answer(keys.ask, random);
  keys.ask.clear();
}

void ObliviousProduct::send_answer(LookupKeys& keys) {
  closing([&] {
    make_answer(keys);
    session_.channel().send(message(steps::kLookupKeys, keys.answer.size()), keys.answer);
    keys.answer.clear();
  });
}

void ObliviousProduct::receive_answer(LookupKeys& keys, std::size_t rows) {
  keys.answer = session_.channel().receive(message(steps::kLookupKeys, answer_bytes(rows)));
}

void ObliviousProduct::take_answer(LookupKeys& keys) {
  if (keys.answer.empty()) return;
  closing([&] { keys.chooser->take_keys(keys.answer); });
  keys.answer.clear();
}

bool ObliviousProduct::prepare_keys(LookupKeys& keys) {
  if (mine() ? keys.answer.empty() : keys.ask.empty()) return false;
  if (mine()) {
    keys.chooser->take_keys(keys.answer);
    keys.answer.clear();
  } else {
    make_answer(keys);
  }
  return true;
}

std::uint64_t ObliviousProduct::operand_bytes(std::size_t rows) {
  return table_message(rows).size;
}

// The digest is of values that have little entropy before the first step: under a key of this party's it tells nothing
// of them all the same.
Bytes ObliviousProduct::own_digest(const ShareMatrix& table) const {
  const MaskedProduct product{session_.party(), steps::kPaddedTable, spec_.layer, digest_of_matrix(table)};
  Random keyed = session_.masks(product, IntMatrix());
  Bytes digest(kDigestBytes);
  keyed.fill(digest);
  return digest;
}

void ObliviousProduct::send_operand(std::size_t rows) {
  const ShareMatrix table = rounded_table();
  SecretVector<Lookup> words((table.rows() + 1) * table.cols());
  std::ranges::transform(table.values(), words.begin(), [](UInt128 v) { return low64(v); });
  closing([&] {
    ot::TableKeeper::Sent<Lookup> sent = keys_->keeper->gather<Lookup>(words);
    if (session_.repeats_masks()) {
      const Bytes digest = own_digest(table);
      sent.message.insert(sent.message.end(), digest.begin(), digest.end());
    }
    session_.channel().send(table_message(rows), sent.message);
    share_ = matrix_of<Lookup>(summed(sent.share, spec_.most, spec_.dimension), rows, spec_.dimension,
                               spec_.lookup_scale, kPieceRing);
  });
}

void ObliviousProduct::receive_operand(std::size_t rows) {
  masked_ = session_.channel().receive(table_message(rows));
  peer_digest_.clear();
  if (!session_.repeats_masks()) return;
  peer_digest_.assign(masked_.end() - kDigestBytes, masked_.end());
  masked_.resize(masked_.size() - kDigestBytes);
}

ShareMatrix ObliviousProduct::receive(std::size_t /*rows*/) {
  return *std::exchange(share_, std::nullopt);
}

ShareMatrix ObliviousProduct::send(const IntMatrix& x) {
  return closing([&] {
    const SecretVector<Lookup> words = keys_->chooser->gather<Lookup>(std::exchange(masked_, {}));
    return matrix_of<Lookup>(summed(words, spec_.most, spec_.dimension), x.rows(), spec_.dimension, spec_.lookup_scale,
                             kPieceRing);
  });
}

void ObliviousProduct::send_derivative(const Derivative& /*derivative*/) {
  fail<InvalidArgument>("layer '", spec_.layer_name, "': derivatives by embeddings are shared");
}

void ObliviousProduct::send_derivative(const ShareMatrix& share) {
  const ot::TableKeeper::Sent<UInt128> sent = keys_->keeper->scatter<UInt128>(repeated(share, spec_.most));
  keys_.reset();
  session_.channel().send({steps::kPaddedDerivative, spec_.layer, sent.message.size(), share.rows(), share.cols()},
                          sent.message);
  share_ = matrix_of<UInt128>(sent.share, weight_->piece.rows(), share.cols(), share.scale(), spec_.gradient_ring);
}

std::optional<ShareMatrix> ObliviousProduct::receive_gradient(std::size_t /*rows*/) {
  return std::exchange(share_, std::nullopt);
}

void ObliviousProduct::receive_derivative(const IntMatrix& x, const ShareMatrix* own) {
  masked_ = session_.channel().receive(
      {steps::kPaddedDerivative, spec_.layer, derivative_bytes(x.rows()), x.rows(), spec_.dimension});
  require<InvalidArgument>(own != nullptr, "layer '", spec_.layer_name, "': derivatives by embeddings are shared");
}

std::optional<ShareMatrix> ObliviousProduct::send_gradient(const IntMatrix& x, const ShareMatrix* own) {
  return closing([&] {
    const SecretVector<UInt128> words = keys_->chooser->scatter<UInt128>(std::exchange(masked_, {}));
    keys_.reset();
    ShareMatrix share = matrix_of<UInt128>(words, x.cols(), spec_.dimension, own->scale(), spec_.gradient_ring);
    return std::move(share += multiply_transposed(x, narrowed(*own, spec_.gradient_ring), session_.pool()));
  });
}

void ObliviousProduct::load(ByteSource& /*in*/) {
  keys_.reset();
  share_.reset();
  for (Bytes* bytes : {&masked_, &peer_digest_}) bytes->clear();
}

}  // namespace blindfl::protocol
