#include "demo_tables.h"

#include <algorithm>
#include <fstream>
#include <map>

#include "blindfl/base/error.h"
#include "blindfl/blindfl.h"
#include "blindfl/lab/local_deep.h"
#include "blindfl/run/metrics.h"
#include "made_up/tables.h"

namespace demo {

namespace {

namespace fs = std::filesystem;
using blindfl::CategoryField;
using blindfl::IntMatrix;
using blindfl::data::Table;

std::string id_of(std::size_t person) {
  return "person-" + std::to_string(1000000 + person * 7919 % 1000003);
}

/// The categories of a row, as words.
std::string words(const Field& field, std::size_t row) {
  std::string text;
  field.encoded->for_each_in_row(row, [&](std::size_t category, std::int64_t times) {
    for (; times > 0; --times) {
      text.append(text.empty() ? "" : ";").append(field.field->name).append("_").append(std::to_string(category));
    }
  });
  return text;
}

/// A table and the columns of a matrix, side by side.
Table with_columns(const Table& table, const IntMatrix& more) {
  const std::vector<float> numbers = table.to_dense();
  const std::size_t cols = table.cols() + more.cols();
  std::vector<double> values(table.rows() * cols);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    for (std::size_t c = 0; c < table.cols(); ++c) values[row * cols + c] = numbers[row * table.cols() + c];
    more.for_each_in_row(row, [&](std::size_t c, std::int64_t value) {
      values[row * cols + table.cols() + c] = static_cast<double>(value);
    });
  }
  return Table::dense(table.rows(), cols, std::move(values), table.labels());
}

/// The numeric columns of some companies, side by side.
Table numbers_of(const People& people, const std::vector<Company>& companies) {
  std::size_t cols = 0;
  for (const Company& company : companies) cols += company.count;
  const std::vector<float> all = people.joined.to_dense();
  std::vector<double> values;
  values.reserve(people.joined.rows() * cols);
  for (std::size_t row = 0; row < people.joined.rows(); ++row) {
    for (const Company& company : companies) {
      for (std::size_t c = 0; c < company.count; ++c) {
        values.push_back(all[row * people.joined.cols() + company.first + c]);
      }
    }
  }
  return Table::dense(people.joined.rows(), cols, std::move(values), people.joined.labels());
}

}  // namespace

void write_table(const fs::path& folder, std::string_view name, const Company& company, const People& people,
                 std::size_t begin, std::size_t end) {
  fs::create_directories(folder / company.folder);
  const fs::path path = folder / company.folder / name;
  const std::vector<float> numbers = people.joined.to_dense();
  std::ofstream file(path);
  file << "id";
  for (std::size_t c = 0; c < company.count; ++c) file << ',' << company.columns << c + 1;
  for (const Field& field : company.fields) file << ',' << field.field->name;
  file << (company.label.empty() ? "" : ",") << company.label << "\n";
  std::vector<std::size_t> order;
  for (std::size_t person = begin; person < end; ++person) {
    if (company.knows(person)) order.push_back(person);
  }
  if (company.other_order) std::ranges::reverse(order);
  for (const std::size_t person : order) {
    file << id_of(person);
    for (std::size_t c = 0; c < company.count; ++c) {
      file << ',' << numbers[person * people.joined.cols() + company.first + c];
    }
    for (const Field& field : company.fields) file << ',' << words(field, person);
    if (!company.label.empty()) file << ',' << (people.joined.labels()[person] > 0.5 ? "yes" : "no");
    file << "\n";
  }
  file.close();
  blindfl::require<blindfl::DataError>(file.good(), path.string(), ": cannot be written");
}

Rows common(const std::vector<Company>& companies, std::size_t begin, std::size_t end) {
  Rows chosen;
  for (std::size_t person = begin; person < end; ++person) {
    const auto knows = [&](const Company& company) { return company.knows(person); };
    if (std::ranges::all_of(companies, knows)) chosen.push_back(static_cast<std::uint32_t>(person));
  }
  return chosen;
}

double plain_auc(const People& people, const PlainTask& task) {
  std::vector<CategoryField> fields;
  std::vector<IntMatrix> encoded;
  for (const Company& company : task.companies) {
    for (const Field& field : company.fields) {
      const auto is_it = [&](const Field& other) { return other.field == field.field; };
      if (std::ranges::any_of(task.one_hot, is_it)) continue;
      fields.push_back(*field.field);
      encoded.push_back(*field.encoded);
    }
  }
  Table numeric = numbers_of(people, task.companies);
  for (const Field& field : task.one_hot) numeric = with_columns(numeric, *field.encoded);
  const blindfl::lab::LocalRows rows{numeric, encoded, people.joined.labels()};
  const auto train = rows.select(task.train);
  const auto test = rows.select(task.test);

  torch::manual_seed(7);
  const std::vector<std::size_t> hidden = {16, 8};
  constexpr std::size_t kDimension = 8;
  blindfl::lab::LocalWideDeep model(
      blindfl::lab::LocalSources(numeric.cols(), 1, fields, kDimension, hidden.front()),
      blindfl::nn::WideDeepTop(fields.size() * kDimension, hidden, 1, blindfl::nn::Activation::kTanh));
  blindfl::train::TrainOptions options;
  options.epochs = task.epochs;
  options.batch = 128;
  options.sgd.learning_rate = 0.1;
  options.sgd.momentum = 0.9;
  blindfl::lab::fit(model, blindfl::Family::kLogistic, train, options);
  return blindfl::run::auc(blindfl::nn::to_vector(blindfl::lab::score(model, test)), test.labels);
}

double federated_auc(const People& people, const fs::path& path) {
  std::map<std::string, double> labels;
  for (std::size_t person = 0; person < people.joined.rows(); ++person) {
    labels[id_of(person)] = people.joined.labels()[person];
  }
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

}  // namespace demo
