#include "blindfl/protocol/layers/repeated_product.h"

#include <utility>

namespace blindfl::protocol {

const he::Plan& RepeatedProduct::plan(std::size_t rows) {
  // Found, and not made, when one thread sends and another receives.
  if (const auto found = plans_.find(rows); found != plans_.end()) return *found->second;
  return *plans_.emplace(rows, scheme_.plan(spec_(rows))).first->second;
}

void RepeatedProduct::take_keys(std::size_t rows) {
  keys_ = &session_.keys(scheme_.name(), plan(rows).key_set());
  if (!keys_->repeat()) return;
  // What belongs to an earlier scoring is of no use any more.
  const auto is_old = [&](const auto& entry) {
    return entry.first.scoring != 0 && entry.first.scoring != keys_->scoring;
  };
  std::erase_if(sent_, is_old);
  std::erase_if(received_, is_old);
}

// Not under keys of a scoring: what was prepared would not repeat.
void RepeatedProduct::expect_to_multiply(std::size_t rows) {
  if (!keys_->repeat() && expected_.insert(rows).second) keys_->peer->expect(plan(rows));
}

void RepeatedProduct::expect_to_encrypt(std::size_t rows) {
  if (!keys_->repeat() && expected_to_encrypt_.insert(rows).second) keys_->owner->expect(plan(rows));
}

RepeatedProduct::Layout RepeatedProduct::layout(std::size_t rows) {
  return {keys_->scoring, keys_->key_set, plan(rows).operand_layout()};
}

std::uint64_t RepeatedProduct::operand_bytes(std::size_t rows, std::uint64_t version) {
  const he::Plan& product = plan(rows);
  if (version == kOnce) return product.operand_bytes();
  const auto found = sent_.find(layout(rows));
  return found != sent_.end() && found->second == version ? 0 : product.operand_bytes();
}

void RepeatedProduct::send_operand(std::size_t rows, std::uint64_t version, const ShareMatrix& m) {
  if (operand_bytes(rows, version) == 0) return;
  protocol::send_operand(session_, *keys_, plan(rows), steps_, m);
  if (version != kOnce) sent_[layout(rows)] = version;
}

ShareMatrix RepeatedProduct::receive(std::size_t rows, net::Step reply) {
  return receive_product(session_, *keys_, plan(rows), {steps_.operand, reply, steps_.layer});
}

void RepeatedProduct::receive_operand(std::size_t rows, std::uint64_t version) {
  Received& kept = received_[layout(rows)];
  if (version != kOnce && kept.operand.operand != nullptr && kept.version == version) return;
  kept.version = kOnce;  // what arrives now may be cut short
  kept.operand = protocol::receive_operand(session_, *keys_, plan(rows), steps_);
  kept.version = version;
}

void RepeatedProduct::prepare_left(std::size_t rows, const IntMatrix& x) {
  left_ = nullptr;
  if (!keys_->repeat()) left_ = keys_->peer->prepare_left(plan(rows), x, session_.pool());
}

ShareMatrix RepeatedProduct::send(std::size_t rows, const IntMatrix& x, net::Step reply) {
  Received& kept = received_.at(layout(rows));
  const ProductSteps steps{steps_.operand, reply, steps_.layer};
  const std::unique_ptr<const he::LeftMatrix> left = std::exchange(left_, nullptr);
  ShareMatrix share = send_product(session_, *keys_, plan(rows), steps, x, kept.operand, left.get());
  if (kept.version == kOnce) kept.operand = {};
  return share;
}

void RepeatedProduct::forget() {
  left_ = nullptr;
  sent_.clear();
  received_.clear();
}

void RepeatedProduct::forget(std::size_t rows) {
  const Layout forgotten = layout(rows);
  sent_.erase(forgotten);
  received_.erase(forgotten);
}

}  // namespace blindfl::protocol
