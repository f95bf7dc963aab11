#include "blindfl/app/lab/lab_link.h"

#include <ostream>
#include <string>
#include <utility>

#include "blindfl/app/job/job_options.h"
#include "blindfl/lab/secureml/steps.h"
#include "blindfl/mpc/steps.h"
#include "blindfl/net/steps.h"
#include "blindfl/protocol/session/steps.h"

namespace blindfl::app {

namespace {

/// What travels here, so that errors can name it.
const net::StepTable& steps_of_secureml() {
  static const net::StepTable steps = {net::steps::kAll, protocol::steps::kOfSession, mpc::steps::kAll,
                                       lab::secureml::steps::kAll};
  return steps;
}

}  // namespace

LabLinks::LabLinks(std::ostream& out) : out_(out) {
  interruption_.on_interrupt([this] { interrupt(); });
}

void LabLinks::interrupt() {
  const std::scoped_lock lock(mutex_);
  for (const auto& transport : transports_) transport->interrupt();
}

void LabLinks::add(std::string_view whom, net::GrpcOptions options) {
  options.on_notice = [this](const net::LinkNotice& notice) { print_notice(notice, /*debug=*/false, out_); };
  const auto transport = std::make_shared<net::GrpcTransport>(options);
  if (options.role == net::GrpcOptions::Role::kListen) {
    out_ << "waiting for " << whom << " on port " << transport->port() << "\n";
  } else {
    out_ << "calling " << whom << " at " << options.address << "\n";
  }
  out_ << std::flush;
  const std::scoped_lock lock(mutex_);
  transports_.push_back(transport);
  channels_.push_back(std::make_shared<net::Channel>(transport));
  channels_.back()->name_steps(steps_of_secureml());
}

void LabLinks::wait() {
  for (const auto& transport : transports_) transport->wait_for_peer();
}

}  // namespace blindfl::app
