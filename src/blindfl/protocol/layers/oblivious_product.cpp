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

/// Of one call of several: what each row has there.
std::vector<std::uint32_t> part_of(std::span<const std::uint32_t> all, std::size_t most, std::size_t call,
                                   std::size_t calls) {
  const std::size_t width = most / calls;
  std::vector<std::uint32_t> part;
  part.reserve(all.size() / calls);
  for (std::size_t first = call * width; first < all.size(); first += most) {
    const auto row = all.subspan(first, width);
    part.insert(part.end(), row.begin(), row.end());
  }
  return part;
}

/// Part number `i` of a message that has `parts` of the same size.
ByteView part_of(ByteView message, std::size_t i, std::size_t parts) {
  const std::size_t size = message.size() / parts;
  return message.subspan(i * size, size);
}

void append(Bytes& to, ByteView bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

/// Adds rows of `words` to those of `sums`: to each as many, one after the other, as there are more.
template <class Word>
void add_rows(SecretVector<Word>& sums, const SecretVector<Word>& words, std::size_t cols) {
  auto word = words.begin();
  for (auto sum = sums.begin(); sum != sums.end(); sum += static_cast<std::ptrdiff_t>(cols)) {
    for (std::size_t i = 0; i < words.size() / sums.size(); ++i) {
      for (std::size_t c = 0; c < cols; ++c) sum[static_cast<std::ptrdiff_t>(c)] += *word++;
    }
  }
}

/// Each row `times` times.
SecretVector<UInt128> repeated(const ShareMatrix& rows, std::size_t times) {
  SecretVector<UInt128> all;
  all.reserve(rows.values().size() * times);
  for (std::size_t r = 0; r < rows.rows(); ++r) {
    const auto row = rows.values().subspan(r * rows.cols(), rows.cols());
    for (std::size_t i = 0; i < times; ++i) all.insert(all.end(), row.begin(), row.end());
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

const LookupPlan& ObliviousProduct::plan(std::size_t rows) {
  const auto known = plans_.find(rows);
  if (known != plans_.end()) return known->second;
  return plans_.emplace(rows, lookup_plan(rows, spec_.most, weight_->piece.rows(), spec_.dimension, spec_.calls))
      .first->second;
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
  const LookupPlan& of_batch = plan(x.rows());
  Random random = session_.random();
  for (std::size_t i = 0; i < of_batch.calls; ++i) {
    keys.choosers.emplace_back(of_batch.call, next_use(), part_of(categories, spec_.most, i, of_batch.calls),
                               session_.ots().receiver(), random, ot::fastest_kernels(), &seeds_);
    append(keys.ask, keys.choosers.back().ask());
  }
}

void ObliviousProduct::send_ask(LookupKeys& keys) {
  session_.channel().send(message(steps::kLookupAsk, keys.ask.size()), keys.ask);
  keys.ask.clear();
}

void ObliviousProduct::receive_ask(LookupKeys& keys, std::size_t rows) {
  keys.ask = session_.channel().receive(message(steps::kLookupAsk, ask_bytes(rows)));
}

void ObliviousProduct::take_ask(LookupKeys& keys, std::size_t rows) {
  const LookupPlan& of_batch = plan(rows);
  for (std::size_t i = 0; i < of_batch.calls; ++i) {
    keys.keepers.emplace_back(of_batch.call, next_use(), session_.ots().sender(), ot::fastest_kernels(), &seeds_);
  }
}

// Call by call, so that one that fails fails again in the same way.
bool ObliviousProduct::make_answer(LookupKeys& keys) {
  if (keys.ask.empty()) return false;
  Random random = session_.random();
  append(keys.answer, keys.keepers[keys.done].answer(part_of(keys.ask, keys.done, keys.keepers.size()), random));
  if (++keys.done == keys.keepers.size()) keys.ask.clear();
  return true;
}

bool ObliviousProduct::take_call(LookupKeys& keys) {
  if (keys.answer.empty()) return false;
  keys.choosers[keys.done].take_keys(part_of(keys.answer, keys.done, keys.choosers.size()));
  if (++keys.done == keys.choosers.size()) keys.answer.clear();
  return true;
}

void ObliviousProduct::send_answer(LookupKeys& keys) {
  closing([&] {
    while (make_answer(keys)) {
    }
    session_.channel().send(message(steps::kLookupKeys, keys.answer.size()), keys.answer);
    keys.answer.clear();
  });
}

void ObliviousProduct::receive_answer(LookupKeys& keys, std::size_t rows) {
  keys.answer = session_.channel().receive(message(steps::kLookupKeys, answer_bytes(rows)));
}

void ObliviousProduct::take_answer(LookupKeys& keys) {
  closing([&] {
    while (take_call(keys)) {
    }
  });
}

bool ObliviousProduct::prepare_keys(LookupKeys& keys) {
  return mine() ? take_call(keys) : make_answer(keys);
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
    Bytes masked;
    SecretVector<Lookup> sums(rows * spec_.dimension);
    for (ot::TableKeeper& keeper : keys_->keepers) {
      const ot::TableKeeper::Sent<Lookup> sent = keeper.gather<Lookup>(words);
      append(masked, sent.message);
      add_rows(sums, sent.share, spec_.dimension);
    }
    if (session_.repeats_masks()) append(masked, own_digest(table));
    session_.channel().send(table_message(rows), masked);
    share_ = matrix_of<Lookup>(sums, rows, spec_.dimension, spec_.lookup_scale, kPieceRing);
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
    const Bytes masked = std::exchange(masked_, {});
    SecretVector<Lookup> sums(x.rows() * spec_.dimension);
    for (std::size_t i = 0; i < keys_->choosers.size(); ++i) {
      const ByteView part = part_of(masked, i, keys_->choosers.size());
      add_rows(sums, keys_->choosers[i].gather<Lookup>(part), spec_.dimension);
    }
    return matrix_of<Lookup>(sums, x.rows(), spec_.dimension, spec_.lookup_scale, kPieceRing);
  });
}

void ObliviousProduct::send_derivative(const Derivative& /*derivative*/) {
  fail<InvalidArgument>("layer '", spec_.layer_name, "': derivatives by embeddings are shared");
}

void ObliviousProduct::send_derivative(const ShareMatrix& share) {
  const std::shared_ptr<LookupKeys> keys = std::exchange(keys_, nullptr);
  const SecretVector<UInt128> rows = repeated(share, spec_.most / keys->keepers.size());
  Bytes masked;
  SecretVector<UInt128> sums((weight_->piece.rows() + 1) * share.cols());
  for (ot::TableKeeper& keeper : keys->keepers) {
    const ot::TableKeeper::Sent<UInt128> sent = keeper.scatter<UInt128>(rows);
    append(masked, sent.message);
    add_rows(sums, sent.share, share.cols());
  }
  session_.channel().send({steps::kPaddedDerivative, spec_.layer, masked.size(), share.rows(), share.cols()}, masked);
  share_ = matrix_of<UInt128>(sums, weight_->piece.rows(), share.cols(), share.scale(), spec_.gradient_ring);
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
    const Bytes masked = std::exchange(masked_, {});
    const std::shared_ptr<LookupKeys> keys = std::exchange(keys_, nullptr);
    SecretVector<UInt128> sums((x.cols() + 1) * spec_.dimension);
    for (std::size_t i = 0; i < keys->choosers.size(); ++i) {
      const ByteView part = part_of(masked, i, keys->choosers.size());
      add_rows(sums, keys->choosers[i].scatter<UInt128>(part), spec_.dimension);
    }
    ShareMatrix share = matrix_of<UInt128>(sums, x.cols(), spec_.dimension, own->scale(), spec_.gradient_ring);
    return std::move(share += multiply_transposed(x, narrowed(*own, spec_.gradient_ring), session_.pool()));
  });
}

void ObliviousProduct::load(ByteSource& /*in*/) {
  keys_.reset();
  share_.reset();
  for (Bytes* bytes : {&masked_, &peer_digest_}) bytes->clear();
}

}  // namespace blindfl::protocol
