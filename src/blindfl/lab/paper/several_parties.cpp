#include "blindfl/lab/paper/several_parties.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/he/registry/registry.h"
#include "blindfl/net/memory_channel.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/protocol/session/mask_agreement.h"
#include "blindfl/protocol/session/peer.h"

namespace blindfl::lab::paper {

namespace {

const char* const kRunOfParties = "cost by the number of A's";
constexpr int kDaysOfIdentity = 1;

/// What the parties have in common.
struct JobOfParties {
  const TwoPartyModel& model;
  std::vector<std::string> names{};  ///< of the A's
  std::vector<std::shared_ptr<const protocol::LinkIdentity>> identities{};
  std::string certificate_of_b{};  ///< PEM
  std::size_t steps = 0;
};

nn::FeatureShape pair_shape(const JobOfParties& job) {
  nn::FeatureShape shape = job.model.shape;
  shape.in_others = (job.names.size() - 1) * shape.in_a;
  return shape;
}

std::uint64_t carried(const protocol::Sessions& sessions) {
  return sessions.sent().bytes + sessions.received().bytes;
}

/// A party's part; an A's cost is nobody's.
SeveralPartiesCost train_with(const protocol::Sessions& sessions, const JobOfParties& job, const data::Dataset& own) {
  const auto begin = std::chrono::steady_clock::now();
  nn::MatMulOptions source = job.model.source;
  source.sgd = job.model.training.sgd;
  nn::GeneralizedLinear model(sessions, pair_shape(job), job.model.outputs, source);
  const train::Forward forward = [&](const data::Batch& batch) { return model->forward(batch); };
  const train::Loss loss = [&](const torch::Tensor& scores, const torch::Tensor& labels) {
    return nn::loss(job.model.family, scores, labels);
  };
  const data::RowsInMemory rows(own);
  train::Trainer trainer(*model, forward, loss, rows, job.model.training);
  SeveralPartiesCost cost;
  std::vector<double> laps;
  std::uint64_t bytes = 0;
  const auto seconds_from = [](std::chrono::steady_clock::time_point from) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
  };
  while (!trainer.done() && laps.size() < job.steps) {
    const auto lap = std::chrono::steady_clock::now();
    if (trainer.take_step().step > 1) {
      laps.push_back(seconds_from(lap));
      continue;
    }
    cost.seconds_before = seconds_from(begin);
    bytes = carried(sessions);
  }
  require<InvalidArgument>(!laps.empty(), "several parties: there is no step to measure after the first");
  cost.bytes = (carried(sessions) - bytes) / laps.size();
  std::ranges::sort(laps);
  cost.seconds = laps[laps.size() / 2];
  return cost;
}

/// All channels between the parties, closed as soon as one of these fails: nobody waits for what will not come.
class PartyLinks {
 public:
  explicit PartyLinks(std::size_t as) {
    for (std::size_t i = 0; i < as; ++i) {
      auto [at_a, at_b] = net::make_memory_channels();
      of_as_.push_back(std::move(at_a));
      of_b_.push_back(std::move(at_b));
    }
  }
  [[nodiscard]] const std::shared_ptr<net::Channel>& of_a(std::size_t place) const { return of_as_[place]; }
  [[nodiscard]] const std::shared_ptr<net::Channel>& of_b(std::size_t place) const { return of_b_[place]; }

  /// Does a party's work. What went wrong first, and is more than what others made of it, is kept.
  void guard(const std::function<void()>& party) {
    try {
      party();
    } catch (const TransportError&) {
      keep(/*cause=*/false);
    } catch (...) {
      keep(/*cause=*/true);
    }
  }
  void rethrow() const {
    if (cause_) std::rethrow_exception(cause_);
    if (closed_) std::rethrow_exception(closed_);
  }

 private:
  void keep(bool cause) {
    {
      const std::lock_guard lock(mutex_);
      std::exception_ptr& first = cause ? cause_ : closed_;
      if (!first) first = std::current_exception();
    }
    for (const auto* channels : {&of_as_, &of_b_}) {
      for (const auto& channel : *channels) channel->close();
    }
  }

  std::vector<std::shared_ptr<net::Channel>> of_as_;
  std::vector<std::shared_ptr<net::Channel>> of_b_;
  std::mutex mutex_;
  std::exception_ptr cause_;
  std::exception_ptr closed_;
};

void be_an_a(std::size_t place, const std::shared_ptr<net::Channel>& to_b, const he::Scheme& scheme,
             const JobOfParties& job, const data::Dataset& own) {
  protocol::Peer b(Party::kA, to_b, he::borrowed({&scheme}));
  protocol::MaskParty me{
      .run = kRunOfParties, .name = job.names[place], .identity = job.identities[place], .b = job.certificate_of_b};
  for (std::size_t other = 0; other < job.names.size(); ++other) {
    if (other != place) me.others.push_back({job.names[other], job.identities[other]->certificate()});
  }
  protocol::agree_on_masks(b.session(), me);
  (void)train_with(b.session(), job, own);
}

SeveralPartiesCost be_b(const PartyLinks& links, const he::Scheme& scheme, const JobOfParties& job,
                        const data::Dataset& own) {
  std::vector<std::unique_ptr<protocol::Peer>> as;
  std::vector<protocol::Session*> sessions;
  for (std::size_t i = 0; i < job.names.size(); ++i) {
    as.push_back(std::make_unique<protocol::Peer>(Party::kB, links.of_b(i), he::borrowed({&scheme}),
                                                  protocol::SessionOptions{.peer_name = job.names[i]}));
    sessions.push_back(&as.back()->session());
  }
  const protocol::Sessions all(std::move(sessions));
  protocol::agree_on_masks(all, kRunOfParties, job.names);
  return train_with(all, job, own);
}

}  // namespace

SeveralPartiesCost train_several_parties(const TwoPartyModel& model, std::span<const data::Dataset> of_as,
                                         const data::Dataset& of_b, std::size_t steps) {
  require<InvalidArgument>(!of_as.empty(), "several parties: there is no A");
  require<InvalidArgument>(model.hidden.empty() && model.top == protocol::Top::kOpen,
                           "several parties: only generalised linear models under an open top are measured");
  const auto scheme = he::make_scheme("lattice");
  JobOfParties job{.model = model, .steps = steps};
  job.certificate_of_b = net::generate_identity("b", kDaysOfIdentity).certificate;
  for (std::size_t i = 0; i < of_as.size(); ++i) {
    job.names.push_back("a" + std::to_string(i + 1));
    job.identities.push_back(
        std::make_shared<protocol::LinkIdentity>(net::generate_identity(job.names.back(), kDaysOfIdentity)));
  }
  PartyLinks links(of_as.size());
  std::vector<std::future<void>> as;
  for (std::size_t i = 0; i < of_as.size(); ++i) {
    as.push_back(std::async(std::launch::async,
                            [&, i] { links.guard([&] { be_an_a(i, links.of_a(i), *scheme, job, of_as[i]); }); }));
  }
  SeveralPartiesCost cost;
  links.guard([&] { cost = be_b(links, *scheme, job, of_b); });
  for (std::future<void>& a : as) a.wait();
  links.rethrow();
  return cost;
}

}  // namespace blindfl::lab::paper
