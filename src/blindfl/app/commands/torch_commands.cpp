#include "blindfl/app/commands/torch_commands.h"

#include "blindfl/app/job/job_options.h"

namespace blindfl::app {

namespace {

std::vector<Option> with_job_options(std::vector<Option> more) {
  std::vector<Option> options = job_options();
  options.push_back(threads_option());
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

const Option kToScore{.name = "data", .placeholder = "FILE", .summary = "rows to score, instead of private.data.score"};
const Option kToMeasure{
    .name = "data", .placeholder = "FILE", .summary = "rows to measure with, instead of private.data.test"};
const Option kEpochs{
    .name = "epochs", .placeholder = "N", .summary = "continue to so many epochs in all; else: shared.training.epochs"};
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
         "that the run would have had without the interruption. With --epochs a run, a finished one too, continues to "
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
         "  blindfl predict --job job.yaml --data new.csv                            at A\n"
         "  blindfl predict --job job.yaml --data new.csv --scores scores.csv        at B\n"
         "  blindfl predict --job job.yaml --scores scores.csv                       of private.data.score\n";
}

std::string help_of_evaluate() {
  return "Both parties run it at the same time, each with its own columns of the same people; B's file has the labels. "
         "The\n"
         "model is that of private.run.folder.\n"
         "\n"
         "examples:\n"
         "  blindfl evaluate --job job.yaml\n"
         "  blindfl evaluate --job job.yaml --data march.csv\n";
}

std::string help_of_inspect() {
  return "The peer is not needed. Both parties see the same run, step and shapes; digests differ, since shares do.\n"
         "\n"
         "example:\n"
         "  blindfl inspect --folder run\n";
}

}  // namespace

std::vector<Command> torch_commands(const TorchRuns& runs) {
  return {{.name = "align",
           .summary = "finds the rows that both parties have, without showing ids, and writes down their common order",
           .options = with_job_options({{.name = "out",
                                         .placeholder = "FILE",
                                         .summary = "where this party's part goes, as CSV: row, id, whether it is real",
                                         .need = Option::Need::kRequired}}),
           .run = runs.align,
           .more_help = help_of_align},
          {.name = "train",
           .summary = "trains a model with the peer, who runs it too, into private.run.folder",
           .options = with_job_options({}),
           .run = runs.train,
           .more_help = help_of_train},
          {.name = "resume",
           .summary = "continues a run that was interrupted or killed, after the last step that both parties have",
           .options = with_job_options({kEpochs, kGoBack}),
           .run = runs.resume,
           .more_help = help_of_resume},
          {.name = "predict",
           .summary = "scores rows with a trained model: B gets the predictions",
           .options = with_job_options({kToScore, kScores}),
           .run = runs.predict,
           .more_help = help_of_predict},
          {.name = "evaluate",
           .summary = "measures a trained model on rows with labels: B sees how good it is",
           .options = with_job_options({kToMeasure, kScores}),
           .run = runs.evaluate,
           .more_help = help_of_evaluate},
          {.name = "inspect",
           .summary = "tells what is in the folder of a run or a model, and never a value of it",
           .options = {{.name = "folder",
                        .placeholder = "FOLDER",
                        .summary = "of the run, or its model",
                        .need = Option::Need::kRequired}},
           .run = runs.inspect,
           .more_help = help_of_inspect}};
}

}  // namespace blindfl::app
