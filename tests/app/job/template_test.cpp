#include "blindfl/app/job/template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "testing/job_text.h"

namespace blindfl::app::job::template_test {
namespace {

using blindfl::testing::kJobText;
using ::testing::HasSubstr;
using ::testing::Not;

Job parse(std::string_view text) {
  return parse_job(text, {.source = "job.yaml"});
}

/// Every option has another value than it would have anyway.
Job unusual_job() {
  Job job;
  job.shared.model = {.kind = ModelKind::kDlrm,
                      .top = protocol::Top::kOpen,
                      .classes = 3,
                      .hidden = {7},
                      .activation = Activation::kTanh,
                      .embedding_dim = 5,
                      .factors = 3,
                      .dlrm = {.bottom = {3, 2, 1}, .top = {9}, .vectors = 2},
                      .largest_weight = 0.1,
                      .output_scale = 12,
                      .fine_outputs_reveal_features = true,
                      .initial_deviation = 1e-9};
  job.shared.training = {.epochs = 7,
                         .batch = 33,
                         .learning_rate = 1.0 / 3,
                         .momentum = 0.9,
                         .weight_decay = 1e-7,
                         .schedule = {{.step = 5, .learning_rate = 0.1}, {.step = 6, .learning_rate = 0.0}},
                         .order_seed = std::numeric_limits<std::uint64_t>::max(),
                         .validation_share = 0.25,
                         .test_share = 0.125,
                         .early_stopping = {.patience = 4, .minimum_improvement = 1e-3},
                         .checkpoint_every = 100,
                         .derivative = {.scale = 20, .largest = 2.5, .clip = true}};
  job.shared.scheme = {.security = Security::k128,
                       .default_scheme = "paillier-3072",
                       .allowed = {"paillier-3072", "lattice"},
                       .automatic = false,
                       .features_a = "paillier-3072",
                       .features_b = "lattice",
                       .tables = "ot",
                       .update = protocol::Update::kExchanged,
                       .line_speed = 12.5,
                       .round_trip = 0.0,
                       .most_memory = 0.5};
  job.shared.alignment.mode = AlignmentMode::kUnion;
  job.own.party = Party::kB;
  job.own.data.train = "my data/train #1.csv";
  job.own.data.test = "/test.csv";
  job.own.data.score = "s\xC3\xA9.csv";
  job.own.data.format = prepare::FileFormat::kCsv;
  job.own.data.delimiter = "\t";
  job.own.data.header = false;
  job.own.data.libsvm = {.features = 12, .first_index = 0};
  job.own.data.id_column = "null";
  job.own.data.label_column = "a: b";
  job.own.data.weight_column = "w";
  job.own.data.missing = {};
  job.own.data.default_kind = data::ColumnKind::kIgnored;
  job.own.data.columns = {
      {.name = "age",
       .kind = data::ColumnKind::kNumeric,
       .transform = prepare::Transform::kLog,
       .missing = data::Missing::kConstant,
       .constant = -0.0},
      {.name = "- ]}, \"'", .kind = data::ColumnKind::kCategory, .vocabulary = {.hash_buckets = 99}, .one_hot = true},
      {.name = "3",
       .kind = data::ColumnKind::kCategories,
       .vocabulary = {.min_count = 2, .most = 9},
       .separator = " ",
       .most_per_row = 3,
       .pooling = Pooling::kMean}};
  job.own.data.numeric = {.scale = 0, .largest = 1.0, .clip = true};
  job.own.top = {.class_weights = {.weights = {1.0, 0.1, 2e5}},
                 .clip_gradient = 1.5,
                 .metrics = {Metric::kAccuracy, Metric::kLoss},
                 .baseline = false};
  job.own.link = {.dial = "peer.example:1",
                  .certificate = "b.crt",
                  .key = "b.key",
                  .peer = "a.crt",
                  .peer_fingerprint = std::string(64, 'a'),
                  .patience = 1,
                  .patience_silent = 9,
                  .keepalive = 2,
                  .window = 3};
  job.own.limits = {.scorings = 1, .peer_ids = 2, .peer_ratio = 0.5, .peer_features = 3, .peer_categories = 4};
  job.own.resources = {.threads = 3, .memory = 1.5};
  job.own.run = {.folder = "elsewhere",
                 .keep = 1,
                 .log = LogLevel::kQuiet,
                 .progress = false,
                 .ledger = false,
                 .keep_view = true,
                 .weight_seed = 12345};
  return job;
}

/// Calls `f(key, entry)` for all options and lists.
void for_each(const Entries& section, const std::string& key, const std::function<void(std::string, const Entry&)>& f) {
  for (const Entry& entry : section.all) {
    const std::string inner = joined(key, entry.name);
    if (entry.form == Entry::Form::kSection) {
      for_each(entry.entries, inner, f);
    } else {
      f(inner, entry);
    }
  }
}

TEST(Template, OfAJobIsThatJob) {
  const Job usual = parse(kJobText);
  EXPECT_EQ(parse(render_job(usual)), usual);
  const Job unusual = unusual_job();
  EXPECT_EQ(parse(render_job(unusual)), unusual);
}

TEST(Template, OfAJobWithSeveralAsIsThatJob) {
  Job b = parse(kJobText);
  b.shared.model.top = protocol::Top::kOpen;
  b.own.link = {
      .certificate = "b.crt",
      .key = "b.key",
      .peers = {{.name = "shop", .listen = "0.0.0.0:7001", .certificate = "s.crt"},
                {.name = "bank", .dial = "bank:7002", .certificate = "k.crt", .fingerprint = std::string(64, 'b')}}};
  EXPECT_EQ(parse(render_job(b)), b);
  Job a = b;
  a.own.party = Party::kA;
  a.own.link = {.name = "shop",
                .dial = "b:7001",
                .certificate = "s.crt",
                .key = "s.key",
                .peer = "b.crt",
                .others = {{.name = "bank", .certificate = "k.crt"}}};
  EXPECT_EQ(parse(render_job(a)), a);
}

TEST(Template, OfAnUnusualJobLeavesNothingAsItWouldBe) {
  Job job = unusual_job();
  Job defaults;
  std::vector<std::string> texts;
  for_each(entries_of(defaults), {},
           [&](const std::string& /*key*/, const Entry& e) { texts.push_back(flow_text(e)); });
  std::size_t i = 0;
  for_each(entries_of(job), {}, [&](const std::string& key, const Entry& entry) {
    // Listening, plaintext and several A's exclude what this job does instead; accepting is A's; a positive class is
    // for two; an open top rounds no scores.
    const bool excluded = key == "shared.model.score_bits" || key == "shared.training.row_weights" ||
                          key == "private.link.listen" || key == "private.link.plaintext" || key == "private.accept" ||
                          key == "private.data.label.positive" || key == "private.link.name" ||
                          key == "private.link.peers" || key == "private.link.others";
    EXPECT_NE(flow_text(entry) == texts[i++], !excluded)
        << key << " should be another, so that the test means something";
  });
}

TEST(Template, HasEveryOptionOnceSetOrAsAComment) {
  Job job = parse(kJobText);
  const std::string text = render_job(job);
  Job defaults;
  const Entries unset = entries_of(defaults);
  std::size_t options = 0;
  for_each(entries_of(job), {}, [&](const std::string& key, const Entry& entry) {
    ++options;
    const std::string name(entry.name);
    EXPECT_TRUE(text.find(" " + name + ":") != std::string::npos || text.find(" #" + name + ":") != std::string::npos)
        << key;
  });
  EXPECT_GT(options, 70U);
  EXPECT_THAT(text, HasSubstr("\n    kind: mlp\n"));
  EXPECT_THAT(text, HasSubstr("\n    #epochs:\n"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "\n    # passes over the training rows (whole number from 1 to 1000000; if left out: 10, or as many as\n"));
  EXPECT_THAT(text, HasSubstr("\n    #threads:\n"));
  EXPECT_THAT(text, HasSubstr("if left out: one per core"));
  EXPECT_THAT(text, Not(HasSubstr("\n    epochs")));
}

TEST(Template, IsTheSameJobWithItsDefaultsUncommented) {
  Job job = parse(kJobText);
  std::istringstream lines(render_job(job));
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t hash = line.find_first_not_of(' ');
    const bool is_option = hash != std::string::npos && line.substr(hash, 2) != "# " && line[hash] == '#';
    text += is_option ? line.erase(hash, 1) + "\n" : line + "\n";
  }
  EXPECT_EQ(parse(text), job);
}

TEST(Template, PutsRemarksAboveTheirOptions) {
  const std::string text =
      render_job(parse(kJobText), {{"shared.training.derivative.largest", "Somebody should know."}});
  const std::size_t remark = text.find("# Somebody should know.\n");
  ASSERT_NE(remark, std::string::npos);
  EXPECT_EQ(text.find("#largest: 256", remark) - remark, std::string("# Somebody should know.\n      ").size());
  EXPECT_EQ(parse(text), parse(kJobText));
}

TEST(Template, HasShortLines) {
  std::istringstream lines(render_job(parse(kJobText)));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

}  // namespace
}  // namespace blindfl::app::job::template_test
