#include "blindfl/app/torch/training_agreement.h"

#include <algorithm>
#include <chrono>
#include <ostream>
#include <span>

#include "blindfl/app/commands/run.h"
#include "blindfl/app/job/kept_job.h"
#include "blindfl/app/link/agree.h"
#include "blindfl/app/link/named_errors.h"
#include "blindfl/app/plan/open_top.h"
#include "blindfl/app/plan/peer_limits.h"
#include "blindfl/app/plan/plan_text.h"
#include "blindfl/app/torch/aligned_rows.h"
#include "blindfl/base/atomic_file.h"
#include "blindfl/base/error.h"

namespace blindfl::app {

namespace {

std::optional<std::uint64_t> agree_on_start(const TrainingTask& task, const protocol::Sessions& sessions,
                                            const train::RunOffer& mine, std::span<const train::RunOffer> theirs) {
  // What nobody says follows from what both know.
  const std::optional<std::size_t>& longer = task.resume.epochs;
  const std::optional<std::size_t> said = longer ? longer : task.job.shared.training.epochs;
  const std::string epochs = said ? std::to_string(*said) : "left open";
  agree_with_all(sessions, "how far the run goes",
                 protocol::Settings().add("resume --epochs, or shared.training.epochs,", epochs));
  const std::optional<std::uint64_t> resumed = train::common_step(mine, theirs, task.resume.start);
  require<ConfigError>(resumed || !longer,
                       "--epochs: nothing was trained yet; set shared.training.epochs of the job instead");
  if (resumed) train::confirm_going_back(task.resume.start, mine, theirs, *resumed);
  return resumed;
}

/// The summary of a run that begins.
run::RunSummary new_summary(const TrainingTask& task, const std::string& name) {
  run::RunSummary summary;
  summary.party = task.party();
  summary.run = name;
  summary.release = version();
  summary.model = job::Value<job::ModelKind>::write(task.job.shared.model.kind);
  summary.started = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return summary;
}

void take_rows(const TrainingTask& task, const JobSession& connection, const PreparedData& data,
               const train::StartedRun& run, const Bytes& began, AgreedRun& agreed) {
  const job::Data& files = task.job.own.data;
  const protocol::Sessions sessions = connection.sessions();
  const protocol::AlignedPeers peers = connection.aligned_peers();
  agree_with_all(sessions, "the test file",
                 protocol::Settings().add("private.data.test is given", data.test_file.has_value()));
  agreed.train_file = {*files.train, data.train.rows->rows(), data.train.digest};
  if (data.test_file) {
    agreed.test_file = MarkedFile{*files.test, data.test_file->rows->rows(), data.test_file->digest};
  }
  if (run.resumed) {
    agreed.alignment = load_alignment(run.folder.path(), agreed.train_file, agreed.test_file);
    bind_alignment(sessions, "training rows", agreed.alignment.train);
    if (data.test_file) bind_alignment(sessions, "test rows", agreed.alignment.test.value());
  } else {
    agreed.alignment.began = began;
    agreed.alignment.train = align_rows(sessions, peers, task.job, data.train, "training rows", task.out);
    if (data.test_file) {
      agreed.alignment.test = align_rows(sessions, peers, task.job, *data.test_file, "test rows", task.out);
    }
    save_alignment(run.folder.path(), agreed.alignment, agreed.train_file, agreed.test_file);
  }
  agreed.job.shared = settled(task.job.shared, agreed.alignment.train.size(), data.test_file.has_value());
}

void take_shapes(const TrainingTask& task, const JobSession& connection, const PartyShape& mine, AgreedRun& agreed) {
  const std::vector<std::string>& names = connection.names();
  if (!task.is_b() && !names.empty()) agreed.place = connection.own_place();
  AllShapes all = exchange_shapes(connection.sessions(), mine, names, agreed.place);
  agreed.shapes_a = std::move(all.a);
  agreed.shape_b = std::move(all.b);
  for (std::size_t i = 0; i < agreed.shapes_a.size(); ++i) {
    if (!task.is_b() && (names.empty() || i == agreed.place)) continue;
    const std::string name = names.empty() ? "the peer" : names[i];
    // An A keeps nothing of the others' size.
    if (task.is_b())
      naming(names.empty() ? "" : name, [&] { check_peer_shape(task.job.own.limits, agreed.shapes_a[i]); });
    task.out << name << " has " << words_of(agreed.shapes_a[i]) << "\n";
  }
  if (!task.is_b()) {
    check_peer_shape(task.job.own.limits, agreed.shape_b);
    task.out << "the peer has " << words_of(agreed.shape_b) << "\n";
  }
  const run::DisclosureFacts seen = open_top_facts(agreed.job.shared, agreed.shapes_a, agreed.shape_b,
                                                   place_among_as(task.job.own.party, agreed.place));
  for (const std::string& warning : part_warnings(task.job.own, seen)) task.out << warning << "\n" << std::flush;
}

train::TrainOptions options_of(const TrainingTask& task, const AgreedRun& agreed, bool keeps_keys) {
  const JobLayers& layers = agreed.layers;
  const std::optional<std::size_t>& longer = task.resume.epochs;
  const std::size_t epochs = longer.value_or(layers.epochs);
  require<ConfigError>(epochs <= layers.epochs || !keeps_keys,
                       "--epochs: this run updates weights under encryption, in sums with room for the ", layers.epochs,
                       " epochs that were planned and no more; start a new run with more epochs, or with "
                       "shared.scheme.update: exchanged");
  if (epochs > 2 * layers.epochs) {
    task.out << "this run was planned for " << layers.epochs << " epochs: with " << epochs
             << " it opens more values than its hiding was planned for, and each doubling costs one bit of it\n";
  }
  const job::Training& training = agreed.job.shared.training;
  train::TrainOptions options{
      .epochs = epochs, .batch = training.batch, .sgd = layers.sgd, .order_seed = training.order_seed};
  // Layers stay as they were planned, whatever the run is prolonged to.
  if (longer && !keeps_keys) options.sgd.steps = epochs * layers.steps_per_epoch;
  return options;
}

// Both parties are told before anything is masked; what hides enough needs no words.
void warn_of_hiding(const TrainingTask& task, const AgreedRun& agreed) {
  if (hides_enough(agreed.expected.exposure)) return;
  task.out << "WARNING: hiding of masks and noise: " << hiding_in_words(agreed.expected.exposure)
           << ". SECURITY.md says what that means.\n"
           << std::flush;
}

}  // namespace

train::StartedRun start_run(const TrainingTask& task, const protocol::Sessions& sessions, OpenedRun opened,
                            LedgerPlace& ledger) {
  const train::RunOffer mine = opened.folder ? train::offer_of(*opened.folder) : train::RunOffer{};
  const std::vector<train::RunOffer> theirs = train::exchange_offers(sessions, mine);
  const auto resumed = agree_on_start(task, sessions, mine, theirs);
  if (resumed) return {.folder = std::move(opened.folder.value()), .resumed = resumed};
  const std::filesystem::path& path = task.job.own.run.folder;
  if (opened.folder) {
    // Nothing was trained yet: both begin anew.
    ledger.leave_folder();
    opened.folder.reset();
    train::remove_run(path);
  }
  return {.folder = run::RunFolder::create(path, new_summary(task, train::name_of_new_run(sessions, theirs)))};
}

void save_beginning(const TrainingTask& task, const run::RunFolder& folder, const Preparation& preparation,
                    LedgerPlace& ledger) {
  ledger.enter_folder(folder);
  write_text_atomically(folder.path() / "job.yaml", job::kept_text(task.job), Readers::kOwner);
  save_preparation(folder.path(), preparation);
}

AgreedRun agree_on_run(const TrainingTask& task, JobSession& connection, const PreparedData& data,
                       const train::StartedRun& run, bool keeps_keys) {
  AgreedRun agreed;
  agreed.job = task.job;
  // What B calls the run is not enough for an A that resumes it.
  const Bytes before = run.resumed ? load_beginning(run.folder.path()) : Bytes();
  const Bytes began = connection.agree_between_as(run.folder.summary().run, before);
  take_rows(task, connection, data, run, began, agreed);
  take_shapes(task, connection, data.preparation.shape(), agreed);
  agreed.layers = job_layers(agreed.job.shared, agreed.shapes_a, agreed.shape_b, agreed.alignment.train.size());
  agreed.expected = estimate(agreed.layers, agreed.job.shared.scheme, job_link(agreed.job.shared.scheme));
  agreed.options = options_of(task, agreed, keeps_keys);
  warn_of_hiding(task, agreed);
  return agreed;
}

}  // namespace blindfl::app
