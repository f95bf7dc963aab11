#pragma once

#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/server.h>

#include "blindfl/net/grpc/grpc_transport.h"
#include "blindfl/net/grpc/tls.h"
#include "blindfl/net/resumable_stream.h"

namespace blindfl::net {

/// Moves the packets of a resumable stream over gRPC calls, one at a time, and makes a new call when one is lost. A
/// thread of its own takes what arrives, so that a lost link is noticed, and a living one kept, while the party
/// computes.
class GrpcTransport::Link {
 public:
  explicit Link(const GrpcOptions& options);
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link();

  [[nodiscard]] ResumableStream& stream() { return stream_; }
  [[nodiscard]] int port() const { return port_; }

 private:
  using Clock = std::chrono::steady_clock;
  class Call;
  class Dialled;
  class Accepted;
  enum class Event { kStarted, kRead, kWritten, kFinished };
  struct Tag {
    Call* call;
    Event event;
  };

  void listen();
  void dial();
  void run();
  void stop();

  // With the lock held:
  void open_call();
  void handle(Call& call, Event event, bool ok);
  void handle_packet(Call& call);
  void handle_status(Call& call);
  void greet(Call& call, const LinkPacket& first);
  void drop(Call& call);
  void refuse(Call& call, const std::string& why, bool for_good);
  void begin_read(Call& call);
  void begin_write(Call& call, const grpc::ByteBuffer& packet);
  void begin_finish(Call& call);
  void send_next();
  void watch_the_clock();
  void give_notice(Clock::time_point now);
  /// Has a caller with the right certificate gone again without a call?
  [[nodiscard]] bool hung_up() const;
  [[nodiscard]] std::string words_of_hanging_up() const;
  /// Why there is no link now, as far as it is known; empty where there is nothing to tell yet.
  [[nodiscard]] std::string why_not_yet(Clock::time_point now) const;
  [[nodiscard]] std::string why_no_link() const;

  /// From any thread.
  void pump();

  const GrpcOptions options_;
  const bool dials_;
  ResumableStream stream_;
  std::shared_ptr<Handshakes> handshakes_ = std::make_shared<Handshakes>();
  int port_ = 0;

  std::mutex mutex_;
  bool stopping_ = false;
  std::list<std::unique_ptr<Call>> calls_;
  Call* current_ = nullptr;  ///< the one that carries the stream now
  Clock::time_point lost_since_ = Clock::now();
  Clock::time_point retry_at_ = Clock::now();
  std::chrono::milliseconds back_off_{};
  std::string last_error_;   ///< in our words
  std::string last_detail_;  ///< in gRPC's
  Clock::time_point called_at_{};
  std::string noticed_;
  Clock::time_point noticed_at_{};
  std::uint64_t noticed_refusals_ = 0;

  grpc::AsyncGenericService service_;
  std::unique_ptr<grpc::CompletionQueue> dialer_queue_;
  std::unique_ptr<grpc::ServerCompletionQueue> listener_queue_;
  grpc::CompletionQueue* queue_ = nullptr;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<grpc::GenericStub> stub_;
  std::thread thread_;
};

}  // namespace blindfl::net
