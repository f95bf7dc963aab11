#include "blindfl/protocol/layers/repeated_product.h"

#include <utility>

namespace blindfl::protocol {

const he::Plan& RepeatedProduct::plan(std::size_t rows) {
  // Found, and not made, when one thread sends and another receives.
  if (const auto found = plans_.find(rows); found != plans_.end()) return *found->second;
  return *plans_.emplace(rows, scheme_.plan(spec_(rows))).first->second;
}

std::uint64_t RepeatedProduct::operand_bytes(std::size_t rows, std::uint64_t version) {
  const he::Plan& product = plan(rows);
  if (version == kOnce) return product.operand_bytes();
  const auto found = sent_.find(product.operand_layout());
  return found != sent_.end() && found->second == version ? 0 : product.operand_bytes();
}

void RepeatedProduct::send_operand(std::size_t rows, std::uint64_t version, const ShareMatrix& m) {
  if (operand_bytes(rows, version) == 0) return;
  protocol::send_operand(session_, *keys_, plan(rows), steps_, m);
  if (version != kOnce) sent_[plan(rows).operand_layout()] = version;
}

ShareMatrix RepeatedProduct::receive(std::size_t rows) {
  return receive_product(session_, *keys_, plan(rows), steps_);
}

void RepeatedProduct::receive_operand(std::size_t rows, std::uint64_t version) {
  Received& kept = received_[plan(rows).operand_layout()];
  if (version != kOnce && kept.operand != nullptr && kept.version == version) return;
  kept.version = kOnce;  // what arrives now may be cut short
  kept.operand = protocol::receive_operand(session_, *keys_, plan(rows), steps_);
  kept.version = version;
}

ShareMatrix RepeatedProduct::send(std::size_t rows, const IntMatrix& x) {
  Received& kept = received_.at(plan(rows).operand_layout());
  ShareMatrix share = send_product(session_, *keys_, plan(rows), steps_, x, *kept.operand);
  if (kept.version == kOnce) kept.operand.reset();
  return share;
}

void RepeatedProduct::forget() {
  sent_.clear();
  received_.clear();
}

}  // namespace blindfl::protocol
