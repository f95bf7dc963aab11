// What `make demo` (scripts/demo) needs besides the program `blindfl`: made-up tables of two companies, whose people
// overlap in part, and the comparison of the federated model with plain libtorch at the end.
//
//   blindfl_demo make FOLDER       writes FOLDER/a/{train,test}.csv and FOLDER/b/{train,test}.csv
//   blindfl_demo compare FOLDER    reads B's scores of the test rows and prints the table of AUCs
//   blindfl_demo attack            what a B that only looks reads of A's columns, from an open top and from a shared
//   one

#include <filesystem>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/blindfl.h"
#include "blindfl/lab/attacks/attack_binary_columns.h"
#include "blindfl/lab/attacks/recorded_view.h"
#include "demo_tables.h"
#include "made_up/synthetic_categories.h"

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPeople = 12000;
constexpr std::size_t kTestPeople = 2400;  // the last ones
constexpr std::size_t kColumns = 4;

/// Two numeric tables and three fields each; the last one of A has several categories in a row.
blindfl::made_up::SyntheticCategories make_people() {
  blindfl::made_up::SyntheticCategoriesSpec spec;
  spec.rows = kPeople;
  spec.columns_a = kColumns;
  spec.columns_b = kColumns;
  spec.fields_a = {{.name = "city", .categories = 40},
                   {.name = "device", .categories = 9},
                   {.name = "interests", .categories = 30, .most = 4}};
  spec.fields_b = {{.name = "job", .categories = 25}, {.name = "product", .categories = 12}};
  spec.interaction = 0.3;
  spec.seed = 2022;
  return blindfl::made_up::make_synthetic_categories(spec);
}

/// A knows all but every fifth person, B all but every seventh. Each has its own order.
std::vector<demo::Company> companies_of(const demo::People& people) {
  demo::Company a{.folder = "a", .columns = "clicks_", .first = 0, .count = kColumns, .lacks = 5, .other_order = true};
  for (std::size_t f = 0; f < people.a.fields.size(); ++f)
    a.fields.push_back({&people.a.fields[f], &people.a.encoded[f]});
  demo::Company b{
      .folder = "b", .columns = "balance_", .first = kColumns, .count = kColumns, .label = "default", .lacks = 7};
  for (std::size_t f = 0; f < people.b.fields.size(); ++f)
    b.fields.push_back({&people.b.fields[f], &people.b.encoded[f]});
  return {std::move(a), std::move(b)};
}

void make(const fs::path& folder) {
  const auto people = make_people();
  for (const demo::Company& company : companies_of(people)) {
    demo::write_table(folder, "train.csv", company, people, 0, kPeople - kTestPeople);
    demo::write_table(folder, "test.csv", company, people, kPeople - kTestPeople, kPeople);
  }
}

/// Plain libtorch on the tables side by side, or on B's alone: the same model, trained in the same way.
double plain_auc(const demo::People& people, bool joined) {
  const std::vector<demo::Company> companies = companies_of(people);
  demo::PlainTask task{.companies = {companies[1]},
                       .train = demo::common(companies, 0, kPeople - kTestPeople),
                       .test = demo::common(companies, kPeople - kTestPeople, kPeople)};
  if (joined) {
    task.companies = companies;
    // As in A's job file: the last field is a binary feature for each category, the others are embedded.
    task.one_hot = {companies[0].fields.back()};
  }
  return demo::plain_auc(people, task);
}

void compare(const fs::path& folder) {
  const auto people = make_people();
  const std::size_t tested = demo::common(companies_of(people), kPeople - kTestPeople, kPeople).size();
  std::cout << std::fixed << std::setprecision(4) << "\n"
            << "  AUC on " << tested << " people that the model has not seen\n"
            << "    federated: neither party saw the other's columns   "
            << demo::federated_auc(people, folder / "b" / "scores.csv") << "\n"
            << "    joined:    plain libtorch, tables side by side     " << plain_auc(people, true) << "\n"
            << "    B alone:   plain libtorch, B's columns only        " << plain_auc(people, false) << "\n";
}

/// The first categories of A's interests as columns of zeros and ones, and B's numbers, of test people.
blindfl::lab::attacks::TwoTables interests(std::size_t rows, std::size_t columns) {
  const auto people = make_people();
  const auto chosen = demo::common(companies_of(people), kPeople - kTestPeople, kPeople);
  const std::vector<float> numbers = people.joined.to_dense();
  const auto count = static_cast<std::int64_t>(rows);
  torch::Tensor a = torch::zeros({count, static_cast<std::int64_t>(columns)}, torch::kFloat64);
  torch::Tensor b = torch::zeros({count, static_cast<std::int64_t>(kColumns)}, torch::kFloat64);
  for (std::size_t i = 0; i < rows; ++i) {
    const auto row = static_cast<std::int64_t>(i);
    people.a.encoded.back().for_each_in_row(chosen.at(i), [&](std::size_t category, std::int64_t /*times*/) {
      if (category < columns) a.index_put_({row, static_cast<std::int64_t>(category)}, 1.0);
    });
    for (std::size_t c = 0; c < kColumns; ++c) {
      b.index_put_({row, static_cast<std::int64_t>(c)}, numbers[chosen[i] * 2 * kColumns + kColumns + c]);
    }
  }
  return {.a = std::move(a), .b = std::move(b)};
}

/// The attack on an open top of SECURITY.md, on what B really has of the first layer's outputs, under encryption.
void attack() {
  constexpr std::size_t kRows = 1000;
  constexpr std::size_t kInterests = 12;
  namespace attacks = blindfl::lab::attacks;
  const attacks::TwoTables rows = interests(kRows, kInterests);
  const auto recovered = [&](blindfl::protocol::Top top) {
    const attacks::ViewOptions options{.out = 16, .top = top};
    const torch::Tensor seen = attacks::record_scoring(*blindfl::make_scheme("lattice"), rows, options);
    return attacks::fraction_of(attacks::attack_binary_columns(seen, rows.b, options.output_scale), rows.a);
  };
  const attacks::RecoveredFraction open = recovered(blindfl::protocol::Top::kOpen);
  const attacks::RecoveredFraction shared = recovered(blindfl::protocol::Top::kShared);
  std::cout << "  B looks for " << open.of << " of A's interests in what it has of the first layer's outputs of "
            << kRows << " people: with an open top it recovers " << open.recovered << " of " << open.of
            << ", with a shared top, as here, " << shared.recovered << " of " << shared.of << ".\n";
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 2 && words[0] == "make") {
    make(words[1]);
  } else if (words.size() == 2 && words[0] == "compare") {
    compare(words[1]);
  } else if (words.size() == 1 && words[0] == "attack") {
    attack();
  } else {
    std::cerr << "usage: blindfl_demo make FOLDER | blindfl_demo compare FOLDER | blindfl_demo attack\n";
    return 2;
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << "blindfl_demo: " << error.what() << "\n";
  return 1;
}
