#include "blindfl/mpc/comparison.h"

#include <algorithm>
#include <utility>

#include "blindfl/base/error.h"

namespace blindfl::mpc {

namespace {

constexpr std::size_t kEqualBit = 16;

std::uint64_t low_mask(int bits) {
  return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

SecretVector<std::uint32_t> block_of(std::span<const std::uint64_t> words, std::size_t block, int bits) {
  SecretVector<std::uint32_t> values(words.size());
  const auto mask = static_cast<std::uint32_t>(low_mask(bits));
  for (std::size_t i = 0; i < words.size(); ++i) {
    values[i] = static_cast<std::uint32_t>(words[i] >> (ComparisonPlan::kBlockBits * block)) & mask;
  }
  return values;
}

/// The lowest bit of every entry whose index has bit j set.
std::uint32_t entries_with(const TableShape& shape, int j) {
  std::uint32_t mask = 0;
  for (std::size_t v = 0; v < shape.entries(); ++v) {
    if ((v >> j & 1) != 0) mask |= std::uint32_t{1} << (v * static_cast<std::size_t>(shape.entry_bits));
  }
  return mask;
}

std::uint32_t all_entries(const TableShape& shape) {
  return entries_with(shape, 0) | entries_with(shape, 0) >> shape.entry_bits;
}

/// Entry v of table i: whether values[i] < v, and, in bit 1 if there is one, whether they are equal; each XORed with
/// this party's share. No shift depends on a value, so that the loops are vector loops.
SecretVector<std::uint32_t> tables_of(const TableShape& shape, std::span<const std::uint32_t> values,
                                      std::span<const std::uint64_t> shares, std::size_t block) {
  const std::uint32_t all = all_entries(shape);
  SecretVector<std::uint32_t> tables(values.size(), all);
  for (int j = 0; j < shape.index_bits; ++j) {
    const std::uint32_t with = entries_with(shape, j);
    // Leaves, of the entries, the one at values[i].
    for (std::size_t i = 0; i < tables.size(); ++i) tables[i] &= ~(with ^ (0 - (values[i] >> j & 1)));
  }
  const std::uint32_t has_equal = shape.entry_bits == 2 ? ~std::uint32_t{0} : 0;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const std::uint32_t next = tables[i] << 1;
    const std::uint32_t smaller = (0 - next) & all;  // every entry above it
    const auto share = static_cast<std::uint32_t>(shares[i] >> block & 1);
    const auto share_equal = static_cast<std::uint32_t>(shares[i] >> (kEqualBit + block) & 1);
    tables[i] = smaller ^ (all & (0 - share)) ^ ((next ^ ((all << 1) & (0 - share_equal))) & has_equal);
  }
  return tables;
}

std::size_t opened_planes(std::size_t pairs) {
  return 3 * pairs - 1;
}

std::vector<BitShares> read_planes(ByteSource& in, std::size_t planes, std::size_t size) {
  std::vector<BitShares> read;
  read.reserve(planes);
  for (std::size_t i = 0; i < planes; ++i) read.push_back(BitShares::read(in, size));
  return read;
}

}  // namespace

SecretVector<std::uint64_t> low_words(const ShareMatrix& share, int bits) {
  require<InvalidArgument>(bits >= 1 && bits <= 64 && bits <= share.ring_bits(), "comparison: ", bits,
                           " bits of a number modulo 2^", share.ring_bits());
  SecretVector<std::uint64_t> words(share.values().size());
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = low64(share.values()[i]) & low_mask(bits);
  return words;
}

ComparisonPlan::ComparisonPlan(int bits, std::size_t count) : bits_(bits), count_(count) {
  require<InvalidArgument>(bits >= 2 && bits <= 64, "comparison: numbers of 2 to 64 bits, not ", bits);
  require<InvalidArgument>(count > 0, "comparison: of no numbers");
  for (int first = 0; first < bits - 1; first += kBlockBits) {
    blocks_.push_back({.index_bits = std::min(kBlockBits, bits - 1 - first), .entry_bits = first == 0 ? 1 : 2});
  }
  for (std::size_t left = blocks_.size(); left > 1; left -= levels_.back()) levels_.push_back(left / 2);
}

std::size_t ComparisonPlan::pairs() const {
  std::size_t pairs = 0;
  for (const std::size_t level : levels_) pairs += level;
  return pairs;
}

std::uint64_t ComparisonPlan::level_bytes(std::size_t level) const {
  return opened_planes(levels_[level]) * bytes_for_bits(count_);
}

std::uint64_t ComparisonPlan::table_bytes() const {
  std::uint64_t bytes = 0;
  for (const TableShape& block : blocks_) bytes += block.bytes(count_);
  return bytes;
}

std::uint64_t ComparisonPlan::index_bytes() const {
  return ot::MaterialTag::kBytes + static_cast<std::uint64_t>(bits_ - 1) * bytes_for_bits(count_);
}

Cost ComparisonPlan::cost() const {
  std::uint64_t openings = 0;
  for (std::size_t level = 0; level < levels_.size(); ++level) openings += level_bytes(level);
  const auto below = static_cast<std::size_t>(bits_ - 1);
  return {.sender_bytes = table_bytes() + openings,
          .receiver_bytes = index_bytes() + openings,
          .flights = 2 + static_cast<int>(levels_.size()),
          .sender_ots = (below + pairs()) * count_,
          .receiver_ots = pairs() * count_};
}

ComparisonMaterial::ComparisonMaterial(const ComparisonPlan& plan, Role role, ot::RandomOtSender& sender,
                                       ot::RandomOtReceiver& receiver, Random& random)
    : plan_(plan),
      role_(role),
      tag_("comparison", {static_cast<std::uint64_t>(plan.bits()), plan.count()}, sender, receiver) {
  // Before anything is taken: a pool that lost some of its OTs for nothing would be out of step with the peer's.
  const Cost cost = plan.cost();
  const bool sends = role == Role::kSender;
  require<InvalidArgument>(sender.ready() >= (sends ? cost.sender_ots : cost.receiver_ots) &&
                               receiver.ready() >= (sends ? cost.receiver_ots : cost.sender_ots),
                           "comparison: the pools have too few random OTs: extend them first");
  for (const TableShape& block : plan.blocks()) {
    if (sends) {
      table_senders_.emplace_back(block, plan.count(), sender);
    } else {
      table_receivers_.emplace_back(block, plan.count(), receiver);
    }
  }
  for (std::size_t i = 0; i < plan.pairs(); ++i) triples_.emplace_back(plan.count(), sender, receiver);
  if (!sends) return;
  shares_.resize(plan.count());
  random.fill_integers(std::span(shares_));
}

Comparison::Comparison(ComparisonMaterial&& material) : material_(std::move(material)) {
  require<InvalidArgument>(!material_.used(), "comparison: this material was used before");
}

Bytes Comparison::start(std::span<const std::uint64_t> shares) {
  const ComparisonPlan& plan = material_.plan_;
  require<InvalidArgument>(stage_ == Stage::kNew && shares.size() == plan.count(), "comparison: starts once, with ",
                           plan.count(), " shares");
  const bool sends = material_.role_ == Role::kSender;
  SecretVector<std::uint64_t> tops(shares.size());
  below_.resize(shares.size());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    tops[i] = shares[i] >> (plan.bits() - 1) & 1;
    below_[i] = (sends ? ~shares[i] : shares[i]) & low_mask(plan.bits() - 1);
  }
  top_ = std::move(planes_of(tops, 1)[0]);
  stage_ = Stage::kTables;
  if (sends) return {};
  BufferSink out(plan.index_bytes());
  material_.tag_.write(out);
  const auto below = static_cast<std::size_t>(plan.bits() - 1);
  const std::vector<BitShares> planes = planes_of(below_, below);
  for (std::size_t j = 0; j < plan.blocks().size(); ++j) {
    const auto width = static_cast<std::size_t>(plan.blocks()[j].index_bits);
    material_.table_receivers_[j].choose(std::span(planes).subspan(ComparisonPlan::kBlockBits * j, width), out);
  }
  return out.take();
}

std::uint64_t Comparison::expected_bytes() const {
  const ComparisonPlan& plan = material_.plan_;
  const auto level_bytes = [&](std::size_t level) {
    return level < plan.levels().size() ? plan.level_bytes(level) : 0;
  };
  if (stage_ == Stage::kLevels) return level_bytes(level_) + level_bytes(level_ + 1);
  if (material_.role_ == Role::kReceiver) return plan.table_bytes() + level_bytes(0);
  return plan.index_bytes();
}

Bytes Comparison::next(ByteView message) {
  require<InvalidArgument>(stage_ == Stage::kTables || stage_ == Stage::kLevels,
                           "comparison: no message is expected now");
  require<ProtocolError>(message.size() == expected_bytes(), "comparison: the peer's message has ", message.size(),
                         " bytes, not ", expected_bytes());
  BufferSource in(message);
  BufferSink out;
  if (stage_ == Stage::kTables && material_.role_ == Role::kSender) {
    write_tables(in, out);
    if (levels_left()) open_level(out);
  } else {
    // All of it is read before any is used: what is refused changes nothing.
    std::vector<SecretVector<std::uint32_t>> tables;
    if (stage_ == Stage::kTables) {
      for (const TableReceiver& block : material_.table_receivers_) tables.push_back(block.read(in));
    }
    std::vector<std::vector<BitShares>> peer;
    for (std::size_t level = level_; in.remaining() > 0; ++level) peer.push_back(read_openings(in, level));
    if (stage_ == Stage::kTables) open_tables(std::move(tables));
    finish_levels(peer, out);
  }
  stage_ = levels_left() ? Stage::kLevels : Stage::kDone;
  return out.take();
}

void Comparison::write_tables(ByteSource& in, ByteSink& out) {
  const ComparisonPlan& plan = material_.plan_;
  material_.tag_.check(in);
  const std::vector<BitShares> planes = read_planes(in, static_cast<std::size_t>(plan.bits() - 1), plan.count());
  const SecretVector<std::uint64_t> shifts = words_of(planes, plan.count());
  for (std::size_t j = 0; j < plan.blocks().size(); ++j) {
    const TableShape& shape = plan.blocks()[j];
    const auto values = block_of(below_, j, shape.index_bits);
    material_.table_senders_[j].encrypt(block_of(shifts, j, shape.index_bits),
                                        tables_of(shape, values, material_.shares_, j), out);
  }
  set_blocks(material_.shares_);
}

void Comparison::open_tables(std::vector<SecretVector<std::uint32_t>> tables) {
  const ComparisonPlan& plan = material_.plan_;
  SecretVector<std::uint64_t> shares(plan.count());
  for (std::size_t j = 0; j < plan.blocks().size(); ++j) {
    const auto indices = block_of(below_, j, plan.blocks()[j].index_bits);
    const auto entries = material_.table_receivers_[j].open(indices, std::move(tables[j]));
    for (std::size_t i = 0; i < shares.size(); ++i) {
      shares[i] |= static_cast<std::uint64_t>(entries[i] & 1) << j | static_cast<std::uint64_t>(entries[i] >> 1)
                                                                         << (kEqualBit + j);
    }
  }
  set_blocks(shares);
}

void Comparison::set_blocks(std::span<const std::uint64_t> shares) {
  const std::size_t blocks = material_.plan_.blocks().size();
  std::vector<BitShares> planes = planes_of(shares, kEqualBit + blocks);
  smaller_.assign(planes.begin(), planes.begin() + static_cast<std::ptrdiff_t>(blocks));
  equal_.assign(planes.begin() + kEqualBit, planes.end());
}

void Comparison::open_level(ByteSink& out) {
  for (std::size_t i = 0; i < material_.plan_.levels()[level_]; ++i, ++triples_used_) {
    open_.emplace_back(std::move(material_.triples_[triples_used_]), equal_[2 * i + 1], smaller_[2 * i],
                       i == 0 ? nullptr : &equal_[2 * i], material_.role_ == Role::kSender);
    open_.back().write(out);
  }
}

std::vector<BitShares> Comparison::read_openings(ByteSource& in, std::size_t level) const {
  return read_planes(in, opened_planes(material_.plan_.levels()[level]), material_.plan_.count());
}

void Comparison::close_level(std::span<const BitShares> peer) {
  const std::size_t blocks = smaller_.size();
  const std::size_t pairs = open_.size();
  for (std::size_t i = 0; i < pairs; ++i) {
    BitProducts::Products products = open_[i].finish(peer.first(open_[i].planes()));
    peer = peer.subspan(open_[i].planes());
    smaller_[i] = smaller_[2 * i + 1] ^ products.xy;
    if (i > 0) equal_[i] = std::move(products.xz);
  }
  if (blocks % 2 != 0) {
    smaller_[pairs] = smaller_[blocks - 1];
    equal_[pairs] = equal_[blocks - 1];
  }
  smaller_.resize(blocks - pairs);
  equal_.resize(blocks - pairs);
  open_.clear();
  ++level_;
}

/// The peer's openings of the level that is open here, if one is, and of the next.
void Comparison::finish_levels(std::span<const std::vector<BitShares>> peer, ByteSink& out) {
  for (const std::vector<BitShares>& openings : peer) {
    if (open_.empty()) open_level(out);
    close_level(openings);
  }
  if (levels_left()) open_level(out);
}

BitShares Comparison::take() {
  require<InvalidArgument>(stage_ == Stage::kDone, "comparison: the result is there once, when it is done");
  stage_ = Stage::kTaken;
  BitShares negative = smaller_[0] ^ top_;
  return material_.role_ == Role::kSender ? negative.negated() : negative;
}

}  // namespace blindfl::mpc
