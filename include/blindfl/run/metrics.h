#pragma once

#include <cstddef>
#include <span>
#include <vector>

// How good scores are, for whoever has the labels. All take one weight per row, or none: then every row counts 1.
//
// All throw InvalidArgument if lengths differ, there are no rows, a number is not finite, a weight is negative or all
// are zero. Binary labels above 0.5 are positive.

namespace blindfl::run {

using Numbers = std::span<const double>;

/// Area under the ROC curve: the chance that a positive row scores above a negative one; ties count half.
/// Throws InvalidArgument if one class is missing.
[[nodiscard]] double auc(Numbers scores, Numbers labels, Numbers weights = {});

/// Kolmogorov-Smirnov: how far the scores of the two classes are apart at the threshold that parts them best, 0 to 1.
/// Throws InvalidArgument if one class is missing.
[[nodiscard]] double ks(Numbers scores, Numbers labels, Numbers weights = {});

/// The share of rows on the right side of the threshold. Scores above it are positive.
[[nodiscard]] double binary_accuracy(Numbers scores, Numbers labels, double threshold, Numbers weights = {});

/// The share of rows whose highest of `classes` scores, row by row, is that of the label. The first of equal ones
/// counts.
[[nodiscard]] double class_accuracy(Numbers scores, std::size_t classes, Numbers labels, Numbers weights = {});

/// Harmonic mean of precision and recall at a threshold. 0 if there is no positive row, neither in truth nor by score.
[[nodiscard]] double f1(Numbers scores, Numbers labels, double threshold, Numbers weights = {});

/// Average precision, the area under the curve of precision by recall: the mean, over the positive rows, of the
/// precision among the rows that score at least as high. Throws InvalidArgument if there is no positive row.
[[nodiscard]] double average_precision(Numbers scores, Numbers labels, Numbers weights = {});

/// Shares of the rows that are taken for positive at a threshold, and of the positive ones, that are both. 0 if there
/// are none.
[[nodiscard]] double precision(Numbers scores, Numbers labels, double threshold, Numbers weights = {});
[[nodiscard]] double recall(Numbers scores, Numbers labels, double threshold, Numbers weights = {});

/// The same for `classes` scores row by row, of which the highest counts: means over the classes that have rows, each
/// counting alike.
[[nodiscard]] double class_precision(Numbers scores, std::size_t classes, Numbers labels, Numbers weights = {});
[[nodiscard]] double class_recall(Numbers scores, std::size_t classes, Numbers labels, Numbers weights = {});

/// How many times more positive rows there are among the `share` of rows that score highest than among all. Of rows
/// with equal scores at the edge, a part counts. Throws InvalidArgument if there is no positive row, or the share is
/// not above 0 and at most 1.
[[nodiscard]] double lift(Numbers scores, Numbers labels, double share, Numbers weights = {});

/// Probabilities count as no closer than this to 0 or 1 in a log-loss, and predicted means as no less.
constexpr double kSmallestProbability = 1e-15;

/// The mean of -log of the probability that was given to what was true.
/// Throws InvalidArgument for what is not between 0 and 1.
[[nodiscard]] double log_loss(Numbers probabilities, Numbers labels, Numbers weights = {});
/// The same for `classes` probabilities row by row; labels are 0 to `classes` - 1.
[[nodiscard]] double class_log_loss(Numbers probabilities, std::size_t classes, Numbers labels, Numbers weights = {});

/// Root of the mean squared difference, and mean absolute difference.
[[nodiscard]] double rmse(Numbers predictions, Numbers truth, Numbers weights = {});
[[nodiscard]] double mae(Numbers predictions, Numbers truth, Numbers weights = {});

/// R^2, the share of the truth's variance that is predicted: 1 is best, 0 is as good as the mean, below it is worse.
/// Throws InvalidArgument if the truth is the same in all rows.
[[nodiscard]] double r_squared(Numbers predictions, Numbers truth, Numbers weights = {});

/// Mean Poisson deviance, 2 (y log(y / m) - y + m), of counts `y` for which means `m` were predicted. 0 is best.
/// Throws InvalidArgument if one of them is negative.
[[nodiscard]] double poisson_deviance(Numbers means, Numbers counts, Numbers weights = {});

/// A corner of the ROC curve: what shares of the two classes score at least `threshold`.
struct RocPoint {
  double threshold = 0;
  double false_positive_rate = 0;
  double true_positive_rate = 0;
};

/// The ROC curve from (0, 0) to (1, 1), in at most `most` points: where there are more corners, some along the curve.
/// Throws InvalidArgument if one class is missing or `most` is below 3.
[[nodiscard]] std::vector<RocPoint> roc_curve(Numbers scores, Numbers labels, std::size_t most, Numbers weights = {});

/// Rows with about the same predicted probability.
struct CalibrationBin {
  double predicted = 0;  ///< their mean probability
  double observed = 0;   ///< the share of positive ones
  double weight = 0;     ///< of all of them
};

/// At most `most` bins of about equal weight, by rising probability. Rows of equal probability share one.
/// Throws InvalidArgument for what is not between 0 and 1, or if `most` is 0.
[[nodiscard]] std::vector<CalibrationBin> calibration(Numbers probabilities, Numbers labels, std::size_t most,
                                                      Numbers weights = {});

}  // namespace blindfl::run
