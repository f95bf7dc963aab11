#include "blindfl/net/grpc/grpc_transport.h"

#include <exception>

#include "blindfl/net/grpc/grpc_link.h"

namespace blindfl::net {

namespace {

constexpr std::chrono::seconds kLinger{5};

}  // namespace

GrpcTransport::GrpcTransport(const GrpcOptions& options)
    : link_(std::make_unique<Link>(options)), words_of_error_(options.words_of_error) {}

GrpcTransport::~GrpcTransport() {
  link_->stream().close({ByeReason::kDone, {}});
  link_->stream().linger(kLinger);
}

void GrpcTransport::write(ByteView bytes) {
  link_->stream().write(bytes);
}
void GrpcTransport::read(std::span<std::byte> out) {
  link_->stream().read(out);
}
bool GrpcTransport::has_arrived() const {
  return link_->stream().has_arrived();
}
std::uint64_t GrpcTransport::send_capacity() const {
  return link_->stream().window();
}

void GrpcTransport::wait_for_peer() {
  link_->stream().wait_for_connection();
}
int GrpcTransport::port() const {
  return link_->port();
}

void GrpcTransport::note(const std::string& words) {
  link_->stream().note(words);
}

void GrpcTransport::interrupt() {
  link_->stream().close({ByeReason::kInterrupted, {}});
}

std::uint64_t GrpcTransport::reconnects() const {
  const std::uint64_t connections = link_->stream().connections();
  return connections == 0 ? 0 : connections - 1;
}

void GrpcTransport::close() {
  const bool handles = std::current_exception() != nullptr;
  const bool failing = handles || std::uncaught_exceptions() > 0;
  link_->stream().close(
      {failing ? ByeReason::kError : ByeReason::kDone, handles && words_of_error_ ? words_of_error_() : std::string()});
}

}  // namespace blindfl::net
