// What `make demo-three` (scripts/demo_three) needs besides the program `blindfl`: made-up tables of a lender, who has
// the labels, a shop and a phone company, and the comparison of the federated model with plain libtorch at the end.
//
//   blindfl_demo_three make FOLDER       writes FOLDER/{lender,shop,phone}/{train,test}.csv
//   blindfl_demo_three compare FOLDER    reads the lender's scores of the test rows and prints the table of AUCs

#include <filesystem>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include "demo_tables.h"
#include "made_up/synthetic_categories.h"

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPeople = 8000;
constexpr std::size_t kTestPeople = 1600;  // the last ones

/// The columns of the two A's, then the lender's.
demo::People make_people() {
  blindfl::made_up::SyntheticCategoriesSpec spec;
  spec.rows = kPeople;
  spec.columns_a = 7;
  spec.columns_b = 4;
  spec.fields_a = {{.name = "device", .categories = 9}, {.name = "tariff", .categories = 14}};
  spec.fields_b = {{.name = "job", .categories = 25}};
  spec.interaction = 0.3;
  spec.seed = 1987;
  return blindfl::made_up::make_synthetic_categories(spec);
}

/// Each lacks some people, and two have another order.
std::vector<demo::Company> companies_of(const demo::People& people) {
  demo::Company lender{
      .folder = "lender", .columns = "balance_", .first = 7, .count = 4, .label = "default", .lacks = 11};
  lender.fields = {{&people.b.fields[0], &people.b.encoded[0]}};
  demo::Company shop{.folder = "shop", .columns = "clicks_", .first = 0, .count = 4, .lacks = 7, .other_order = true};
  shop.fields = {{&people.a.fields[0], &people.a.encoded[0]}};
  demo::Company phone{.folder = "phone", .columns = "calls_", .first = 4, .count = 3, .lacks = 9, .other_order = true};
  phone.fields = {{&people.a.fields[1], &people.a.encoded[1]}};
  return {std::move(lender), std::move(shop), std::move(phone)};
}

void make(const fs::path& folder) {
  const auto people = make_people();
  for (const demo::Company& company : companies_of(people)) {
    demo::write_table(folder, "train.csv", company, people, 0, kPeople - kTestPeople);
    demo::write_table(folder, "test.csv", company, people, kPeople - kTestPeople, kPeople);
  }
}

/// Plain libtorch on the tables of the first `count` of the lender, the shop and the phone company.
double plain_auc(const demo::People& people, std::size_t count) {
  const std::vector<demo::Company> companies = companies_of(people);
  const auto end = companies.begin() + static_cast<std::ptrdiff_t>(count);
  return demo::plain_auc(people, {.companies = std::vector<demo::Company>(companies.begin(), end),
                                  .train = demo::common(companies, 0, kPeople - kTestPeople),
                                  .test = demo::common(companies, kPeople - kTestPeople, kPeople)});
}

void compare(const fs::path& folder) {
  const auto people = make_people();
  const std::size_t tested = demo::common(companies_of(people), kPeople - kTestPeople, kPeople).size();
  std::cout << std::fixed << std::setprecision(4) << "\n"
            << "  AUC on " << tested << " people that the model has not seen\n"
            << "    federated:        nobody saw another's columns          "
            << demo::federated_auc(people, folder / "lender" / "scores.csv") << "\n"
            << "    joined:           plain libtorch, tables side by side   " << plain_auc(people, 3) << "\n"
            << "    without phone:    plain libtorch, lender and shop       " << plain_auc(people, 2) << "\n"
            << "    the lender alone: plain libtorch, its columns only      " << plain_auc(people, 1) << "\n";
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 2 && words[0] == "make") {
    make(words[1]);
  } else if (words.size() == 2 && words[0] == "compare") {
    compare(words[1]);
  } else {
    std::cerr << "usage: blindfl_demo_three make FOLDER | blindfl_demo_three compare FOLDER\n";
    return 2;
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << "blindfl_demo_three: " << error.what() << "\n";
  return 1;
}
