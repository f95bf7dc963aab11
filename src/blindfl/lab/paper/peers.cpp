#include "blindfl/lab/paper/peers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string_view>
#include <system_error>

#include "blindfl/lab/local_model.h"
#include "blindfl/lab/paper/data_sets.h"
#include "blindfl/nn/bridge.h"

namespace blindfl::lab::paper {

namespace {

constexpr std::size_t kPeerSteps = 30;
constexpr std::size_t kPeerBatches = 6;
constexpr std::size_t kPeerBatch = 128;

const char* const kMiniBatch = "a mini-batch of 128 rows: logistic regression, 123 features of which 14 are 1";

/// Times of single operations, as python-paillier does them: without GMP's gmpy2 they take longer.
const char* const kPhe =
    "import time\n"
    "from phe import paillier\n"
    "public, private = paillier.generate_paillier_keypair(n_length=2048)\n"
    "x = public.encrypt(1.5)\n"
    "def best(name, run):\n"
    "    times = []\n"
    "    for _ in range(7):\n"
    "        begin = time.perf_counter()\n"
    "        run()\n"
    "        times.append(time.perf_counter() - begin)\n"
    "    print(name + '\\t' + repr(sorted(times)[3]))\n"
    "best('encrypt a number, 2048 bits', lambda: public.encrypt(1.5))\n"
    "best('decrypt it', lambda: private.decrypt(x))\n"
    "best('multiply it with a number', lambda: x * 1.25)\n";

struct ClosePipe {
  void operator()(std::FILE* pipe) const { (void)pclose(pipe); }
};

bool python_has(const std::string& module) {
  const std::string program = "import importlib.util\nprint(importlib.util.find_spec('" + module + "') is not None)\n";
  return python_output(program).starts_with("True");
}

PeerReport measure_blindfl(const PaperSet& set, const data::Table& rows, protocol::Top top) {
  const std::array<const data::Table*, 1> tables{&rows};
  TwoPartyModel model = model_of(set, tables);
  model.top = top;
  const TwoPartyTraining training = train_two_parties(model, cut_rows(set, rows), {}, kPeerSteps + 1);
  return {.name = top == protocol::Top::kOpen ? "BlindFL, open top" : "BlindFL, shared top",
          .figures = {{kMiniBatch, training.seconds_per_step}}};
}

PeerReport measure_libtorch(const PaperSet& set, const data::Table& rows) {
  LocalModel model(set.features, std::vector<std::size_t>{}, std::size_t{1});
  TwoPartyModel shape = model_of(set, {});
  std::vector<double> laps;
  auto last = std::chrono::steady_clock::now();
  const auto loss = [&](std::span<const std::uint32_t> chosen) {
    const data::Table batch = rows.select_rows(chosen);
    return nn::loss(shape.family, model->forward(features_tensor(batch)), nn::to_tensor(batch.labels()));
  };
  lab::train_steps(*model, rows.rows(), loss, shape.training, [&](std::uint64_t step) {
    const auto now = std::chrono::steady_clock::now();
    if (step > 0) laps.push_back(std::chrono::duration<double>(now - last).count());
    last = now;
    return step < kPeerSteps;
  });
  std::ranges::sort(laps);
  return {.name = "plain libtorch, all columns at one party", .figures = {{kMiniBatch, laps.at(laps.size() / 2)}}};
}

PeerReport measure_phe() {
  PeerReport report{.name = "python-paillier"};
  if (!python_has("phe")) {
    report.missing = "not installed: python3 has no module 'phe'";
    return report;
  }
  report.figures = figures_in(python_output(kPhe));
  if (report.figures.empty()) report.missing = "installed, but its measurement failed";
  return report;
}

PeerReport look_for_crypten() {
  return {.name = "CrypTen",
          .missing = python_has("crypten") ? "installed; this program has no measurement of it"
                                           : "not installed: python3 has no module 'crypten'"};
}

PeerReport look_for_mp_spdz() {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code problem;
    if (std::filesystem::exists(std::filesystem::path(folder) / "semi2k-party.x", problem)) {
      return {.name = "MP-SPDZ", .missing = "installed; this program has no measurement of it"};
    }
  }
  return {.name = "MP-SPDZ", .missing = "not installed: there is no semi2k-party.x in the folders of PATH"};
}

}  // namespace

std::string python_output(const std::string& program) {
  // Quotes for a shell: '...', where a quote is '\''.
  std::string quoted = "'";
  for (const char c : program) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  const std::string command = "python3 -c " + quoted + "' 2>/dev/null";
  const std::unique_ptr<std::FILE, ClosePipe> pipe(popen(command.c_str(), "r"));
  std::string out;
  if (pipe == nullptr) return out;
  std::array<char, 4096> piece{};
  while (const std::size_t read = std::fread(piece.data(), 1, piece.size(), pipe.get())) out.append(piece.data(), read);
  return out;
}

std::vector<PeerFigure> figures_in(const std::string& lines) {
  std::vector<PeerFigure> figures;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos) continue;
    PeerFigure figure{.what = line.substr(0, tab)};
    const auto [end, problem] = std::from_chars(line.data() + tab + 1, line.data() + line.size(), figure.seconds);
    if (problem == std::errc() && end == line.data() + line.size()) figures.push_back(std::move(figure));
  }
  return figures;
}

std::vector<PeerReport> measure_peers(const StudyOptions& options) {
  const PaperSet& set = paper_set("a9a");
  const data::Table rows = generated_rows(set, kPeerBatches * kPeerBatch, options.seed);
  return {measure_blindfl(set, rows, protocol::Top::kOpen),
          measure_blindfl(set, rows, protocol::Top::kShared),
          measure_libtorch(set, rows),
          measure_phe(),
          look_for_crypten(),
          look_for_mp_spdz()};
}

}  // namespace blindfl::lab::paper
