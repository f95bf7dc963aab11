// Tables by oblivious transfer in an Embed-MatMul layer: exact for any vocabulary and any pattern of categories, keys
// that serve once and never come back, and scoring that repeats.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "blindfl/base/error.h"
#include "blindfl/protocol/layers/batch_keys.h"
#include "blindfl/protocol/layers/lookup_plan.h"
#include "blindfl/protocol/layers/oblivious_product.h"
#include "protocol/repeatable_fixture.h"
#include "protocol/shared_embed_fixture.h"
#include "testing/steps.h"
#include "testing/thrown.h"

namespace blindfl::protocol::embed_ot_test {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kBatch = 11;

EmbedField by_ot(std::size_t categories) {
  return {.field = {.categories = categories}, .scheme = std::string(kByOt)};
}

EmbedMatMulSpec ot_spec(const std::vector<std::size_t>& of_a, const std::vector<std::size_t>& of_b) {
  EmbedMatMulSpec spec;
  for (const std::size_t categories : of_a) spec.fields_a.push_back(by_ot(categories));
  for (const std::size_t categories : of_b) spec.fields_b.push_back(by_ot(categories));
  spec.dimension = 3;
  spec.out = 2;
  spec.batch = kBatch;
  spec.initial_deviation = 0.5;
  return spec;
}

void expect_close(const std::vector<double>& got, const std::vector<double>& want, const char* what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-4) << what << " " << i;
}

/// All words that tables by oblivious transfer send, in all steps so far.
std::vector<std::uint64_t> words_of(EmbedPair& pair) {
  std::vector<std::uint64_t> words;
  for (const auto& m : pair.parties.recording(Party::kA).messages()) {
    const net::Step step = m.message.step;
    if (step != steps::kLookupKeys && step != steps::kPaddedTable && step != steps::kPaddedDerivative) continue;
    for (std::size_t at = 0; at + sizeof(std::uint64_t) <= m.payload.size(); at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, m.payload.data() + at, sizeof word);
      words.push_back(word);
    }
  }
  return words;
}

class EmbedByOt : public ::testing::Test {
 protected:
  void expect_a_pass_like_plain(EmbedPair& pair, const EmbedMatMulSpec& spec, const std::vector<IntMatrix>& x_a,
                                const std::vector<IntMatrix>& x_b) {
    const PlainEmbed plain(pair, spec);
    const auto x = side_by_side(x_a, x_b);
    const auto [at_a, at_b] = pair.forward(x_a, x_b, kBatch);
    expect_close(decode_ring(open(at_a.output.share, at_b.output.share)), plain.output(x), "Z");
    const Derivative dz = random_derivative(spec, random_);
    const auto [grad_a, grad_b] = pair.backward(at_a.pass, at_b.pass, dz);
    const PlainEmbed::Gradients expected = plain.gradients(x, dz);
    expect_close(decode_ring(open(grad_a.weight, grad_b.weight)), expected.weight, "dW");
    for (std::size_t t = 0; t < x.size(); ++t) {
      expect_close(decode_ring(open(*grad_a.tables[t], *grad_b.tables[t])), expected.tables[t], "dQ");
    }
  }
  [[nodiscard]] std::vector<IntMatrix> categories_of(const std::vector<EmbedField>& fields) {
    return random_categories(fields, kBatch, random_);
  }

  testing::PlainScheme scheme_;
  SeededRandom random_{9};
};

TEST_F(EmbedByOt, OutputsAndGradientsAreThoseInTheClearForAnyVocabulary) {
  for (const std::size_t categories : {1, 2, 47, 48, 49, 300, 10000, 100000}) {
    SCOPED_TRACE(categories);
    const EmbedMatMulSpec spec = ot_spec({categories, 5}, {categories});
    EmbedPair pair(scheme_, spec);
    expect_a_pass_like_plain(pair, spec, categories_of(spec.fields_a), categories_of(spec.fields_b));
    if (HasFatalFailure()) return;
  }
}

TEST_F(EmbedByOt, WorksWhereOnePartyHasNoFields) {
  for (const bool a_has : {true, false}) {
    const EmbedMatMulSpec spec = a_has ? ot_spec({7, 400}, {}) : ot_spec({}, {400});
    EmbedPair pair(scheme_, spec);
    expect_a_pass_like_plain(pair, spec, categories_of(spec.fields_a), categories_of(spec.fields_b));
  }
}

TEST_F(EmbedByOt, ACategoryThatEveryRowSharesAndRowsWithoutOneAreAsAnyOther) {
  for (const std::size_t vocabulary : {6, 500}) {
    const EmbedMatMulSpec spec = ot_spec({vocabulary, vocabulary}, {vocabulary});
    EmbedPair pair(scheme_, spec);
    auto x_a = categories_of(spec.fields_a);
    x_a[0] = encode_categories(spec.fields_a[0].field, std::vector<IntMatrix::Column>(kBatch, 3));
    std::vector<IntMatrix::Column> some(kBatch, IntMatrix::kNoColumn);
    some[4] = some[7] = 2;
    x_a[1] = IntMatrix::one_hot(vocabulary, some);
    const std::vector<IntMatrix> none{
        IntMatrix::one_hot(vocabulary, std::vector<IntMatrix::Column>(kBatch, IntMatrix::kNoColumn))};
    expect_a_pass_like_plain(pair, spec, x_a, none);
  }
}

TEST_F(EmbedByOt, AddsUpSeveralCategoriesOfARow) {
  for (const std::size_t most : {2, 3, 5, 10}) {
    for (const std::size_t vocabulary : {1, 6, 300, 5000}) {
      SCOPED_TRACE(std::to_string(most) + " of " + std::to_string(vocabulary));
      EmbedMatMulSpec spec = ot_spec({vocabulary, 7}, {vocabulary});
      spec.fields_a[0].field.most = spec.fields_b[0].field.most = most;
      EmbedPair pair(scheme_, spec);
      // Rows with fewer than they may have, and none, are among them; in one table all have the same as often as they
      // may.
      auto x_a = categories_of(spec.fields_a);
      std::vector<std::size_t> starts;
      for (std::size_t r = 0; r <= kBatch; ++r) starts.push_back(r * most);
      const std::vector<IntMatrix::Column> same(kBatch * most, 0);
      expect_a_pass_like_plain(pair, spec, x_a, {encode_categories(spec.fields_b[0].field, starts, same)});
      expect_a_pass_like_plain(pair, spec, categories_of(spec.fields_a), categories_of(spec.fields_b));
      if (HasFatalFailure()) return;
    }
  }
}

// A row's categories are looked up in one call, in one for each, or in something between.
TEST_F(EmbedByOt, SeveralCategoriesAreLookedUpInTheCallsThatCostLeast) {
  const auto calls = [](std::size_t most, std::size_t categories) {
    const LookupPlan plan = lookup_plan(128, most, categories, 8);
    EXPECT_EQ(plan.calls * plan.call.shape().lookups, 128 * most);
    EXPECT_EQ(plan.ask_bytes(), plan.calls * plan.call.ask_bytes());
    EXPECT_EQ(plan.gather_bytes(8), plan.calls * plan.call.gather_bytes(8));
    const LookupPlan one{ot::TablePlan({.lookups = 128 * most, .categories = categories + 1, .cols = 8})};
    EXPECT_LE(plan.cost(), one.cost());
    return plan.calls;
  };
  EXPECT_EQ(calls(1, 100), 1U);
  EXPECT_EQ(calls(10, 100), 10U);
  EXPECT_EQ(calls(10, 10'000), 5U);
  EXPECT_EQ(calls(10, 100'000), 1U);
  EXPECT_EQ(calls(7, 100), 7U);
  // What the other tests have.
  EXPECT_EQ(lookup_plan(kBatch, 10, 6, 3).calls, 5U);
  EXPECT_EQ(lookup_plan(kBatch, 10, 300, 3).calls, 1U);
}

TEST_F(EmbedByOt, WorksBesideOtherTablesAndOverALinkThatHoldsFewBytes) {
  EmbedMatMulSpec spec = ot_spec({9}, {20, 5});
  spec.fields_a.push_back({.field = {.categories = 6, .most = 3}});
  spec.fields_b[1].scheme.clear();
  EmbedPair pair(scheme_, spec, net::make_memory_channels(/*capacity=*/100));
  expect_a_pass_like_plain(pair, spec, categories_of(spec.fields_a), categories_of(spec.fields_b));
}

TEST_F(EmbedByOt, WorksUnderASharedTop) {
  EmbedMatMulSpec spec = shared_embed_spec();
  for (std::vector<EmbedField>* fields : {&spec.fields_a, &spec.fields_b}) {
    for (EmbedField& field : *fields) {
      if (field.field.scale() == 0) field.scheme = kByOt;
    }
  }
  ASSERT_TRUE(spec.fields_a[0].by_ot() || spec.fields_b[0].by_ot());
  EmbedPair pair(scheme_, spec);
  SharedEmbedTraining training(pair, spec, {.learning_rate = 0.1});
  for (int i = 0; i < 5; ++i) {
    EXPECT_LT(training.step(make_shared_embed_pass(spec, spec.batch, random_)), 1e-3);
  }
  EXPECT_LT(training.difference(), 5e-4);
}

TEST_F(EmbedByOt, ShortBatchesOfOtherSizesMayFollowEachOther) {
  const EmbedMatMulSpec spec = ot_spec({9}, {400});
  EmbedPair pair(scheme_, spec);
  const PlainEmbed plain(pair, spec);
  for (const std::size_t rows : {std::size_t{1}, std::size_t{8}, kBatch, std::size_t{3}}) {
    const auto x_a = random_categories(spec.fields_a, rows, random_);
    const auto x_b = random_categories(spec.fields_b, rows, random_);
    const auto [at_a, at_b] = pair.forward(x_a, x_b, rows);
    expect_close(decode_ring(open(at_a.output.share, at_b.output.share)), plain.output(side_by_side(x_a, x_b)), "Z");
  }
}

TEST_F(EmbedByOt, EmbeddingsAreAFunctionOfTablesAndCategories) {
  const EmbedMatMulSpec spec = ot_spec({40}, {500});
  EmbedPair pair(scheme_, spec);
  const auto x_a = categories_of(spec.fields_a);
  const auto x_b = categories_of(spec.fields_b);
  const auto embeddings = [&] {
    const auto [at_a, at_b] = pair.forward(x_a, x_b, kBatch);
    return open(at_a.pass.embeddings, at_b.pass.embeddings);
  };
  EXPECT_EQ(embeddings(), embeddings());
}

TEST_F(EmbedByOt, APassHasOneBackwardPass) {
  const EmbedMatMulSpec spec = ot_spec({4}, {4});
  EmbedPair pair(scheme_, spec);
  const auto passes = pair.forward(categories_of(spec.fields_a), categories_of(spec.fields_b), kBatch);
  const Derivative dz = random_derivative(spec, random_);
  (void)pair.backward(passes.first.pass, passes.second.pass, dz);
  EXPECT_THAT(
      testing::message_of<InvalidArgument>([&] { (void)pair.backward(passes.first.pass, passes.second.pass, dz); }),
      HasSubstr("one backward pass"));
}

TEST_F(EmbedByOt, PassesMayOverlap) {
  const EmbedMatMulSpec spec = ot_spec({4}, {300});
  EmbedPair pair(scheme_, spec);
  const PlainEmbed plain(pair, spec);
  const auto x_a = categories_of(spec.fields_a);
  const auto x_b = categories_of(spec.fields_b);
  const auto first = pair.forward(x_a, x_b, kBatch);
  const auto second = pair.forward(categories_of(spec.fields_a), categories_of(spec.fields_b), kBatch);
  const Derivative dz = random_derivative(spec, random_);
  (void)pair.backward(second.first.pass, second.second.pass, dz);
  const auto [grad_a, grad_b] = pair.backward(first.first.pass, first.second.pass, dz);
  const PlainEmbed::Gradients expected = plain.gradients(side_by_side(x_a, x_b), dz);
  for (std::size_t t = 0; t < 2; ++t) {
    expect_close(decode_ring(open(*grad_a.tables[t], *grad_b.tables[t])), expected.tables[t], "dQ");
  }
}

/// Keys that are made while a party waits, with the messages of the step before.
class KeysAhead : public EmbedByOt {
 protected:
  [[nodiscard]] EmbedPair::Numbered batch(std::uint32_t number) {
    return {number, categories_of(spec_.fields_a), categories_of(spec_.fields_b)};
  }
  /// Messages of that kind that A has sent so far.
  [[nodiscard]] std::size_t sent(net::Step step) {
    std::size_t count = 0;
    for (const auto& m : pair_.parties.recording(Party::kA).messages()) {
      if (m.direction == net::Direction::kSent && m.message.step == step) ++count;
    }
    return count;
  }
  [[nodiscard]] std::size_t asks() { return sent(steps::kLookupAsk); }
  void expect_output(const std::pair<EmbedMatMul::Forward, EmbedMatMul::Forward>& passes,
                     const EmbedPair::Numbered& of) {
    const PlainEmbed plain(pair_, spec_);
    expect_close(decode_ring(open(passes.first.output.share, passes.second.output.share)),
                 plain.output(side_by_side(of.a, of.b)), "Z");
  }
  void backward(const std::pair<EmbedMatMul::Forward, EmbedMatMul::Forward>& passes) {
    (void)pair_.backward(passes.first.pass, passes.second.pass, random_derivative(spec_, random_));
  }

  const EmbedMatMulSpec spec_ = ot_spec({9, 400}, {20});
  EmbedPair pair_{scheme_, spec_};
};

TEST_F(KeysAhead, GiveTheSamePassesWithoutAFlightOfTheirOwn) {
  std::vector<EmbedPair::Numbered> batches{batch(7), batch(3), batch(12)};
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const EmbedPair::Numbered* const next = i + 1 < batches.size() ? &batches[i + 1] : nullptr;
    const std::size_t before = asks();
    const auto passes = pair_.forward(batches[i], kBatch, next);
    expect_output(passes, batches[i]);
    // Two fields of A's: the first pass asks for itself and for the next, the last one for nothing.
    EXPECT_EQ(asks() - before, i == 0 ? 4U : i + 1 < batches.size() ? 2U : 0U);
    const Derivative dz = random_derivative(spec_, random_);
    const PlainEmbed::Gradients expected =
        PlainEmbed(pair_, spec_).gradients(side_by_side(batches[i].a, batches[i].b), dz);
    const auto [grad_a, grad_b] = pair_.backward(passes.first.pass, passes.second.pass, dz);
    for (std::size_t t = 0; t < 3; ++t) {
      expect_close(decode_ring(open(*grad_a.tables[t], *grad_b.tables[t])), expected.tables[t], "dQ");
    }
  }
  EXPECT_EQ(sent(steps::kLookupKeys), batches.size()) << "one field of B's, one answer for each batch";
}

TEST_F(KeysAhead, AreMadePieceByPieceWhileAPartyWaits) {
  const EmbedPair::Numbered coming = batch(5);
  std::unique_ptr<BatchKeys> a;
  std::unique_ptr<BatchKeys> b;
  const auto at_both = [&](const auto& f) {
    pair_.parties.run([&](Session& s) { f(s, a, coming.a); }, [&](Session& s) { f(s, b, coming.b); });
  };
  at_both([&](Session& s, std::unique_ptr<BatchKeys>& keys, const std::vector<IntMatrix>& categories) {
    const auto& tables = pair_.at(s.party()).tables();
    s.ots().reserve(BatchKeys::ots(tables, kBatch));
    keys = std::make_unique<BatchKeys>(tables, kBatch, std::span(&coming.number, 1));
    keys->ask(categories);
    s.exchange(
        keys->ask_bytes(), [&] { keys->send_asks(); }, [&] { keys->receive_asks(); });
    keys->take_asks();
  });
  const auto pieces = [](BatchKeys& keys) {
    int count = 0;
    while (keys.prepare()) ++count;
    return count;
  };
  // A has two fields, B one: each answers for the other's, and then takes the answers for its own.
  EXPECT_EQ(pieces(*a), 1);
  EXPECT_EQ(pieces(*b), 2);
  EXPECT_GT(a->answer_bytes(), 0U);
  at_both([](Session& s, std::unique_ptr<BatchKeys>& keys, const std::vector<IntMatrix>&) {
    s.exchange(
        keys->answer_bytes(), [&] { keys->send_answers(); }, [&] { keys->receive_answers(); });
  });
  EXPECT_EQ(a->answer_bytes(), 0U) << "they travel once";
  EXPECT_EQ(pieces(*a), 2);
  EXPECT_EQ(pieces(*b), 1);
  EXPECT_TRUE(a->are_of(std::span(&coming.number, 1), kBatch));
  EXPECT_FALSE(a->are_of({}, kBatch)) << "a batch without numbers";
}

TEST_F(KeysAhead, ASessionMakesThemForAsLongAsSomebodyHoldsThem) {
  struct Work final : IdleWork {
    bool prepare() override { return left-- > 0; }
    int left = 3;
  };
  Session& session = pair_.parties.session(Party::kA);
  while (session.prepare()) {
  }
  auto work = std::make_shared<Work>();
  session.when_waiting(work);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(session.prepare());
  EXPECT_FALSE(session.prepare());
  work->left = 1;
  work.reset();
  EXPECT_FALSE(session.prepare());
}

TEST_F(KeysAhead, OfOneBatchAreNotTakenByAnother) {
  const EmbedPair::Numbered first = batch(1);
  const EmbedPair::Numbered second = batch(2);
  backward(pair_.forward(first, kBatch, &second));
  const std::size_t before = asks();
  // A validation, say: nothing tells what these rows are.
  const auto passes = pair_.forward(first.a, first.b, kBatch);
  expect_output(passes, first);
  EXPECT_EQ(asks() - before, 2U);
  const EmbedPair::Numbered third = batch(3);
  expect_output(pair_.forward(third, kBatch, nullptr), third);
  EXPECT_EQ(asks() - before, 4U);
  expect_output(pair_.forward(second, kBatch, nullptr), second);
  EXPECT_EQ(asks() - before, 4U) << "those of the second batch were still there";
  expect_output(pair_.forward(second, kBatch, nullptr), second);
  EXPECT_EQ(asks() - before, 6U) << "once";
}

TEST_F(KeysAhead, AreForgottenWhereAnEarlierStateIsLoaded) {
  const auto state = [&](Party party) { return write_to_bytes([&](ByteSink& out) { pair_.at(party).save(out); }); };
  const std::pair<Bytes, Bytes> saved{state(Party::kA), state(Party::kB)};
  const EmbedPair::Numbered first = batch(1);
  const EmbedPair::Numbered second = batch(2);
  for (int run = 0; run < 3; ++run) {
    backward(pair_.forward(first, kBatch, &second));
    for (const Party party : {Party::kA, Party::kB}) {
      BufferSource in(party == Party::kA ? saved.first : saved.second);
      pair_.at(party).load(in);
    }
    const std::size_t before = asks();
    expect_output(pair_.forward(second, kBatch, nullptr), second);
    EXPECT_EQ(asks() - before, 2U);
  }
  const std::vector<std::uint64_t> words = words_of(pair_);
  ASSERT_GT(words.size(), 9000U);
  EXPECT_EQ(std::set<std::uint64_t>(words.begin(), words.end()).size(), words.size()) << "nothing repeats";
}

TEST_F(EmbedByOt, IsRefusedForMeansAndForUpdatesUnderEncryption) {
  EmbedMatMulSpec means = ot_spec({4}, {4});
  means.fields_b[0].field.most = 2;
  means.fields_b[0].field.pooling = Pooling::kMean;
  EXPECT_THAT(testing::message_of<InvalidArgument>([&] { (void)EmbedMatMulParams(means); }),
              HasSubstr("takes sums of a row's categories, and rows of this field are means of up to 2"));
  EmbedMatMulSpec encrypted = ot_spec({4}, {4});
  encrypted.fields_a[0].update = Update::kEncrypted;
  EXPECT_THAT(testing::message_of<InvalidArgument>([&] { (void)EmbedMatMulParams(encrypted); }),
              HasSubstr("cannot be updated under encryption"));
}

TEST_F(EmbedByOt, IsRefusedForTooManyCategoriesBeforeATableIsDrawn) {
  constexpr std::size_t kMost = (std::size_t{1} << 28) - 1;
  EmbedMatMulSpec spec = ot_spec({}, {kMost + 1});
  spec.fields_b[0].field.name = "cookie";
  EXPECT_THAT(
      testing::message_of<InvalidArgument>([&] { EmbedPair(scheme_, spec); }),
      HasSubstr("': field 'cookie': a table by oblivious transfer has at most 268435455 categories, and this one "
                "has 268435456"));
  EXPECT_EQ(lookup_plan(kBatch, 1, kMost, 3).call.shape().categories, kMost + 1);
}

TEST_F(EmbedByOt, SizesAndOrderOfMessagesDoNotDependOnCategories) {
  const EmbedMatMulSpec spec = ot_spec({50, 700}, {3});
  const auto shape = [&](IntMatrix::Column first, IntMatrix::Column step) {
    EmbedPair pair(scheme_, spec);
    const auto pattern = [&](const std::vector<EmbedField>& fields) {
      std::vector<IntMatrix> all;
      for (const EmbedField& f : fields) {
        std::vector<IntMatrix::Column> chosen(kBatch);
        for (std::size_t r = 0; r < kBatch; ++r) {
          chosen[r] = static_cast<IntMatrix::Column>((first + r * step) % f.field.categories);
        }
        all.push_back(encode_categories(f.field, chosen));
      }
      return all;
    };
    const auto [at_a, at_b] = pair.forward(pattern(spec.fields_a), pattern(spec.fields_b), kBatch);
    (void)pair.backward(at_a.pass, at_b.pass, random_derivative(spec, random_));
    std::vector<net::Message> messages;
    for (const auto& m : pair.parties.recording(Party::kA).messages()) messages.push_back(m.message);
    return messages;
  };
  const auto same = shape(2, 0);
  EXPECT_EQ(same, shape(0, 1));
  // One flight each: asks of all fields, then keys and tables of all, then corrections; then derivatives.
  std::vector<net::Step> order;
  for (const net::Message& m : same) {
    // What A sent comes before what it received.
    if (m.step == steps::kLookupAsk && !order.empty() && order.back() != steps::kLookupAsk) break;
    if (m.step == steps::kLookupAsk || m.step == steps::kPaddedTable || m.step == steps::kPieceCorrection ||
        m.step == steps::kPaddedDerivative) {
      order.push_back(m.step);
    }
  }
  EXPECT_TRUE(std::ranges::is_sorted(order, {}, [](net::Step step) {
    return step == steps::kLookupAsk ? 0 : step == steps::kPaddedTable ? 1 : step == steps::kPieceCorrection ? 2 : 3;
  }));
  EXPECT_EQ(order.size(), 6U) << "two fields of A's, one of B's";
}

TEST_F(EmbedByOt, NothingRepeatsAfterARollback) {
  EmbedMatMulSpec spec = ot_spec({40, 600}, {3});
  spec.fields_b[0].field.most = 10;  // one table, several times in each pass
  ASSERT_GT(lookup_plan(kBatch, 10, 3, spec.dimension).calls, 1U);
  EmbedPair pair(scheme_, spec);
  const auto x_a = categories_of(spec.fields_a);
  const auto x_b = categories_of(spec.fields_b);
  const Derivative dz = random_derivative(spec, random_);
  std::pair<Bytes, Bytes> saved;
  const auto for_both = [&](const auto& f) {
    f(pair.at(Party::kA), saved.first);
    f(pair.at(Party::kB), saved.second);
  };
  for_both([](EmbedMatMul& half, Bytes& state) { state = write_to_bytes([&](ByteSink& out) { half.save(out); }); });
  for (int run = 0; run < 3; ++run) {
    const auto [at_a, at_b] = pair.forward(x_a, x_b, kBatch);
    (void)pair.backward(at_a.pass, at_b.pass, dz);
    // The same tables, categories and derivatives again.
    for_both([](EmbedMatMul& half, const Bytes& state) {
      BufferSource in(state);
      half.load(in);
    });
  }
  const std::vector<std::uint64_t> words = words_of(pair);
  ASSERT_GT(words.size(), 9000U);
  EXPECT_EQ(std::set<std::uint64_t>(words.begin(), words.end()).size(), words.size());
}

TEST_F(EmbedByOt, NothingRepeatsInASessionThatResumes) {
  EmbedMatMulSpec spec = ot_spec({40, 600}, {3});
  spec.fields_b[0].field.most = 10;  // one table, several times in each pass
  ASSERT_GT(lookup_plan(kBatch, 10, 3, spec.dimension).calls, 1U);
  const auto x_a = categories_of(spec.fields_a);
  const auto x_b = categories_of(spec.fields_b);
  const Derivative dz = random_derivative(spec, random_);
  std::pair<Bytes, Bytes> saved;
  std::vector<std::uint64_t> words;
  for (int session = 0; session < 3; ++session) {
    EmbedPair pair(scheme_, spec);
    for (const Party party : {Party::kA, Party::kB}) {
      Bytes& state = party == Party::kA ? saved.first : saved.second;
      if (session == 0) {
        state = write_to_bytes([&](ByteSink& out) { pair.at(party).save(out); });
      } else {
        BufferSource in(state);
        pair.at(party).load(in);
      }
    }
    const auto [at_a, at_b] = pair.forward(x_a, x_b, kBatch);
    (void)pair.backward(at_a.pass, at_b.pass, dz);
    const auto more = words_of(pair);
    words.insert(words.end(), more.begin(), more.end());
  }
  ASSERT_GT(words.size(), 9000U);
  EXPECT_EQ(std::set<std::uint64_t>(words.begin(), words.end()).size(), words.size());
}

class RepeatableOt : public ::testing::Test {
 protected:
  Scores score(EmbedScorer& scorer, const Keys* keys) {
    return scorer.score(keys, [&](EmbedMatMul& layer, Party party) {
      return layer.forward(party == Party::kA ? x_a_ : x_b_, kBatch).output;
    });
  }
  /// The last correction that a party sent: E less the pieces that it drew, and its share of the look-up.
  [[nodiscard]] static Bytes last(EmbedScorer& scorer, Party from, net::Step step) {
    Bytes payload;
    for (const auto& m : scorer.parties.recording(from).messages()) {
      if (m.direction == net::Direction::kSent && m.message.step == step) payload = m.payload;
    }
    return payload;
  }
  /// What the other party has of the embeddings of a field of `of`.
  [[nodiscard]] ShareMatrix pieces_at_peer(EmbedScorer& scorer, Party of, const Keys& keys) {
    ShareMatrix pieces;
    scorer.parties.run([&](Session& session) {
      const RepeatableScoring repeatable(session, session.party() == Party::kA ? keys.a : keys.b);
      const auto forward = scorer.at(session).forward(session.party() == Party::kA ? x_a_ : x_b_, kBatch);
      if (session.party() != of) pieces = select_columns(forward.pass.embeddings, of == Party::kA ? 0 : 3, 3);
    });
    return pieces;
  }

  testing::PlainScheme scheme_;
  SeededRandom random_{5};
  EmbedMatMulSpec spec_ = ot_spec({40}, {500});
  std::vector<IntMatrix> x_a_ = random_categories(spec_.fields_a, kBatch, random_);
  std::vector<IntMatrix> x_b_ = random_categories(spec_.fields_b, kBatch, random_);
};

TEST_F(RepeatableOt, TheSameRequestShowsTheSamePiecesUnderOtherKeys) {
  EmbedScorer scorer({&scheme_}, spec_);
  const Keys keys = draw_keys();
  for (const Party of : {Party::kA, Party::kB}) {
    const ShareMatrix first = pieces_at_peer(scorer, of, keys);
    const Bytes table = last(scorer, peer_of(of), steps::kPaddedTable);
    const ShareMatrix second = pieces_at_peer(scorer, of, keys);
    EXPECT_EQ(first, second);
    EXPECT_NE(table, last(scorer, peer_of(of), steps::kPaddedTable)) << "keys are fresh";
    EXPECT_EQ(equal_values(first, pieces_at_peer(scorer, of, draw_keys())), 0U);
  }
}

TEST_F(RepeatableOt, OtherTablesOfEitherPartyHaveOtherPieces) {
  const Keys keys = draw_keys();
  for (const Party changed : {Party::kA, Party::kB}) {
    // In other sessions, as after loading another state under the same key: a session refuses it.
    EmbedScorer one({&scheme_}, spec_);
    EmbedScorer other({&scheme_}, spec_);
    const auto copy = [](EmbedMatMul& from, EmbedMatMul& to) {
      to.weight()->piece = from.weight()->piece;
      for (std::size_t t = 0; t < from.tables().size(); ++t) {
        to.tables()[t]->weight()->piece = from.tables()[t]->weight()->piece;
      }
    };
    copy(*one.a, *other.a);
    copy(*one.b, *other.b);
    const ShareMatrix pieces = pieces_at_peer(one, Party::kA, keys);
    EXPECT_EQ(pieces, pieces_at_peer(other, Party::kA, keys)) << "the same in another session";
    EmbedScorer third({&scheme_}, spec_);
    copy(*one.a, *third.a);
    copy(*one.b, *third.b);
    (changed == Party::kA ? third.a : third.b)->tables()[0]->weight()->piece.values()[0] += UInt128{1} << 40;
    EXPECT_EQ(equal_values(pieces, pieces_at_peer(third, Party::kA, keys)), 0U);
  }
}

TEST_F(RepeatableOt, TheDigestOfATableIsUnderTheKeyOfThePartyThatSendsIt) {
  EmbedScorer scorer({&scheme_}, spec_);
  const Keys keys = draw_keys();
  const Keys others = draw_keys();
  const auto digest = [&](const Keys& used) {
    (void)pieces_at_peer(scorer, Party::kA, used);
    Bytes message = last(scorer, Party::kB, steps::kPaddedTable);
    message.erase(message.begin(), message.end() - 32);
    return message;
  };
  const Bytes first = digest(keys);
  EXPECT_EQ(first, digest({others.a, keys.b}));
  EXPECT_NE(first, digest({keys.a, others.b})) << "of the same table: who guesses it cannot check that";
}

TEST_F(RepeatableOt, ScoresRepeatBitForBit) {
  EmbedScorer scorer({&scheme_}, spec_);
  const Keys keys = draw_keys();
  const Scores first = score(scorer, &keys);
  EXPECT_EQ(first, score(scorer, &keys));
  EXPECT_NE(first.at_b, score(scorer, nullptr).at_b);
}

}  // namespace
}  // namespace blindfl::protocol::embed_ot_test
