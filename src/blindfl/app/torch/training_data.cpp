#include "blindfl/app/torch/training_data.h"

#include <algorithm>
#include <chrono>
#include <ostream>

#include "blindfl/app/torch/aligned_rows.h"
#include "blindfl/app/torch/early_ledger.h"
#include "blindfl/app/torch/run_files.h"
#include "blindfl/app/torch/weighting.h"
#include "blindfl/base/error.h"
#include "blindfl/base/number_text.h"
#include "blindfl/base/text.h"
#include "blindfl/train/run_start.h"

namespace blindfl::app {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

void tell_about_data(const TrainingTask& task, const PreparedData& data) {
  std::ostream& out = task.out;
  const std::string classes = class_words(task.job.shared.model, data.preparation.classes());
  if (!classes.empty()) out << classes << "\n";
  if (!data.train.filled.empty()) out << words_of(data.train.filled) << "\n";
  if (data.test_file && !data.test_file->filled.empty()) {
    out << "of the test file, " << words_of(data.test_file->filled) << "\n";
  }
  for (const std::string& name : data.preparation.constant_columns()) {
    out << "column '" << printable(name)
        << "' says the same in all rows of the training file: nothing is learned from it\n";
  }
  out << std::flush;
}

}  // namespace

OpenedRun open_folder(const TrainingTask& task) {
  const fs::path& path = task.job.own.run.folder;
  const fs::path above = fs::absolute(path).parent_path();
  require<ConfigError>(fs::is_directory(above), "private.run.folder: the folder above it, ", above.string(),
                       ", is not there; make it first");
  remove_old_early_ledgers(path);
  const bool is_there = fs::exists(path) && !(fs::is_directory(path) && fs::is_empty(path));
  require<ConfigError>(!is_there || task.start == TrainingTask::Start::kResume, path.string(),
                       ": there is something in it already; `blindfl resume` continues a run, and another "
                       "private.run.folder begins a new one");
  OpenedRun opened{.folder = train::open_run(path, task.party(), "private.run.folder"), .keys = {}};
  if (opened.folder) {
    require_same_options(path, task.job);
    const std::size_t peers = std::max<std::size_t>(task.job.own.link.peers.size(), 1);
    for (std::size_t peer = 1; peer <= peers; ++peer) opened.keys.push_back(train::load_keys(path, peer));
  } else if (task.start == TrainingTask::Start::kResume) {
    // Whoever was stopped before there was anything to keep resumes, too.
    task.out << "there is no run in " << path.string() << " to continue: where the peer has none either, one begins\n"
             << std::flush;
  }
  return opened;
}

PreparedData read_files(const TrainingTask& task, const OpenedRun& opened) {
  const auto begin = Clock::now();
  const job::Job& job = task.job;
  const bool prepared = opened.folder && fs::exists(opened.folder->path() / "preparation.bin");
  PreparedData data{.preparation = prepared ? load_preparation(opened.folder->path()) : job::fit_preparation(job),
                    .train = {},
                    .test_file = {}};
  data.preparation.set_row_memory(job::row_memory_of(job.own.resources));
  const Labels labels = task.is_b() ? Labels::kNeeded : Labels::kNone;
  const fs::path scratch = fs::absolute(job.own.run.folder).parent_path();
  data.train = data.preparation.read(*job.own.data.train, labels, scratch);
  if (job.own.data.test) data.test_file.emplace(data.preparation.read(*job.own.data.test, labels, scratch));
  if (job.shared.alignment.mode != job::AlignmentMode::kAligned) {
    check_ids(data.train.ids, *job.own.data.train);
    if (data.test_file) check_ids(data.test_file->ids, *job.own.data.test);
  }
  task.out << "read " << plainly_counted(data.train.rows->rows(), "row") << " to train on";
  if (data.test_file) task.out << " and " << data.test_file->rows->rows() << " to test on";
  task.out << ": " << words_of(data.preparation.shape()) << " ("
           << seconds_text(std::chrono::duration<double>(Clock::now() - begin).count()) << ")\n";
  tell_about_data(task, data);
  return data;
}

}  // namespace blindfl::app
