// What a report says of encryption and hiding: from the layers that the job makes, not from anybody's prose.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blindfl/app/torch/training_report.h"
#include "blindfl/net/memory_channel.h"

namespace blindfl::app::report_facts_test {
namespace {

using ::testing::HasSubstr;

PartyShape binary_shape(std::size_t features) {
  PartyShape shape;
  shape.numeric = features;
  shape.encoding = {.scale = 0, .largest = 1.0, .clip = false};
  return shape;
}

run::RunReport report_of(const job::Shared& shared, Party party, std::size_t features, std::size_t rows) {
  job::Job job;
  job.shared = shared;
  const PartyShape shape = binary_shape(features);
  const ShapesOfA shapes_a(shape);
  const JobModel model;
  const auto channels = net::make_memory_channels();
  const JobEstimate expected = estimate(job_layers(shared, shape, shape, rows), shared.scheme, job_link(shared.scheme));
  return training_report(
      {.job = job, .party = party, .shapes_a = shapes_a, .shape_b = shape, .expected = expected, .model = model}, {},
      {channels.first.get()});
}

std::string fact(const run::RunReport& report, const std::string& name) {
  for (const run::ReportFact& fact : report.facts) {
    if (fact.name == name) return fact.value;
  }
  ADD_FAILURE() << "there is no fact '" << name << "'";
  return {};
}

TEST(ReportFacts, HaveTheHidingOfTheRunAndTheSecurityOfItsSchemes) {
  job::Shared shared;
  for (const Party party : {Party::kA, Party::kB}) {
    const run::RunReport small = report_of(shared, party, 60, 10000);
    EXPECT_EQ(fact(small, "security"), "lattice 128 bits");
    EXPECT_THAT(fact(small, "hiding of masks and noise"), HasSubstr("(for the whole run)"));
    EXPECT_FALSE(small.model.short_keys);
  }
  shared.model.kind = job::ModelKind::kMlp;
  EXPECT_THAT(fact(report_of(shared, Party::kA, 392, 10000000), "hiding of masks and noise"),
              HasSubstr("(for the whole run)"))
      << "hidden layers of a shared top, too, of ten million rows";
  shared.model.top = protocol::Top::kOpen;
  EXPECT_THAT(fact(report_of(shared, Party::kA, 392, 10000000), "hiding of masks and noise"),
              HasSubstr("(for the whole run)"))
      << "what the lattice cannot hide for so many rows, it refuses";
}

TEST(ReportFacts, NameShortKeysWhereThePlannerTookThem) {
  job::Shared shared;
  shared.scheme.line_speed = 1;
  const run::RunReport shorter = report_of(shared, Party::kA, 60, 10000);
  EXPECT_THAT(fact(shorter, "security"), HasSubstr("paillier 112 bits (NIST: until 2030)"));
  EXPECT_TRUE(shorter.model.short_keys);
  shared.scheme.security = job::Security::k128;
  const run::RunReport longer = report_of(shared, Party::kA, 60, 10000);
  EXPECT_THAT(fact(longer, "security"), HasSubstr("paillier 128 bits"));
  EXPECT_FALSE(longer.model.short_keys);
}

}  // namespace
}  // namespace blindfl::app::report_facts_test
