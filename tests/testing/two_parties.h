#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/protocol/session/in_process.h"
#include "testing/links.h"
#include "testing/recording_transport.h"

namespace blindfl::testing {

using protocol::run_both;

enum class Record { kYes, kNo };

/// What A's and B's sessions saved (`Session::save_keys`); null: fresh keys.
using SavedKeys =
    std::pair<std::shared_ptr<const SecretVector<std::byte>>, std::shared_ptr<const SecretVector<std::byte>>>;

/// A channel, and what crossed it.
class Recording {
 public:
  explicit Recording(std::shared_ptr<net::Transport> inner)
      : transport_(std::make_shared<testing::RecordingTransport>(std::move(inner))),
        channel_(std::make_shared<net::Channel>(transport_)) {}

  [[nodiscard]] const std::shared_ptr<net::Channel>& channel() const { return channel_; }
  [[nodiscard]] std::vector<testing::RecordedMessage> messages() const { return transport_->messages(); }
  [[nodiscard]] const std::map<net::Step, net::Traffic>& sent() const { return channel_->sent(); }
  [[nodiscard]] const std::map<net::Step, net::Traffic>& received() const { return channel_->received(); }

 private:
  std::shared_ptr<testing::RecordingTransport> transport_;
  std::shared_ptr<net::Channel> channel_;
};

/// A and B in one process, each with a session over a memory channel, or over TLS where BLINDFL_TEST_LINK says so; what
/// crosses it is recorded unless told otherwise.
class TwoParties {
  template <class Pair>
  static auto& of(Pair& pair, protocol::Party party) {
    return party == protocol::Party::kA ? pair.first : pair.second;
  }

 public:
  explicit TwoParties(const he::Scheme& scheme, Record record = Record::kYes)
      : TwoParties(scheme, make_channels(), record) {}

  TwoParties(const he::Scheme& scheme, Channels channels, Record record = Record::kYes)
      : TwoParties(std::vector<const he::Scheme*>{&scheme}, std::move(channels), record) {}

  /// With several schemes; the first is the default.
  explicit TwoParties(const std::vector<const he::Scheme*>& schemes, Record record = Record::kYes)
      : TwoParties(schemes, make_channels(), record) {}

  TwoParties(const std::vector<const he::Scheme*>& schemes, Channels channels, Record record = Record::kYes,
             const SavedKeys& keys = {}, std::size_t threads = 1, const std::string& name_of_a = {})
      : channels_(std::move(channels)) {
    if (record == Record::kYes) {
      recordings_ = {std::make_unique<Recording>(channels_.first->transport()),
                     std::make_unique<Recording>(channels_.second->transport())};
    }
    const auto make = [&](protocol::Party party) {
      return [&, party] {
        return std::make_unique<protocol::Peer>(party, channel(party), he::borrowed(schemes),
                                                options(party, keys, threads, name_of_a));
      };
    };
    peers_ = run_both(make(protocol::Party::kA), make(protocol::Party::kB), [&] { close(); });
  }

  /// `at_a(session of A)` and `at_b(session of B)`, at the same time.
  template <class A, class B>
  auto run(A&& at_a, B&& at_b) {
    return run_both([&] { return at_a(session(protocol::Party::kA)); },
                    [&] { return at_b(session(protocol::Party::kB)); }, [&] { close(); });
  }
  /// The same lines at both.
  template <class Both>
  auto run(Both&& at_both) {
    return run(at_both, at_both);
  }

  [[nodiscard]] protocol::Session& session(protocol::Party party) { return of(peers_, party)->session(); }
  [[nodiscard]] const Recording& recording(protocol::Party party) const { return *of(recordings_, party); }
  void close() {
    channels_.first->close();
    channels_.second->close();
  }

 private:
  /// Initial weights are the same in every run, and different at the two parties.
  static protocol::SessionOptions options(protocol::Party party, const SavedKeys& keys, std::size_t threads,
                                          const std::string& name_of_a) {
    return {.threads = threads,
            .weight_seed = party == protocol::Party::kA ? 11 : 22,
            .saved_keys = of(keys, party),
            .peer_name = party == protocol::Party::kB ? name_of_a : ""};
  }
  [[nodiscard]] const std::shared_ptr<net::Channel>& channel(protocol::Party party) const {
    return of(recordings_, party) ? of(recordings_, party)->channel() : of(channels_, party);
  }

  std::pair<std::shared_ptr<net::Channel>, std::shared_ptr<net::Channel>> channels_;
  std::pair<std::unique_ptr<Recording>, std::unique_ptr<Recording>> recordings_;
  std::pair<std::unique_ptr<protocol::Peer>, std::unique_ptr<protocol::Peer>> peers_;
};

}  // namespace blindfl::testing
