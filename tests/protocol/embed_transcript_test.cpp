// Whatever the categories are, the same messages of the same sizes travel in the same order: neither party sees which
// rows of a table the other looked up, how many of them, or how often.

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <string>

#include "protocol/embed_fixture.h"
#include "testing/label.h"

namespace blindfl::protocol::embed_transcript_test {
namespace {

using Column = IntMatrix::Column;

constexpr std::size_t kBatch = 4;
constexpr std::size_t kCategories = 6;
constexpr std::size_t kMost = 3;

/// A field of one category and a multi-valued one at each party.
EmbedMatMulSpec make_spec(Update update, bool by_ot = false) {
  const auto fields = [&](Pooling pooling) {
    return std::vector<EmbedField>{
        {.field = {.name = "single", .categories = kCategories}, .update = update},
        {.field = {.name = "several", .categories = kCategories, .most = kMost, .pooling = pooling}, .update = update}};
  };
  EmbedMatMulSpec spec;
  spec.fields_a = fields(Pooling::kSum);
  spec.fields_b = fields(Pooling::kMean);
  // B's field of several categories is of means, which are not looked up that way.
  if (by_ot) spec.fields_a[0].scheme = spec.fields_a[1].scheme = spec.fields_b[0].scheme = kByOt;
  spec.dimension = 2;
  spec.out = 2;
  spec.batch = kBatch;
  spec.sgd = {.learning_rate = 0.1, .momentum = 0.5, .steps = 10};
  return spec;
}

/// Which categories a row has, of a field that takes `most`.
using Choice = std::function<std::vector<Column>(std::size_t row, std::size_t most)>;

std::vector<std::pair<std::string, Choice>> choices() {
  return {
      {"all rows the same", [](std::size_t, std::size_t) { return std::vector<Column>{3}; }},
      {"all rows different",
       [](std::size_t row, std::size_t) { return std::vector<Column>{static_cast<Column>(1 + row)}; }},
      {"unknown", [](std::size_t, std::size_t) { return std::vector<Column>{CategoryField::kUnknown}; }},
      {"none", [](std::size_t, std::size_t) { return std::vector<Column>{}; }},
      {"one row only",
       [](std::size_t row, std::size_t) { return row == 2 ? std::vector<Column>{5} : std::vector<Column>{}; }},
      {"few in each row",
       [](std::size_t row, std::size_t most) {
         return std::vector<Column>(std::min<std::size_t>(most, 1), static_cast<Column>(row));
       }},
      {"as many as there may be",
       [](std::size_t row, std::size_t most) {
         std::vector<Column> all(most);
         std::iota(all.begin(), all.end(), static_cast<Column>(row % (kCategories - kMost)));
         return all;
       }},
      {"one category as often as it may be",
       [](std::size_t, std::size_t most) { return std::vector<Column>(most, 2); }},
  };
}

std::vector<IntMatrix> chosen(const std::vector<EmbedField>& fields, const Choice& choice) {
  std::vector<IntMatrix> all;
  for (const EmbedField& f : fields) {
    std::vector<std::size_t> starts{0};
    std::vector<Column> columns;
    for (std::size_t r = 0; r < kBatch; ++r) {
      const std::vector<Column> row = choice(r, f.field.most);
      columns.insert(columns.end(), row.begin(), row.end());
      starts.push_back(columns.size());
    }
    all.push_back(encode_categories(f.field, starts, columns));
  }
  return all;
}

/// Messages that A saw of a training step and the forward pass after it, in words.
std::vector<std::string> transcript(const he::Scheme& scheme, const EmbedMatMulSpec& spec, const Choice& at_a,
                                    const Choice& at_b) {
  EmbedPair pair(scheme, spec);
  SeededRandom random(1);
  const auto x_a = chosen(spec.fields_a, at_a);
  const auto x_b = chosen(spec.fields_b, at_b);
  for (int i = 0; i < 2; ++i) {
    const auto [forward_a, forward_b] = pair.forward(x_a, x_b, kBatch);
    if (i == 1) break;
    const auto [grad_a, grad_b] = pair.backward(forward_a.pass, forward_b.pass, random_derivative(spec, random));
    take_step(pair.at(Party::kA), grad_a, 0.1 / kBatch);
    take_step(pair.at(Party::kB), grad_b, 0.1 / kBatch);
  }
  std::vector<std::string> messages;
  for (const testing::RecordedMessage& m : pair.parties.recording(Party::kA).messages()) {
    messages.push_back((m.direction == net::Direction::kSent ? "to B: " : "to A: ") +
                       std::string(net::name_of(m.message.step)) + " of layer " + std::to_string(m.message.layer) +
                       ", " + std::to_string(m.message.size) + " bytes");
  }
  return messages;
}

/// Each choice at one of the parties and another one at the other; `few`: in the quick tests, three of these.
void expect_the_same_for_all_choices(const std::string& scheme_name, Update update, bool few, bool by_ot = false) {
  const auto scheme = testing::make_scheme(scheme_name);
  const EmbedMatMulSpec spec = make_spec(update, by_ot);
  const auto all = choices();
  const auto expected = transcript(*scheme, spec, all[0].second, all[0].second);
  EXPECT_GT(expected.size(), 20U);
  for (std::size_t a = 0; a < all.size(); ++a) {
    if (few && !testing::kFull && a % 3 != 0) continue;
    for (const std::size_t distance : {3U, 6U}) {
      if (distance != 3U && !testing::kFull) continue;
      const auto& [name, at_b] = all[(a + distance) % all.size()];
      EXPECT_EQ(transcript(*scheme, spec, all[a].second, at_b), expected) << "A: " << all[a].first << ", B: " << name;
    }
  }
}

TEST(EmbedTranscript, DoesNotTellTheCategories) {
  expect_the_same_for_all_choices("plain", Update::kExchanged, /*few=*/false);
  expect_the_same_for_all_choices("paillier", Update::kExchanged, /*few=*/true);
}

TEST(EmbedTranscript, DoesNotTellTheCategoriesThatAreLookedUpByObliviousTransfer) {
  expect_the_same_for_all_choices("plain", Update::kExchanged, /*few=*/false, /*by_ot=*/true);
}

TEST(EmbedTranscript, DoesNotTellTheCategoriesOfTablesThatAreUpdatedUnderEncryption) {
  expect_the_same_for_all_choices("paillier", Update::kEncrypted, /*few=*/true);
}

// The test is seen to notice another number of rows.
TEST(EmbedTranscript, NoticesAnotherShape) {
  const auto scheme = testing::make_scheme("plain");
  const Choice one = choices()[0].second;
  EmbedMatMulSpec larger = make_spec(Update::kExchanged);
  larger.fields_b[0].field.categories += 1;
  EXPECT_NE(transcript(*scheme, larger, one, one), transcript(*scheme, make_spec(Update::kExchanged), one, one));
}

}  // namespace
}  // namespace blindfl::protocol::embed_transcript_test
