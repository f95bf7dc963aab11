#include "blindfl/net/memory_channel.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <limits>
#include <mutex>

#include "blindfl/base/error.h"

namespace blindfl::net {

namespace {

// One direction of the link.
class Pipe {
 public:
  void write(ByteView bytes) {
    {
      const std::lock_guard lock(mutex_);
      require<TransportError>(!closed_, "the channel to the peer is closed");
      pieces_.emplace_back(bytes.begin(), bytes.end());
    }
    arrived_.notify_one();
  }

  void read(std::span<std::byte> out) {
    while (!out.empty()) {
      std::unique_lock lock(mutex_);
      arrived_.wait(lock, [this] { return closed_ || !pieces_.empty(); });
      require<TransportError>(!pieces_.empty(), "the peer closed the channel");
      const Bytes& piece = pieces_.front();
      const std::size_t n = std::min(out.size(), piece.size() - used_);
      std::copy_n(piece.begin() + static_cast<std::ptrdiff_t>(used_), n, out.begin());
      out = out.subspan(n);
      used_ += n;
      if (used_ == piece.size()) {
        pieces_.pop_front();
        used_ = 0;
      }
    }
  }

  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    arrived_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Bytes> pieces_;
  std::size_t used_ = 0;
  bool closed_ = false;
};

class MemoryChannel final : public Channel {
 public:
  MemoryChannel(std::shared_ptr<Pipe> out, std::shared_ptr<Pipe> in) : out_(std::move(out)), in_(std::move(in)) {}
  MemoryChannel(const MemoryChannel&) = delete;
  MemoryChannel& operator=(const MemoryChannel&) = delete;
  ~MemoryChannel() override { close_pipes(); }

  void write_raw(ByteView bytes) override { out_->write(bytes); }
  void read_raw(std::span<std::byte> out) override { in_->read(out); }
  [[nodiscard]] std::uint64_t send_capacity() const override { return std::numeric_limits<std::uint64_t>::max(); }

 private:
  void do_close() override { close_pipes(); }
  void close_pipes() {
    out_->close();
    in_->close();
  }

  std::shared_ptr<Pipe> out_;
  std::shared_ptr<Pipe> in_;
};

}  // namespace

std::pair<std::unique_ptr<Channel>, std::unique_ptr<Channel>> make_memory_channels() {
  const auto there = std::make_shared<Pipe>();
  const auto back = std::make_shared<Pipe>();
  return {std::make_unique<MemoryChannel>(there, back), std::make_unique<MemoryChannel>(back, there)};
}

}  // namespace blindfl::net
