#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "blindfl/net/link_notice.h"
#include "blindfl/net/link_packet.h"

namespace blindfl::net {

/// Two byte streams, one each way, over connections that come and go. What was written arrives exactly once and in
/// order, however often the connection is lost: the writer keeps what the peer has not consumed, and sends it again
/// from where the peer's hello says. What is kept is also the flow control: a writer waits once `window` bytes are not
/// consumed, and a peer that sends more than that is thrown out.
///
/// This is the bookkeeping; a link (net/grpc) moves the packets. The user's side may be used by one writing and one
/// reading thread; the link's side by any one thread at a time.
class ResumableStream {
 public:
  struct Options {
    std::uint64_t window = std::uint64_t{16} << 20;
    /// How long a connected peer may send nothing while this side waits for it; 0: for ever. Cuts do not count.
    std::chrono::milliseconds silence{0};
    /// Told what `tell` was given, on the thread that waits in `read`, `write` or `wait_for_connection`.
    std::function<void(const LinkNotice&)> on_notice = {};
  };

  /// `wake` is called by the user's side, without any lock held, whenever `next_packet` may have something new.
  ResumableStream(const Options& options, std::function<void()> wake);

  // ---- the user's side

  /// Throws TransportError if the stream is closed, or lost for good; so is it when the peer takes nothing for
  /// `silence`, or, in `read`, sends nothing.
  void write(ByteView bytes);
  /// Fills `out`. Throws TransportError if the stream is closed on this side, or ends before that.
  void read(std::span<std::byte> out);
  /// Would `read` find something, or an error, without waiting?
  [[nodiscard]] bool has_arrived() const;
  /// What was written is still delivered, and then the peer told. This side's calls throw from now on.
  void close(const ByePacket& bye);
  /// Waits until the peer has seen the end, or has read nothing for that long.
  void linger(std::chrono::milliseconds at_most);
  [[nodiscard]] std::uint64_t window() const { return options_.window; }
  /// Words for the people at the other end, who are told them where they wait; only the last, if there is no connection
  /// meanwhile. Any thread. Throws InvalidArgument without words.
  void note(std::string words);

  // ---- the link's side

  /// What to say first on a new connection; `yours` is zeros until the peer's nonce is known.
  [[nodiscard]] HelloPacket hello() const;
  /// The peer's first packet on a new connection: from here on `next_packet` continues where the peer stopped.
  /// Throws ProtocolError if it cannot be a continuation of this stream; TransportError if the peer was restarted.
  void connected(const HelloPacket& peer);
  /// The connection is lost; another may come.
  void disconnected();
  /// Takes a packet of the peer, other than hello. Throws ProtocolError if it makes no sense.
  void deliver(LinkPacket packet);

  /// Pieces of one packet to send now, if there is one: they go over the wire one after the other.
  using Piece = std::shared_ptr<const Bytes>;
  struct Part {
    Piece piece;
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  [[nodiscard]] std::vector<Part> next_packet();

  /// The stream is lost for good.
  void fail(const std::string& why);
  /// Why there is no connection now. Whoever waits is told, unless one comes before.
  void tell(LinkNotice notice);

  /// Waits for the first connection. Throws TransportError if the stream is lost before.
  void wait_for_connection();
  /// Has one side said that nothing follows, and the other seen it; or is all lost?
  [[nodiscard]] bool is_over() const;
  /// Connections so far.
  [[nodiscard]] std::uint64_t connections() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Kept {
    std::uint64_t begin;
    Piece piece;
  };

  [[nodiscard]] std::vector<Part> data_parts();
  [[nodiscard]] bool owes_credit() const;
  [[nodiscard]] std::string reason() const;
  void take_data(const DataPacket& data);
  void keep(DataPacket data);
  void take_credit(const CreditPacket& credit);
  void take_note(const NotePacket& note);
  template <class Holds>
  void wait(std::unique_lock<std::mutex>& lock, const Holds& holds);
  /// With the lock held: how long there was a connection, in all.
  [[nodiscard]] Clock::duration connected_time() const;

  Options options_;
  std::function<void()> wake_;
  Nonce nonce_{};
  std::optional<Nonce> peer_nonce_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t connections_ = 0;
  Clock::time_point connected_at_{};
  Clock::duration connected_before_{};  ///< by earlier connections
  Clock::duration heard_{};             ///< data, or that the peer took some, on the clock of `connected_time`
  std::optional<LinkNotice> notice_;

  // Positions in what this side sends: consumed by the peer, handed to the connection, written.
  std::deque<Kept> kept_;
  std::uint64_t forgotten_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t peer_window_ = 0;  ///< or this side's, if that is smaller
  std::size_t packet_limit_ = 0;   ///< of the next packet: grows while a connection lasts

  // Positions in what it receives: arrived, read by the user, told the peer.
  std::deque<DataPacket> arrived_;
  std::size_t front_used_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t consumed_ = 0;
  std::uint64_t credited_ = 0;

  std::optional<ByePacket> bye_;  ///< of this side, once it is closed
  std::optional<ByePacket> peer_bye_;
  std::string failure_;
  bool connected_ = false;
  bool told_ = false;  ///< somebody was told that there is no connection
  bool bye_sent_ = false;
  bool bye_seen_ = false;
  bool owes_bye_seen_ = false;
  std::string note_;         ///< for the peer, until it is sent
  std::uint64_t notes_ = 0;  ///< of the peer's
};

}  // namespace blindfl::net
