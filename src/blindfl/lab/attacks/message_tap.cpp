#include "blindfl/lab/attacks/message_tap.h"

#include <algorithm>
#include <utility>

#include "blindfl/net/frame.h"

namespace blindfl::lab::attacks {

void MessageTap::read(std::span<std::byte> out) {
  inner_->read(out);
  const std::lock_guard lock(mutex_);
  follow(out);
}

std::vector<Bytes> MessageTap::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(payloads_, {});
}

void MessageTap::begin_message() {
  const auto header = net::decode_header(std::span(header_).first<net::kFrameHeaderBytes>());
  header_.clear();
  left_ = header.message.size + net::kFrameTrailerBytes;
  kept_ = header.message.step == step_;
}

void MessageTap::follow(ByteView bytes) {
  while (!bytes.empty()) {
    const bool in_header = left_ == 0;
    const std::uint64_t wanted = in_header ? net::kFrameHeaderBytes - header_.size() : left_;
    const auto part = bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(wanted, bytes.size())));
    bytes = bytes.subspan(part.size());
    if (in_header) {
      header_.insert(header_.end(), part.begin(), part.end());
      if (header_.size() == net::kFrameHeaderBytes) begin_message();
      continue;
    }
    left_ -= part.size();
    if (!kept_) continue;
    payload_.insert(payload_.end(), part.begin(), part.end());
    if (left_ > 0) continue;
    payload_.resize(payload_.size() - net::kFrameTrailerBytes);
    payloads_.push_back(std::exchange(payload_, {}));
  }
}

}  // namespace blindfl::lab::attacks
