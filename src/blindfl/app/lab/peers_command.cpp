#include <torch/torch.h>

#include <ostream>

#include "blindfl/app/lab/lab_commands.h"
#include "blindfl/base/number_text.h"
#include "blindfl/lab/paper/machine.h"
#include "blindfl/lab/paper/peers.h"

namespace blindfl::app {

namespace {

void run_peers(const Arguments& arguments, std::ostream& out) {
  torch::set_num_threads(1);
  lab::paper::StudyOptions options;
  options.seed = static_cast<std::uint64_t>(arguments.integer("seed", 1, 1'000'000'000));
  out << "machine  " << lab::paper::this_machine().text() << "; one thread for each party\n" << std::flush;
  for (const lab::paper::PeerReport& peer : lab::paper::measure_peers(options)) {
    if (!peer.missing.empty()) out << peer.name << ": " << peer.missing << "\n";
    for (const lab::paper::PeerFigure& figure : peer.figures) {
      out << peer.name << ": " << seconds_text(figure.seconds) << ", " << figure.what << "\n";
    }
  }
}

}  // namespace

Command peers_command() {
  return {.name = "peers",
          .summary = "measures other programs that are installed beside BlindFL, in one run",
          .options = {{.name = "seed", .placeholder = "NUMBER", .summary = "of generated rows", .fallback = "1"}},
          .run = run_peers};
}

}  // namespace blindfl::app
