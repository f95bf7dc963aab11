// Bytes from a peer are hostile, in every message of an Embed-MatMul layer's training step: whatever happens to them,
// the receiver gets an error of the right type. No crash, no hang, no wrong model. EmbedHostile takes long under the
// address sanitizer; EmbedOnASpoiltLink spoils fewer messages of the two kinds of runs that transfer obliviously, in
// one way each.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <tuple>

#include "blindfl/base/error.h"
#include "blindfl/protocol/layers/lookup_plan.h"
#include "protocol/shared_embed_fixture.h"
#include "testing/forging_transport.h"
#include "testing/label.h"
#include "testing/steps.h"
#include "testing/tampering_transport.h"
#include "testing/thrown.h"

namespace blindfl::protocol::embed_hostile_test {
namespace {

using net::Step;
using testing::Forgery;
using testing::ForgingTransport;
using ::testing::HasSubstr;
using testing::Tampering;
using testing::TamperingTransport;

constexpr std::size_t kBatch = 3;

EmbedMatMulSpec make_spec(Update update, Top top = Top::kOpen, bool by_ot = false) {
  EmbedMatMulSpec spec;
  spec.top = top;
  spec.fields_a = {{.field = {.name = "a0", .categories = 4}, .update = update}};
  spec.fields_b = {{.field = {.name = "b0", .categories = 3, .most = 2, .pooling = Pooling::kMean}, .update = update}};
  spec.dimension = 2;
  spec.out = 2;
  spec.batch = kBatch;
  spec.sgd = {.learning_rate = 0.1, .momentum = 0.5, .steps = 10};
  if (by_ot) {
    // Bins beside chains, of which a pass has several.
    spec.fields_a[0].field.most = 8;
    spec.fields_a.push_back({.field = {.name = "a1", .categories = 1000}});
    for (EmbedField& field : spec.fields_a) field.scheme = kByOt;
  }
  return spec;
}

struct Case {
  std::string scheme;
  Update update = Update::kExchanged;
  Top top = Top::kOpen;
  bool by_ot = false;
};

std::string name_of(const Case& c) {
  return c.scheme + (c.by_ot ? "_ot" : "") + (c.update == Update::kEncrypted ? "_encrypted" : "") +
         (c.top == Top::kShared ? "_shared" : "");
}

/// A training step and the forward pass after it. Under a shared top nothing is opened.
class TrainingStep {
 public:
  TrainingStep(const he::Scheme& scheme, const Case& of, testing::Channels channels)
      : spec_(make_spec(of.update, of.top, of.by_ot)), by_ot_(of.by_ot), pair_(scheme, spec_, std::move(channels)) {}

  void forward() {
    if (by_ot_) {
      // Keys of the second pass are made ahead.
      const EmbedPair::Numbered batch{passes_, x_a_, x_b_};
      const EmbedPair::Numbered coming{passes_ + 1, x_a_, x_b_};
      std::tie(at_a_, at_b_) = pair_.forward(batch, kBatch, passes_ == 0 ? &coming : nullptr);
      ++passes_;
    } else {
      std::tie(at_a_, at_b_) = pair_.forward(x_a_, x_b_, kBatch);
    }
    if (spec_.top == Top::kShared) return;
    pair_.parties.run([&](Session& s) { (void)open_output(s, 0, round_output(at_a_.output, 16)); },
                      [&](Session& s) { (void)open_output(s, 0, round_output(at_b_.output, 16)); });
  }
  void backward() {
    gradients_ = spec_.top == Top::kShared ? backward_shared(pair_, at_a_.pass, at_b_.pass, shares_)
                                           : pair_.backward(at_a_.pass, at_b_.pass, derivative_);
  }
  void step() {
    take_step(pair_.at(Party::kA), gradients_.first, 0.1 / kBatch);
    take_step(pair_.at(Party::kB), gradients_.second, 0.1 / kBatch);
  }
  void all() {
    forward();
    backward();
    step();
    forward();
  }

  [[nodiscard]] EmbedPair& pair() { return pair_; }
  [[nodiscard]] const std::vector<IntMatrix>& categories(Party party) const { return party == Party::kA ? x_a_ : x_b_; }
  [[nodiscard]] const EmbedPass& pass(Party party) const { return (party == Party::kA ? at_a_ : at_b_).pass; }
  /// What B has of it.
  [[nodiscard]] const Derivative& derivative() const { return spec_.top == Top::kShared ? shares_.at_b : derivative_; }

  /// What `party` sent, message by message.
  [[nodiscard]] std::vector<net::Message> sent(Party party) const {
    std::vector<net::Message> messages;
    for (const testing::RecordedMessage& m : pair_.parties.recording(party).messages()) {
      if (m.direction == net::Direction::kSent) messages.push_back(m.message);
    }
    return messages;
  }
  /// All pieces that either party holds, and how often they have changed.
  [[nodiscard]] std::vector<std::pair<ShareMatrix, std::uint64_t>> pieces() {
    std::vector<std::pair<ShareMatrix, std::uint64_t>> all;
    for (const Party party : {Party::kA, Party::kB}) {
      const auto add = [&](const Weight& weight) { all.emplace_back(weight.piece, weight.version); };
      add(*pair_.at(party).weight());
      for (const auto& table : pair_.at(party).tables()) add(*table->weight());
    }
    return all;
  }

 private:
  EmbedMatMulSpec spec_;
  bool by_ot_;
  std::uint32_t passes_ = 0;
  EmbedPair pair_;
  SeededRandom random_{3};
  // Every row has a category, so that every derivative is for something.
  std::vector<IntMatrix> x_a_ = [&] {
    std::vector<IntMatrix> all;
    for (const EmbedField& f : spec_.fields_a) {
      all.push_back(encode_categories(f.field, std::vector<IntMatrix::Column>{1, 3, 1}));
    }
    return all;
  }();
  std::vector<IntMatrix> x_b_{encode_categories(spec_.fields_b[0].field, std::vector<std::size_t>{0, 2, 3, 5},
                                                std::vector<IntMatrix::Column>{0, 1, 2, 1, 1})};
  Derivative derivative_ = random_derivative(spec_, random_);
  SharedDerivative shares_ = share_derivative(spec_, random_reals(kBatch* spec_.out, random_));
  EmbedMatMul::Forward at_a_;
  EmbedMatMul::Forward at_b_;
  std::pair<EmbedGradients, EmbedGradients> gradients_;
};

/// A link on which what `party` sends goes through a transport that spoils it.
template <class Spoiling, class How>
testing::Channels spoilt(Party party, const How& how) {
  auto channels = net::make_memory_channels();
  auto& end = party == Party::kA ? channels.first : channels.second;
  end = std::make_unique<net::Channel>(std::make_shared<Spoiling>(end->transport(), how));
  return channels;
}

class EmbedHostile : public ::testing::TestWithParam<Case> {
 protected:
  using Messages = std::map<Party, std::vector<net::Message>>;

  /// What the parties send in a run that nobody disturbs: always the same.
  [[nodiscard]] const Messages& messages() {
    static std::map<std::string, Messages> of_cases;
    Messages& all = of_cases[name_of(GetParam())];
    if (!all.empty()) return all;
    TrainingStep run(*scheme_, GetParam(), net::make_memory_channels());
    run.all();
    for (const Party party : {Party::kA, Party::kB}) all[party] = run.sent(party);
    return all;
  }
  template <class Spoiling, class How>
  void run_spoilt(Party party, const How& how) {
    TrainingStep(*scheme_, GetParam(), spoilt<Spoiling>(party, how)).all();
  }
  /// Whether each message is attacked in all ways, and not in one of them: where a run takes no time.
  [[nodiscard]] bool in_all_ways() const { return GetParam().scheme == "plain" && !transfers_obliviously(); }
  /// Each run then sets up random OTs.
  [[nodiscard]] static bool transfers_obliviously() { return GetParam().by_ot || GetParam().top == Top::kShared; }
  /// Calls `attack` with every message that a layer sends, or, in the quick tests where a run takes its time, with a
  /// few of them: others in each test. `first_byte` is where it begins in the party's stream.
  void for_messages(
      std::size_t test,
      const std::function<void(Party, std::uint64_t number, const net::Message&, std::uint64_t first_byte)>& attack) {
    const std::size_t stride = testing::kFull || in_all_ways() ? 1 : transfers_obliviously() ? 5 : 17;
    std::size_t seen = 0;
    for (const auto& [party, all] : messages()) {
      std::uint64_t first_byte = 0;
      for (std::uint64_t number = 0; number < all.size(); ++number) {
        const net::Message& message = all[number];
        // The session's own messages have tests of their own.
        const bool session = message.step == steps::kHello || message.step == steps::kPublicKey;
        if (!session && seen++ % stride == test * 4 % stride) attack(party, number, message, first_byte);
        first_byte += net::kFrameHeaderBytes + message.size + net::kFrameTrailerBytes;
      }
    }
    EXPECT_GT(seen, 20U);
  }

  std::unique_ptr<he::Scheme> scheme_ = testing::make_scheme(GetParam().scheme);
};

TEST(EmbedHostileCalls, AreSeveral) {
  EXPECT_GT(lookup_plan(kBatch, 8, 4, 2).calls, 1U);
}

TEST_P(EmbedHostile, AFlippedBitInAnyMessageIsAProtocolError) {
  for_messages(0, [&](Party party, std::uint64_t number, const net::Message& message, std::uint64_t first) {
    const std::uint64_t payload = first + net::kFrameHeaderBytes;
    // In the header, in the payload, in the checksum behind it.
    const std::uint64_t places[] = {first + number % net::kFrameHeaderBytes, payload,
                                    payload + message.size * number / 50 % message.size, payload + message.size + 1};
    for (std::size_t i = 0; i < std::size(places); ++i) {
      if (!in_all_ways() && i != number % std::size(places)) continue;
      const Tampering tampering{.flip_bit = 8 * places[i] + number % 8};
      EXPECT_THROW(run_spoilt<TamperingTransport>(party, tampering), ProtocolError)
          << net::name_of(testing::all_steps().known(message.step)) << ", byte " << places[i] - first;
    }
  });
}

TEST_P(EmbedHostile, ALinkThatEndsWithinAnyMessageIsATransportError) {
  for_messages(1, [&](Party party, std::uint64_t number, const net::Message& message, std::uint64_t first) {
    const std::uint64_t whole = net::kFrameHeaderBytes + message.size + net::kFrameTrailerBytes;
    const Tampering tampering{.cut_after = first + 1 + (whole - 2) * (number % 5) / 4};
    EXPECT_THROW(run_spoilt<TamperingTransport>(party, tampering), TransportError)
        << net::name_of(testing::all_steps().known(message.step));
  });
}

TEST_P(EmbedHostile, AnyMessageOfAnotherLengthStepOrLayerIsAProtocolError) {
  using Change = std::function<void(net::Message&, Bytes&)>;
  const std::vector<std::pair<const char*, Change>> changes = {
      {"a byte less", [](net::Message&, Bytes& payload) { payload.pop_back(); }},
      {"a byte more", [](net::Message&, Bytes& payload) { payload.push_back({}); }},
      {"half of it", [](net::Message&, Bytes& payload) { payload.resize(payload.size() / 2); }},
      {"nothing", [](net::Message&, Bytes& payload) { payload.clear(); }},
      {"twice", [](net::Message&, Bytes& payload) { payload.resize(payload.size() * 2); }},
      {"of the next layer", [](net::Message& m, Bytes&) { ++m.layer; }},
      {"of another step",
       [](net::Message& m, Bytes&) {
         m.step = m.step == steps::kForwardProduct ? steps::kLookupProduct : steps::kForwardProduct;
       }},
  };
  for_messages(2, [&](Party party, std::uint64_t number, const net::Message& message, std::uint64_t) {
    for (std::size_t i = 0; i < changes.size(); ++i) {
      if (!in_all_ways() && i != number % changes.size()) continue;
      EXPECT_THROW(run_spoilt<ForgingTransport>(party, (Forgery{number, changes[i].second})), ProtocolError)
          << net::name_of(testing::all_steps().known(message.step)) << ": " << changes[i].first;
    }
  });
}

TEST_P(EmbedHostile, AnyMessageOfGarbageIsAnError) {
  for_messages(3, [&](Party party, std::uint64_t number, const net::Message& message, std::uint64_t) {
    const Forgery forgery{number, [](net::Message&, Bytes& payload) { std::ranges::fill(payload, std::byte{0xff}); }};
    // Corrections of pieces are uniform words: with garbage each piece is as large as it may be by a chance of 1/2, and
    // so a message of six is taken now and then if nothing is opened afterwards.
    const bool by_chance = message.step == steps::kPieceCorrection && GetParam().top == Top::kShared;
    bool taken = true;
    for (int i = 0; taken && i < (by_chance ? 20 : 1); ++i) {
      try {
        run_spoilt<ForgingTransport>(party, forgery);
      } catch (const ProtocolError&) {
        taken = false;  // what is no ciphertext, or opens to what cannot be
      } catch (const ConfigError&) {
        taken = false;
        EXPECT_EQ(message.step, steps::kAgreement);
      }
    }
    EXPECT_FALSE(taken) << net::name_of(testing::all_steps().known(message.step)) << " was taken";
  });
}

TEST_P(EmbedHostile, AFailedStepLeavesEveryPieceAsItWas) {
  std::uint64_t last = 0;
  const std::vector<net::Message>& sent = messages().at(Party::kB);
  for (std::uint64_t i = 0; i < sent.size(); ++i) {
    if (sent[i].step == steps::kDerivativeShare || sent[i].step == steps::kPaddedDerivative) last = i;
  }
  TrainingStep run(
      *scheme_, GetParam(),
      spoilt<ForgingTransport>(Party::kB, Forgery{last, [](net::Message&, Bytes& payload) { payload.pop_back(); }}));
  run.forward();
  const auto before = run.pieces();
  EXPECT_THROW(run.backward(), ProtocolError);
  EXPECT_EQ(run.pieces(), before);
  if (GetParam().update == Update::kExchanged) return;
  EncryptedUpdateHolder& holder = *run.pair().at(Party::kA).tables()[0]->holder();
  EXPECT_THROW(holder.step(), InvalidArgument) << "nothing was kept for a step";
  EXPECT_TRUE(he::paillier::testing::own(holder.sum()).written().empty());
}

TEST_P(EmbedHostile, AMessageOutOfOrderIsAProtocolError) {
  TrainingStep run(*scheme_, GetParam(), net::make_memory_channels());
  run.forward();
  // B begins with the backward pass while A begins with another forward pass.
  EXPECT_THROW(run.pair().parties.run(
                   [&](Session&) { (void)run.pair().at(Party::kA).forward(run.categories(Party::kA), kBatch); },
                   [&](Session&) { (void)run.pair().at(Party::kB).backward(run.pass(Party::kB), run.derivative()); }),
               ProtocolError);
}

INSTANTIATE_TEST_SUITE_P(Schemes, EmbedHostile,
                         ::testing::Values(Case{"plain"}, Case{"lattice"}, Case{"paillier"},
                                           Case{"paillier", Update::kEncrypted},
                                           Case{"plain", Update::kExchanged, Top::kShared},
                                           Case{"plain", Update::kExchanged, Top::kOpen, /*by_ot=*/true}),
                         [](const auto& info) { return name_of(info.param); });

class EmbedOnASpoiltLink : public EmbedHostile {};

TEST_P(EmbedOnASpoiltLink, EndsARunWithAnError) {
  std::map<std::uint16_t, std::tuple<Party, std::uint64_t, std::uint64_t, net::Message>> last_of_step;
  for (const auto& [party, all] : messages()) {
    std::uint64_t first_byte = 0;
    for (std::uint64_t number = 0; number < all.size(); ++number) {
      const net::Message& message = all[number];
      const bool session = message.step == steps::kHello || message.step == steps::kPublicKey;
      if (!session)
        last_of_step.insert_or_assign(message.step.number(), std::tuple{party, number, first_byte, message});
      first_byte += net::kFrameHeaderBytes + message.size + net::kFrameTrailerBytes;
    }
  }
  EXPECT_GE(last_of_step.size(), 8U);
  std::size_t way = 0;
  for (const auto& [step, last] : last_of_step) {
    SCOPED_TRACE(net::name_of(testing::all_steps().known(std::get<net::Message>(last).step)));
    const auto& [party, number, first_byte, message] = last;
    const std::uint64_t middle = first_byte + net::kFrameHeaderBytes + message.size / 2;
    switch (way++ % 3) {
      case 0:
        EXPECT_THROW(run_spoilt<TamperingTransport>(party, Tampering{.flip_bit = 8 * middle + way % 8}), ProtocolError);
        break;
      case 1:
        EXPECT_THROW(run_spoilt<TamperingTransport>(party, Tampering{.cut_after = middle}), TransportError);
        break;
      default:
        EXPECT_THROW(
            run_spoilt<ForgingTransport>(party, Forgery{number, [](net::Message&, Bytes& sent) { sent.pop_back(); }}),
            ProtocolError);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, EmbedOnASpoiltLink,
                         ::testing::Values(Case{"plain", Update::kExchanged, Top::kShared},
                                           Case{"plain", Update::kExchanged, Top::kOpen, /*by_ot=*/true}),
                         [](const auto& info) { return name_of(info.param); });

// The holder, who has no key, cannot tell that a derivative was changed, but what it makes of it the owner refuses.
TEST(EmbedHostileUpdates, AChangedDerivativeIsAnErrorBeforeItIsAWrongEmbedding) {
  const auto scheme = testing::make_scheme("paillier");
  SeededRandom random(8);
  for (const Party owner : {Party::kA, Party::kB}) {
    TrainingStep undisturbed(*scheme, {"paillier", Update::kEncrypted}, net::make_memory_channels());
    undisturbed.all();
    const std::vector<net::Message> sent = undisturbed.sent(owner);
    const auto found = std::ranges::find(sent, Step(steps::kDerivativeShare), &net::Message::step);
    ASSERT_NE(found, sent.end());
    for (int i = 0; i < (testing::kFull ? 10 : 1); ++i) {
      const Forgery flip{static_cast<std::uint64_t>(found - sent.begin()), [&](net::Message&, Bytes& payload) {
                           payload[random.below(payload.size())] ^= static_cast<std::byte>(1U << random.below(8));
                         }};
      TrainingStep run(*scheme, {"paillier", Update::kEncrypted}, spoilt<ForgingTransport>(owner, flip));
      EXPECT_THROW(run.all(), ProtocolError);
    }
  }
}

class EmbedDisagreement : public ::testing::Test {
 protected:
  using Change = std::function<void(EmbedMatMulSpec&)>;

  testing::PlainScheme plain_;
  std::unique_ptr<he::Scheme> paillier_ = testing::make_scheme("paillier");

  /// What each party says of layers that they cannot have together, when one of them was changed.
  std::pair<std::string, std::string> words_of_both(const Change& change_at_both, const Change& change_at_b) {
    const auto channels = testing::make_channels();
    const auto as = [&](Party party, net::Channel& channel) {
      return [&, party] {
        return testing::message_of<ConfigError>([&] {
          Session session(party, channel, {&plain_, paillier_.get()});
          EmbedMatMulSpec spec = make_spec(Update::kExchanged);
          change_at_both(spec);
          if (party == Party::kB) change_at_b(spec);
          EmbedMatMul layer(session, spec);
          SeededRandom random(5);
          const auto& fields = party == Party::kA ? spec.fields_a : spec.fields_b;
          (void)layer.forward(random_categories(fields, kBatch, random), kBatch);
        });
      };
    };
    return testing::run_both(as(Party::kA, *channels.first), as(Party::kB, *channels.second), [] {});
  }
  void expect_named(const Change& change_at_b, const std::string& setting, const std::string& at_a,
                    const std::string& at_b) {
    expect_named([](EmbedMatMulSpec&) {}, change_at_b, setting, at_a, at_b);
  }
  void expect_named(const Change& change_at_both, const Change& change_at_b, const std::string& setting,
                    const std::string& at_a, const std::string& at_b) {
    const auto [a, b] = words_of_both(change_at_both, change_at_b);
    EXPECT_THAT(a, HasSubstr("layer 'embed'"));
    EXPECT_THAT(a, HasSubstr(setting + " is " + at_a + " here and " + at_b + " at the peer"));
    EXPECT_THAT(b, HasSubstr(setting + " is " + at_b + " here and " + at_a + " at the peer"));
  }
};

TEST_F(EmbedDisagreement, IsNamedAtBothPartiesBeforeAnythingIsComputed) {
  using Spec = EmbedMatMulSpec;
  expect_named([](Spec& s) { s.dimension = 3; }, "dimension", "2", "3");
  expect_named([](Spec& s) { s.out = 5; }, "out", "2", "5");
  expect_named([](Spec& s) { s.batch = 7; }, "batch", "3", "7");
  expect_named([](Spec& s) { s.fields_a[0].field.categories = 40; }, "fields_a.0.categories", "4", "40");
  expect_named([](Spec& s) { s.fields_b[0].field.most = 9; }, "fields_b.0.most", "2", "9");
  expect_named([](Spec& s) { s.fields_b[0].field.pooling = Pooling::kSum; }, "fields_b.0.pooling", "mean", "sum");
  expect_named([](Spec& s) { s.fields_a[0].scheme = "paillier"; }, "fields_a.0.scheme", "plain", "paillier");
  expect_named([](Spec& s) { s.fields_a[0].scheme = kByOt; }, "fields_a.0.scheme", "plain", "ot");
  expect_named([](Spec& s) { s.scheme = "paillier"; }, "'embed': scheme", "plain", "paillier");
  expect_named([](Spec& s) { s.embedding_scale = 21; }, "embedding_scale", "20", "21");
  expect_named([](Spec& s) { s.gradient_scale = 27; }, "gradient_scale", "28", "27");
  expect_named([](Spec& s) { s.largest_embedding = 8; }, "largest_embedding", "16", "8");
  expect_named([](Spec& s) { s.fields_b.push_back({.field = {.categories = 6}}); }, "fields_b", "1", "2");
}

TEST_F(EmbedDisagreement, IsNamedAlsoWhereThereAreManyFields) {
  for (const Update update : {Update::kExchanged, Update::kEncrypted}) {
    const auto many = [&](EmbedMatMulSpec& s) {
      EmbedField field;
      field.field.categories = 1000;
      field.update = update;
      field.scheme = "paillier";
      s.fields_a.assign(13, field);
      s.fields_b = s.fields_a;
    };
    expect_named(
        many, [](EmbedMatMulSpec& s) { s.dimension = 3; }, "dimension", "2", "3");
    expect_named(
        many, [](EmbedMatMulSpec& s) { s.fields_b[12].field.categories = 40; }, "fields_b.12.categories", "1000", "40");
  }
}

TEST_F(EmbedDisagreement, AboutUpdatesIsNamedAlthoughKeysAreDueAtOnce) {
  const auto encrypt = [](EmbedMatMulSpec& s) {
    s.fields_a[0].update = Update::kEncrypted;
    s.fields_a[0].scheme = "paillier";
  };
  expect_named(encrypt, "fields_a.0.update", "exchanged", "encrypted");
}

}  // namespace
}  // namespace blindfl::protocol::embed_hostile_test
