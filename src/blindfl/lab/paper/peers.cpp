#include "blindfl/lab/paper/peers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>

#include "blindfl/base/error.h"
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

/// As python-paillier's, but for a mini-batch between two processes.
const char* const kCrypTen =
    "import multiprocessing\n"
    "import time\n"
    "import torch\n"
    "import crypten\n"
    "import crypten.mpc as mpc\n"
    "multiprocessing.set_start_method('fork', force=True)\n"
    "torch.set_num_threads(1)\n"
    "@mpc.run_multiprocess(world_size=2)\n"
    "def run():\n"
    "    x = crypten.cryptensor((torch.rand(128, 123) < 14 / 123).float())\n"
    "    y = crypten.cryptensor((torch.rand(128, 1) < 0.5).float())\n"
    "    w = crypten.cryptensor(torch.zeros(123, 1))\n"
    "    times = []\n"
    "    for _ in range(12):\n"
    "        begin = time.perf_counter()\n"
    "        p = x.matmul(w).sigmoid()\n"
    "        w = w - x.transpose(0, 1).matmul(p - y) * (0.05 / 128)\n"
    "        times.append(time.perf_counter() - begin)\n"
    "    return sorted(times[1:])[5]\n"
    "of_parties = run()\n"
    "provider = getattr(getattr(crypten.cfg, 'mpc', None), 'provider', 'unknown')\n"
    "print('triplets from its provider ' + str(provider) + ', and dense: ' + NAME + '\\t' + repr(max(of_parties)))\n";

/// A mini-batch in MP-SPDZ's language, so many times under timer 1.
const char* const kMpSpdzProgram =
    "from Compiler import ml\n"
    "x = sfix.Matrix(128, 123)\n"
    "x.assign_all(0.5)\n"
    "y = sfix.Array(128)\n"
    "y.assign_all(1)\n"
    "w = sfix.Matrix(123, 1)\n"
    "w.assign_all(0)\n"
    "error = sfix.Matrix(128, 1)\n"
    "start_timer(1)\n"
    "@for_range(STEPS)\n"
    "def _(i):\n"
    "    error.assign_vector(ml.approx_sigmoid(x.direct_mul(w)) - y.get_vector())\n"
    "    w.assign_vector(w.get_vector() - x.direct_trans_mul(error) * (0.05 / 128))\n"
    "stop_timer(1)\n"
    "print_ln('%s', w[0][0].reveal())\n";
constexpr std::size_t kMpSpdzSteps = 10;

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

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

/// For a shell: '...', where a quote is '\''.
std::string quoted(const std::string& words) {
  return "'" + replaced(words, "'", "'\\''") + "'";
}

/// What a command for a shell prints.
std::string output_of(const std::string& command) {
  const std::unique_ptr<std::FILE, ClosePipe> pipe(popen(command.c_str(), "r"));
  std::string out;
  if (pipe == nullptr) return out;
  std::array<char, 4096> piece{};
  while (const std::size_t read = std::fread(piece.data(), 1, piece.size(), pipe.get())) out.append(piece.data(), read);
  return out;
}

/// Why there are no figures in what was printed: its last line.
std::string failure(const std::string& said) {
  std::istringstream in(said);
  std::string last;
  for (std::string line; std::getline(in, line);) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  }
  return "installed, but its measurement failed" + (last.empty() ? "" : ": " + last);
}

PeerReport measure_python(const std::string& name, const std::string& module, const std::string& program) {
  PeerReport report{.name = name};
  if (!python_has(module)) {
    report.missing = "not installed: python3 has no module '" + module + "'";
    return report;
  }
  const std::string said = output_of("python3 -c " + quoted(program) + " 2>&1");
  report.figures = figures_in(said);
  if (report.figures.empty()) report.missing = failure(said);
  return report;
}

/// The folder in PATH that has the program, where a link to it leads; nothing if none has.
std::filesystem::path folder_of_program(const std::string& program) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code problem;
    const std::filesystem::path found = std::filesystem::canonical(std::filesystem::path(folder) / program, problem);
    if (!problem) return found.parent_path();
  }
  return {};
}

/// A folder of its own, for as long as it lives: MP-SPDZ writes bytecode and certificates where it is called.
class PeerFolder {
 public:
  PeerFolder() : path_((std::filesystem::temp_directory_path() / "blindfl_peer_XXXXXX").string()) {
    require<Error>(mkdtemp(path_.data()) != nullptr, path_, ": a folder for a peer's files cannot be made");
  }
  PeerFolder(const PeerFolder&) = delete;
  PeerFolder& operator=(const PeerFolder&) = delete;
  ~PeerFolder() {
    std::error_code problem;
    std::filesystem::remove_all(path_, problem);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

PeerReport measure_mp_spdz() {
  PeerReport report{.name = "MP-SPDZ"};
  const std::filesystem::path root = folder_of_program("semi2k-party.x");
  if (root.empty()) {
    report.missing = "not installed: there is no semi2k-party.x in the folders of PATH";
    return report;
  }
  const std::filesystem::path script = root / "Scripts" / "compile-run.py";
  if (!std::filesystem::exists(script)) {
    report.missing = "installed, but " + script.string() + " is missing, with which its programs are run";
    return report;
  }
  const PeerFolder folder;
  std::ofstream(std::filesystem::path(folder.path()) / "blindfl_peer.mpc")
      << replaced(kMpSpdzProgram, "STEPS", std::to_string(kMpSpdzSteps));
  const std::string said = output_of("cd " + quoted(folder.path()) + " && python3 " + quoted(script.string()) +
                                     " -E semi2k blindfl_peer.mpc 2>&1");
  if (const auto seconds = timer_in(said)) {
    report.figures = {{"semi2k, triplets included, and dense: " + std::string(kMiniBatch),
                       *seconds / static_cast<double>(kMpSpdzSteps)}};
  } else {
    report.missing = failure(said);
  }
  return report;
}

}  // namespace

std::string python_output(const std::string& program) {
  return output_of("python3 -c " + quoted(program) + " 2>/dev/null");
}

std::optional<double> timer_in(const std::string& said) {
  constexpr std::string_view kName = "Time1 = ";
  const std::size_t at = said.find(kName);
  if (at == std::string::npos) return std::nullopt;
  double seconds = 0;
  const char* const begin = said.data() + at + kName.size();
  const auto [end, problem] = std::from_chars(begin, said.data() + said.size(), seconds);
  const bool whole =
      problem == std::errc() && said.compare(static_cast<std::size_t>(end - said.data()), 8, " seconds") == 0;
  return whole && seconds > 0 ? std::optional(seconds) : std::nullopt;
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
          measure_python("python-paillier", "phe", kPhe),
          measure_python("CrypTen", "crypten", replaced(kCrypTen, "NAME", "'" + std::string(kMiniBatch) + "'")),
          measure_mp_spdz()};
}

}  // namespace blindfl::lab::paper
