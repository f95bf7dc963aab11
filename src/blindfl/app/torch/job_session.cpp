#include "blindfl/app/torch/job_session.h"

#include <torch/torch.h>

#include <algorithm>
#include <ostream>
#include <thread>

#include "blindfl/app/link/gathering.h"
#include "blindfl/app/link/named_errors.h"
#include "blindfl/app/link/steps.h"
#include "blindfl/app/plan/job_layers.h"
#include "blindfl/base/error.h"
#include "blindfl/base/text.h"
#include "blindfl/net/ledger/ledger.h"
#include "blindfl/protocol/session/identity.h"
#include "blindfl/protocol/session/mask_agreement.h"
#include "blindfl/protocol/session/output_masks.h"

namespace blindfl::app {

namespace {

std::size_t threads_of(const job::Resources& resources) {
  return resources.threads.value_or(std::max(1U, std::thread::hardware_concurrency()));
}

/// Each session draws its own.
std::optional<std::uint64_t> seed_of(const job::Run& run, std::size_t index) {
  if (!run.weight_seed) return std::nullopt;
  return *run.weight_seed + index;
}

}  // namespace

JobSession::JobSession(const job::Job& job, const Options& options, std::ostream& out)
    : own_(job.own.link), certificates_(certificates_of_as(job.own.link)) {
  make_links(job, out);
  interruption_.on_interrupt([this] { on_interrupt(); });
  try {
    open(job, options, out);
  } catch (const std::exception&) {
    interruption_.ignore();
    require<Error>(!interruption_.happened(), "stopped before it began");
    throw;
  }
}

void JobSession::make_links(const job::Job& job, std::ostream& out) {
  const bool debug = job.own.run.log == job::LogLevel::kDebug;
  if (job.own.link.plaintext) {
    out << "WARNING: no TLS. Anybody on the way can read and change what is sent, and nobody knows who the peer is.\n";
  }
  for (NamedLink& named : links_of(job.own.link)) {
    named.options.on_notice = [this, &out, debug, name = named.name](const net::LinkNotice& notice) {
      {
        const std::lock_guard lock(out_mutex_);
        if (!name.empty()) out << name << ": ";
        print_notice(notice, debug, out);
      }
      tell_others(name, notice);
    };
    if (!named.name.empty())
      named.options.words_of_error = [names = job.own.link.names_of_as()] { return words_for_all(names); };
    auto link = std::make_unique<PeerLink>();
    link->name = named.name;
    link->link = std::make_shared<net::GrpcTransport>(named.options);
    if (named.options.tls) link->certificate = named.options.tls->peer_certificate;
    const bool listens = named.options.role == net::GrpcOptions::Role::kListen;
    const std::string whom = named.name.empty() ? "the peer" : named.name;
    link->address = listens ? "listening on port " + std::to_string(link->link->port()) + ", waiting for " + whom
                            : "dialling " + named.options.address + (named.name.empty() ? "" : " for " + whom);
    links_.push_back(std::move(link));
  }
}

// An A hears B alone, and would not know whom all wait for.
void JobSession::tell_others(const std::string& name, const net::LinkNotice& notice) {
  if (!begun_) return;
  for (const auto& link : links_) {
    if (link->name != name) link->link->note((notice.is_back ? "back is " : "it waits for ") + name);
  }
}

void JobSession::open(const job::Job& job, const Options& options, std::ostream& out) {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    PeerLink& link = *links_[i];
    link.timing = std::make_shared<net::TimedTransport>(link.link);
    link.channel = std::make_shared<net::Channel>(link.timing);
    link.channel->name_steps(all_steps());
    if (!options.ledgers.empty()) {
      link.channel->write_ledger(std::make_unique<net::Ledger>(
          options.ledgers.at(i), net::LedgerHead{.party = std::string(name_of(job.own.party)), .session = {}}));
    }
    say(out, link.address);
  }
  torch::set_num_threads(static_cast<int>(threads_of(job.own.resources)));
  if (links_.size() > 1) return gather_all(job, options, out);
  meet(job, options, 0);
  id_ = sessions().id();
  if (certificates_.empty()) return;
  Gathered all = await_all(*links_.front()->channel, own_.names_of_as(),
                           [&](const std::vector<std::string>& still) { say(out, "B waits for " + listed(still)); });
  names_ = std::move(all.names);
  id_ = std::move(all.id);
}

void JobSession::meet(const job::Job& job, const Options& options, std::size_t index) {
  PeerLink& link = *links_[index];
  link.link->wait_for_peer();
  link.peer.emplace(job.own.party, link.channel, job_schemes(job.shared.scheme),
                    protocol::SessionOptions{.threads = threads_of(job.own.resources),
                                             .weight_seed = seed_of(job.own.run, index),
                                             .saved_keys = options.keys.empty() ? nullptr : options.keys.at(index),
                                             .scheme_settings_name = "the section shared.scheme of the job",
                                             .peer_name = link.name});
  protocol::Session& session = link.peer->session();
  session.agree("the command", protocol::Settings().add("command", options.command));
  session.agree("the model", options.subject);
  session.agree("the section shared of the job", job::shared_settings(job.shared));
  if (!certificates_.empty()) {
    session.agree("what the jobs say of the A's (private.link)",
                  roster_settings(certificates_, link.name.empty() ? own_.name.value_or("") : link.name));
  }
  session.settle();
}

void JobSession::gather_all(const job::Job& job, const Options& options, std::ostream& out) {
  names_ = own_.names_of_as();
  gather({.names = names_,
          .arrive =
              [&](std::size_t i) {
                meet(job, options, i);
                say(out, names_[i] + " is here");
              },
          .give_up = [&](std::size_t i) { links_[i]->channel->close(); },
          .channel = [&](std::size_t i) -> net::Channel& { return *links_[i]->channel; },
          .id = [&] { return sessions().id(); }},
         [&](const std::vector<std::string>& still) { say(out, "waiting for " + listed(still)); });
  id_ = sessions().id();
  begun_ = true;
}

void JobSession::say(std::ostream& out, const std::string& line) {
  const std::lock_guard lock(out_mutex_);
  out << line << '\n' << std::flush;
}

JobSession::~JobSession() {
  interruption_.ignore();
  close();
}

protocol::Sessions JobSession::sessions() const {
  std::vector<protocol::Session*> all;
  for (const auto& link : links_) all.push_back(&link->peer.value().session());
  return protocol::Sessions(std::move(all));
}

std::size_t JobSession::own_place() const {
  return static_cast<std::size_t>(std::ranges::find(names_, own_.name.value_or("")) - names_.begin());
}

protocol::AlignedPeers JobSession::aligned_peers() const {
  protocol::AlignedPeers peers;
  peers.names = names_;
  if (names_.empty() || links_.size() > 1) return peers;
  peers.own = own_place();
  const auto& masks = links_.front()->peer->session().output_masks();
  for (std::size_t other = 0; other < names_.size(); ++other) {
    if (other == peers.own) {
      peers.secrets.emplace_back();
      continue;
    }
    const auto secret = masks->secret_with(other, "alignment");
    peers.secrets.emplace_back(secret.begin(), secret.end());
  }
  return peers;
}

Bytes JobSession::agree_between_as(const std::string& run, const Bytes& began) {
  if (names_.empty()) return {};
  if (links_.size() > 1) return protocol::agree_on_masks(sessions(), run, names_, began);
  protocol::MaskParty me{.run = run,
                         .began = began,
                         .name = *own_.name,
                         .identity = nullptr,
                         .b = links_.front()->certificate,
                         .others = {},
                         .order = names_};
  me.identity = std::make_shared<protocol::LinkIdentity>(net::load_identity(*own_.certificate, *own_.key));
  for (const NamedCertificate& each : certificates_) {
    if (each.name != me.name) me.others.push_back({each.name, each.certificate});
  }
  return protocol::agree_on_masks(links_.front()->peer->session(), me);
}

std::vector<const net::Channel*> JobSession::channels() const {
  std::vector<const net::Channel*> all;
  for (const auto& link : links_) all.push_back(link->channel.get());
  return all;
}

double JobSession::seconds_waiting() const {
  double most = 0;
  for (const auto& link : links_) most = std::max(most, link->timing->seconds_waiting());
  return most;
}

double JobSession::seconds_sending() const {
  double most = 0;
  for (const auto& link : links_) most = std::max(most, link->timing->seconds_sending());
  return most;
}

double JobSession::seconds_in_protocol() const {
  double most = 0;
  for (const auto& link : links_) most = std::max(most, link->peer->session().protocol_time().seconds());
  return most;
}

void JobSession::on_interrupt() {
  const bool again = stop_asked_.exchange(true);
  if (orderly_ && !again) return;
  for (const auto& link : links_) link->link->interrupt();
}

void JobSession::close() {
  for (const auto& link : links_) {
    if (link->channel != nullptr) link->channel->close();
  }
}

void JobSession::finish() {
  interruption_.ignore();
  for (const auto& link : links_) link->channel->close_ledger();
}

}  // namespace blindfl::app
