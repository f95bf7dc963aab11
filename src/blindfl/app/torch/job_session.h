#pragma once

#include <atomic>
#include <filesystem>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>

#include "blindfl/app/cli/interruption.h"
#include "blindfl/app/job/job.h"
#include "blindfl/net/channel.h"
#include "blindfl/net/grpc/grpc_transport.h"
#include "blindfl/net/timed_transport.h"
#include "blindfl/protocol/session/peer.h"

namespace blindfl::app {

/// A job's link to the peer and the session on it. Ctrl-C asks for an orderly stop where work can be stopped, and ends
/// the link everywhere else, or the second time.
class JobSession {
 public:
  struct Options {
    /// What the parties are about to do, and with what: compared before the jobs are.
    std::string command{};
    protocol::Settings subject{};
    /// Where to write the ledger; nothing: nowhere.
    std::optional<std::filesystem::path> ledger = std::nullopt;
    /// Of an earlier session, for what they encrypted. Empty: all keys are fresh.
    std::shared_ptr<const SecretVector<std::byte>> keys = nullptr;
  };

  /// Meets the peer, and compares the shared sections of the two job files. `out` is told how it goes.
  /// Throws ConfigError, naming what differs, if the parties' jobs do; TransportError if the peer does not come.
  JobSession(const job::Job& job, const Options& options, std::ostream& out);
  JobSession(const JobSession&) = delete;
  JobSession& operator=(const JobSession&) = delete;
  ~JobSession();

  [[nodiscard]] protocol::Session& session() { return peer_->session(); }
  [[nodiscard]] net::Channel& channel() { return session().channel(); }
  /// How long this party waited in `channel()`.
  [[nodiscard]] const net::TimedTransport& timing() const { return *timing_; }
  [[nodiscard]] std::uint64_t reconnects() const { return link_->reconnects(); }

  /// While it is on, Ctrl-C only sets `stop_asked`.
  void stop_in_order(bool on) { orderly_ = on; }
  [[nodiscard]] bool stop_asked() const { return stop_asked_; }
  [[nodiscard]] bool interrupted() const { return interruption_.happened(); }

  /// Ends the link and the ledger. Throws DataError if the ledger is not safe on disk.
  void finish();

 private:
  void open(const job::Job& job, const Options& options, std::ostream& out);
  void meet(const job::Job& job, std::ostream& out);
  void on_interrupt();

  std::atomic<bool> orderly_ = false;
  std::atomic<bool> stop_asked_ = false;
  std::shared_ptr<net::GrpcTransport> link_;
  std::shared_ptr<net::TimedTransport> timing_;
  std::optional<protocol::Peer> peer_;  // once it has come
  Interruption interruption_;           // the first to go: it calls `link_`, also when the constructor fails
};

}  // namespace blindfl::app
