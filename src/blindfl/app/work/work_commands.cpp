#include "blindfl/app/work/work_commands.h"

#include <unistd.h>

#include <iostream>

#include "blindfl/app/init/questions.h"
#include "blindfl/app/job_options.h"
#include "blindfl/app/work/align_run.h"
#include "blindfl/app/work/inspection.h"
#include "blindfl/app/work/scoring_run.h"
#include "blindfl/app/work/training_run.h"

namespace blindfl::app {

namespace {

std::vector<Option> with_job_options(std::vector<Option> more) {
  std::vector<Option> options = job_options();
  options.push_back(threads_option());
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

std::optional<std::filesystem::path> path_of(const Arguments& arguments, std::string_view option) {
  if (!arguments.has(option)) return std::nullopt;
  return arguments.text(option);
}

void run_train(const Arguments& arguments, std::ostream& out) {
  TrainingRun(read_job_options(arguments), TrainingRun::Start::kNew, out).run();
}

void run_resume(const Arguments& arguments, std::ostream& out) {
  ResumeOptions resume;
  if (arguments.has("epochs")) resume.epochs = static_cast<std::size_t>(arguments.integer("epochs", 1, 1'000'000));
  resume.go_back = arguments.has("go-back");
  if (::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1) {
    resume.confirm = [&out](const std::string& question) {
      const std::string answer = init::Questions(&std::cin, out).ask("go-back", question, "no");
      return answer == "yes" || answer == "y";
    };
  }
  TrainingRun(read_job_options(arguments), TrainingRun::Start::kResume, out, std::move(resume)).run();
}

void run_predict(const Arguments& arguments, std::ostream& out) {
  const job::Job job = read_job_options(arguments);
  const auto scores = path_of(arguments, "scores");
  if (job.own.party == job::PartyName::kB && !scores) {
    throw UsageError("--scores is missing: where B's predictions go");
  }
  ScoringRun(job, out).predict(scores);
}

void run_evaluate(const Arguments& arguments, std::ostream& out) {
  ScoringRun(read_job_options(arguments), out).evaluate(path_of(arguments, "scores"));
}

void run_align(const Arguments& arguments, std::ostream& out) {
  align_files(read_job_options(arguments), arguments.text("out"), out);
}

void run_inspect(const Arguments& arguments, std::ostream& out) {
  inspect(arguments.text("folder"), out);
}

const Option kEpochs{
    .name = "epochs", .placeholder = "N", .summary = "go on to so many epochs in all; else: shared.training.epochs"};
const Option kGoBack{.name = "go-back",
                     .placeholder = {},
                     .summary =
                         "also behind several checkpoints of this party, if the peer lacks them; they are set "
                         "aside, not removed"};
const Option kScores{.name = "scores", .placeholder = "FILE", .summary = "B: where to write the predictions, as CSV"};

std::string help_of_align() {
  return "Both parties run it at the same time, for a look before training: `train` aligns by itself. Needs an "
         "id_column,\n"
         "and another shared.alignment.mode than aligned.\n"
         "\n"
         "example:\n"
         "  blindfl align --job job.yaml --out common.csv\n";
}

std::string help_of_train() {
  return "Both parties run it at the same time; the first waits for the other (private.link.patience). Ctrl-C stops "
         "both after\n"
         "a few steps, with a checkpoint. The folder must be empty or not there; paths of a job file begin at its "
         "folder.\n"
         "\n"
         "examples:\n"
         "  blindfl train --job job.yaml\n"
         "  blindfl train --job job.yaml --set shared.training.epochs=5      what is shared: the same at both\n";
}

std::string help_of_resume() {
  return "Both parties run it at the same time, with the job file that they trained with. The numbers that follow are "
         "those\n"
         "that the run would have had without the interruption. With --epochs a run, a finished one too, goes on to "
         "that many\n"
         "epochs in all, as if it had begun with them; not where weights are updated under encryption.\n"
         "\n"
         "examples:\n"
         "  blindfl resume --job job.yaml\n"
         "  blindfl resume --job job.yaml --epochs 20                 the same at both\n";
}

std::string help_of_predict() {
  return "Both parties run it at the same time, each with its own columns of the people to score. The model is that "
         "of\n"
         "private.run.folder; labels are not needed.\n"
         "\n"
         "examples:\n"
         "  blindfl predict --job job.yaml                            at A\n"
         "  blindfl predict --job job.yaml --scores scores.csv        at B\n"
         "  blindfl predict --job job.yaml --set private.data.score=new.csv --scores scores.csv\n";
}

std::string help_of_evaluate() {
  return "Both parties run it at the same time, each with its own columns of the same people; B's file has the labels. "
         "The\n"
         "model is that of private.run.folder.\n"
         "\n"
         "examples:\n"
         "  blindfl evaluate --job job.yaml\n"
         "  blindfl evaluate --job job.yaml --set private.data.test=march.csv\n";
}

std::string help_of_inspect() {
  return "The peer is not needed. Both parties see the same run, step and shapes; digests differ, since pieces do.\n"
         "\n"
         "example:\n"
         "  blindfl inspect --folder run\n";
}

}  // namespace

std::vector<Command> work_commands() {
  return {{.name = "align",
           .summary = "finds the rows that both parties have, without showing ids, and writes down their common order",
           .options = with_job_options({{.name = "out",
                                         .placeholder = "FILE",
                                         .summary = "where this party's part goes, as CSV: row, id, whether it is real",
                                         .need = Option::Need::kRequired}}),
           .run = run_align,
           .more_help = help_of_align},
          {.name = "train",
           .summary = "trains a model with the peer, who runs it too, into private.run.folder",
           .options = with_job_options({}),
           .run = run_train,
           .more_help = help_of_train},
          {.name = "resume",
           .summary = "goes on with a run that was interrupted or killed, at the last step that both parties have",
           .options = with_job_options({kEpochs, kGoBack}),
           .run = run_resume,
           .more_help = help_of_resume},
          {.name = "predict",
           .summary = "scores the rows of private.data.score with a trained model: B gets the predictions",
           .options = with_job_options({kScores}),
           .run = run_predict,
           .more_help = help_of_predict},
          {.name = "evaluate",
           .summary = "measures a trained model on private.data.test: B sees how good it is",
           .options = with_job_options({kScores}),
           .run = run_evaluate,
           .more_help = help_of_evaluate},
          {.name = "inspect",
           .summary = "tells what is in the folder of a run or a model, and never a value of it",
           .options = {{.name = "folder",
                        .placeholder = "FOLDER",
                        .summary = "of the run, or its model",
                        .need = Option::Need::kRequired}},
           .run = run_inspect,
           .more_help = help_of_inspect}};
}

}  // namespace blindfl::app
