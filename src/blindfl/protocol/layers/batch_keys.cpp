#include "blindfl/protocol/layers/batch_keys.h"

#include <algorithm>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/protocol/layers/oblivious_product.h"

namespace blindfl::protocol {

BatchKeys::BatchKeys(const std::vector<std::unique_ptr<EmbeddingTable>>& tables, std::size_t rows,
                     std::span<const std::uint32_t> numbers)
    : tables_(tables), rows_(rows), numbers_(numbers.begin(), numbers.end()) {
  for (const auto& table : tables) {
    keys_.push_back(table->field().by_ot() ? std::make_shared<LookupKeys>() : nullptr);
  }
}

template <class F>
void BatchKeys::for_tables(bool mine, const F& f) const {
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    if (keys_[t] != nullptr && tables_[t]->mine() == mine) f(tables_[t]->product(), *keys_[t]);
  }
}

bool BatchKeys::are_of(std::span<const std::uint32_t> numbers, std::size_t rows) const {
  return !numbers.empty() && rows == rows_ && std::ranges::equal(numbers, numbers_);
}

OtCount BatchKeys::ots(const std::vector<std::unique_ptr<EmbeddingTable>>& tables, std::size_t rows) {
  OtCount count;
  for (const auto& table : tables) count = count + table->product().ots(rows);
  return count;
}

void BatchKeys::ask(std::span<const IntMatrix> categories) {
  std::size_t own = 0;
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    if (!tables_[t]->mine()) continue;
    if (keys_[t] != nullptr) tables_[t]->product().ask(*keys_[t], categories[own]);
    ++own;
  }
}

std::uint64_t BatchKeys::ask_bytes() const {
  std::uint64_t bytes = 0;
  for_tables(true, [&](WeightProduct& product, const LookupKeys&) { bytes += product.ask_bytes(rows_); });
  return bytes;
}

void BatchKeys::send_asks() {
  for_tables(true, [](WeightProduct& product, LookupKeys& keys) { product.send_ask(keys); });
}

void BatchKeys::receive_asks() {
  for_tables(false, [&](WeightProduct& product, LookupKeys& keys) { product.receive_ask(keys, rows_); });
}

void BatchKeys::take_asks() {
  for_tables(false, [&](WeightProduct& product, LookupKeys& keys) { product.take_ask(keys, rows_); });
}

std::uint64_t BatchKeys::answer_bytes() const {
  std::uint64_t bytes = 0;
  if (sent_) return bytes;
  for_tables(false, [&](WeightProduct& product, const LookupKeys&) { bytes += product.answer_bytes(rows_); });
  return bytes;
}

void BatchKeys::send_answers() {
  const std::lock_guard lock(answering_);
  if (std::exchange(sent_, true)) return;
  for_tables(false, [](WeightProduct& product, LookupKeys& keys) { product.send_answer(keys); });
}

void BatchKeys::receive_answers() {
  if (std::exchange(received_, true)) return;
  for_tables(true, [&](WeightProduct& product, LookupKeys& keys) { product.receive_answer(keys, rows_); });
}

void BatchKeys::take_answers() {
  for_tables(true, [](WeightProduct& product, LookupKeys& keys) { product.take_answer(keys); });
}

void BatchKeys::use() {
  for (std::size_t t = 0; t < tables_.size(); ++t) tables_[t]->product().use_keys(keys_[t]);
}

void BatchKeys::serve(const std::string& layer_name) {
  const bool any = std::ranges::any_of(keys_, [](const auto& keys) { return keys != nullptr; });
  require<InvalidArgument>(!any || !served_, "layer '", layer_name,
                           "': a pass over tables by oblivious transfer has one backward pass, for its keys serve "
                           "once. Call forward again");
  served_ = true;
}

// A party that waits throws nothing: what is wrong with a message is said when its keys are needed.
bool BatchKeys::prepare() {
  const std::lock_guard lock(answering_);
  try {
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      if (keys_[t] != nullptr && tables_[t]->product().prepare_keys(*keys_[t])) return true;
    }
  } catch (const Error&) {
    return false;
  }
  return false;
}

}  // namespace blindfl::protocol
