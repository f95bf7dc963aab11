#include "blindfl/net/memory_channel.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>

#include "blindfl/base/error.h"

namespace blindfl::net {

namespace {

// One direction of the link.
class Pipe {
 public:
  explicit Pipe(std::uint64_t capacity) : capacity_(capacity) {}
  [[nodiscard]] std::uint64_t capacity() const { return capacity_; }

  void write(ByteView bytes) {
    while (!bytes.empty()) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return closed_ || under_way_ < capacity_; });
      require<TransportError>(!closed_, "the channel to the peer is closed");
      const auto piece = bytes.first(std::min<std::uint64_t>(bytes.size(), capacity_ - under_way_));
      pieces_.emplace_back(piece.begin(), piece.end());
      under_way_ += piece.size();
      bytes = bytes.subspan(piece.size());
      lock.unlock();
      changed_.notify_all();
    }
  }

  void read(std::span<std::byte> out) {
    while (!out.empty()) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return closed_ || !pieces_.empty(); });
      require<TransportError>(!pieces_.empty(), "the peer closed the channel");
      const Bytes& piece = pieces_.front();
      const std::size_t n = std::min(out.size(), piece.size() - used_);
      std::copy_n(piece.begin() + static_cast<std::ptrdiff_t>(used_), n, out.begin());
      out = out.subspan(n);
      under_way_ -= n;
      used_ += n;
      if (used_ == piece.size()) {
        pieces_.pop_front();
        used_ = 0;
      }
      lock.unlock();
      changed_.notify_all();
    }
  }

  [[nodiscard]] bool has_arrived() const {
    const std::lock_guard lock(mutex_);
    return closed_ || !pieces_.empty();
  }

  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
  }

 private:
  std::uint64_t capacity_;
  std::uint64_t under_way_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Bytes> pieces_;
  std::size_t used_ = 0;
  bool closed_ = false;
};

class MemoryTransport final : public Transport {
 public:
  MemoryTransport(std::shared_ptr<Pipe> out, std::shared_ptr<Pipe> in) : out_(std::move(out)), in_(std::move(in)) {}
  MemoryTransport(const MemoryTransport&) = delete;
  MemoryTransport& operator=(const MemoryTransport&) = delete;
  ~MemoryTransport() override { close_pipes(); }

  void write(ByteView bytes) override { out_->write(bytes); }
  void read(std::span<std::byte> out) override { in_->read(out); }
  [[nodiscard]] bool has_arrived() const override { return in_->has_arrived(); }
  [[nodiscard]] std::uint64_t send_capacity() const override { return out_->capacity(); }
  void close() override { close_pipes(); }

 private:
  void close_pipes() {
    out_->close();
    in_->close();
  }

  std::shared_ptr<Pipe> out_;
  std::shared_ptr<Pipe> in_;
};

}  // namespace

std::pair<std::unique_ptr<Channel>, std::unique_ptr<Channel>> make_memory_channels(std::uint64_t capacity) {
  require<InvalidArgument>(capacity > 0, "a memory channel needs room for at least one byte");
  const auto there = std::make_shared<Pipe>(capacity);
  const auto back = std::make_shared<Pipe>(capacity);
  return {std::make_unique<Channel>(std::make_shared<MemoryTransport>(there, back)),
          std::make_unique<Channel>(std::make_shared<MemoryTransport>(back, there))};
}

}  // namespace blindfl::net
