#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "blindfl/base/bytes.h"

namespace blindfl::protocol {

/// How far one long message is.
struct TransferProgress {
  std::string what;  ///< in words for a screen: "sending forward operand of layer 0"
  std::uint64_t bytes = 0;
  std::uint64_t total = 0;
};

using TransferObserver = std::function<void(const TransferProgress&)>;

/// Counts what passes and tells an observer every few mebibytes, and at the end.
class TransferMeter {
 public:
  /// Shorter messages are not worth a report.
  static constexpr std::uint64_t kLeastTotal = std::uint64_t{16} << 20;
  static constexpr std::uint64_t kBetweenReports = std::uint64_t{4} << 20;

  TransferMeter(std::string what, std::uint64_t total, TransferObserver observer)
      : progress_{std::move(what), 0, total}, observer_(std::move(observer)) {}

  void passed(std::uint64_t bytes);

 private:
  TransferProgress progress_;
  std::uint64_t reported_ = 0;
  TransferObserver observer_;
};

/// A sink that counts what goes into another.
class MeteredSink final : public ByteSink {
 public:
  /// Both must outlive this.
  MeteredSink(ByteSink& inner, TransferMeter& meter) : inner_(inner), meter_(meter) {}
  void write(ByteView bytes) override;

 private:
  ByteSink& inner_;
  TransferMeter& meter_;
};

/// A source that counts what comes out of another.
class MeteredSource final : public ByteSource {
 public:
  /// Both must outlive this.
  MeteredSource(ByteSource& inner, TransferMeter& meter) : inner_(inner), meter_(meter) {}
  void read(std::span<std::byte> out) override;
  [[nodiscard]] std::uint64_t remaining() const override { return inner_.remaining(); }

 private:
  ByteSource& inner_;
  TransferMeter& meter_;
};

}  // namespace blindfl::protocol
