#include "blindfl/net/grpc/grpc_link.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include <grpc/support/log.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_builder.h>

#include "blindfl/base/error.h"
#include "blindfl/net/grpc/link_words.h"

namespace blindfl::net {

namespace {

using std::chrono::milliseconds;

constexpr const char* kMethod = "/blindfl.Link/Connect";
constexpr milliseconds kFirstBackOff{100};
constexpr milliseconds kLongestBackOff{2000};
constexpr milliseconds kTick{100};
constexpr milliseconds kHelloPatience{20000};
/// A link that comes back sooner is not worth a word.
constexpr milliseconds kShortLoss{2000};
/// Between the end of a handshake and the call that follows it.
constexpr milliseconds kHandshakeToCall{1500};
constexpr int kLookUpPatience = 5000;
constexpr milliseconds kBetweenNotices{1000};
/// What gRPC may hold of a peer's bytes before this side has looked at them; see docs/deployment.md.
constexpr std::size_t kQuota = std::size_t{256} << 20;

std::vector<std::pair<const char*, int>> settings(const GrpcOptions& options) {
  const auto keepalive = static_cast<int>(options.keepalive.count());
  return {
      {GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, static_cast<int>(kLargestData) + 64},
      {GRPC_ARG_KEEPALIVE_TIME_MS, keepalive},
      {GRPC_ARG_KEEPALIVE_TIMEOUT_MS, keepalive},
      {GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1},
      {GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0},
      // A listener that does not allow the dialer's pings throws it out as a nuisance.
      {GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, std::max(10, keepalive / 5)},
      {GRPC_ARG_MAX_CONCURRENT_STREAMS, 4},
      {GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10000},
      {GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100},
      {GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000},
      {GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000},
      {GRPC_ARG_ENABLE_RETRIES, 0},
      {GRPC_ARG_DNS_ARES_QUERY_TIMEOUT_MS, kLookUpPatience},
      // Nothing but plain bytes: what a peer compresses could become anything.
      {GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1},
      {GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1},
      {GRPC_ARG_ENABLE_HTTP_PROXY, 0},
      // Otherwise two listeners on one port would share its callers, without an error.
      {GRPC_ARG_ALLOW_REUSEPORT, 0},
  };
}

// gRPC writes to stderr on its own; a library must not. What it knows comes back as a status.
void silence_grpc() {
  static const bool once = [] {
    if (std::getenv("GRPC_VERBOSITY") == nullptr) gpr_set_log_function([](gpr_log_func_args*) {});
    return true;
  }();
  (void)once;
}

void forget(void* piece) {
  delete static_cast<ResumableStream::Piece*>(piece);
}

grpc::ByteBuffer to_buffer(const std::vector<ResumableStream::Part>& parts) {
  std::vector<grpc::Slice> slices;
  for (const ResumableStream::Part& part : parts) {
    auto* bytes = const_cast<std::byte*>(part.piece->data()) + part.begin;  // gRPC reads them only
    slices.emplace_back(bytes, part.end - part.begin, forget, new ResumableStream::Piece(part.piece));
  }
  return {slices.data(), slices.size()};
}

grpc::ByteBuffer to_buffer(const LinkPacket& packet) {
  const Bytes bytes = encode_packet(packet);
  const grpc::Slice slice(bytes.data(), bytes.size());
  return {&slice, 1};
}

Bytes to_bytes(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  require<ProtocolError>(buffer.Length() <= kLargestData + 1, "the peer sent a packet of ", buffer.Length(), " bytes");
  require<ProtocolError>(buffer.Dump(&slices).ok(), "the peer sent a packet that cannot be read");
  Bytes bytes;
  bytes.reserve(buffer.Length());
  for (const grpc::Slice& slice : slices) {
    const auto view = std::as_bytes(std::span(slice.begin(), slice.size()));
    bytes.insert(bytes.end(), view.begin(), view.end());
  }
  return bytes;
}

}  // namespace

/// One gRPC stream. It is kept until gRPC has given back every tag.
class GrpcTransport::Link::Call {
 public:
  Call() = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  virtual ~Call() = default;

  virtual void read(void* tag) = 0;
  virtual void write(const grpc::ByteBuffer& packet, void* tag) = 0;
  virtual void finish(void* tag) = 0;
  virtual void cancel() = 0;

  [[nodiscard]] void* tag(Event event) { return &tags_[static_cast<std::size_t>(event)]; }

  int pending = 0;  ///< tags that gRPC has
  bool writing = false;
  bool heard_hello = false;
  bool dropped = false;
  std::optional<Clock::time_point> accepted_at;
  grpc::ByteBuffer incoming;
  grpc::Status status;
  std::string refusal;  ///< what a listener tells a caller it does not want

 private:
  Tag tags_[4] = {{this, Event::kStarted}, {this, Event::kRead}, {this, Event::kWritten}, {this, Event::kFinished}};
};

class GrpcTransport::Link::Dialled final : public Call {
 public:
  void start(grpc::GenericStub& stub, grpc::CompletionQueue* queue) {
    // Not wait_for_ready: that hides every reason behind "deadline exceeded".
    rpc_ = stub.PrepareCall(&context_, kMethod, queue);
    rpc_->StartCall(tag(Event::kStarted));
  }
  void read(void* tag) override { rpc_->Read(&incoming, tag); }
  void write(const grpc::ByteBuffer& packet, void* tag) override { rpc_->Write(packet, tag); }
  void finish(void* tag) override { rpc_->Finish(&status, tag); }
  void cancel() override { context_.TryCancel(); }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> rpc_;
};

class GrpcTransport::Link::Accepted final : public Call {
 public:
  void start(grpc::AsyncGenericService& service, grpc::ServerCompletionQueue* queue) {
    service.RequestCall(&context_, &rpc_, queue, queue, tag(Event::kStarted));
  }
  void accept() { accepted_ = true; }
  void read(void* tag) override { rpc_.Read(&incoming, tag); }
  void write(const grpc::ByteBuffer& packet, void* tag) override { rpc_.Write(packet, tag); }
  void finish(void* tag) override {
    rpc_.Finish(refusal.empty() ? grpc::Status::OK : grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, refusal), tag);
  }
  void cancel() override {
    if (accepted_) context_.TryCancel();
  }

 private:
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter rpc_{&context_};
  bool accepted_ = false;
};

GrpcTransport::Link::Link(const GrpcOptions& options)
    : options_(options),
      dials_(options.role == GrpcOptions::Role::kDial),
      stream_({.window = options.window, .silence = options.silence, .on_notice = options.on_notice},
              [this] { pump(); }) {
  silence_grpc();
  if (dials_) {
    dial();
  } else {
    listen();
  }
  const std::lock_guard lock(mutex_);
  open_call();
  thread_ = std::thread([this] { run(); });
}

void GrpcTransport::Link::dial() {
  grpc::ResourceQuota quota;
  quota.Resize(kQuota);
  grpc::ChannelArguments arguments;
  arguments.SetResourceQuota(quota);
  for (const auto& [name, value] : settings(options_)) arguments.SetInt(name, value);
  dialer_queue_ = std::make_unique<grpc::CompletionQueue>();
  queue_ = dialer_queue_.get();
  stub_ = std::make_unique<grpc::GenericStub>(
      grpc::CreateCustomChannel(options_.address, dialer_credentials(options_.tls, handshakes_), arguments));
}

void GrpcTransport::Link::listen() {
  grpc::ResourceQuota quota;
  quota.Resize(kQuota);
  grpc::ServerBuilder builder;
  builder.SetResourceQuota(quota);
  for (const auto& [name, value] : settings(options_)) builder.AddChannelArgument(name, value);
  builder.AddListeningPort(options_.address, listener_credentials(options_.tls, handshakes_), &port_);
  builder.RegisterAsyncGenericService(&service_);
  listener_queue_ = builder.AddCompletionQueue();
  queue_ = listener_queue_.get();
  server_ = builder.BuildAndStart();
  if (server_ && port_ != 0) return;
  queue_->Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) {
  }
  fail<TransportError>("cannot listen on ", options_.address,
                       ": is the port taken, or the address not one of this machine's?");
}

GrpcTransport::Link::~Link() {
  stop();
}

// The order matters: no new operation after the queue's end, and everything that refers to it goes after the thread.
void GrpcTransport::Link::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const auto& call : calls_) call->cancel();
  }
  if (server_) server_->Shutdown(std::chrono::system_clock::now());
  {
    const std::lock_guard lock(mutex_);
    queue_->Shutdown();
  }
  if (thread_.joinable()) thread_.join();
}

void GrpcTransport::Link::run() {
  while (true) {
    void* tag = nullptr;
    bool ok = false;
    const auto got = queue_->AsyncNext(&tag, &ok, std::chrono::system_clock::now() + kTick);
    if (got == grpc::CompletionQueue::SHUTDOWN) return;
    const std::lock_guard lock(mutex_);
    if (got == grpc::CompletionQueue::GOT_EVENT) {
      const Tag& event = *static_cast<Tag*>(tag);
      Call& call = *event.call;
      --call.pending;
      handle(call, event.event, ok);
      if (call.dropped && call.pending == 0) std::erase_if(calls_, [&](const auto& c) { return c.get() == &call; });
    }
    if (!stopping_) watch_the_clock();
  }
}

void GrpcTransport::Link::open_call() {
  if (dials_) {
    auto call = std::make_unique<Dialled>();
    ++call->pending;
    call->start(*stub_, queue_);
    calls_.push_back(std::move(call));
  } else {
    auto call = std::make_unique<Accepted>();
    ++call->pending;
    call->start(service_, listener_queue_.get());
    calls_.push_back(std::move(call));
  }
}

void GrpcTransport::Link::handle(Call& call, Event event, bool ok) {
  if (stopping_) {
    call.dropped = true;
    return;
  }
  switch (event) {
    case Event::kStarted:
      if (!dials_ && ok) {
        static_cast<Accepted&>(call).accept();
        call.accepted_at = called_at_ = Clock::now();
        open_call();  // for the next caller
      }
      if (!ok) {
        drop(call);
        return;
      }
      begin_read(call);
      if (dials_) {
        begin_write(call, to_buffer(stream_.hello()));
      }
      return;
    case Event::kRead:
      if (ok) {
        handle_packet(call);
      } else {
        drop(call);
      }
      return;
    case Event::kWritten:
      call.writing = false;
      if (ok) send_next();
      return;
    case Event::kFinished:
      handle_status(call);
      return;
  }
}

void GrpcTransport::Link::handle_packet(Call& call) try {
  if (call.dropped) return;
  LinkPacket packet = decode_packet(to_bytes(call.incoming));
  if (!call.heard_hello) {
    greet(call, packet);
  } else if (current_ == &call) {
    stream_.deliver(std::move(packet));
  } else {
    return drop(call);  // another connection has taken its place
  }
  begin_read(call);
  send_next();
} catch (const Error& error) {
  // Nobody but the peer gets this far under TLS, so what is wrong with its packets is wrong with the run; unless
  // another connection carries it: then this may be an old one's packet that came late.
  refuse(call, error.what(), current_ == &call || (options_.tls.has_value() && current_ == nullptr));
}

void GrpcTransport::Link::greet(Call& call, const LinkPacket& first) {
  const auto* hello = std::get_if<HelloPacket>(&first);
  require<ProtocolError>(hello != nullptr, "the peer did not say hello");
  stream_.connected(*hello);
  call.heard_hello = true;
  if (current_ != nullptr && current_ != &call) {  // the rest of a connection that only the peer knows to be lost
    Call& old = *current_;
    current_ = nullptr;
    old.cancel();
    drop(old);
  }
  current_ = &call;
  back_off_ = {};  // a link that has just worked is worth an immediate try
  last_error_.clear();
  last_detail_.clear();
  noticed_.clear();
  handshakes_->forget();
  if (dials_) return;
  begin_write(call, to_buffer(stream_.hello()));
}

void GrpcTransport::Link::refuse(Call& call, const std::string& why, bool for_good) {
  call.refusal = why;
  if (for_good) stream_.fail(why);
  if (dials_) call.cancel();
  drop(call);
}

void GrpcTransport::Link::drop(Call& call) {
  if (call.dropped) return;
  call.dropped = true;
  if (current_ == &call) {
    current_ = nullptr;
    lost_since_ = Clock::now();
    stream_.disconnected();
  }
  begin_finish(call);
}

void GrpcTransport::Link::handle_status(Call& call) {
  if (!dials_ || current_ != nullptr) return;
  last_error_.clear();
  last_detail_.clear();
  if (!call.status.ok()) {
    last_error_ = link_words(call.status.error_message(), stream_.connections() > 0);
    last_detail_ =
        "gRPC status " + std::to_string(call.status.error_code()) + ": " + printable_words(call.status.error_message());
  }
  // The words of a refusal are those of the peer's own program.
  if (call.status.error_code() == grpc::StatusCode::FAILED_PRECONDITION) {
    stream_.fail("the peer refuses this link: " + printable_words(call.status.error_message()));
  }
  // On a link that has worked, another certificate may be a router's on the way: that passes.
  if (const std::string why = handshakes_->refusal(); !why.empty() && stream_.connections() == 0) stream_.fail(why);
  retry_at_ = Clock::now() + back_off_;
  back_off_ = std::clamp(back_off_ * 2, kFirstBackOff, kLongestBackOff);
}

void GrpcTransport::Link::begin_read(Call& call) {
  ++call.pending;
  call.read(call.tag(Event::kRead));
}

void GrpcTransport::Link::begin_write(Call& call, const grpc::ByteBuffer& packet) {
  call.writing = true;
  ++call.pending;
  call.write(packet, call.tag(Event::kWritten));
}

void GrpcTransport::Link::begin_finish(Call& call) {
  ++call.pending;
  call.finish(call.tag(Event::kFinished));
}

void GrpcTransport::Link::send_next() {
  if (stopping_ || current_ == nullptr || current_->writing) return;
  const auto parts = stream_.next_packet();
  if (!parts.empty()) begin_write(*current_, to_buffer(parts));
}

void GrpcTransport::Link::pump() {
  const std::lock_guard lock(mutex_);
  send_next();
}

void GrpcTransport::Link::watch_the_clock() {
  for (const auto& call : calls_) {
    const bool silent = call->accepted_at && !call->heard_hello && Clock::now() - *call->accepted_at > kHelloPatience;
    if (silent && !call->dropped) {
      refuse(*call, "the peer did not say hello", false);
      break;  // the list may have changed; the next tick sees the others
    }
  }
  if (current_ != nullptr || stream_.is_over()) return;
  const auto now = Clock::now();
  if (now - lost_since_ > options_.patience) stream_.fail(why_no_link());
  give_notice(now);
  if (dials_ && calls_.empty() && now >= retry_at_) open_call();
}

bool GrpcTransport::Link::hung_up() const {
  const auto accepted = handshakes_->accepted_at();
  return !dials_ && accepted && *accepted > called_at_ && Clock::now() - *accepted > kHandshakeToCall;
}

std::string GrpcTransport::Link::words_of_hanging_up() const {
  return "the peer called with the expected certificate, and hung up before its first word: does it have this party's "
         "certificate, whose fingerprint is " +
         fingerprint(options_.tls->identity.certificate) + "?";
}

// Said at once, and again while it lasts: a caller who was refused once may have given up.
void GrpcTransport::Link::give_notice(Clock::time_point now) {
  const std::string why = why_not_yet(now);
  const std::uint64_t refusals = handshakes_->refusals();
  const bool goes_on = dials_ || stream_.connections() > 0 || refusals != noticed_refusals_;
  const bool again = goes_on && now - noticed_at_ >= options_.notice_every;
  // Strangers, each with another certificate, must not fill the screen.
  const bool fresh = why != noticed_ && now - noticed_at_ >= kBetweenNotices;
  if (why.empty() || !(fresh || again)) return;
  noticed_ = why;
  noticed_at_ = now;
  noticed_refusals_ = refusals;
  stream_.tell({.words = why, .detail = last_detail_});
}

std::string GrpcTransport::Link::why_not_yet(Clock::time_point now) const {
  if (stream_.connections() > 0) {
    if (now - lost_since_ < kShortLoss) return {};
    return "the link to the peer is lost" + (last_error_.empty() ? "" : ": " + last_error_) +
           (dials_ ? "; dialling again" : "; waiting for it to call again");
  }
  if (dials_) {
    if (!last_error_.empty()) return "no link to the peer at " + options_.address + " yet: " + last_error_;
    if (now - lost_since_ < options_.notice_every) return {};
    return "no link to the peer at " + options_.address +
           " yet: it does not answer (is the address right, and is a firewall in between?)";
  }
  if (const std::string refused = handshakes_->refusal(); !refused.empty()) {
    return "someone called and was refused: " + refused;
  }
  return hung_up() ? words_of_hanging_up() : std::string();
}

std::string GrpcTransport::Link::why_no_link() const {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options_.patience).count();
  std::string text = "no link to the peer at " + options_.address + " for " + std::to_string(seconds) + " s: ";
  const std::string refused = handshakes_->refusal();
  if (!last_error_.empty()) {
    text += last_error_;
  } else if (!refused.empty()) {
    text += "someone called and was refused: " + refused;
  } else if (stream_.connections() > 0) {
    text += "it was lost and did not come back";
  } else {
    text += dials_
                ? "it does not answer (is it BlindFL that listens there?)"
                : "nobody called, or not with TLS and certificates that both know (is the peer running, does it dial "
                  "this port, and does it have this party's certificate?)";
    if (hung_up()) text += ". " + words_of_hanging_up();
  }
  return text;
}

}  // namespace blindfl::net
