#include "blindfl/lab/secureml/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "blindfl/base/number_text.h"
#include "blindfl/he/plan.h"
#include "blindfl/he/registry/registry.h"
#include "blindfl/lab/secureml/dealt_triplets.h"
#include "blindfl/lab/secureml/lattice_triplets.h"
#include "blindfl/lab/secureml/oblivious_triplets.h"
#include "blindfl/lab/secureml/products.h"
#include "blindfl/net/memory_channel.h"
#include "blindfl/protocol/session/in_process.h"

namespace blindfl::lab::secureml {

namespace {

/// A run that hiding is made for: ten epochs of 32,561 rows.
constexpr std::uint64_t kRunSteps = 2550;
constexpr std::uint64_t kWord = sizeof(std::uint64_t);

void check_shape(const BatchShape& shape) {
  require<InvalidArgument>(shape.batch > 0 && shape.features > 0 && shape.outputs > 0, "SecureML: a mini-batch of ",
                           shape.batch, " x ", shape.features, " x ", shape.outputs);
}

/// Values that replies of a run open.
std::uint64_t run_values(const BatchShape& shape) {
  const double values = 4.0 * static_cast<double>(shape.outputs) * static_cast<double>(shape.batch + shape.features);
  return static_cast<std::uint64_t>(std::min(values * static_cast<double>(kRunSteps), 0x1p62));
}

/// What one party saw.
struct Seen {
  std::vector<double> seconds;
  std::uint64_t bytes = 0;
};

std::uint64_t bytes_of(const std::map<net::Step, net::Traffic>& traffic) {
  return net::total(traffic).bytes;
}

/// A party's part of a measurement. `third_party` may be null.
class MeasuredParty {
 public:
  MeasuredParty(protocol::Session& session, net::Channel* third_party, Triplets triplets, const BatchShape& shape)
      : session_(session),
        third_party_(third_party),
        source_(make_triplets(session, triplets, third_party, run_values(shape))),
        products_(session, *source_),
        random_(session.random()),
        features_(products_.left(random_words(shape.batch, shape.features, random_))),
        weights_(random_words(shape.features, shape.outputs, random_)),
        derivative_(random_words(shape.batch, shape.outputs, random_)),
        rows_(all_rows(shape.batch)) {}

  [[nodiscard]] Seen run(std::size_t steps) {
    step();
    Seen seen;
    const std::uint64_t before = sent();
    for (std::size_t i = 0; i < steps; ++i) {
      const auto start = std::chrono::steady_clock::now();
      step();
      seen.seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    seen.bytes = sent() - before;
    finish(*source_);
    return seen;
  }

 private:
  void step() {
    const Words scores =
        truncated(products_.product(features_, rows_, Form::kPlain, weights_), kFractionBits, session_.party());
    weights_ -=
        truncated(products_.product(features_, rows_, Form::kTransposed, derivative_), kFractionBits, session_.party());
    derivative_ += scores;
  }

  /// What this party sent, and what the third party sent to it.
  [[nodiscard]] std::uint64_t sent() const {
    std::uint64_t bytes = bytes_of(session_.channel().sent());
    if (third_party_ != nullptr) bytes += bytes_of(third_party_->sent()) + bytes_of(third_party_->received());
    return bytes;
  }

  protocol::Session& session_;
  net::Channel* third_party_;
  std::unique_ptr<TripletSource> source_;
  Products products_;
  Random random_;
  LeftMatrix features_;
  Words weights_;
  Words derivative_;
  std::vector<std::uint32_t> rows_;
};

/// A third party as a thread, for both parties' channels.
class DealerThread {
 public:
  DealerThread() : dealing_(std::async(std::launch::async, [this] { deal(*to_a_.second, *to_b_.second, Random()); })) {}
  DealerThread(const DealerThread&) = delete;
  DealerThread& operator=(const DealerThread&) = delete;
  ~DealerThread() {
    // Nothing is left to say by then, or a party failed.
    to_a_.first->close();
    to_b_.first->close();
    dealing_.wait();
  }
  [[nodiscard]] net::Channel* of(Party party) { return (party == Party::kA ? to_a_ : to_b_).first.get(); }
  void close() {
    to_a_.first->close();
    to_b_.first->close();
  }

 private:
  using Ends = std::pair<std::unique_ptr<net::Channel>, std::unique_ptr<net::Channel>>;
  Ends to_a_ = net::make_memory_channels();
  Ends to_b_ = net::make_memory_channels();
  std::future<void> dealing_;
};

std::pair<Seen, Seen> run_parties(const BatchShape& shape, Triplets triplets, std::size_t steps) {
  const std::unique_ptr<he::Scheme> scheme = he::make_scheme("lattice");
  std::optional<DealerThread> dealer;
  if (triplets == Triplets::kThirdParty) dealer.emplace();
  return protocol::run_in_process(*scheme, [&](protocol::Session& session) {
    try {
      return MeasuredParty(session, dealer ? dealer->of(session.party()) : nullptr, triplets, shape).run(steps);
    } catch (...) {
      if (dealer) dealer->close();
      throw;
    }
  });
}

/// What the lattice's triplets of one mini-batch send, both parties together: a step function of the features, for
/// messages are whole tiles.
double planned_bytes(const BatchShape& shape, Triplets triplets) {
  if (triplets != Triplets::kLattice) return 0;
  const std::unique_ptr<he::Scheme> scheme = he::make_scheme("lattice");
  std::uint64_t bytes = 0;
  for (const auto& spec : {triplet_product(shape.batch, shape.features, shape.outputs, run_values(shape)),
                           triplet_product(shape.features, shape.batch, shape.outputs, run_values(shape))}) {
    const auto plan = scheme->plan(spec);
    bytes += 2 * (plan->operand_bytes() + plan->reply_bytes());
  }
  return static_cast<double>(bytes);
}

/// Bytes that triplets of one mini-batch take beside the matrices that all ways have.
std::uint64_t triplet_memory(const BatchShape& shape, Triplets triplets) {
  const std::uint64_t rows = std::uint64_t{shape.batch} * shape.features * kWord;
  const std::size_t b = shape.batch;
  const std::size_t f = shape.features;
  const std::size_t o = shape.outputs;
  switch (triplets) {
    case Triplets::kObliviousTransfer:
      // At both parties U, its rows, and these transposed.
      return 6 * rows + std::max(ObliviousPlan(b, f, o).memory(), ObliviousPlan(f, b, o).memory());
    case Triplets::kLattice: {
      // And high and low bits; operands, as sent and as multiplied; replies.
      const std::unique_ptr<he::Scheme> scheme = he::make_scheme("lattice");
      std::uint64_t messages = 0;
      for (const auto& spec :
           {triplet_product(b, f, o, run_values(shape)), triplet_product(f, b, o, run_values(shape))}) {
        const auto plan = scheme->plan(spec);
        messages = std::max(messages, plan->operand_bytes() + plan->operand_memory() + plan->reply_bytes());
      }
      return 10 * rows + 2 * messages;
    }
    case Triplets::kThirdParty:
      break;
  }
  // U and one party's share of it at the third party; at the parties shares of U until features are opened.
  return 4 * rows;
}

/// Products of a word of features and one of weights that a measured mini-batch may have: seconds of any way.
std::size_t most_pairs(Triplets triplets) {
  switch (triplets) {
    case Triplets::kObliviousTransfer:
      return std::size_t{1} << 22;
    case Triplets::kLattice:
      return std::size_t{1} << 23;
    case Triplets::kThirdParty:
      break;
  }
  return std::size_t{1} << 28;
}

/// Features that are measured of a shape; as many as it has, if all are.
std::size_t measured_features(const BatchShape& shape, Triplets triplets, std::size_t most_features) {
  const std::size_t most = std::min(most_features, most_pairs(triplets) / shape.batch / shape.outputs);
  return std::min(shape.features, std::max<std::size_t>(most, 2));
}

}  // namespace

BatchCost measure_batch(const BatchShape& shape, Triplets triplets, std::size_t steps) {
  check_shape(shape);
  require<InvalidArgument>(steps > 0, "SecureML: a measurement of no steps");
  auto [a, b] = run_parties(shape, triplets, steps);
  std::ranges::sort(b.seconds);
  return {
      .seconds = b.seconds[steps / 2], .bytes = (a.bytes + b.bytes) / steps, .memory = batch_memory(shape, triplets)};
}

Prediction predict_batch(const BatchShape& shape, Triplets triplets, std::size_t steps, std::size_t most_features) {
  check_shape(shape);
  const std::size_t most = measured_features(shape, triplets, most_features);
  if (most == shape.features) return {measure_batch(shape, triplets, steps), "measured"};
  const std::size_t half = most / 2;
  const BatchCost small = measure_batch({shape.batch, half, shape.outputs}, triplets, steps);
  const BatchCost large = measure_batch({shape.batch, most, shape.outputs}, triplets, steps);
  const auto line = [&](double at_half, double at_most) {
    const double slope = std::max(0.0, at_most - at_half) / static_cast<double>(most - half);
    return at_most + slope * static_cast<double>(shape.features - most);
  };
  const auto others = [&](const BatchCost& cost, std::size_t features) {
    return static_cast<double>(cost.bytes) - planned_bytes({shape.batch, features, shape.outputs}, triplets);
  };
  const double bytes = line(others(small, half), others(large, most)) + planned_bytes(shape, triplets);
  return {{.seconds = line(small.seconds, large.seconds),
           .bytes = static_cast<std::uint64_t>(std::llround(bytes)),
           .memory = batch_memory(shape, triplets)},
          "measured at " + count_text(half) + " and " + count_text(most) + " features, along a straight line",
          /*extrapolated=*/true};
}

std::uint64_t batch_memory(const BatchShape& shape, Triplets triplets) {
  check_shape(shape);
  const std::uint64_t rows = std::uint64_t{shape.batch} * shape.features * kWord;
  const std::uint64_t weights = std::uint64_t{shape.outputs} * shape.features * kWord;
  // At both parties shares and openings of the rows; weights, V, what is opened of them, twice, Z, the product and its
  // parts, and gradients.
  return 4 * rows + 16 * weights + triplet_memory(shape, triplets);
}

std::uint64_t data_set_memory(std::size_t rows, std::size_t features) {
  // The share, the mask's and the opening, at both parties.
  return 6 * kWord * std::uint64_t{rows} * features;
}

std::optional<std::string> refusal_by_memory(const BatchShape& shape, Triplets triplets, const Limits& limits) {
  check_shape(shape);
  std::uint64_t memory = 0;
  try {
    memory = batch_memory(shape, triplets);
  } catch (const InvalidArgument& error) {
    return std::string("cannot be done: ") + error.what();
  }
  if (memory <= limits.memory) return std::nullopt;
  return "needs " + bytes_text(static_cast<double>(memory)) + " of memory for " + count_text(shape.batch) +
         " rows of " + counted(shape.features, "feature") + ", zeros included, and " +
         bytes_text(static_cast<double>(limits.memory)) + " are there";
}

std::optional<std::string> refusal_by_time(const Prediction& prediction, const Limits& limits) {
  if (prediction.cost.seconds <= limits.seconds) return std::nullopt;
  return "takes " + seconds_text(prediction.cost.seconds) + " for a mini-batch (" + prediction.how + "), and " +
         seconds_text(limits.seconds) + " are allowed";
}

std::optional<std::string> refusal(const BatchShape& shape, Triplets triplets, const Limits& limits) {
  if (auto why = refusal_by_memory(shape, triplets, limits)) return why;
  return refusal_by_time(predict_batch(shape, triplets, 1), limits);
}

}  // namespace blindfl::lab::secureml
