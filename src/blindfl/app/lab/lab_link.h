#pragma once

#include <cstddef>
#include <iosfwd>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "blindfl/app/cli/command.h"
#include "blindfl/app/cli/interruption.h"
#include "blindfl/net/channel.h"
#include "blindfl/net/grpc/grpc_transport.h"

namespace blindfl::app {

/// The links of a process that takes part in SecureML: Ctrl-C ends all of them.
class LabLinks {
 public:
  /// Where it says whom it waits for.
  explicit LabLinks(std::ostream& out);
  LabLinks(const LabLinks&) = delete;
  LabLinks& operator=(const LabLinks&) = delete;
  ~LabLinks() { interruption_.ignore(); }

  /// Begins to listen or to dial. Throws as GrpcTransport does.
  void add(std::string_view whom, net::GrpcOptions options);
  /// Throws TransportError, with the reason, if one does not come within its patience.
  void wait();
  /// In the order in which they were added.
  [[nodiscard]] const std::shared_ptr<net::Channel>& channel(std::size_t number) const { return channels_.at(number); }
  [[nodiscard]] bool interrupted() const { return interruption_.happened(); }

 private:
  void interrupt();

  std::ostream& out_;
  std::mutex mutex_;  ///< of the list, which an interruption reads, too
  std::vector<std::shared_ptr<net::GrpcTransport>> transports_;
  std::vector<std::shared_ptr<net::Channel>> channels_;
  Interruption interruption_;
};

/// Runs `body`. Where Ctrl-C ended it, the error says so.
template <class Body>
void run_until_interrupted(const LabLinks& links, Body&& body) {
  try {
    body();
  } catch (...) {
    require<Error>(!links.interrupted(), "stopped; the others were told");
    throw;
  }
}

}  // namespace blindfl::app
