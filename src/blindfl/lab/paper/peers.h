#pragma once

#include <optional>
#include <string>
#include <vector>

#include "blindfl/lab/paper/study.h"

namespace blindfl::lab::paper {

/// What another program, or ours, took for something.
struct PeerFigure {
  std::string what;  ///< "a mini-batch of 128 rows: logistic regression, 123 features"
  double seconds = 0;
};

/// A program that ours can be measured beside.
struct PeerReport {
  std::string name;
  std::string missing{};  ///< why it was not measured; empty if it was
  std::vector<PeerFigure> figures{};
};

/// Measures BlindFL, plain libtorch, and of python-paillier, CrypTen and MP-SPDZ those that are installed; says of the
/// others why not.
[[nodiscard]] std::vector<PeerReport> measure_peers(const StudyOptions& options);

/// What comes of a Python program: what it printed; nothing if it failed or there is no `python3`.
[[nodiscard]] std::string python_output(const std::string& program);
/// Seconds of MP-SPDZ's first timer in what it printed: "Time1 = 0.25 seconds (...)". None if there are none.
[[nodiscard]] std::optional<double> timer_in(const std::string& said);
/// Figures in lines of "name<tab>seconds".
[[nodiscard]] std::vector<PeerFigure> figures_in(const std::string& lines);

}  // namespace blindfl::lab::paper
