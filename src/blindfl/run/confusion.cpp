#include "blindfl/run/confusion.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "blindfl/base/error.h"
#include "blindfl/base/text.h"

namespace blindfl::run {

namespace {

double share(double part, double all) {
  return all > 0 ? part / all : 0;
}

std::size_t predicted_class(Numbers row, double threshold) {
  if (row.size() == 1) return row[0] > threshold ? 1 : 0;
  return static_cast<std::size_t>(std::ranges::max_element(row) - row.begin());
}

std::string name_for_screen(const std::string& name) {
  constexpr std::size_t kWidest = 12;
  const std::string text = printable(name);
  return text.size() <= kWidest ? text : text.substr(0, kWidest - 2) + "..";
}

}  // namespace

double ConfusionMatrix::true_rows(std::size_t c) const {
  double sum = 0;
  for (std::size_t p = 0; p < classes.size(); ++p) sum += at(c, p);
  return sum;
}

double ConfusionMatrix::predicted_rows(std::size_t c) const {
  double sum = 0;
  for (std::size_t t = 0; t < classes.size(); ++t) sum += at(t, c);
  return sum;
}

double ConfusionMatrix::precision(std::size_t c) const {
  return share(at(c, c), predicted_rows(c));
}

double ConfusionMatrix::recall(std::size_t c) const {
  return share(at(c, c), true_rows(c));
}

ConfusionMatrix confusion_matrix(Numbers scores, Numbers labels, std::vector<std::string> classes, double threshold,
                                 Numbers weights) {
  const std::size_t count = classes.size();
  require<InvalidArgument>(count >= 2 && !labels.empty() && scores.size() % labels.size() == 0,
                           "confusion matrix: needs rows, and at least two classes");
  const std::size_t columns = scores.size() / labels.size();
  require<InvalidArgument>(columns == count || (columns == 1 && count == 2), "confusion matrix: ", columns,
                           " scores in each row do not make ", count, " classes");
  require<InvalidArgument>(weights.empty() || weights.size() == labels.size(), "confusion matrix: ", weights.size(),
                           " weights for ", labels.size(), " rows");
  ConfusionMatrix matrix{.classes = std::move(classes), .counts = std::vector<double>(count * count, 0.0)};
  for (std::size_t r = 0; r < labels.size(); ++r) {
    const double label = labels[r];
    require<InvalidArgument>(label >= 0 && label < static_cast<double>(count) && std::trunc(label) == label,
                             "confusion matrix: a label is not one of ", count, " classes");
    const std::size_t predicted = predicted_class(scores.subspan(r * columns, columns), threshold);
    matrix.counts[static_cast<std::size_t>(label) * count + predicted] += weights.empty() ? 1 : weights[r];
  }
  return matrix;
}

std::string confusion_text(const ConfusionMatrix& matrix) {
  std::ostringstream out;
  out << std::left << std::setw(14) << "class" << std::right << std::setw(10) << "rows" << std::setw(11) << "precision"
      << std::setw(8) << "recall"
      << "  taken for";
  for (const std::string& name : matrix.classes) out << " " << std::setw(12) << name_for_screen(name);
  out << "\n";
  for (std::size_t c = 0; c < matrix.classes.size(); ++c) {
    out << std::left << std::setw(14) << name_for_screen(matrix.classes[c]) << std::right << std::defaultfloat
        << std::setprecision(6) << std::setw(10) << matrix.true_rows(c) << std::fixed << std::setprecision(4)
        << std::setw(11) << matrix.precision(c) << std::setw(8) << matrix.recall(c) << "           ";
    for (std::size_t p = 0; p < matrix.classes.size(); ++p) {
      out << " " << std::defaultfloat << std::setprecision(6) << std::setw(12) << matrix.at(c, p);
    }
    out << "\n";
  }
  return out.str();
}

}  // namespace blindfl::run
