#include "blindfl/net/grpc/grpc_channel.h"

#include <exception>

#include "blindfl/net/grpc/grpc_link.h"

namespace blindfl::net {

namespace {

constexpr std::chrono::seconds kLinger{5};

}  // namespace

GrpcChannel::GrpcChannel(const GrpcOptions& options) : link_(std::make_unique<Link>(options)) {}

GrpcChannel::~GrpcChannel() {
  link_->stream().close({ByeReason::kDone, {}});
  link_->stream().linger(kLinger);
}

void GrpcChannel::write_raw(ByteView bytes) {
  link_->stream().write(bytes);
}
void GrpcChannel::read_raw(std::span<std::byte> out) {
  link_->stream().read(out);
}
bool GrpcChannel::has_arrived() const {
  return link_->stream().has_arrived();
}
std::uint64_t GrpcChannel::send_capacity() const {
  return link_->stream().window();
}

void GrpcChannel::wait_for_peer() {
  link_->stream().wait_for_connection();
}
int GrpcChannel::port() const {
  return link_->port();
}

void GrpcChannel::interrupt() {
  link_->stream().close({ByeReason::kInterrupted, {}});
  close();
}

std::uint64_t GrpcChannel::reconnects() const {
  const std::uint64_t connections = link_->stream().connections();
  return connections == 0 ? 0 : connections - 1;
}

void GrpcChannel::do_close() {
  const bool failing = std::current_exception() != nullptr || std::uncaught_exceptions() > 0;
  link_->stream().close({failing ? ByeReason::kError : ByeReason::kDone, {}});
}

}  // namespace blindfl::net
