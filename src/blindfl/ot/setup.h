#pragma once

#include <optional>
#include <utility>

#include "blindfl/ot/base_ot.h"
#include "blindfl/ot/pool.h"
#include "blindfl/ot/session.h"
#include "blindfl/ot/trees.h"

// From nothing to a pair of pools, for one direction: base OTs (base_ot.h), then trees (trees.h).
//
//   SenderSetup                                       ReceiverSetup
//   hello()   ---- 8 KB, base points ---------------->   finish(hello): a pool, and
//   finish(hello, trees): a pool   <---- 32 bytes ----   hello()
//                                  <---- 4 KB --------   the trees; the first extension may follow at once
//
// The two hellos cross. About 25 ms for each party. Safe against a peer that follows the protocol and looks at all it
// sees; what a peer says that is malformed, of another session or out of step is an error.

namespace blindfl::ot {

constexpr std::size_t kSenderHelloBytes = OtSession::kHeaderBytes + kBaseReceiverBytes;
constexpr std::size_t kReceiverHelloBytes = OtSession::kHeaderBytes + kPointBytes;
constexpr std::size_t kTreesMessageBytes = OtSession::kHeaderBytes + kTreesBytes;

/// The party that will have both pads. It is the receiver of the base OTs, where it chooses by its secret.
class SenderSetup {
 public:
  /// Throws InvalidArgument as `OtSession` does.
  SenderSetup(const OtSpec& spec, Random& random, const Kernels& kernels = fastest_kernels());
  SenderSetup(SenderSetup&&) = default;
  SenderSetup& operator=(SenderSetup&&) = default;
  SenderSetup(const SenderSetup&) = delete;
  SenderSetup& operator=(const SenderSetup&) = delete;
  ~SenderSetup();

  /// Cost: kSenderHelloBytes.
  [[nodiscard]] Bytes hello() const;
  /// Works once. Throws ProtocolError if a message is not what the receiver sends here.
  [[nodiscard]] RandomOtSender finish(ByteView receiver_hello, ByteView trees) &&;

 private:
  OtSession session_;
  const Kernels* kernels_;
  Block secret_;
  std::optional<BaseOtReceiver> base_;
};

/// The party that will have choices. It is the sender of the base OTs.
class ReceiverSetup {
 public:
  ReceiverSetup(const OtSpec& spec, Random& random, const Kernels& kernels = fastest_kernels());
  ReceiverSetup(ReceiverSetup&&) = default;
  ReceiverSetup& operator=(ReceiverSetup&&) = default;
  ReceiverSetup(const ReceiverSetup&) = delete;
  ReceiverSetup& operator=(const ReceiverSetup&) = delete;
  ~ReceiverSetup() = default;

  /// Cost: kReceiverHelloBytes.
  [[nodiscard]] Bytes hello() const;
  /// Works once. Returns the pool and the trees' message, kTreesMessageBytes. Throws ProtocolError if the message is
  /// not what the sender sends here.
  [[nodiscard]] std::pair<RandomOtReceiver, Bytes> finish(ByteView sender_hello, Random& random) &&;

 private:
  OtSession session_;
  const Kernels* kernels_;
  std::optional<BaseOtSender> base_;
};

}  // namespace blindfl::ot
