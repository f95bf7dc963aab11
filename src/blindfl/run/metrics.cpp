#include "blindfl/run/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>

#include "blindfl/base/error.h"

namespace blindfl::run {

namespace {

constexpr std::size_t kFewestRocPoints = 3;

bool all_finite(Numbers numbers) {
  return std::ranges::all_of(numbers, [](double x) { return std::isfinite(x); });
}

double weight_of(Numbers weights, std::size_t row) {
  return weights.empty() ? 1 : weights[row];
}

double total_weight(Numbers weights, std::size_t rows) {
  return weights.empty() ? static_cast<double>(rows) : std::accumulate(weights.begin(), weights.end(), 0.0);
}

void check(std::string_view metric, Numbers scores, std::size_t classes, Numbers labels, Numbers weights) {
  require<InvalidArgument>(
      classes > 0 && !labels.empty() && scores.size() % classes == 0 && scores.size() / classes == labels.size(),
      metric, ": ", scores.size(), " scores do not make ", labels.size(), " rows of ", classes, ", or there are none");
  require<InvalidArgument>(weights.empty() || weights.size() == labels.size(), metric, ": ", weights.size(),
                           " weights for ", labels.size(), " rows");
  require<InvalidArgument>(all_finite(scores), metric, ": a score is not a finite number");
  require<InvalidArgument>(all_finite(labels), metric, ": a label is not a finite number");
  require<InvalidArgument>(all_finite(weights) && std::ranges::all_of(weights, [](double w) { return w >= 0; }), metric,
                           ": a weight is not a finite number of at least 0");
  const double total = total_weight(weights, labels.size());
  require<InvalidArgument>(total > 0 && std::isfinite(total), metric,
                           ": the weights add up to nothing, or to too much");
}

void check_probabilities(std::string_view metric, Numbers probabilities) {
  require<InvalidArgument>(std::ranges::all_of(probabilities, [](double p) { return p >= 0 && p <= 1; }), metric,
                           ": a probability is not between 0 and 1");
}

bool is_positive(double label) {
  return label > 0.5;
}

/// The weighted mean of what `of_row` says of each row.
template <class OfRow>
double mean(std::size_t rows, Numbers weights, const OfRow& of_row) {
  double sum = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    // Rows that do not count must not turn an infinity into something that is not a number.
    if (const double w = weight_of(weights, r); w > 0) sum += w * of_row(r);
  }
  return sum / total_weight(weights, rows);
}

std::vector<std::size_t> rising_order(Numbers scores) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return scores[i]; });
  return order;
}

/// All corners of the ROC curve: one for each different score, the highest first.
std::vector<RocPoint> all_corners(std::string_view metric, Numbers scores, Numbers labels, Numbers weights) {
  check(metric, scores, 1, labels, weights);
  const std::vector<std::size_t> order = rising_order(scores);
  std::vector<RocPoint> corners = {{.threshold = std::numeric_limits<double>::infinity()}};
  double negatives = 0;
  double positives = 0;
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::size_t row = order[i];
    (is_positive(labels[row]) ? positives : negatives) += weight_of(weights, row);
    if (i == 0 || scores[order[i - 1]] != scores[row]) corners.push_back({scores[row], negatives, positives});
  }
  require<InvalidArgument>(positives > 0 && negatives > 0, metric, ": needs rows of both classes");
  for (RocPoint& corner : corners) {
    corner.false_positive_rate /= negatives;
    corner.true_positive_rate /= positives;
  }
  return corners;
}

void check_classes(std::string_view metric, std::size_t classes, Numbers labels) {
  require<InvalidArgument>(
      std::ranges::all_of(labels,
                          [&](double y) { return y >= 0 && y < static_cast<double>(classes) && std::trunc(y) == y; }),
      metric, ": a label is not one of ", classes, " classes");
}

/// Weights of the rows of one class.
struct ClassSums {
  double of_it = 0;
  double taken_for_it = 0;
  double both = 0;

  void add(double weight, bool is_of_it, bool is_taken_for_it) {
    of_it += is_of_it ? weight : 0;
    taken_for_it += is_taken_for_it ? weight : 0;
    both += is_of_it && is_taken_for_it ? weight : 0;
  }
  [[nodiscard]] double precision() const { return taken_for_it > 0 ? both / taken_for_it : 0; }
  [[nodiscard]] double recall() const { return of_it > 0 ? both / of_it : 0; }
};

/// Of the positive rows, by whether scores are above a threshold.
ClassSums positive_sums(std::string_view metric, Numbers scores, Numbers labels, double threshold, Numbers weights) {
  check(metric, scores, 1, labels, weights);
  require<InvalidArgument>(!std::isnan(threshold), metric, ": the threshold is not a number");
  ClassSums sums;
  for (std::size_t r = 0; r < labels.size(); ++r) {
    sums.add(weight_of(weights, r), is_positive(labels[r]), scores[r] > threshold);
  }
  return sums;
}

std::vector<ClassSums> class_sums(std::string_view metric, Numbers scores, std::size_t classes, Numbers labels,
                                  Numbers weights) {
  check(metric, scores, classes, labels, weights);
  check_classes(metric, classes, labels);
  std::vector<ClassSums> sums(classes);
  for (std::size_t r = 0; r < labels.size(); ++r) {
    const auto row = scores.subspan(r * classes, classes);
    const auto predicted = static_cast<std::size_t>(std::ranges::max_element(row) - row.begin());
    const auto truth = static_cast<std::size_t>(labels[r]);
    const double w = weight_of(weights, r);
    sums[truth].add(w, true, predicted == truth);
    if (predicted != truth) sums[predicted].add(w, false, true);
  }
  return sums;
}

/// The mean over the classes that have rows.
double class_mean(const std::vector<ClassSums>& sums, double (ClassSums::*share)() const) {
  double all = 0;
  double count = 0;
  for (const ClassSums& each : sums) {
    if (each.of_it <= 0) continue;
    all += (each.*share)();
    count += 1;
  }
  return all / count;
}

double minus_log(double probability) {
  return -std::log(std::clamp(probability, kSmallestProbability, 1.0));
}

}  // namespace

double auc(Numbers scores, Numbers labels, Numbers weights) {
  const std::vector<RocPoint> corners = all_corners("AUC", scores, labels, weights);
  // Trapezoids: between two corners the classes are tied, and each pair counts half.
  double area = 0;
  for (std::size_t i = 1; i < corners.size(); ++i) {
    area += (corners[i].false_positive_rate - corners[i - 1].false_positive_rate) *
            (corners[i].true_positive_rate + corners[i - 1].true_positive_rate) / 2;
  }
  return area;
}

double ks(Numbers scores, Numbers labels, Numbers weights) {
  double widest = 0;
  for (const RocPoint& corner : all_corners("KS", scores, labels, weights)) {
    widest = std::max(widest, std::abs(corner.true_positive_rate - corner.false_positive_rate));
  }
  return widest;
}

double binary_accuracy(Numbers scores, Numbers labels, double threshold, Numbers weights) {
  check("accuracy", scores, 1, labels, weights);
  require<InvalidArgument>(!std::isnan(threshold), "accuracy: the threshold is not a number");
  return mean(labels.size(), weights,
              [&](std::size_t r) { return (scores[r] > threshold) == is_positive(labels[r]) ? 1.0 : 0.0; });
}

double class_accuracy(Numbers scores, std::size_t classes, Numbers labels, Numbers weights) {
  check("accuracy", scores, classes, labels, weights);
  return mean(labels.size(), weights, [&](std::size_t r) {
    const auto row = scores.subspan(r * classes, classes);
    return static_cast<double>(std::ranges::max_element(row) - row.begin()) == labels[r] ? 1.0 : 0.0;
  });
}

double f1(Numbers scores, Numbers labels, double threshold, Numbers weights) {
  const ClassSums sums = positive_sums("F1", scores, labels, threshold, weights);
  const double of = sums.of_it + sums.taken_for_it;
  return of > 0 ? 2 * sums.both / of : 0;
}

double average_precision(Numbers scores, Numbers labels, Numbers weights) {
  check("average precision", scores, 1, labels, weights);
  const std::vector<std::size_t> order = rising_order(scores);
  double found = 0;  // positive ones so far, from the highest score down
  double taken = 0;
  double before = 0;
  double sum = 0;
  for (std::size_t i = order.size(); i-- > 0;) {
    const double w = weight_of(weights, order[i]);
    taken += w;
    found += is_positive(labels[order[i]]) ? w : 0;
    if (i > 0 && scores[order[i - 1]] == scores[order[i]]) continue;
    if (taken > 0) sum += (found - before) * found / taken;
    before = found;
  }
  require<InvalidArgument>(found > 0, "average precision: needs positive rows");
  return sum / found;
}

double precision(Numbers scores, Numbers labels, double threshold, Numbers weights) {
  return positive_sums("precision", scores, labels, threshold, weights).precision();
}

double recall(Numbers scores, Numbers labels, double threshold, Numbers weights) {
  return positive_sums("recall", scores, labels, threshold, weights).recall();
}

double class_precision(Numbers scores, std::size_t classes, Numbers labels, Numbers weights) {
  return class_mean(class_sums("precision", scores, classes, labels, weights), &ClassSums::precision);
}

double class_recall(Numbers scores, std::size_t classes, Numbers labels, Numbers weights) {
  return class_mean(class_sums("recall", scores, classes, labels, weights), &ClassSums::recall);
}

double lift(Numbers scores, Numbers labels, double share, Numbers weights) {
  check("lift", scores, 1, labels, weights);
  require<InvalidArgument>(share > 0 && share <= 1, "lift: the share of rows is not above 0 and at most 1");
  const std::vector<std::size_t> order = rising_order(scores);
  const double total = total_weight(weights, labels.size());
  const double wanted = share * total;
  double taken = 0;
  double found = 0;
  double positives = 0;
  for (std::size_t end = order.size(); end > 0;) {
    // Rows with equal scores are in no order: all of them count, or the same part of each.
    double tied = 0;
    double tied_positives = 0;
    const double score = scores[order[end - 1]];
    for (; end > 0 && scores[order[end - 1]] == score; --end) {
      const double w = weight_of(weights, order[end - 1]);
      tied += w;
      tied_positives += is_positive(labels[order[end - 1]]) ? w : 0;
    }
    const double part = tied > 0 ? std::clamp((wanted - taken) / tied, 0.0, 1.0) : 0;
    taken += part * tied;
    found += part * tied_positives;
    positives += tied_positives;
  }
  require<InvalidArgument>(positives > 0, "lift: needs positive rows");
  return (found / taken) / (positives / total);
}

double log_loss(Numbers probabilities, Numbers labels, Numbers weights) {
  check("log-loss", probabilities, 1, labels, weights);
  check_probabilities("log-loss", probabilities);
  return mean(labels.size(), weights, [&](std::size_t r) {
    return minus_log(is_positive(labels[r]) ? probabilities[r] : 1 - probabilities[r]);
  });
}

double class_log_loss(Numbers probabilities, std::size_t classes, Numbers labels, Numbers weights) {
  check("log-loss", probabilities, classes, labels, weights);
  check_probabilities("log-loss", probabilities);
  check_classes("log-loss", classes, labels);
  return mean(labels.size(), weights, [&](std::size_t r) {
    return minus_log(probabilities[r * classes + static_cast<std::size_t>(labels[r])]);
  });
}

double rmse(Numbers predictions, Numbers truth, Numbers weights) {
  check("RMSE", predictions, 1, truth, weights);
  return std::sqrt(mean(truth.size(), weights, [&](std::size_t r) {
    const double difference = predictions[r] - truth[r];
    return difference * difference;
  }));
}

double mae(Numbers predictions, Numbers truth, Numbers weights) {
  check("MAE", predictions, 1, truth, weights);
  return mean(truth.size(), weights, [&](std::size_t r) { return std::abs(predictions[r] - truth[r]); });
}

double r_squared(Numbers predictions, Numbers truth, Numbers weights) {
  check("R^2", predictions, 1, truth, weights);
  const double centre = mean(truth.size(), weights, [&](std::size_t r) { return truth[r]; });
  const double variance =
      mean(truth.size(), weights, [&](std::size_t r) { return (truth[r] - centre) * (truth[r] - centre); });
  require<InvalidArgument>(variance > 0, "R^2: the truth is the same in all rows");
  const double error = rmse(predictions, truth, weights);
  return 1 - error * error / variance;
}

double poisson_deviance(Numbers means, Numbers counts, Numbers weights) {
  check("Poisson deviance", means, 1, counts, weights);
  const auto not_negative = [](double x) { return x >= 0; };
  require<InvalidArgument>(std::ranges::all_of(means, not_negative) && std::ranges::all_of(counts, not_negative),
                           "Poisson deviance: a count or a mean is negative");
  return mean(counts.size(), weights, [&](std::size_t r) {
    const double y = counts[r];
    const double m = std::max(means[r], kSmallestProbability);
    return 2 * ((y > 0 ? y * std::log(y / m) : 0) - y + m);
  });
}

std::vector<RocPoint> roc_curve(Numbers scores, Numbers labels, std::size_t most, Numbers weights) {
  require<InvalidArgument>(most >= kFewestRocPoints, "ROC: a curve has at least ", kFewestRocPoints, " points");
  std::vector<RocPoint> corners = all_corners("ROC", scores, labels, weights);
  if (corners.size() <= most) return corners;
  // Both rates together go from 0 to 2: equal steps of that follow the curve wherever it is steep or flat.
  const auto progress = [](const RocPoint& p) { return p.false_positive_rate + p.true_positive_rate; };
  const double step = 2 / static_cast<double>(most - 1);
  std::vector<RocPoint> kept = {corners.front()};
  double next = step;
  for (const RocPoint& corner : std::span(corners).subspan(1, corners.size() - 2)) {
    if (progress(corner) < next || kept.size() + 1 == most) continue;
    kept.push_back(corner);
    next = step * (std::floor(progress(corner) / step) + 1);
  }
  kept.push_back(corners.back());
  return kept;
}

std::vector<CalibrationBin> calibration(Numbers probabilities, Numbers labels, std::size_t most, Numbers weights) {
  check("calibration", probabilities, 1, labels, weights);
  check_probabilities("calibration", probabilities);
  require<InvalidArgument>(most > 0, "calibration: needs at least one bin");
  const std::vector<std::size_t> order = rising_order(probabilities);
  const double share = total_weight(weights, labels.size()) / static_cast<double>(most);
  std::vector<CalibrationBin> bins;
  CalibrationBin sums;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t row = order[i];
    const double w = weight_of(weights, row);
    sums.predicted += w * probabilities[row];
    sums.observed += is_positive(labels[row]) ? w : 0;
    sums.weight += w;
    const bool last = i + 1 == order.size();
    if (!last && (sums.weight < share || probabilities[order[i + 1]] == probabilities[row])) continue;
    if (sums.weight > 0) bins.push_back({sums.predicted / sums.weight, sums.observed / sums.weight, sums.weight});
    sums = {};
  }
  return bins;
}

}  // namespace blindfl::run
