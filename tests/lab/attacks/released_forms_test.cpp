// What other forms of scores than those rounded to 4 fractional bits would tell B of A's features, and what they would
// be worth. With BLINDFL_LONG_RUNS set: the table of SECURITY.md.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include "blindfl/data/libsvm.h"
#include "blindfl/lab/attacks/attack_scores.h"
#include "blindfl/lab/local_model.h"
#include "blindfl/run/metrics.h"
#include "made_up/tables.h"
#include "testing/real_data.h"

namespace blindfl::lab::attacks::released_forms_test {
namespace {

using torch::Tensor;
using torch::indexing::Slice;

constexpr std::int64_t kColumnsA = 4;

/// What B gets of logits, and the fractional bits that it looks at them with: a unit is as long as three and a half
/// standard deviations of what was added to them.
struct Form {
  std::string name;
  std::function<Tensor(const Tensor&)> released;
  int bits = 0;
};

Tensor rounded(const Tensor& logits, int bits) {
  return (logits * std::exp2(bits)).round() / std::exp2(bits);
}
Form of_bits(int bits) {
  return {std::to_string(bits) + " bits", [bits](const Tensor& logits) { return rounded(logits, bits); }, bits};
}
/// Noise of A's, normal, then rounded to 4 bits.
Form with_noise(double deviation, int bits) {
  return {"4 bits, noise " + std::to_string(deviation).substr(0, 4),
          [deviation](const Tensor& logits) {
            torch::Generator random = at::detail::createCPUGenerator(17);
            return rounded(logits + deviation * torch::randn(logits.sizes(), random, logits.options()), 4);
          },
          bits};
}
/// Which of so many classes of equal size a row is in: B puts the middle of the logits that it expects there.
Form of_classes(std::int64_t classes, int bits) {
  return {std::to_string(classes) + " classes of equal size",
          [classes](const Tensor& logits) {
            const Tensor rank = logits.argsort().argsort();
            const Tensor which = torch::floor_divide(rank * classes, logits.size(0));
            Tensor middle = torch::zeros_like(logits);
            for (std::int64_t c = 0; c < classes; ++c) {
              const Tensor rows = which == c;
              middle.index_put_({rows}, logits.index({rows}).median());
            }
            return middle;
          },
          bits};
}

/// Rows of a finished logistic regression; A has the first columns, of zeros and ones.
struct Rows {
  std::string name;
  Tensor features;
  Tensor labels;
  Tensor logits{};
  std::int64_t columns_a = kColumnsA;
};

/// The most likely weights, by Newton's steps; a little decay, for columns that are the same in all rows.
Tensor trained(const Tensor& features, const Tensor& labels) {
  const Tensor ones = torch::ones({features.size(0), 1}, torch::kFloat64);
  const Tensor x = torch::cat({features, ones}, 1);
  Tensor weights = torch::zeros({x.size(1)}, torch::kFloat64);
  const Tensor decay = 1e-3 * torch::eye(x.size(1), torch::kFloat64);
  for (int i = 0; i < 12; ++i) {
    const Tensor p = torch::sigmoid(torch::mv(x, weights));
    const Tensor curvature = torch::mm(x.t(), x * (p * (1 - p)).unsqueeze(1)) + decay;
    weights += torch::linalg::solve(curvature, torch::mv(x.t(), labels - p) - 1e-3 * weights, /*left=*/true);
  }
  return weights;
}
Tensor logits_of(const Tensor& features, const Tensor& weights) {
  return torch::mv(features, weights.index({Slice(0, -1)})) + weights[-1];
}

Rows made_up_rows(const std::string& name, double noise, std::uint64_t seed) {
  const made_up::SyntheticData data =
      made_up::make_synthetic({.rows = 2000, .columns_a = kColumnsA, .columns_b = 6, .noise = noise, .seed = seed});
  const Tensor all = lab::features_tensor(data.joined).to(torch::kFloat64);
  const Tensor a = (all.index({Slice(), Slice(0, kColumnsA)}) > 0.3).to(torch::kFloat64);
  Rows rows{.name = name,
            .features = torch::cat({a, all.index({Slice(), Slice(kColumnsA)})}, 1),
            .labels = torch::tensor(data.joined.labels(), torch::kFloat64)};
  rows.logits = logits_of(rows.features, trained(rows.features, rows.labels));
  return rows;
}

/// The four columns of a9a that are most even, at A; the rest at B.
Rows a9a_rows() {
  const auto read = [](const char* file) {
    return made_up::with_class_labels(data::read_libsvm(testing::real_data(file), {.cols = 123}));
  };
  const data::Table train = read("a9a.xz");
  const data::Table test = read("a9a.t.xz");
  const Tensor features = lab::features_tensor(train).to_dense().to(torch::kFloat64);
  const Tensor order = (features.mean(0) - 0.5).abs().argsort();
  const Tensor learnt = features.index_select(1, order);
  Rows rows{.name = "a9a",
            .features = lab::features_tensor(test).to_dense().to(torch::kFloat64).index_select(1, order),
            .labels = torch::tensor(test.labels(), torch::kFloat64)};
  rows.logits = logits_of(rows.features, trained(learnt, torch::tensor(train.labels(), torch::kFloat64)));
  return rows;
}

double auc_of(const Tensor& scores, const Tensor& labels) {
  const auto vector = [](const Tensor& t) {
    const Tensor whole = t.contiguous();
    return std::vector<double>(whole.data_ptr<double>(), whole.data_ptr<double>() + whole.numel());
  };
  return run::auc(vector(scores), vector(labels));
}

/// One line of the table.
PatternFraction tell(const Rows& rows, const Form& form) {
  const Tensor scores = form.released(rows.logits);
  constexpr std::int64_t kAttacked = 4000;  // rows; the AUC is that of all
  const Tensor features = rows.features.index({Slice(0, kAttacked)});
  const Tensor b = features.index({Slice(), Slice(rows.columns_a)});
  const ToldPatterns patterns = attack_scores(scores.index({Slice(0, kAttacked)}), b, form.bits, rows.columns_a);
  const PatternFraction fraction = fraction_of(patterns, features.index({Slice(), Slice(0, rows.columns_a)}));
  std::cout << std::fixed << std::setprecision(4) << rows.name << " | " << form.name << " | told " << fraction.told
            << ", guess " << fraction.guess << " | AUC " << auc_of(scores, rows.labels) << std::endl;
  return fraction;
}

std::vector<Form> forms() {
  std::vector<Form> all;
  for (const int bits : {10, 4, 3, 2, 1, 0, -1}) all.push_back(of_bits(bits));
  all.push_back(with_noise(0.25, 0));
  all.push_back(with_noise(0.5, -1));
  all.push_back(with_noise(1, -2));
  all.push_back(with_noise(2, -3));
  all.push_back(of_classes(100, 2));
  all.push_back(of_classes(10, 0));
  return all;
}

TEST(ReleasedForms, TellWhatTheTableOfSecuritySays) {
  if (!testing::long_runs()) GTEST_SKIP() << "takes minutes: set BLINDFL_LONG_RUNS";
  for (const std::uint64_t seed : {1, 2, 3}) {
    for (const auto& [name, noise] : {std::pair{"large weights", 0.0}, {"small weights", 8.0}}) {
      const Rows rows = made_up_rows(name, noise, seed);
      for (const Form& form : forms()) {
        const PatternFraction fraction = tell(rows, form);
        if (form.name == "10 bits") {
          EXPECT_GE(fraction.told, 0.9);
        } else if (form.name == "4 bits" && noise == 0) {
          EXPECT_GE(fraction.told, 0.8) << "the default is no protection";
        } else if (form.name == "4 bits, noise 1.00") {
          EXPECT_LE(fraction.told, fraction.guess + 0.05);
        }
      }
    }
  }
  BLINDFL_NEEDS_DATA("a9a.xz");
  BLINDFL_NEEDS_DATA("a9a.t.xz");
  const Rows rows = a9a_rows();
  for (const Form& form : forms()) (void)tell(rows, form);
}

}  // namespace
}  // namespace blindfl::lab::attacks::released_forms_test
