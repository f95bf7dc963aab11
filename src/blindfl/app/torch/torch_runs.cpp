#include "blindfl/app/torch/torch_runs.h"

#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <optional>

#include "blindfl/app/commands/commands.h"
#include "blindfl/app/init/questions.h"
#include "blindfl/app/job/job_options.h"
#include "blindfl/app/torch/align_run.h"
#include "blindfl/app/torch/attack_run.h"
#include "blindfl/app/torch/inspection.h"
#include "blindfl/app/torch/scoring_run.h"
#include "blindfl/app/torch/training_run.h"

namespace blindfl::app {

namespace {

std::optional<std::filesystem::path> path_of(const Arguments& arguments, std::string_view option) {
  if (!arguments.has(option)) return std::nullopt;
  return arguments.text(option);
}

void run_train(const Arguments& arguments, std::ostream& out) {
  run_training({.job = read_job_options(arguments), .start = TrainingTask::Start::kNew, .resume = {}, .out = out});
}

void run_resume(const Arguments& arguments, std::ostream& out) {
  ResumeOptions resume;
  if (arguments.has("epochs")) resume.epochs = static_cast<std::size_t>(arguments.integer("epochs", 1, 1'000'000));
  resume.start.go_back = arguments.has("go-back");
  if (::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1) {
    resume.start.confirm = [&out](const std::string& question) {
      const std::string answer = init::Questions(&std::cin, out).ask("go-back", question, "no");
      return answer == "yes" || answer == "y";
    };
  }
  run_training({.job = read_job_options(arguments),
                .start = TrainingTask::Start::kResume,
                .resume = std::move(resume),
                .out = out});
}

void run_predict(const Arguments& arguments, std::ostream& out) {
  job::Job job = read_job_options(arguments);
  if (const auto data = path_of(arguments, "data")) job.own.data.score = data;
  const auto scores = path_of(arguments, "scores");
  if (job.own.party == Party::kB && !scores) {
    throw UsageError("--scores is missing: where B's predictions go");
  }
  predict(job, scores, out);
}

void run_evaluate(const Arguments& arguments, std::ostream& out) {
  job::Job job = read_job_options(arguments);
  if (const auto data = path_of(arguments, "data")) job.own.data.test = data;
  evaluate(job, path_of(arguments, "scores"), out);
}

void run_align(const Arguments& arguments, std::ostream& out) {
  align_files(read_job_options(arguments), arguments.text("out"), out);
}

void run_inspect(const Arguments& arguments, std::ostream& out) {
  inspect(arguments.text("folder"), out);
}

void run_attacks(const Arguments& arguments, std::ostream& out) {
  attack_own_run({.folder = arguments.text("attacks"),
                  .truth = path_of(arguments, "truth"),
                  .training_scores = path_of(arguments, "training-scores")},
                 out);
}

}  // namespace

std::vector<Command> commands_with_torch() {
  std::vector<Command> commands = torch_commands(torch_runs());
  commands.push_back(audit_command(run_attacks));
  return commands;
}

TorchRuns torch_runs() {
  return {.align = run_align,
          .train = run_train,
          .resume = run_resume,
          .predict = run_predict,
          .evaluate = run_evaluate,
          .inspect = run_inspect};
}

}  // namespace blindfl::app
