// What `make demo` (scripts/demo) needs besides the program `blindfl`: made-up tables of two companies, whose people
// overlap in part, and the comparison of the federated model with plain libtorch at the end.
//
//   blindfl_demo make FOLDER       writes FOLDER/a/{train,test}.csv and FOLDER/b/{train,test}.csv
//   blindfl_demo compare FOLDER    reads B's scores of the test rows and prints the table of AUCs
//   blindfl_demo attack            what a B that only looks reads of A's columns, from an open top and from a shared
//   one

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/blindfl.h"
#include "blindfl/lab/attacks/attack_binary_columns.h"
#include "blindfl/lab/attacks/recorded_view.h"
#include "blindfl/lab/local_deep.h"
#include "blindfl/run/metrics.h"
#include "made_up/synthetic_categories.h"
#include "made_up/tables.h"

namespace {

namespace fs = std::filesystem;
using blindfl::CategoryField;
using blindfl::IntMatrix;
using blindfl::Party;

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

/// A knows all but every fifth person, B all but every seventh.
bool knows(Party party, std::size_t person) {
  return party == Party::kA ? person % 5 != 4 : person % 7 != 6;
}

std::string id_of(std::size_t person) {
  return "person-" + std::to_string(1000000 + person * 7919 % 1000003);
}

/// The categories of a row, as words.
std::string words(const CategoryField& field, const IntMatrix& encoded, std::size_t row) {
  std::string text;
  encoded.for_each_in_row(row, [&](std::size_t category, std::int64_t times) {
    for (; times > 0; --times) {
      text.append(text.empty() ? "" : ";").append(field.name).append("_").append(std::to_string(category));
    }
  });
  return text;
}

void write_table(const fs::path& path, Party party, const blindfl::made_up::SyntheticCategories& people,
                 std::size_t begin, std::size_t end) {
  const bool is_a = party == Party::kA;
  const auto& mine = is_a ? people.a : people.b;
  const std::size_t first = is_a ? 0 : kColumns;
  const std::vector<float> numbers = people.joined.to_dense();
  std::ofstream file(path);
  file << "id";
  for (std::size_t c = 0; c < kColumns; ++c) file << (is_a ? ",clicks_" : ",balance_") << c + 1;
  for (const CategoryField& field : mine.fields) file << ',' << field.name;
  file << (is_a ? "\n" : ",default\n");
  // Each party has its own order.
  std::vector<std::size_t> order;
  for (std::size_t person = begin; person < end; ++person) {
    if (knows(party, person)) order.push_back(person);
  }
  if (is_a) std::ranges::reverse(order);
  for (const std::size_t person : order) {
    file << id_of(person);
    for (std::size_t c = 0; c < kColumns; ++c) file << ',' << numbers[person * 2 * kColumns + first + c];
    for (std::size_t f = 0; f < mine.fields.size(); ++f) file << ',' << words(mine.fields[f], mine.encoded[f], person);
    if (!is_a) file << ',' << (people.joined.labels()[person] > 0.5 ? "yes" : "no");
    file << "\n";
  }
  file.close();
  blindfl::require<blindfl::DataError>(file.good(), path.string(), ": cannot be written");
}

void make(const fs::path& folder) {
  const auto people = make_people();
  for (const Party party : {Party::kA, Party::kB}) {
    const fs::path mine = folder / (party == Party::kA ? "a" : "b");
    fs::create_directories(mine);
    write_table(mine / "train.csv", party, people, 0, kPeople - kTestPeople);
    write_table(mine / "test.csv", party, people, kPeople - kTestPeople, kPeople);
  }
}

/// The people that both know.
std::vector<std::uint32_t> common(std::size_t begin, std::size_t end) {
  std::vector<std::uint32_t> chosen;
  for (std::size_t person = begin; person < end; ++person) {
    if (knows(Party::kA, person) && knows(Party::kB, person)) chosen.push_back(static_cast<std::uint32_t>(person));
  }
  return chosen;
}

/// A table and the columns of a matrix, side by side.
blindfl::data::Table with_columns(const blindfl::data::Table& table, const IntMatrix& more) {
  const std::vector<float> numbers = table.to_dense();
  const std::size_t cols = table.cols() + more.cols();
  std::vector<double> values(table.rows() * cols);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    for (std::size_t c = 0; c < table.cols(); ++c) values[row * cols + c] = numbers[row * table.cols() + c];
    more.for_each_in_row(row, [&](std::size_t c, std::int64_t value) {
      values[row * cols + table.cols() + c] = static_cast<double>(value);
    });
  }
  return blindfl::data::Table::dense(table.rows(), cols, std::move(values), table.labels());
}

/// Plain libtorch on the tables side by side, or on B's alone: the same model, trained in the same way.
double plain_auc(const blindfl::made_up::SyntheticCategories& people, bool joined) {
  std::vector<CategoryField> fields = people.b.fields;
  std::vector<IntMatrix> encoded = people.b.encoded;
  blindfl::data::Table numeric = blindfl::made_up::select_columns(people.joined, kColumns, 2 * kColumns);
  if (joined) {
    // As in A's job file: the last field is a binary feature for each category, the others are embedded.
    fields.insert(fields.end(), people.a.fields.begin(), people.a.fields.end() - 1);
    encoded.insert(encoded.end(), people.a.encoded.begin(), people.a.encoded.end() - 1);
    numeric = with_columns(people.joined, people.a.encoded.back());
  }
  const blindfl::lab::LocalRows rows{numeric, encoded, people.joined.labels()};
  const auto train = rows.select(common(0, kPeople - kTestPeople));
  const auto test = rows.select(common(kPeople - kTestPeople, kPeople));

  torch::manual_seed(7);
  const std::vector<std::size_t> hidden = {16, 8};
  constexpr std::size_t kDimension = 8;
  blindfl::lab::LocalWideDeep model(
      blindfl::lab::LocalSources(numeric.cols(), 1, fields, kDimension, hidden.front()),
      blindfl::nn::WideDeepTop(fields.size() * kDimension, hidden, 1, blindfl::nn::Activation::kTanh));
  blindfl::train::TrainOptions options;
  options.epochs = 6;
  options.batch = 128;
  options.sgd.learning_rate = 0.1;
  options.sgd.momentum = 0.9;
  blindfl::lab::fit(model, blindfl::Family::kLogistic, train, options);
  return blindfl::run::auc(blindfl::nn::to_vector(blindfl::lab::score(model, test)), test.labels);
}

double federated_auc(const blindfl::made_up::SyntheticCategories& people, const fs::path& path) {
  std::map<std::string, double> labels;
  for (std::size_t person = 0; person < kPeople; ++person) labels[id_of(person)] = people.joined.labels()[person];
  std::vector<double> scores;
  std::vector<double> truth;
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);  // the header
  while (std::getline(file, line)) {
    const std::size_t comma = line.find(',');
    scores.push_back(std::stod(line.substr(comma + 1)));
    truth.push_back(labels.at(line.substr(0, comma)));
  }
  return blindfl::run::auc(scores, truth);
}

void compare(const fs::path& folder) {
  const auto people = make_people();
  std::cout << std::fixed << std::setprecision(4) << "\n"
            << "  AUC on " << common(kPeople - kTestPeople, kPeople).size() << " people that the model has not seen\n"
            << "    federated: neither party saw the other's columns   "
            << federated_auc(people, folder / "b" / "scores.csv") << "\n"
            << "    joined:    plain libtorch, tables side by side     " << plain_auc(people, true) << "\n"
            << "    B alone:   plain libtorch, B's columns only        " << plain_auc(people, false) << "\n";
}

/// The first categories of A's interests as columns of zeros and ones, and B's numbers, of test people.
blindfl::lab::attacks::TwoTables interests(std::size_t rows, std::size_t columns) {
  const auto people = make_people();
  const auto chosen = common(kPeople - kTestPeople, kPeople);
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
