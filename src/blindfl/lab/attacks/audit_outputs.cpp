// What a party makes of the source layers' outputs that it saw: opened ones, or shares.

#include <algorithm>
#include <array>
#include <cmath>

#include "blindfl/base/number_text.h"
#include "blindfl/lab/attacks/attack_binary_columns.h"
#include "blindfl/lab/attacks/attack_differences.h"
#include "blindfl/lab/attacks/attack_lattice.h"
#include "blindfl/lab/attacks/attack_regression.h"
#include "blindfl/lab/attacks/audit_parts.h"
#include "blindfl/lab/attacks/own_view.h"
#include "blindfl/nn/bridge.h"

namespace blindfl::lab::attacks {

namespace {

using torch::Tensor;
using torch::indexing::Slice;

constexpr const char* kSharedTop =
    "Set shared.model.top to shared at both parties: B then sees neither Z nor any of its parts.";
constexpr const char* kTellUsOfShares =
    "Shares should tell nothing, and these seem to. Look again at another run; if it stands, it is a fault of the "
    "program, and SECURITY.md says where to report it.";

const char* advice_for(const OwnView& view) {
  return view.opened ? kSharedTop : kTellUsOfShares;
}

std::string words_of(const OwnView& view) {
  return "source layer '" + view.layer + "', " + plainly_counted(static_cast<std::uint64_t>(view.own.size(0)), "row");
}

std::string seen_of(const OwnView& view) {
  return view.opened ? "Z" : "this party's shares of Z (read as numbers)";
}

/// What an attack on openings finds, as a number.
class BinaryColumns {
 public:
  explicit BinaryColumns(const OwnView& view)
      : view_(view), own_(with_constant(view.own)), known_(orthonormal_basis(own_, 0)) {
    if (view.peer.defined()) truth_ = two_valued(view.peer);
  }

  [[nodiscard]] bool nothing_to_find() const { return truth_.defined() && truth_.size(1) == 0; }
  [[nodiscard]] std::string measure() const {
    return truth_.defined() ? "the share of the peer's columns of two values that were found, right in all rows"
                            : "independent columns of zeros and ones that were found, beside this party's own";
  }
  [[nodiscard]] double number(const std::vector<Tensor>& z) const {
    double best = number_of(attack_binary_columns(torch::cat(z, 1), own_, view_.output_scale));
    if (z.size() > 1 && view_.share_b.size() == z.size()) {
      std::vector<Opening> openings;
      for (std::size_t i = 0; i < z.size(); ++i) openings.push_back({z[i], view_.share_b[i]});
      best = std::max(best, number_of(attack_differences(openings, view_.own, view_.output_scale)));
    }
    return best;
  }
  /// How many dimensions outputs add to the space of this party's own columns.
  [[nodiscard]] double dimensions(const std::vector<Tensor>& z) const {
    const Tensor rest = without_projection(torch::cat(z, 1), known_);
    return static_cast<double>(orthonormal_basis(rest, std::ldexp(1.0, -view_.output_scale)).size(1));
  }

 private:
  [[nodiscard]] double number_of(RecoveredColumns found) const {
    if (truth_.defined()) {
      // With a constant in the span, a column and its opposite are both there.
      found.columns = torch::cat({found.columns, 1 - found.columns}, 1);
      return fraction_of(found, truth_).value();
    }
    const Tensor rest = without_projection(found.columns, known_);
    return static_cast<double>(orthonormal_basis(rest, 1e-9).size(1));
  }

  const OwnView& view_;
  Tensor own_;
  Tensor known_;
  Tensor truth_;
};

/// What `number` is of random numbers in the place of outputs.
template <class F>
Spread by_random_outputs(const std::vector<Tensor>& z, const AuditOptions& options, F&& number) {
  return by_chance(options.draws_of_search, options.seed, [&](torch::Generator& random) {
    std::vector<Tensor> drawn;
    for (const Tensor& each : z) drawn.push_back(random_like(each, random));
    return number(drawn);
  });
}

/// Whether the outputs lie in a space of fewer dimensions than there are outputs: then that space is the one of the
/// peer's columns, and all of them are in it, found or not.
void add_dimensions(const BinaryColumns& columns, const OwnView& view, const AuditOptions& options,
                    run::AttackResults& results) {
  const Spread chance =
      by_random_outputs(view.z, options, [&](const std::vector<Tensor>& drawn) { return columns.dimensions(drawn); });
  results.figures.push_back(
      {.attack = "the space of the peer's columns",
       .of = words_of(view) + (view.z.size() > 1 ? ", " + std::to_string(view.z.size()) + " times" : ""),
       .tries =
           "Whether " + seen_of(view) +
           " lies in a space of fewer dimensions than it has outputs, beside this party's own columns. Then all of "
           "the peer's columns are mixtures of what this party has, whether or not a search finds them.",
       .measure = "dimensions",
       .value = columns.dimensions(view.z),
       .chance = chance.mean,
       .standard_error = chance.deviation,
       .works = run::Works::kBelow,
       .advice = advice_for(view)});
}

void add_binary_figure(const BinaryColumns& columns, const OwnView& view, const std::vector<Tensor>& z,
                       const AuditOptions& options, run::AttackResults& results) {
  const bool one = z.size() == 1;
  const Spread chance =
      by_random_outputs(z, options, [&](const std::vector<Tensor>& drawn) { return columns.number(drawn); });
  results.figures.push_back({.attack = one ? "binary columns from one opening" : "binary columns from several openings",
                             .of = words_of(view) + (one ? "" : ", " + std::to_string(z.size()) + " times"),
                             .tries = "Columns of zeros and ones in the span of " + seen_of(view) +
                                      " and of this party's own columns" +
                                      (one ? "." : ", over all the times that the same rows passed."),
                             .measure = columns.measure(),
                             .value = columns.number(z),
                             .chance = chance.mean,
                             .standard_error = chance.deviation,
                             .works = run::Works::kAbove,
                             .advice = advice_for(view)});
}

/// The first rows of a view.
OwnView first_rows(OwnView view, std::int64_t most) {
  const std::int64_t rows = std::min(most, view.own.size(0));
  const auto cut = [&](Tensor& matrix) {
    if (matrix.defined()) matrix = matrix.index({Slice(0, rows)});
  };
  for (Tensor& z : view.z) cut(z);
  cut(view.own);
  cut(view.peer);
  if (!view.labels.empty()) view.labels.resize(static_cast<std::size_t>(rows));
  return view;
}

void add_nearness(const OwnView& view, const Tensor& truth, const std::string& whose, const AuditOptions& options,
                  run::AttackResults& results) {
  const auto nearness = [&](const Tensor& z) {
    return correlation_of_columns(attack_regression(z, view.own), truth, view.own).value;
  };
  const Spread chance = by_chance(options.draws, options.seed, [&](torch::Generator& random) {
    return nearness(random_like(view.z.back(), random));
  });
  results.figures.push_back({.attack = "least squares, beside " + whose,
                             .of = words_of(view),
                             .tries = "What this party's own features leave of " + seen_of(view) +
                                      ", mixed to be as near to " + whose + " as it can be.",
                             .measure = "the mean correlation with " + whose,
                             .value = nearness(view.z.back()),
                             .chance = chance.mean,
                             .standard_error = chance.deviation,
                             .works = run::Works::kAbove,
                             .advice = advice_for(view)});
}

/// Columns of zeros and ones that lattice reduction finds; without the truth, only if they explain Z.
double found_by_lattice(const OwnView& view, const Tensor& z, std::int64_t rows) {
  const RecoveredColumns found =
      attack_lattice(z, view.output_scale, view.peer_columns, static_cast<std::size_t>(rows));
  if (view.peer.defined()) return fraction_of(found, view.peer.index({Slice(0, rows)})).value();
  if (found.columns.size(1) == 0) return 0;
  const Tensor basis = orthonormal_basis(found.columns, 1e-9);
  const Tensor rest = without_projection(z.index({Slice(0, rows)}).view({rows, 1}), basis);
  const bool explains = rest.abs().max().item<double>() < 4 * std::ldexp(1.0, -view.output_scale);
  return explains ? static_cast<double>(basis.size(1)) : 0;
}

/// Chi-square over degrees of freedom of the values of each byte, the mean over the bytes.
struct ByteUniformity {
  double statistic = 0;
  double standard_error = 0;
};
ByteUniformity uniformity_of(const std::vector<UInt128>& values, int ring_bits) {
  constexpr double kFreedom = 255;
  const int bytes = ring_bits / 8;
  double sum = 0;
  for (int i = 0; i < bytes; ++i) {
    std::array<double, 256> counts{};
    for (const UInt128 value : values) counts[static_cast<std::uint8_t>(value >> (8 * i))] += 1;
    const double expected = static_cast<double>(values.size()) / 256;
    for (const double count : counts) sum += (count - expected) * (count - expected) / expected;
  }
  return {.statistic = sum / (kFreedom * bytes), .standard_error = std::sqrt(2 / (kFreedom * bytes))};
}

}  // namespace

void audit_binary_columns(const OwnView& view, const AuditOptions& options, run::AttackResults& results) {
  const torch::NoGradGuard no_grad;
  constexpr const char* kName = "binary columns";
  const std::int64_t dimension = view.own.size(1) + 1 + view.z.back().size(1);
  if (view.own.size(0) < 2 * dimension) {
    results.untried.push_back({kName, words_of(view) +
                                          ": it takes twice as many rows as there are outputs and own "
                                          "features together, " +
                                          std::to_string(2 * dimension)});
    return;
  }
  const BinaryColumns columns(view);
  // Outputs of embeddings lie in the space of these, which has fewer dimensions than there are categories.
  if (view.peer_columns > 0) add_dimensions(columns, view, options, results);
  if (columns.nothing_to_find()) {
    results.untried.push_back({kName, words_of(view) + ": the peer has no column of two values"});
    return;
  }
  add_binary_figure(columns, view, {view.z.back()}, options, results);
  if (view.z.size() > 1) add_binary_figure(columns, view, view.z, options, results);
}

void audit_regression(const OwnView& all, const AuditOptions& options, run::AttackResults& results) {
  const torch::NoGradGuard no_grad;
  constexpr std::int64_t kMostRows = 1024;
  constexpr const char* kName = "least squares";
  const OwnView view = first_rows(all, kMostRows);
  if (!view.peer.defined() && view.labels.empty()) {
    results.untried.push_back({kName,
                               "what is left beside this party's own features is to be compared with the peer's "
                               "columns, which this party has not; a rehearsal has them (--truth)"});
    return;
  }
  if (view.own.size(0) < 2 * (view.own.size(1) + 1 + view.z.back().size(1))) {
    results.untried.push_back({kName, words_of(view) + ": there are too few rows for so many outputs and features"});
    return;
  }
  if (view.peer.defined() && view.peer.size(1) > 0) {
    add_nearness(view, view.peer, "the peer's columns", options, results);
  }
  if (!view.labels.empty()) {
    add_nearness(view, nn::to_tensor(view.labels).to(torch::kFloat64).unsqueeze(1), "the labels", options, results);
  }
}

void audit_lattice(const OwnView& view, const AuditOptions& options, run::AttackResults& results) {
  const torch::NoGradGuard no_grad;
  constexpr std::int64_t kMostRows = 64;
  constexpr std::size_t kMostColumns = 24;
  if (!view.opened || view.z.back().size(1) != 1 || view.own.size(1) > 0) return;
  const std::int64_t rows = std::min(kMostRows, 2 * nn::torch_size(view.peer_columns) + 10);
  const Tensor& z = view.z.back();
  if (view.peer_columns == 0 || view.peer_columns > kMostColumns || z.size(0) < rows) {
    results.untried.push_back(
        {"lattice reduction",
         words_of(view) + ": it takes from 1 to 24 columns of the peer, and " + std::to_string(rows) + " rows"});
    return;
  }
  const Spread chance = by_chance(options.draws_of_search, options.seed, [&](torch::Generator& random) {
    return found_by_lattice(view, random_like(z, random), rows);
  });
  results.figures.push_back(
      {.attack = "lattice reduction",
       .of = words_of(view),
       .tries = "Zeros and ones whose mixture with a few weights is Z to its last bit.",
       .measure = view.peer.defined() ? "the share of the peer's columns that were found"
                                      : "columns that were found and explain Z",
       .value = found_by_lattice(view, z, rows),
       .chance = chance.mean,
       .standard_error = chance.deviation,
       .works = run::Works::kAbove,
       .advice =
           std::string(kSharedTop) + " Under an open top, a smaller shared.model.output_scale makes this one harder."});
}

void audit_uniformity(const OwnView& view, run::AttackResults& results) {
  constexpr std::size_t kFewest = 1280;  // five of each value of a byte
  if (view.shares.empty()) return;
  std::vector<UInt128> values;
  for (const ShareMatrix& share : view.shares) {
    values.insert(values.end(), share.values().begin(), share.values().end());
  }
  const int ring_bits = view.shares.front().ring_bits();
  if (values.size() < kFewest || ring_bits < 8) {
    results.untried.push_back({"uniformity of shares", words_of(view) + ": it takes " + std::to_string(kFewest) +
                                                           " numbers, and there are " + std::to_string(values.size())});
    return;
  }
  const ByteUniformity found = uniformity_of(values, ring_bits);
  results.figures.push_back(
      {.attack = "uniformity of shares",
       .of = words_of(view),
       .tries = "Whether some values of a byte are more frequent than others in this party's shares of Z.",
       .measure = "chi-square over its degrees of freedom, all bytes together",
       .value = found.statistic,
       .chance = 1,
       .standard_error = found.standard_error,
       .works = run::Works::kAbove,
       .advice = kTellUsOfShares});
}

}  // namespace blindfl::lab::attacks
