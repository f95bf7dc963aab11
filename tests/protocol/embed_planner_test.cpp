// The planner of categorical fields: what it counts is what crosses the link, each field gets what is cheapest for it,
// and it shows what it weighed.

#include "blindfl/protocol/plan/embed_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "blindfl/base/error.h"
#include "blindfl/protocol/layers/lookup_plan.h"
#include "protocol/embed_fixture.h"
#include "testing/steps.h"
#include "testing/thrown.h"

namespace blindfl::protocol::embed_planner_test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Schemes = std::vector<const he::Scheme*>;

constexpr Link kFast{.bits_per_second = 10e9, .round_trip = 1e-4};
constexpr Link kSlow{.bits_per_second = 10e6, .round_trip = 20e-3};

EmbedMatMulSpec layer_of(const std::vector<std::size_t>& categories_a, const std::vector<std::size_t>& categories_b) {
  EmbedMatMulSpec spec;
  for (const std::size_t n : categories_a) spec.fields_a.push_back({.field = {.categories = n}});
  for (const std::size_t n : categories_b) spec.fields_b.push_back({.field = {.categories = n}});
  spec.out = 16;
  spec.batch = 128;
  spec.sgd = {.learning_rate = 0.1, .steps = 10000};
  return spec;
}

const EmbedOption* find(const EmbedPart& part, const std::string& scheme, Update update) {
  for (const EmbedOption& option : part.options) {
    if (option.scheme == scheme && option.update == update) return &option;
  }
  return nullptr;
}

/// "lattice exchanged", "paillier encrypted".
std::string way(const EmbedField& field) {
  return field.scheme + (field.update == Update::kEncrypted ? " encrypted" : " exchanged");
}

/// With the parameters that users get: planning makes no keys.
class EmbedPlanner : public ::testing::Test {
 protected:
  he::LatticeScheme lattice_;
  he::PaillierScheme paillier_;
  Schemes schemes_{&lattice_, &paillier_};

  [[nodiscard]] EmbedPlan plan(const EmbedMatMulSpec& spec, const Link& link = {},
                               const EmbedChoices& choices = {}) const {
    return plan_embed(spec, choices, schemes_, link);
  }
  [[nodiscard]] std::string refusal(const EmbedMatMulSpec& spec, const EmbedChoices& choices) const {
    return testing::message_of<ConfigError>([&] { (void)plan(spec, {}, choices); });
  }
};

TEST_F(EmbedPlanner, TakesObliviousTransferForSmallTablesAndUpdatesUnderEncryptionForBigOnes) {
  const EmbedPlan p = plan(layer_of({100, 1'000'000}, {1'000'000, 3}));
  EXPECT_EQ(way(p.spec.fields_a[0]), "ot exchanged");
  EXPECT_EQ(way(p.spec.fields_a[1]), "paillier encrypted");
  EXPECT_EQ(way(p.spec.fields_b[0]), "paillier encrypted");
  EXPECT_EQ(way(p.spec.fields_b[1]), "ot exchanged");
  EXPECT_EQ(p.spec.scheme, "lattice");
  EXPECT_EQ(p.considered.size(), 5U);
  EXPECT_EQ(p.field(Party::kB, 1).options.size(), 4U);
  EXPECT_EQ(p.weights().options.size(), 2U);
  EXPECT_LT(p.field(Party::kA, 1).taken().step.bytes() * 100,
            find(p.field(Party::kA, 1), "lattice", Update::kExchanged)->step.bytes());
}

TEST_F(EmbedPlanner, TakesTheLatticeForMeansOfSeveralCategoriesAndSaysWhy) {
  EmbedMatMulSpec spec = layer_of({100}, {100});
  spec.fields_a[0].field.most = 3;
  spec.fields_a[0].field.pooling = Pooling::kMean;
  const EmbedPlan p = plan(spec);
  EXPECT_EQ(way(p.spec.fields_a[0]), "lattice exchanged");
  EXPECT_EQ(way(p.spec.fields_b[0]), "ot exchanged");
  EXPECT_THAT(find(p.field(Party::kA, 0), "ot", Update::kExchanged)->refused,
              HasSubstr("takes sums of a row's categories, and rows of this field are means of up to 3"));
  EXPECT_THAT(refusal(spec, {.tables = {.scheme = "ot"}}), HasSubstr("for A's field 0: layer 'embed': "));
}

TEST_F(EmbedPlanner, WeighsSumsOfSeveralCategoriesByObliviousTransfer) {
  EmbedMatMulSpec spec = layer_of({100, 10'000}, {100});
  spec.fields_a[0].field.most = spec.fields_a[1].field.most = 3;
  spec.fields_b[0].field.most = 40;
  const EmbedPlan p = plan(spec, kFast);
  EXPECT_EQ(way(p.spec.fields_a[0]), "ot exchanged");
  EXPECT_EQ(way(p.spec.fields_a[1]), "ot exchanged");
  EXPECT_EQ(way(p.spec.fields_b[0]), "lattice exchanged") << "40 calls";
  const EmbedOption& ot = *find(p.field(Party::kA, 1), "ot", Update::kExchanged);
  EXPECT_EQ(ot.memory_a, 2 * lookup_plan(128, 3, 10'000, 8, ot.calls).memory());
}

TEST_F(EmbedPlanner, LooksUpInMoreCallsWhereBytesAreCheap) {
  EmbedMatMulSpec spec = layer_of({1000, 100}, {});
  spec.fields_a[0].field.most = 6;
  const auto calls = [&](const Link& link) {
    const EmbedPlan p = plan(spec, link, {.tables = {.scheme = "ot"}});
    EXPECT_EQ(p.spec.fields_a[0].calls, p.field(Party::kA, 0).taken().calls);
    EXPECT_EQ(p.spec.fields_a[1].calls, 0U) << "one category in a row: nothing to choose";
    return p.spec.fields_a[0].calls;
  };
  EXPECT_EQ(calls({.bits_per_second = 10e9, .round_trip = 1e-4}), 6U);
  EXPECT_EQ(calls({.bits_per_second = 10e6, .round_trip = 50e-3}), 1U);
}

TEST_F(EmbedPlanner, SaysThatObliviousTransferTakesNoLargerVocabulary) {
  constexpr std::size_t kMost = (std::size_t{1} << 28) - 1;
  const std::uint64_t any = std::numeric_limits<std::uint64_t>::max();
  const auto refused = [&](std::size_t categories) {
    const EmbedPlan p = plan(layer_of({categories}, {}), {}, {.most_memory = any});
    return find(p.field(Party::kA, 0), "ot", Update::kExchanged)->refused;
  };
  EXPECT_EQ(refused(kMost), "");
  EXPECT_EQ(
      refused(kMost + 1),
      "layer 'embed': a table by oblivious transfer has at most 268435455 categories, and this one has 268435456");
}

TEST_F(EmbedPlanner, ATableByObliviousTransferHasNoNoiseAndKeepsItsLeaves) {
  const EmbedPlan p = plan(layer_of({100}, {}));
  const EmbedOption& ot = *find(p.field(Party::kA, 0), "ot", Update::kExchanged);
  const EmbedOption& lattice = *find(p.field(Party::kA, 0), "lattice", Update::kExchanged);
  EXPECT_EQ(ot.memory_a, 2 * lookup_plan(128, 1, 100, 8).memory()) << "of a batch, and of the coming one";
  EXPECT_EQ(ot.memory_b, ot.memory_a) << "both have the trees";
  EXPECT_GT(ot.memory_a, 0U);
  EXPECT_EQ(ot.exposure.distance, 0);
  EXPECT_LT(ot.exposure.divergence, lattice.exposure.divergence) << "that of pieces alone";
  EXPECT_GT(ot.exposure.lift_failure, 0);
  EXPECT_LT(ot.exposure.lift_failure, 0x1p-50);
  EXPECT_LT(ot.step.bytes() * 15, lattice.step.bytes());
}

TEST_F(EmbedPlanner, TakesTheLeastTimeForEachPart) {
  for (const Link& link : {Link{}, kFast, kSlow}) {
    const EmbedPlan p = plan(layer_of({3, 100, 5000}, {1000, 100'000}), link);
    LayerCost sum;
    for (const EmbedPart& part : p.considered) {
      EXPECT_EQ(part.taken().refused, "");
      for (const EmbedOption& other : part.options) {
        EXPECT_LE(part.taken().seconds(link, 10000), other.seconds(link, 10000));
      }
      sum += part.taken();
    }
    EXPECT_EQ(p.cost.step.bytes(), sum.step.bytes());
    EXPECT_EQ(p.cost.memory_b, sum.memory_b);
    EXPECT_EQ(p.cost.step.rounds, EmbedMatMulParams(p.spec).lifts_with_room() ? 4 : 3)
        << "messages of all fields travel together";
    EXPECT_EQ(p.spec.scheme, p.weights().taken().scheme);
  }
}

TEST_F(EmbedPlanner, AFieldCostsTheSameAtEitherPartyWithTheRolesSwapped) {
  const EmbedPlan p = plan(layer_of({700}, {700}));
  for (std::size_t i = 0; i < 3; ++i) {
    const EmbedOption& a = p.field(Party::kA, 0).options[i];
    const EmbedOption& b = p.field(Party::kB, 0).options[i];
    EXPECT_EQ(a.step.bytes_to_a, b.step.bytes_to_b);
    EXPECT_EQ(a.step.bytes_to_b, b.step.bytes_to_a);
    EXPECT_EQ(a.step.seconds_a, b.step.seconds_b);
    EXPECT_EQ(a.step.seconds_b, b.step.seconds_a);
    EXPECT_EQ(a.memory_a, b.memory_b);
    EXPECT_GT(a.memory_a, 0U) << "the party with the field keeps the other's piece";
    EXPECT_EQ(a.memory_b, 0U);
  }
}

TEST_F(EmbedPlanner, ExpectsTheTimesOfTheProductsThatEachPartyMultipliesOrOpens) {
  EmbedMatMulSpec spec = layer_of({700}, {});
  spec.fields_a[0].field.most = 3;
  const EmbedMatMulParams params(spec);
  const auto times = [&](const he::ProductSpec& product, double nonzeros) {
    return lattice_.plan(product)->times(nonzeros);
  };
  const he::ProductTimes lookup = times(params.lookup(spec.fields_a[0], 128), 128 * 3);
  const he::ProductTimes gradient = times(params.table_gradient(spec.fields_a[0], 128), 128 * 3);
  const LayerCost field = cost_of_field(params, Party::kA, spec.fields_a[0], lattice_);
  EXPECT_DOUBLE_EQ(field.step.seconds_a, lookup.load + lookup.multiply + gradient.load + gradient.multiply);
  EXPECT_DOUBLE_EQ(field.step.seconds_b, lookup.encrypt + lookup.open + gradient.encrypt + gradient.open);

  const Limbs limbs = params.choose_limbs(lattice_);
  const auto inner = static_cast<double>(8 * limbs.count);
  const he::ProductTimes pieces = times(params.embedding(limbs, 128), 128 * inner);
  const he::ProductTimes dw = times(params.weight_gradient(128), 16 * 128);
  const he::ProductTimes de = times(params.embedding_derivative(128), 128 * 16);
  const LayerCost weights = cost_of_weights(params, lattice_);
  const double both = pieces.encrypt + pieces.load + pieces.multiply + pieces.open;
  EXPECT_DOUBLE_EQ(weights.step.seconds_a, both + dw.encrypt + dw.open + de.encrypt + de.open);
  EXPECT_DOUBLE_EQ(weights.step.seconds_b, both + dw.load + dw.multiply + de.load + de.multiply);
  EXPECT_EQ(weights.memory_b - weights.memory_a, lattice_.plan(params.embedding_derivative(128))->operand_memory());
}

TEST_F(EmbedPlanner, UpdatesUnderEncryptionTakeTheSameForAnyNumberOfCategories) {
  const EmbedPlan p = plan(layer_of({10'000, 1'000'000}, {}));
  const EmbedOption& few = *find(p.field(Party::kA, 0), "paillier", Update::kEncrypted);
  const EmbedOption& many = *find(p.field(Party::kA, 1), "paillier", Update::kEncrypted);
  EXPECT_EQ(few.step.bytes_to_a, many.step.bytes_to_a);
  EXPECT_EQ(few.step.bytes_to_b, many.step.bytes_to_b);
  EXPECT_NEAR(few.step.seconds_a, many.step.seconds_a, 0.01 * few.step.seconds_a);
  EXPECT_EQ(few.step.seconds_b, many.step.seconds_b);
}

TEST_F(EmbedPlanner, SendsFewerBytesOverASlowLink) {
  EmbedMatMulSpec spec = layer_of({100}, {1000});
  // Means do not come by oblivious transfer.
  for (auto* field : {&spec.fields_a[0].field, &spec.fields_b[0].field}) {
    field->most = 2;
    field->pooling = Pooling::kMean;
  }
  const EmbedPlan fast = plan(spec, kFast);
  EXPECT_EQ(way(fast.spec.fields_a[0]), "lattice exchanged");
  EXPECT_EQ(way(fast.spec.fields_b[0]), "lattice exchanged");
  EXPECT_EQ(fast.spec.scheme, "lattice");
  const EmbedPlan slow = plan(spec, kSlow);
  EXPECT_EQ(way(slow.spec.fields_a[0]), "paillier encrypted");
  EXPECT_EQ(way(slow.spec.fields_b[0]), "paillier encrypted");
  EXPECT_EQ(slow.spec.scheme, "paillier");
  EXPECT_LT(slow.cost.step.bytes(), fast.cost.step.bytes() / 10);
}

TEST_F(EmbedPlanner, KnowsWhatRulesOutUpdatesUnderEncryption) {
  EmbedMatMulSpec undeclared = layer_of({1'000'000}, {5});
  undeclared.sgd.steps = 0;
  EmbedMatMulSpec decay = layer_of({1'000'000}, {5});
  decay.sgd.weight_decay = 0.01;
  for (const auto& [spec, reason] :
       {std::pair(undeclared, "need the most steps that will be taken (sgd.steps)"),
        std::pair(decay, "weight decay would scale it. Use update: exchanged, or no weight decay")}) {
    const EmbedPlan p = plan(spec);
    EXPECT_EQ(way(p.spec.fields_a[0]), "ot exchanged");
    for (const Party party : {Party::kA, Party::kB}) {
      const EmbedOption* encrypted = find(p.field(party, 0), "paillier", Update::kEncrypted);
      ASSERT_NE(encrypted, nullptr);
      EXPECT_THAT(encrypted->refused, StartsWith("layer 'embed': updates under encryption "));
      EXPECT_THAT(encrypted->refused, HasSubstr(reason));
    }
    EXPECT_THAT(refusal(spec, {.tables_b = {.update = Update::kEncrypted}}), HasSubstr(reason));
  }
}

TEST_F(EmbedPlanner, CountsOnAThousandStepsWhereNoneAreDeclared) {
  EmbedMatMulSpec spec = layer_of({1000}, {});
  spec.sgd.steps = 0;
  const EmbedPlan undeclared = plan(spec);
  spec.sgd.steps = 1000;
  EXPECT_EQ(way(plan(spec, {}, {.tables = {.update = Update::kExchanged}}).spec.fields_a[0]),
            way(undeclared.spec.fields_a[0]));
  EXPECT_EQ(undeclared.field(Party::kA, 0).taken().seconds({}, counted_steps({})),
            undeclared.field(Party::kA, 0).taken().step.seconds({}) * 1000);
}

TEST_F(EmbedPlanner, HonoursWhatWasChosen) {
  const EmbedMatMulSpec spec = layer_of({100, 100}, {1'000'000, 100});
  EmbedChoices choices{.scheme = "paillier", .tables = {.update = Update::kEncrypted}};
  choices.tables_b.update = Update::kExchanged;
  EmbedPlan p = plan(spec, {}, choices);
  EXPECT_EQ(p.spec.scheme, "paillier");
  EXPECT_EQ(way(p.spec.fields_a[0]), "paillier encrypted") << "the only scheme that can";
  EXPECT_EQ(way(p.spec.fields_a[1]), "paillier encrypted");
  EXPECT_EQ(way(p.spec.fields_b[0]), "ot exchanged") << "its scheme is still open";
  EXPECT_EQ(p.field(Party::kB, 0).options.size(), 3U);
  choices.tables_a = {.scheme = "lattice", .update = Update::kExchanged};
  p = plan(spec, {}, choices);
  EXPECT_EQ(way(p.spec.fields_a[1]), "lattice exchanged");
  EXPECT_EQ(p.field(Party::kA, 1).options.size(), 1U);
  for (const PlanRow& row : p.rows) EXPECT_EQ(row.chosen, row.asked) << row.scheme;

  EXPECT_EQ(way(plan(spec, {}, {.tables = {.scheme = "paillier"}}).spec.fields_a[1]), "paillier encrypted");
  EmbedMatMulSpec opinionated = spec;
  opinionated.scheme = "rot13";
  opinionated.fields_a[0] = {spec.fields_a[0].field, Update::kEncrypted, "rot13"};
  EXPECT_EQ(way(plan(opinionated).spec.fields_a[0]), "ot exchanged") << "only choices are looked at";
  const EmbedPlan by_ot = plan(spec, {}, {.tables_b = {.scheme = "ot"}});
  EXPECT_EQ(way(by_ot.spec.fields_b[0]), "ot exchanged");
  EXPECT_EQ(by_ot.field(Party::kB, 0).options.size(), 1U);
}

TEST_F(EmbedPlanner, RefusesChoicesThatCannotBeAndSaysWhereAndWhy) {
  EmbedMatMulSpec spec = layer_of({100, 7, 100, 8, 100}, {100, 100});
  spec.name = "shop";
  EXPECT_EQ(refusal(spec, {.scheme = "rot13"}),
            "layer 'shop': the session has no scheme 'rot13', only: lattice, paillier");
  EXPECT_EQ(refusal(spec, {.tables_b = {.scheme = "rot13"}}),
            "layer 'shop': the session has no scheme 'rot13', only: lattice, paillier");
  const TableChoices impossible{.scheme = "lattice", .update = Update::kEncrypted};
  EXPECT_EQ(
      refusal(spec, {.tables_a = impossible}),
      "there is no way to run the layer as asked, for A's fields 0 to 4: layer 'shop': updates under encryption need "
      "the scheme 'paillier' for the field's table, not 'lattice'");
  EXPECT_THAT(refusal(spec, {.tables = impossible}),
              StartsWith("there is no way to run the layer as asked, for A's fields 0 to 4 and B's fields 0 and 1: "
                         "layer 'shop': updates under encryption need"));
  spec.sgd.learning_rate = -1;
  EXPECT_THAT(refusal(spec, {.tables = {.scheme = "paillier", .update = Update::kEncrypted}}),
              HasSubstr("layer 'shop': SGD: the learning rate must be"));
}

TEST_F(EmbedPlanner, RefusesWhatTakesTooMuchMemory) {
  const EmbedPlan p = plan(layer_of({50'000'000}, {}));
  EXPECT_EQ(way(p.spec.fields_a[0]), "paillier encrypted");
  EXPECT_EQ(find(p.field(Party::kA, 0), "paillier", Update::kExchanged)->refused,
            "layer 'embed': ciphertexts and keys take 29.9 GiB of memory at A, and at most 16 GiB are allowed");
  // 10,000 steps of 128 rows of one category touch 1,280,000 rows at most.
  EXPECT_EQ(p.field(Party::kA, 0).taken().memory_a, 1'280'000ULL * 640 + 50'000'000ULL * 4);
  EXPECT_THAT(refusal(layer_of({5}, {5}), {.most_memory = 1000}),
              StartsWith("there is no way to run the layer as asked, for the weights, A's field 0 and B's field 0: "
                         "layer 'embed': ciphertexts and keys take 0.1 GiB of memory at "));
}

TEST_F(EmbedPlanner, TablesThatTakeTooMuchMemoryTogetherGiveWayWhereTheLeastTimeIsLost) {
  // Every row is touched, and with momentum there are three ciphertexts for each.
  EmbedMatMulSpec spec = layer_of({1'000'000, 100, 1'000'000, 100'000}, {1'000'000});
  // By oblivious transfer little would stay with a party: not of means.
  for (auto* fields : {&spec.fields_a, &spec.fields_b}) {
    for (EmbedField& field : *fields) {
      field.field.most = 2;
      field.field.pooling = Pooling::kMean;
    }
  }
  spec.sgd = {.learning_rate = 0.1, .momentum = 0.9, .steps = 1'000'000};
  const EmbedPlan all = plan(spec);
  for (const std::size_t i : {0U, 2U, 3U}) EXPECT_EQ(way(all.spec.fields_a[i]), "paillier encrypted");
  EXPECT_EQ(all.field(Party::kA, 0).taken().memory_a, 3 * (1'000'000ULL * 640 + 1'000'000ULL * 4));
  const std::uint64_t exchanged = find(all.field(Party::kA, 0), "lattice", Update::kExchanged)->memory_a;

  // A table of 1,000,000 rows frees 1.3 GB for 6 s a step, one of 100,000 only 80 MB for 1 s.
  const std::uint64_t most = all.cost.memory_a - 1;
  const EmbedPlan p = plan(spec, {}, {.most_memory = most});
  EXPECT_LE(p.cost.memory_a, most);
  EXPECT_EQ(way(p.spec.fields_a[0]), "lattice exchanged") << "the first of those that lose the same";
  EXPECT_EQ(way(p.spec.fields_a[1]), "lattice exchanged");
  EXPECT_EQ(way(p.spec.fields_a[2]), "paillier encrypted");
  EXPECT_EQ(way(p.spec.fields_a[3]), "paillier encrypted");
  EXPECT_EQ(way(p.spec.fields_b[0]), "paillier encrypted") << "B has room";
  EXPECT_EQ(p.spec.scheme, "lattice");
  EXPECT_THAT(find(p.field(Party::kA, 0), "paillier", Update::kEncrypted)->refused, EndsWith(", all tables together"));
  EXPECT_EQ(std::get<FieldsPart>(p.rows.front().part).fields, std::vector<std::size_t>{0})
      << "it is not like field 2, for which there is room";
  EXPECT_EQ(p.rows.front().party, Party::kA);

  const EmbedPlan both = plan(spec, {}, {.most_memory = 2'000'000'000});
  EXPECT_EQ(way(both.spec.fields_a[2]), "lattice exchanged");
  EXPECT_LE(std::max(both.cost.memory_a, both.cost.memory_b), 2'000'000'000U);
  EXPECT_THAT(refusal(spec, {.most_memory = 2 * exchanged}),
              HasSubstr("of memory at A, and at most 0.8 GiB are allowed, all tables together"));
}

TEST_F(EmbedPlanner, PutsFieldsWithTheSameChoiceIntoTheSameRows) {
  EmbedMatMulSpec spec = layer_of({100, 7, 100, 100}, std::vector<std::size_t>(22, 100));
  spec.fields_b[5].field = {.categories = 100, .most = 3, .pooling = Pooling::kMean};
  spec.sgd.steps = 0;
  const EmbedPlan p = plan(spec);
  ASSERT_EQ(p.rows.size(), 14U)
      << "four ways for A's tables and for B's; for the one of several categories, too; two for the weights";
  EXPECT_EQ(p.rows[0].party, Party::kA);
  EXPECT_EQ(std::get<FieldsPart>(p.rows[0].part),
            (FieldsPart{.fields = {0, 1, 2, 3}, .fewest_categories = 7, .most_categories = 100}));
  EXPECT_EQ(p.rows[4].party, Party::kB);
  const auto& of_b = std::get<FieldsPart>(p.rows[4].part);
  EXPECT_EQ(of_b.fields.size(), 21U);
  EXPECT_EQ(of_b.fewest_categories, of_b.most_categories);
  EXPECT_EQ(of_b.most_per_row, 1U);
  EXPECT_EQ(std::get<FieldsPart>(p.rows[8].part).most_per_row, 3U);
  EXPECT_FALSE(p.rows[12].party);
  EXPECT_EQ(std::get<WeightsPart>(p.rows[12].part), (WeightsPart{.inputs = 208, .out = 16}));
  StepCost chosen;
  for (const PlanRow& row : p.rows) {
    if (row.chosen) chosen += row.step;
  }
  EXPECT_EQ(chosen.bytes(), p.cost.step.bytes()) << "rows have what all their fields take";
  EXPECT_NEAR(chosen.seconds({}), p.cost.step.seconds({}), 1e-9);

  for (const PlanRow& row : plan(layer_of({}, {100})).rows) EXPECT_NE(row.party, Party::kA);
}

TEST_F(EmbedPlanner, GivesTiesToTheLatticeWhateverTheOrderOfSchemes) {
  // The first of those that take the same is taken.
  const EmbedMatMulSpec spec = layer_of({100, 1'000'000}, {3});
  const EmbedPlan p = plan_embed(spec, {}, {&paillier_, &lattice_}, {});
  for (const EmbedPart& part : p.considered) EXPECT_EQ(part.options.front().scheme, "lattice");
  EXPECT_EQ(p.rows, plan(spec).rows);
}

TEST_F(EmbedPlanner, NeverMentionsTheNamesOfFieldsWhichAreTheirOwnersBusiness) {
  EmbedMatMulSpec spec = layer_of({100}, {100});
  const std::vector<PlanRow> rows = plan(spec).rows;
  spec.fields_a[0].field.name = "diagnosis";
  EXPECT_EQ(plan(spec).rows, rows);
}

TEST_F(EmbedPlanner, RefusesALinkWithoutSpeedASessionWithoutSchemesAndALayerThatCannotBe) {
  const EmbedMatMulSpec spec = layer_of({100}, {100});
  for (const double speed : {0.0, -1.0, std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW((void)plan(spec, {.bits_per_second = speed}), InvalidArgument);
  }
  EXPECT_THROW((void)plan_embed(spec, {}, {}, {}), InvalidArgument);
  EXPECT_THAT(testing::message_of<InvalidArgument>([&] { (void)plan(layer_of({}, {})); }), HasSubstr("layer 'embed'"));
  EmbedMatMulSpec empty = spec;
  empty.fields_b[0].field.categories = 0;
  EXPECT_THROW((void)plan(empty), InvalidArgument);
}

/// Ways to run a layer, with keys that are quick.
struct Case {
  const char* name;
  const char* weights;
  TableChoices tables;
  double momentum;
};

class PlannedEmbedBytes : public ::testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<he::Scheme> lattice_ = testing::make_scheme("lattice");
  std::unique_ptr<he::Scheme> paillier_ = testing::make_scheme("paillier");
  Schemes schemes_{lattice_.get(), paillier_.get()};
  SeededRandom random_{7};

  /// A step as an optimizer takes it: here only what it means for what travels.
  static void step(EmbedMatMul& half) {
    ++half.weight()->version;
    for (const auto& table : half.tables()) {
      ++table->weight()->version;
      if (table->weight()->update) table->weight()->update->step();
    }
  }

  /// By part: the weights, A's fields, B's fields.
  static std::map<std::size_t, std::uint64_t> sent(EmbedPair& pair, Party from) {
    const std::set<net::Step> counted{steps::kPieceCorrection, steps::kTableOperand,     steps::kLookupProduct,
                                      steps::kWeightOperand,   steps::kEmbeddingProduct, steps::kEmbeddingOperand,
                                      steps::kWeightGradient,  steps::kBackwardOperand,  steps::kEmbeddingDerivative,
                                      steps::kDerivativeShare, steps::kTableGradient,    steps::kLookupAsk,
                                      steps::kLookupKeys,      steps::kPaddedTable,      steps::kPaddedDerivative,
                                      steps::kLiftChoices,     steps::kLiftWords};
    std::map<std::size_t, std::uint64_t> bytes;
    for (const auto& m : pair.parties.recording(from).messages()) {
      if (m.direction != net::Direction::kSent || !counted.contains(m.message.step)) continue;
      bytes[m.message.layer - pair.at(from).layer()] += m.message.size;
    }
    return bytes;
  }

  void expect_what_crosses(EmbedMatMulSpec wanted, std::uint64_t steps) {
    wanted.sgd = {.learning_rate = 0.1, .momentum = GetParam().momentum, .steps = 3};
    const EmbedPlan p = plan_embed(wanted, {.scheme = GetParam().weights, .tables = GetParam().tables}, schemes_, {});
    EmbedPair pair(schemes_, p.spec, testing::make_channels());
    for (std::uint64_t done = 1; done <= steps; ++done) {
      const auto [at_a, at_b] = pair.forward(random_categories(wanted.fields_a, wanted.batch, random_),
                                             random_categories(wanted.fields_b, wanted.batch, random_), wanted.batch);
      (void)pair.backward(at_a.pass, at_b.pass, random_derivative(wanted, random_));
      step(pair.at(Party::kA));
      step(pair.at(Party::kB));
      auto to_b = sent(pair, Party::kA);
      auto to_a = sent(pair, Party::kB);
      const EmbedMatMulParams params(p.spec);
      // Tiles of random OTs are of all tables and of several steps: see below.
      const PartyCost lifts = room_lift_cost(params.lifts(wanted.batch));
      to_a[0] += done * ot_bytes(lifts.a_ots);
      to_b[0] += done * ot_bytes(lifts.b_ots);
      for (std::size_t i = 0; i < p.considered.size(); ++i) {
        const EmbedOption& option = p.considered[i].taken();
        if (option.scheme == kByOt) {
          const FieldIndex& field = *p.considered[i].field;
          const CategoryField& shape = params.fields(field.party)[field.index].field;
          const auto plan = lookup_plan(wanted.batch, shape.most, shape.categories, wanted.dimension, option.calls);
          (field.party == Party::kA ? to_b : to_a)[i] += done * ot_bytes(plan.ots());
        }
        EXPECT_EQ(to_b[i], option.setup.bytes_to_b + done * option.step.bytes_to_b) << "part " << i;
        EXPECT_EQ(to_a[i], option.setup.bytes_to_a + done * option.step.bytes_to_a) << "part " << i;
      }
      EXPECT_EQ(to_b.size(), p.considered.size()) << "and nothing else";
    }
  }
};

INSTANTIATE_TEST_SUITE_P(
    Options, PlannedEmbedBytes,
    ::testing::Values(Case{"lattice_lattice", "lattice", {"lattice", Update::kExchanged}, 0},
                      Case{"lattice_paillier", "lattice", {"paillier", Update::kExchanged}, 0},
                      Case{"lattice_ot", "lattice", {"ot", Update::kExchanged}, 0},
                      Case{"paillier_paillier", "paillier", {"paillier", Update::kExchanged}, 0},
                      Case{"lattice_encrypted", "lattice", {"paillier", Update::kEncrypted}, 0},
                      Case{"paillier_encrypted_momentum", "paillier", {"paillier", Update::kEncrypted}, 0.5}),
    [](const auto& c) { return c.param.name; });

TEST_P(PlannedEmbedBytes, AreThoseThatCrossPartByPart) {
  EmbedMatMulSpec spec = layer_of({5, 40}, {2, 9, 1300});
  spec.fields_a[1].field.most = 3;
  if (GetParam().tables.scheme != "ot") {
    spec.fields_b[1].field = {.categories = 9, .most = 4, .pooling = Pooling::kMean};
    spec.fields_b[2].field.categories = 13;
  }
  spec.dimension = 4;
  spec.out = 3;
  spec.batch = 12;
  expect_what_crosses(spec, 3);
}

TEST_P(PlannedEmbedBytes, AreThoseThatCrossWhereOnePartyHasNoFields) {
  for (const bool a_has : {true, false}) {
    EmbedMatMulSpec spec = a_has ? layer_of({70}, {}) : layer_of({}, {70});
    spec.dimension = 9;
    spec.out = 1;
    spec.batch = 8;
    expect_what_crosses(spec, 2);
  }
}

TEST_F(EmbedPlanner, MakesTheSamePlanAtBothPartiesSoThatTheirLayersAgree) {
  const auto paillier = testing::make_scheme("paillier");
  testing::TwoParties parties(Schemes{&lattice_, paillier.get()});
  EmbedMatMulSpec wanted = layer_of({5, 2000}, {7});
  wanted.dimension = 2;
  wanted.out = 2;
  wanted.batch = 4;
  for (const Link& link : {kFast, kSlow}) {
    const auto [a, b] = parties.run([&](Session& session) {
      const EmbedPlan p = plan_embed(wanted, {}, session.schemes(), link);
      EmbedMatMul layer(session, p.spec);
      SeededRandom random(3);
      (void)layer.forward(random_categories(layer.params().fields(session.party()), 4, random), 4);
      return std::pair(p.rows, layer.params().settings());
    });
    EXPECT_EQ(a, b);
  }
}

}  // namespace
}  // namespace blindfl::protocol::embed_planner_test
