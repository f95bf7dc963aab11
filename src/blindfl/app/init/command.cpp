#include "blindfl/app/init/init.h"

#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

#include "blindfl/app/init/acceptance.h"
#include "blindfl/app/init/link_draft.h"
#include "blindfl/app/init/party_draft.h"
#include "blindfl/app/init/shared_draft.h"
#include "blindfl/app/job/template.h"
#include "blindfl/app/link/certificate_text.h"
#include "blindfl/base/atomic_file.h"
#include "blindfl/base/error.h"
#include "blindfl/net/identity.h"

namespace blindfl::app {

namespace init {

namespace {

using std::filesystem::path;

/// A job, and the file that it goes to.
struct Outcome {
  path file;
  job::Job job;
  std::optional<LinkFiles> link{};
  std::vector<path> certificates{};  ///< of the others
};

std::string letter(Party party) {
  return job::Value<Party>::write(party);
}

Party read_party(const Arguments& arguments, Questions& questions) {
  const std::string answer =
      questions.said_or_asked(arguments, "party", "Which party this is: A, or B, who has the labels", std::nullopt,
                              [](const std::string& word) {
                                require<UsageError>(word == "A" || word == "a" || word == "B" || word == "b",
                                                    "--party must be A or B, not '", word, "'");
                              });
  return answer == "A" || answer == "a" ? Party::kA : Party::kB;
}

path read_path(const Arguments& arguments, Questions& questions, std::string_view flag, std::string_view question) {
  if (arguments.has(flag)) return arguments.text(flag);
  return questions.ask(flag, question, std::nullopt, [&](const std::string& file) {
    require<UsageError>(std::filesystem::is_regular_file(file), "--", flag, ": there is no such file as ", file);
  });
}

std::optional<path> optional_path(const Arguments& arguments, std::string_view flag) {
  return arguments.has(flag) ? std::optional<path>(arguments.text(flag)) : std::nullopt;
}

/// Where a party's job goes: `job-a.yaml` beside what --out names, if there are two.
path file_of(const Arguments& arguments, Party party) {
  if (!arguments.has("both")) {
    return arguments.has("out") ? path(arguments.text("out")) : path("job-" + letter(party) + ".yaml");
  }
  path file = arguments.has("out") ? path(arguments.text("out")) : path("job.yaml");
  const std::string name = file.stem().string() + "-" + letter(party) + file.extension().string();
  return file.replace_filename(name);
}

void check_free(const path& file, bool force) {
  std::error_code unreadable;
  const auto status = std::filesystem::symlink_status(file, unreadable);
  require<ConfigError>(force || !std::filesystem::exists(status), file.string(),
                       ": is there already; choose another --out, or --force to replace it");
}

void check_flags(const Arguments& arguments) {
  if (!arguments.has("both")) {
    for (const std::string_view flag : {"peer-data", "peer-test"}) {
      require<UsageError>(!arguments.has(flag), "--", flag, " is for --both");
    }
    return;
  }
  for (const std::string_view flag :
       {"party", "listen", "dial", "certificate", "key", "peer", "name", "other", "shared-from"}) {
    require<UsageError>(!arguments.has(flag), "--both is for trying on one machine: leave out --", flag);
  }
}

std::vector<PartyDraft> draft_parties(const Arguments& arguments, Questions& questions) {
  std::vector<PartyDraft> drafts;
  if (!arguments.has("both")) {
    const Party party = read_party(arguments, questions);
    const path data = read_path(arguments, questions, "data", "File with the rows to train on");
    for (const std::string_view flag : {"label", "weight"}) {
      require<UsageError>(party == Party::kB || !arguments.has(flag), "--", flag, " is for B, who has the labels");
    }
    require<UsageError>(party == Party::kA || !arguments.has("accept"),
                        "--accept is A's to say, whose features are at stake");
    drafts.push_back(draft_party(party, data, optional_path(arguments, "test"), arguments, questions));
    return drafts;
  }
  const path data_a = read_path(arguments, questions, "data", "A's file with the rows to train on");
  const path data_b = read_path(arguments, questions, "peer-data", "B's file, with the labels");
  drafts.push_back(draft_party(Party::kA, data_a, optional_path(arguments, "test"), arguments, questions));
  drafts.push_back(draft_party(Party::kB, data_b, optional_path(arguments, "peer-test"), arguments, questions));
  for (const std::string& words : arguments.all("kind")) {
    const std::string name = words.substr(0, words.rfind('='));
    require<UsageError>(drafts[0].sample.find(name) != nullptr || drafts[1].sample.find(name) != nullptr,
                        "--kind: no file has a column '", name, "'");
  }
  return drafts;
}

Outcome outcome_of(const PartyDraft& draft, const job::Shared& shared, const Arguments& arguments, Questions& questions,
                   std::ostream& out) {
  Outcome outcome;
  outcome.file = file_of(arguments, draft.party);
  const path folder = outcome.file.parent_path();
  outcome.job.shared = shared;
  outcome.job.own.party = draft.party;
  outcome.job.own.data = data_of(draft, shared.model.kind, folder);
  if (arguments.has("both")) {
    outcome.job.own.link = local_link(draft.party);
    outcome.job.own.run.folder = "run-" + letter(draft.party);
  } else {
    LinkDraft link = draft_link(draft.party, folder, arguments, questions);
    outcome.job.own.link = std::move(link.link);
    outcome.link = std::move(link.files);
    outcome.certificates = std::move(link.certificates);
  }
  if (draft.is_a()) outcome.job.own.accept = read_acceptance(arguments, questions, shared.model, out);
  return outcome;
}

/// What is written passes every check that reading does.
std::string checked_text(const Outcome& outcome, const job::Remarks& remarks) {
  std::string text = job::render_job(outcome.job, remarks);
  (void)job::parse_job(text, {.source = outcome.file.string(), .folder = outcome.file.parent_path()});
  return text;
}

void make_identity(const LinkFiles& link, std::ostream& out) {
  if (!link.is_new) {
    out << "identity: " << link.own.certificate.string() << " and its key " << link.own.key.string() << '\n';
    return;
  }
  const path folder = link.own.certificate.parent_path();
  const IdentityFiles made = make_identity_files(link.own.certificate.stem().string(), folder, kUsualDays);
  out << "identity: there was none, so it was made: " << made.certificate.string() << " for the peer, and "
      << made.key.string() << " for nobody else\n"
      << describe_certificate(net::load_certificate(made.certificate));
}

void tell_certificate(const Outcome& outcome, const path& certificate, std::ostream& out) {
  if (outcome.job.own.link.several_as() ? !std::filesystem::exists(certificate) : !outcome.link->peer_is_there) {
    out << (outcome.job.own.link.several_as() ? "     A certificate" : "     The peer's certificate")
        << " is not here yet: put it at " << certificate.string() << '\n';
  }
  out << "     Compare fingerprints by phone: blindfl fingerprint --certificate " << certificate.string() << '\n';
}

void tell_next_alone(const Outcome& outcome, bool took_shared, std::ostream& out) {
  out << "\nWhat to do next:\n  1. Look through " << outcome.file.string()
      << ": kinds of columns are guesses. `blindfl parameters` explains every option.\n";
  if (took_shared) {
    out << "  2. The section `shared` is the peer's: whoever changes it tells the other.\n";
  } else {
    out << "  2. The peer needs the same section `shared`. Send it this, for `blindfl init --shared-from FILE`:\n\n"
        << job::shared_text(outcome.job.shared) << '\n';
  }
  if (!outcome.link) {
    out << "  3. There is no TLS: only inside a link that is protected.\n";
  } else {
    const bool several = outcome.job.own.link.several_as();
    out << "  3. Send " << outcome.link->own.certificate.string()
        << (several ? " to all other parties, unless they have it.\n" : " to the peer, unless it has it.\n");
    for (const path& certificate : outcome.certificates) tell_certificate(outcome, certificate, out);
  }
  out << "  4. See what it will take: blindfl plan --job " << outcome.file.string()
      << "\n  5. Train, at the same time as the peer: blindfl train --job " << outcome.file.string() << '\n';
}

void tell_next_both(const std::vector<Outcome>& outcomes, std::ostream& out) {
  out << "\nBoth have the same section `shared`:\n\n"
      << job::shared_text(outcomes.front().job.shared)
      << "\nWhat to do next:\n  1. Look through both files: kinds of columns are guesses. `blindfl parameters` "
         "explains "
         "every option.\n  2. See what it will take: blindfl plan --job "
      << outcomes.front().file.string()
      << "\nThe two talk over this machine without TLS: use them to try, and not between two machines.\n";
}

}  // namespace

void write_jobs(const Arguments& arguments, Questions& questions, std::ostream& out) {
  check_flags(arguments);
  const bool force = arguments.has("force");
  const std::vector<PartyDraft> drafts = draft_parties(arguments, questions);
  for (const PartyDraft& draft : drafts) check_free(file_of(arguments, draft.party), force);
  const SharedDraft draft_of_both = draft_shared(drafts, arguments, questions, out);
  const job::Shared& shared = draft_of_both.shared;
  std::vector<Outcome> outcomes;
  outcomes.reserve(drafts.size());
  for (const PartyDraft& draft : drafts) outcomes.push_back(outcome_of(draft, shared, arguments, questions, out));
  for (const PartyDraft& draft : drafts) describe(draft, shared.model.kind, out);
  std::vector<std::string> texts;
  texts.reserve(outcomes.size());
  for (const Outcome& outcome : outcomes) texts.push_back(checked_text(outcome, draft_of_both.remarks));
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Outcome& outcome = outcomes[i];
    check_free(outcome.file, force);
    if (outcome.link) make_identity(*outcome.link, out);
    write_text_atomically(outcome.file, texts[i], Readers::kOwner);
    out << "written: " << outcome.file.string() << '\n';
  }
  if (outcomes.size() == 1) {
    tell_next_alone(outcomes.front(), arguments.has("shared-from"), out);
  } else {
    tell_next_both(outcomes, out);
  }
  if (drafts.front().is_a()) {
    const job::Job& job = outcomes.front().job;
    tell_acceptance(job.own.accept, job.shared.model, outcomes.front().file, out);
  }
}

}  // namespace init

namespace {

void run_init(const Arguments& arguments, std::ostream& out) {
  init::Questions questions(isatty(STDIN_FILENO) != 0 ? &std::cin : nullptr, out);
  init::write_jobs(arguments, questions, out);
}

std::vector<Option> init_options() {
  return {
      {.name = "party", .placeholder = "A|B", .summary = "which party this is; B has the labels"},
      {.name = "data", .placeholder = "FILE", .summary = "rows to train on: CSV, TSV or LIBSVM, plain or compressed"},
      {.name = "test", .placeholder = "FILE", .summary = "rows to measure the trained model on"},
      {.name = "id", .placeholder = "COLUMN", .summary = "names the people; none if there is no such column"},
      {.name = "label", .placeholder = "COLUMN", .summary = "B: what is to be predicted"},
      {.name = "weight", .placeholder = "COLUMN", .summary = "B: how much each row counts; else: all alike"},
      {.name = "kind",
       .placeholder = "COLUMN=KIND",
       .summary = "numeric, categorical, multi or ignore, instead of the guess",
       .repeats = true},
      {.name = "format", .placeholder = "FORMAT", .summary = "csv, libsvm, or auto: what the file looks like"},
      {.name = "delimiter", .placeholder = "C", .summary = "between cells, or the word tab; else: what it looks like"},
      {.name = "no-header", .placeholder = {}, .summary = "the first line names no columns: they are 1, 2, 3, ..."},
      {.name = "model", .placeholder = "MODEL", .summary = "lr, mlr, linear, poisson, mlp, wdl, dlrm, fm or deepfm"},
      {.name = "top",
       .placeholder = "TOP",
       .summary = "shared: nobody sees what is above the source layers; open: B does; else: shared, if it can be"},
      {.name = "classes", .placeholder = "N", .summary = "of the labels; B's file tells"},
      {.name = "align", .placeholder = "MODE", .summary = "aligned, intersection, only_b or union"},
      {.name = "shared-from", .placeholder = "FILE", .summary = "the peer's job file, or its section `shared`"},
      {.name = "listen",
       .placeholder = "ADDRESS",
       .summary = "wait for the peer at this HOST:PORT; B with several A's: NAME=HOST:PORT of each",
       .repeats = true},
      {.name = "dial",
       .placeholder = "ADDRESS",
       .summary = "call the peer, who listens at this HOST:PORT; B with several A's: as --listen",
       .repeats = true},
      {.name = "certificate", .placeholder = "FILE", .summary = "this party's; else: the one in keys/, or a new one"},
      {.name = "key", .placeholder = "FILE", .summary = "its private key"},
      {.name = "peer",
       .placeholder = "FILE",
       .summary = "the peer's certificate; else: the other one in keys/; B with several A's: NAME=FILE of each",
       .repeats = true},
      {.name = "name", .placeholder = "NAME", .summary = "A, one of several: what B and the others call it"},
      {.name = "other",
       .placeholder = "NAME=FILE",
       .summary = "A, one of several: another one and its certificate",
       .repeats = true},
      {.name = "plaintext", .placeholder = {}, .summary = "no TLS: only inside a link that is protected"},
      {.name = "accept",
       .placeholder = "WHAT",
       .summary = "A: open_top, to accept that B could recover features that are 0 or 1; fine_scores; else: nothing"},
      {.name = "both", .placeholder = {}, .summary = "two job files, for both parties on this machine"},
      {.name = "peer-data", .placeholder = "FILE", .summary = "with --both: B's rows; --data are A's"},
      {.name = "peer-test", .placeholder = "FILE", .summary = "with --both: B's rows to measure on"},
      {.name = "out", .placeholder = "FILE", .summary = "the job file; else: job-a.yaml or job-b.yaml"},
      {.name = "force", .placeholder = {}, .summary = "replace a file that is there"},
  };
}

std::string more_help_of_init() {
  return "At a terminal, what is not given is asked: Enter takes the guess. Elsewhere a guess is taken only where "
         "there is "
         "one\n"
         "candidate; id and label are never guessed among several, and that rows are aligned is never guessed. The "
         "first "
         "10000\n"
         "rows are looked at; nothing of them is sent or written down but names of columns and what kinds they are.\n"
         "Certificates and keys are looked for in keys/ beside the job file and here; an identity that is missing is "
         "made.\n"
         "\n"
         "examples:\n"
         "  blindfl init --party B --data b.csv --label income        B begins, and sends its section `shared` to A\n"
         "  blindfl init --party A --data a.csv --dial b.org:7000 --shared-from from_b.yaml\n"
         "                                                            and --accept open_top, if A accepts it\n"
         "  blindfl init --party B --data b.csv --label income --listen shop=0.0.0.0:7000 --listen bank=0.0.0.0:7001 "
         "--peer shop=shop.crt --peer bank=bank.crt\n"
         "  blindfl init --party A --data a.csv --name shop --other bank=bank.crt --dial b.org:7000 --peer b.crt "
         "--shared-from from_b.yaml --accept open_top\n"
         "  blindfl init --both --data a.csv --peer-data b.csv        to try both on this machine\n";
}

}  // namespace

Command init_command() {
  return {.name = "init",
          .summary = "writes a job file with comments, from a look at the data",
          .options = init_options(),
          .run = run_init,
          .more_help = more_help_of_init};
}

}  // namespace blindfl::app
