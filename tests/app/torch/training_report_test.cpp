// The report's facts come from the layers that were trained, and not from words about them.

#include "blindfl/app/torch/training_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blindfl/app/plan/job_layers.h"
#include "testing/two_parties.h"

namespace blindfl::app::training_report_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Binary features, few in a row.
PartyShape sparse_shape(std::size_t features) {
  PartyShape shape;
  shape.numeric = features;
  shape.nonzeros = features == 0 ? 0 : 7;
  shape.encoding = {.scale = 0, .largest = 1, .clip = false};
  return shape;
}

job::Job job_of(Party party, double line_speed) {
  job::Job job;
  job.shared.model.top = protocol::Top::kOpen;
  job.shared.training.batch = 64;
  job.shared.training.epochs = 3;
  job.shared.scheme.line_speed = line_speed;
  job.own.party = party;
  return job;
}

/// Both parties' reports, as report.html has them, of a model that was really made.
struct Reports {
  std::string a;
  std::string b;
  bool planned_encrypted = false;
};

Reports reports_of(const PartyShape& a, const PartyShape& b, double line_speed,
                   const std::optional<std::uint64_t>& seed_of_a = {}) {
  constexpr std::size_t kRows = 64;
  const job::Job any = job_of(Party::kA, line_speed);
  const auto schemes = job_schemes(any.shared.scheme);
  testing::TwoParties parties(pointers_to(schemes));
  const JobLayers layers = job_layers(any.shared, a, b, kRows);
  const JobEstimate expected = estimate(layers, any.shared.scheme, job_link(any.shared.scheme));
  const ShapesOfA shapes_a(a);
  const auto report = [&](protocol::Session& session) {
    const Party party = session.party();
    job::Job job = job_of(party, line_speed);
    if (party == Party::kA) job.own.run.weight_seed = seed_of_a;
    const JobModel model = make_model(session, job.shared.model, layers);
    run::RunSummary summary;
    summary.party = party;
    const run::RunReport made = training_report(
        {.job = job, .party = party, .shapes_a = shapes_a, .shape_b = b, .expected = expected, .model = model}, summary,
        {parties.recording(party).channel().get()});
    return std::pair(run::report_html(made), made.model.encrypted_update);
  };
  const auto [of_a, of_b] = parties.run(report);
  EXPECT_EQ(of_a.second, of_b.second);
  return {of_a.first, of_b.first, of_a.second};
}

TEST(TrainingReport, SaysWhatAHoldsWhereThePlannerChoseEncryptedUpdates) {
  // `update: auto`, many features and a slow line: A's weights learn under encryption.
  const Reports reports = reports_of(sparse_shape(200000), sparse_shape(200000), 10);
  ASSERT_TRUE(reports.planned_encrypted);
  for (const std::string& html : {reports.a, reports.b}) {
    EXPECT_THAT(html, AllOf(HasSubstr("How they changed since is encrypted under B&#39;s key."),
                            HasSubstr("they must never be brought together")));
  }
}

TEST(TrainingReport, SaysNothingOfEncryptedUpdatesWhereThereAreNone) {
  const Reports reports = reports_of(sparse_shape(20), sparse_shape(20), 1000);
  ASSERT_FALSE(reports.planned_encrypted);
  for (const std::string& html : {reports.a, reports.b}) EXPECT_THAT(html, Not(HasSubstr("brought together")));
}

TEST(TrainingReport, OfBothPartiesHasTheShapesThatDecideWhatBCouldWorkOut) {
  const Reports reports = reports_of(sparse_shape(20), sparse_shape(0), 1000, 5);
  for (const std::string& html : {reports.a, reports.b}) {
    EXPECT_THAT(html,
                AllOf(HasSubstr("features that are 0 or 1, one-hot ones too, exactly"), HasSubstr("opened 3 times"),
                      HasSubstr("B has no features of its own"), HasSubstr("rounded to 16 fractional bits")));
  }
  EXPECT_THAT(reports.a, HasSubstr("(weight_seed)")) << "A set it, and only A knows";
  EXPECT_THAT(reports.b, Not(HasSubstr("(weight_seed)")));
}

}  // namespace
}  // namespace blindfl::app::training_report_test
