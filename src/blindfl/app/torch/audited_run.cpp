#include "blindfl/app/torch/audited_run.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "blindfl/app/job/kept_job.h"
#include "blindfl/app/plan/job_layers.h"
#include "blindfl/app/torch/aligned_rows.h"
#include "blindfl/base/error.h"
#include "blindfl/data/delimited.h"
#include "blindfl/lab/local_model.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/run/run_folder.h"

namespace blindfl::app {

namespace {

namespace fs = std::filesystem;

run::RunSummary finished_summary(const fs::path& folder) {
  require<ConfigError>(fs::exists(folder / "summary.json") && fs::exists(folder / "model" / "model.bin"),
                       folder.string(), ": is not the folder of a finished run; name private.run.folder of a job");
  run::RunSummary summary = run::read_summary(folder);
  require<ConfigError>(summary.state == run::RunState::kFinished, folder.string(),
                       ": the run has not finished; continue it with `blindfl resume`");
  return summary;
}

PreparedRows read_rows(const Preparation& preparation, const fs::path& path, Party party, const fs::path& folder) {
  return preparation.read(path, party == Party::kB ? Labels::kNeeded : Labels::kNone, folder.parent_path());
}

MarkedFile marked(const fs::path& path, const PreparedRows& rows) {
  return {path, rows.rows->rows(), rows.digest};
}

torch::Tensor dense(const IntMatrix& matrix) {
  return lab::encoded_tensor(matrix).to_dense().to(torch::kFloat64);
}

double number_in(std::string_view cell, const data::DelimitedReader& reader, std::size_t column) {
  const std::string text(cell);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  require<DataError>(!text.empty() && end == text.c_str() + text.size() && std::isfinite(value), reader.where(column),
                     ": is no score; name a file that `blindfl predict --scores` wrote");
  return value;
}

}  // namespace

AuditedRun::AuditedRun(const fs::path& folder)
    : folder_(fs::absolute(folder).lexically_normal()),
      summary_(finished_summary(folder_)),
      facts_(load_model_facts(folder_ / "model")),
      job_(job::load_kept(folder_ / "job.yaml")) {
  Preparation preparation = load_preparation(folder_);
  preparation.set_row_memory(job::row_memory_of(job_.own.resources));
  require<ConfigError>(job_.own.data.train.has_value(), folder_.string(), ": its job names no training file");
  train_ = read_rows(preparation, *job_.own.data.train, party(), folder_);
  std::optional<MarkedFile> test_file;
  if (job_.own.data.test) {
    test_file_.emplace(read_rows(preparation, *job_.own.data.test, party(), folder_));
    test_file = marked(*job_.own.data.test, *test_file_);
  }
  alignment_ = load_alignment(folder_, marked(*job_.own.data.train, train_), test_file);
  const job::Training& training = facts_.shared.training;
  split_ = split_places(split_of(training, alignment_.train.size()), training.order_seed);
  view_ = load_view(folder_, facts_.owner());
}

const PreparedRows& AuditedRun::source(RowSet set) const {
  return set == RowSet::kTest && test_file_ ? *test_file_ : train_;
}

protocol::Alignment AuditedRun::rows(RowSet set) const {
  if (set == RowSet::kTest && test_file_) return alignment_.test.value();
  const std::vector<std::uint32_t>& places = set == RowSet::kTraining     ? split_.training
                                             : set == RowSet::kValidation ? split_.validation
                                                                          : split_.test;
  return select_places(alignment_.train, places);
}

std::size_t AuditedRun::columns(bool categories) const {
  const PartyShape shape = party() == Party::kA ? facts_.shape_a() : facts_.shape_b;
  if (!categories) return shape.numeric;
  std::size_t all = 0;
  for (const CategoryField& field : shape.fields) all += field.categories;
  return all;
}

torch::Tensor AuditedRun::features(RowSet set, std::size_t count, bool categories) const {
  const protocol::Alignment all = rows(set);
  require<DataError>(all.size() >= count, folder_.string(), ": what was kept of its view has more rows than its files");
  const std::vector<std::uint32_t> first(all.rows.begin(), all.rows.begin() + static_cast<std::ptrdiff_t>(count));
  const data::Batch batch = source(set).rows->batch(first, count);
  std::vector<torch::Tensor> parts = {torch::empty({nn::torch_size(count), 0}, torch::kFloat64)};
  if (categories) {
    for (const IntMatrix& field : batch.fields) parts.push_back(dense(field));
  } else if (batch.features.cols() > 0) {
    parts.push_back(dense(batch.features));
  }
  return torch::cat(parts, 1);
}

std::vector<double> AuditedRun::labels(RowSet set) const {
  const std::vector<double>& of_file = source(set).labels;
  std::vector<double> labels;
  if (of_file.empty()) return labels;
  for (const std::uint32_t row : rows(set).rows) labels.push_back(of_file.at(row));
  return labels;
}

std::vector<AuditedRun::NamedRow> AuditedRun::named_rows(RowSet set) const {
  std::vector<NamedRow> named;
  const std::vector<std::string>& ids = source(set).ids;
  const protocol::Alignment alignment = rows(set);
  for (std::size_t i = 0; i < alignment.size(); ++i) {
    if (!alignment.real[i]) continue;
    const std::size_t row = alignment.rows[i];
    named.push_back({ids.empty() ? std::to_string(row + 1) : ids[row], i});
  }
  return named;
}

ScoresOfFile read_scores(const fs::path& path, const std::vector<AuditedRun::NamedRow>& named) {
  std::map<std::string_view, std::size_t> index;
  for (std::size_t i = 0; i < named.size(); ++i) index.emplace(named[i].name, i);
  data::DelimitedReader reader(path);
  require<DataError>(reader.names().size() >= 2, path.string(),
                     ": has no column of scores; name a file that `blindfl predict --scores` wrote");
  ScoresOfFile scores;
  std::vector<double> values;
  while (reader.next()) {
    const auto found = index.find(reader.cells()[0]);
    if (found == index.end()) continue;
    scores.of.push_back(found->second);
    for (std::size_t c = 1; c < reader.cells().size(); ++c) values.push_back(number_in(reader.cells()[c], reader, c));
  }
  scores.values = torch::tensor(values, torch::kFloat64)
                      .view({nn::torch_size(scores.of.size()), nn::torch_size(reader.names().size() - 1)});
  return scores;
}

}  // namespace blindfl::app
