// What a planner chose, in words: the table, the line of a log, security and hiding.

#include "blindfl/app/plan/plan_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/he/paillier/paillier_scheme.h"
#include "blindfl/protocol/plan/embed_planner.h"
#include "blindfl/protocol/plan/planner.h"

namespace blindfl::app::plan_text_test {
namespace {

using protocol::Update;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Rows = std::vector<protocol::PlanRow>;

/// With the parameters that users get: planning makes no keys.
class PlanText : public ::testing::Test {
 protected:
  static Rows planned(const protocol::MatMulSpec& spec, const protocol::PlannerChoices& choices = {}) {
    const he::LatticeScheme lattice;
    const he::PaillierScheme paillier;
    return plan_layer(spec, choices, {&lattice, &paillier}, {}).rows;
  }
  static Rows planned(const protocol::EmbedMatMulSpec& spec, const protocol::EmbedChoices& choices = {}) {
    const he::LatticeScheme lattice;
    const he::PaillierScheme paillier;
    return plan_embed(spec, choices, {&lattice, &paillier}, {}).rows;
  }

  static protocol::MatMulSpec sparse_layer() {
    protocol::MatMulSpec spec;
    spec.in_a = 500000;
    spec.in_b = 62;
    spec.out = 1;
    spec.batch = 128;
    spec.features_a = spec.features_b = {.scale = 0, .largest = 1.0, .clip = false};
    spec.nonzeros_a = 7;
    spec.sgd = {.learning_rate = 0.1, .steps = 10000};
    return spec;
  }
  static protocol::EmbedMatMulSpec embedding(const std::vector<std::size_t>& a, const std::vector<std::size_t>& b) {
    protocol::EmbedMatMulSpec spec;
    for (const std::size_t n : a) spec.fields_a.push_back({.field = {.categories = n}});
    for (const std::size_t n : b) spec.fields_b.push_back({.field = {.categories = n}});
    spec.out = 16;
    spec.batch = 128;
    spec.sgd = {.learning_rate = 0.1, .steps = 10000};
    return spec;
  }
};

TEST_F(PlanText, SaysWhatWasChosenForFeatures) {
  protocol::MatMulSpec dense = sparse_layer();
  dense.in_a = dense.in_b = 392;
  dense.nonzeros_a = 0;
  dense.out = 64;
  dense.features_a = dense.features_b = {};
  EXPECT_EQ(choice_text(planned(dense)), "A's 392 features: exchanged over lattice; B's 392 features: over lattice");
  EXPECT_THAT(table_text(planned(dense, {.scheme_a = "paillier", .update = Update::kExchanged}), {}),
              HasSubstr("  chosen, as asked\n"));
}

TEST_F(PlanText, ShowsWhatWasWeighed) {
  const Rows rows = planned(sparse_layer());
  EXPECT_THAT(choice_text(rows), StartsWith("A's 500,000 features, 7 a row: encrypted updates over paillier; B's "));
  const std::string table = table_text(rows, {});
  EXPECT_THAT(table, StartsWith("layer   features                       way "));
  EXPECT_THAT(
      table,
      ContainsRegex("\nmatmul  A's 500,000 features, 7 a row +exchanged over lattice +[0-9.]+ ms +24(\\.[0-9])? MB\n"));
  EXPECT_THAT(table, ContainsRegex("\n +encrypted updates over paillier +[0-9.]+ ms +7[34](\\.[0-9])? kB  chosen\n"));
}

TEST_F(PlanText, GivesReasonsBelowTheTable) {
  protocol::MatMulSpec spec = sparse_layer();
  spec.sgd.weight_decay = 0.01;
  const std::string table = table_text(planned(spec), {});
  EXPECT_THAT(table, ContainsRegex("encrypted updates over paillier +- +-  not possible \\[1\\]\n"));
  EXPECT_THAT(table, HasSubstr("\n[1] layer 'matmul': updates under encryption only ever add"));

  protocol::EmbedMatMulSpec fields = embedding({1'000'000}, {5});
  fields.sgd.steps = 0;
  const std::string of_fields = table_text(planned(fields), {});
  EXPECT_THAT(of_fields, HasSubstr("not possible [1]"));
  EXPECT_THAT(of_fields, HasSubstr("\n[1] layer 'embed': updates under encryption "));
  EXPECT_THAT(of_fields, Not(HasSubstr("[2]"))) << "a reason that holds for many fields stands there once";
}

TEST_F(PlanText, CountsTablesThatLearnAlike) {
  const protocol::EmbedChoices choices{.scheme = "paillier",
                                       .tables = {.update = Update::kEncrypted},
                                       .tables_a = {.scheme = "lattice", .update = Update::kExchanged}};
  EXPECT_EQ(choice_text(planned(embedding({100, 100}, {100, 100}), choices)),
            "2 tables of A's: exchanged over lattice; 2 tables of B's: encrypted updates over paillier; "
            "the 32 x 16 weights: over paillier");

  protocol::EmbedMatMulSpec spec = embedding({100, 7, 100, 100}, std::vector<std::size_t>(22, 100));
  spec.fields_b[5].field = {.categories = 100, .most = 3, .pooling = Pooling::kMean};
  spec.sgd.steps = 0;
  const Rows rows = planned(spec);
  ASSERT_EQ(rows.size(), 14U) << "a field of several categories cannot come by oblivious transfer";
  EXPECT_EQ(part_in_words(rows[0]), "A's fields 0 to 3, 7 to 100 categories");
  EXPECT_EQ(part_in_words(rows[4]), "B's fields 0 to 4 and 6 to 21, 100 categories");
  EXPECT_EQ(part_in_words(rows[8]), "B's field 5, 100 categories, up to 3 a row");
  EXPECT_EQ(part_in_words(rows[12]), "the 208 x 16 weights");
  const std::string choice =
      "4 tables of A's: exchanged by oblivious transfer; 21 tables of B's: exchanged by oblivious transfer; 1 table of "
      "B's: exchanged over lattice; the 208 x 16 weights: over lattice";
  EXPECT_EQ(choice_text(rows), choice);
  EXPECT_EQ(choice_lines(rows), std::vector<std::string>{"layer 'embed': " + choice});
  const std::string table = table_text(rows, {});
  EXPECT_EQ(std::ranges::count(table, '\n'), 17) << "a heading, the rows and two reasons:\n" << table;
}

TEST_F(PlanText, HasALineForATopOnShares) {
  protocol::PlanRow row{.layer = "top", .scheme = "lattice"};
  row.part = protocol::TopPart{.widths = {64, 16, 3}, .activation = Activation::kTanh};
  row.step = {
      .seconds_a = 0.004, .seconds_b = 0.004, .bytes_to_a = 1000, .bytes_to_b = 500, .rounds = 2, .together = 0.004};
  row.chosen = true;
  EXPECT_EQ(part_in_words(row), "the layers 64-16-3, tanh, and the loss, on shares");
  const std::string table = table_text({row}, {.bits_per_second = 1e9, .round_trip = 1e-3});
  EXPECT_THAT(
      table,
      ContainsRegex("\ntop +the layers 64-16-3, tanh, and the loss, on shares  over lattice +6.01 ms +1.5 kB  chosen"))
      << "what both do at the same time counts once";
  row.part = protocol::TopPart{.widths = {1}, .factors = 8};
  EXPECT_EQ(part_in_words(row), "the products of 8 factors and the loss, on shares");
  row.part = protocol::TopPart{.widths = {4, 1}, .factors = 1};
  EXPECT_EQ(part_in_words(row), "the products of 1 factor, layers 4-1, relu, and the loss, on shares");
  row.part = protocol::TopPart{.widths = {1}};
  EXPECT_EQ(choice_text({row}), "the loss, on shares: over lattice");
}

TEST_F(PlanText, IsEmptyWithoutRows) {
  EXPECT_EQ(table_text({}, {}), "");
  EXPECT_EQ(choice_text({}), "");
  EXPECT_TRUE(choice_lines({}).empty());
}

TEST_F(PlanText, SaysSecurityAndHiding) {
  EXPECT_EQ(security_in_words(128), "128 bits");
  EXPECT_EQ(security_in_words(112), "112 bits (NIST: until 2030)");
  EXPECT_EQ(hiding_in_words({.distance = 0x1p-43}), "statistical distance 2^-43 (for the whole run)");
  EXPECT_EQ(hiding_in_words({.distance = 0x1.8p-44}), "statistical distance 2^-43 (for the whole run)")
      << "rounded to what hides less";
  EXPECT_EQ(hiding_in_words({.distance = 0x1p-43, .divergence = 0x1p-52, .lift_failure = 0x1p-41}),
            "divergence 2^-52, statistical distance 2^-43, failed lifts 2^-41 (for the whole run)");
  EXPECT_THAT(hiding_in_words({.lift_failure = 0x1p-16}),
              StartsWith("failed lifts 2^-16 (for the whole run), where 2^-40 is aimed at"));
  EXPECT_THAT(hiding_in_words({.divergence = 4.0}), StartsWith("divergence 2^-0"));
  EXPECT_TRUE(hides_enough({.distance = 0x1p-40, .divergence = 0x1p-40, .lift_failure = 0x1p-40}));
  EXPECT_FALSE(hides_enough({.distance = 0x1p-39}));
  EXPECT_FALSE(hides_enough({.divergence = 0x1p-39}));
  EXPECT_FALSE(hides_enough({.lift_failure = 0x1p-39}));
}

}  // namespace
}  // namespace blindfl::app::plan_text_test
