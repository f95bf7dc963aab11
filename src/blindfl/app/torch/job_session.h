#pragma once

#include <atomic>
#include <exception>
#include <filesystem>
#include <iosfwd>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "blindfl/app/cli/interruption.h"
#include "blindfl/app/job/job.h"
#include "blindfl/app/job/job_options.h"
#include "blindfl/net/channel.h"
#include "blindfl/net/grpc/grpc_transport.h"
#include "blindfl/net/timed_transport.h"
#include "blindfl/protocol/align/psi_all.h"
#include "blindfl/protocol/session/peer.h"
#include "blindfl/protocol/session/sessions.h"

namespace blindfl::app {

/// A job's links to its peers and the sessions on them: one with B at A, and at B one with each A. Ctrl-C asks for an
/// orderly stop where work can be stopped, and ends the links everywhere else, or the second time.
class JobSession {
 public:
  struct Options {
    /// What the parties are about to do, and with what: compared before the jobs are.
    std::string command{};
    protocol::Settings subject{};
    /// Where to write the ledgers, one for each link; nothing: nowhere.
    std::vector<std::filesystem::path> ledgers{};
    /// Of earlier sessions, for what they encrypted, one for each link. Empty, or null: all keys are fresh.
    std::vector<std::shared_ptr<const SecretVector<std::byte>>> keys{};
  };

  /// Meets the peers, and compares the shared sections of the job files. `out` is told how it goes.
  /// Throws ConfigError, naming what differs, if the parties' jobs do; TransportError if a peer does not come. With
  /// several A's errors at B name the A, and B tells those that have come.
  JobSession(const job::Job& job, const Options& options, std::ostream& out);
  JobSession(const JobSession&) = delete;
  JobSession& operator=(const JobSession&) = delete;
  ~JobSession();

  /// One with each peer.
  [[nodiscard]] protocol::Sessions sessions() const;
  /// What several A's are called, in the order that all parties number them in; empty if there is only one.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  /// At one of several A's: which of them this is.
  [[nodiscard]] std::size_t own_place() const;

  /// What all parties know this meeting by, and no other.
  [[nodiscard]] const std::string& id() const { return id_; }

  /// With several A's: they agree, through B, on what hides their parts from B, for the run of this name, or for what
  /// else all parties know by it; one that had agreed before for it says what it got (protocol::MaskParty::began).
  /// Returns what this agreement is known by. With one A: nothing.
  Bytes agree_between_as(const std::string& run, const Bytes& began = {});
  /// Several A's, as they align rows, once they have agreed.
  [[nodiscard]] protocol::AlignedPeers aligned_peers() const;

  /// Does `work`. If it fails, ends the links; several A's are told whose failure it is (`words_for_all`).
  template <class Work>
  auto telling(const Work& work) {
    try {
      return work();
    } catch (const std::exception&) {
      close();
      throw;
    }
  }

  /// What all links carried.
  [[nodiscard]] net::Traffic sent() const { return sessions().sent(); }
  [[nodiscard]] net::Traffic received() const { return sessions().received(); }
  [[nodiscard]] std::vector<const net::Channel*> channels() const;
  /// How long this party waited for its peers, of several for the slowest.
  [[nodiscard]] double seconds_waiting() const;
  [[nodiscard]] double seconds_sending() const;
  /// That layers and openings took, of several sessions in the longest.
  [[nodiscard]] double seconds_in_protocol() const;

  /// While it is on, Ctrl-C only sets `stop_asked`.
  void stop_in_order(bool on) { orderly_ = on; }
  [[nodiscard]] bool stop_asked() const { return stop_asked_; }
  [[nodiscard]] bool interrupted() const { return interruption_.happened(); }

  /// Ends the links and the ledgers. Throws DataError if a ledger is not safe on disk.
  void finish();
  /// Ends the links: the peers need not wait for what follows.
  void close();

 private:
  /// To one peer.
  struct PeerLink {
    std::string name;
    std::string address;      ///< where it is waited for or dialled, in words
    std::string certificate;  ///< the peer's, PEM; empty without TLS
    std::shared_ptr<net::GrpcTransport> link;
    std::shared_ptr<net::TimedTransport> timing;
    std::shared_ptr<net::Channel> channel;
    std::optional<protocol::Peer> peer;  // once it has come
  };

  void make_links(const job::Job& job, std::ostream& out);
  void open(const job::Job& job, const Options& options, std::ostream& out);
  void meet(const job::Job& job, const Options& options, std::size_t index);
  void gather_all(const job::Job& job, const Options& options, std::ostream& out);
  void say(std::ostream& out, const std::string& line);
  void tell_others(const std::string& name, const net::LinkNotice& notice);
  void on_interrupt();

  std::atomic<bool> begun_ = false;  ///< with several A's: all have come
  std::atomic<bool> orderly_ = false;
  std::atomic<bool> stop_asked_ = false;
  std::mutex out_mutex_;  ///< links tell of themselves on their threads
  job::Link own_;
  std::vector<NamedCertificate> certificates_;  ///< of several A's
  std::vector<std::string> names_;
  std::string id_;
  std::vector<std::unique_ptr<PeerLink>> links_;
  Interruption interruption_;  // the first to go: it calls `links_`, also when the constructor fails
};

}  // namespace blindfl::app
