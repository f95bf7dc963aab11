#include "blindfl/app/torch/job_session.h"

#include <torch/torch.h>

#include <algorithm>
#include <ostream>
#include <thread>

#include "blindfl/app/job/job_options.h"
#include "blindfl/app/link/steps.h"
#include "blindfl/app/plan/job_layers.h"
#include "blindfl/base/error.h"
#include "blindfl/net/ledger/ledger.h"

namespace blindfl::app {

namespace {

std::size_t threads_of(const job::Resources& resources) {
  return resources.threads.value_or(std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace

JobSession::JobSession(const job::Job& job, const Options& options, std::ostream& out) {
  net::GrpcOptions link = link_of(job.own.link);
  const bool debug = job.own.run.log == job::LogLevel::kDebug;
  link.on_notice = [&out, debug](const net::LinkNotice& notice) { print_notice(notice, debug, out); };
  if (!link.tls) {
    out << "WARNING: no TLS. Anybody on the way can read and change what is sent, and nobody knows who the peer is.\n";
  }
  link_ = std::make_shared<net::GrpcTransport>(link);
  interruption_.on_interrupt([this] { on_interrupt(); });
  try {
    open(job, options, out);
  } catch (const std::exception&) {
    interruption_.ignore();
    require<Error>(!interruption_.happened(), "stopped before it began");
    throw;
  }
}

void JobSession::open(const job::Job& job, const Options& options, std::ostream& out) {
  timing_ = std::make_shared<net::TimedTransport>(link_);
  const auto channel = std::make_shared<net::Channel>(timing_);
  channel->name_steps(all_steps());
  const Party party = job.own.party;
  if (options.ledger) {
    channel->write_ledger(std::make_unique<net::Ledger>(
        *options.ledger, net::LedgerHead{.party = std::string(name_of(party)), .session = {}}));
  }
  meet(job, out);

  const std::size_t threads = threads_of(job.own.resources);
  torch::set_num_threads(static_cast<int>(threads));
  peer_.emplace(party, channel, job_schemes(job.shared.scheme),
                protocol::SessionOptions{.threads = threads,
                                         .weight_seed = job.own.run.weight_seed,
                                         .saved_keys = options.keys,
                                         .scheme_settings_name = "the section shared.scheme of the job"});
  session().agree("the command", protocol::Settings().add("command", options.command));
  session().agree("the model", options.subject);
  session().agree("the section shared of the job", job::shared_settings(job.shared));
  session().settle();
}

JobSession::~JobSession() {
  interruption_.ignore();
  channel().close();
}

void JobSession::meet(const job::Job& job, std::ostream& out) {
  if (job.own.link.listen) {
    out << "listening on port " << link_->port() << ", waiting for the peer\n" << std::flush;
  } else {
    out << "dialling " << job.own.link.dial.value_or("") << '\n' << std::flush;
  }
  link_->wait_for_peer();
}

void JobSession::on_interrupt() {
  const bool again = stop_asked_.exchange(true);
  if (!orderly_ || again) link_->interrupt();
}

void JobSession::finish() {
  interruption_.ignore();
  channel().close_ledger();
}

}  // namespace blindfl::app
