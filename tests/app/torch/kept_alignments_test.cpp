// A file that is scored again comes in the same order, so that nothing new is opened.

#include "blindfl/app/torch/kept_alignments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <sstream>

#include "blindfl/base/error.h"
#include "blindfl/base/text.h"
#include "blindfl/protocol/session/output_masks.h"
#include "protocol/matmul_fixture.h"
#include "protocol/psi_fixture.h"
#include "protocol/repeatable_fixture.h"
#include "testing/plain/plain_scheme.h"
#include "testing/scratch_folder.h"
#include "testing/several_parties.h"
#include "testing/steps.h"
#include "testing/thrown.h"

namespace blindfl::app::kept_alignments_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// A party's file to score, and its folder of the model.
struct ScoringParty {
  Party party;
  std::vector<std::string> ids;
  testing::ScratchFolder folder;

  ScoringParty(Party which, std::vector<std::string> its_ids) : party(which), ids(std::move(its_ids)) {}

  [[nodiscard]] std::string owner() const { return "party " + std::string(name_of(party)) + " of run r"; }
  [[nodiscard]] MarkedFile file() const {
    std::string text;
    for (const std::string& id : ids) text.append(id).append("\n");
    return MarkedFile::of(folder.write("score.csv", text), ids.size());
  }
  [[nodiscard]] KeptAlignments kept(const std::string& model = "r-10") const { return {folder.path(), owner(), model}; }
  [[nodiscard]] std::size_t count() const {
    const fs::path inside = folder / "alignments";
    return fs::is_directory(inside) ? std::distance(fs::directory_iterator(inside), fs::directory_iterator()) : 0;
  }

  [[nodiscard]] protocol::Alignment align(protocol::Session& session, job::AlignmentMode mode) const {
    return align(session, mode, {}, session.id());
  }
  [[nodiscard]] protocol::Alignment align(const protocol::Sessions& sessions, job::AlignmentMode mode,
                                          const protocol::AlignedPeers& peers, const std::string& meeting) const {
    job::Job job;
    job.shared.alignment.mode = mode;
    PreparedRows rows;
    rows.ids = ids;
    std::ostringstream out;
    return align_scored(sessions, peers, job, rows, file(), kept(), meeting, out);
  }
};

class ScoredAgain : public ::testing::Test {
 protected:
  using Alignments = std::pair<protocol::Alignment, protocol::Alignment>;

  /// Both parties, in a session of their own. `blinded` tells how many messages of ids crossed.
  Alignments score(job::AlignmentMode mode = job::AlignmentMode::kIntersection) {
    testing::TwoParties parties(scheme_);
    auto both = parties.run([&](protocol::Session& s) { return a_.align(s, mode); },
                            [&](protocol::Session& s) { return b_.align(s, mode); });
    blinded_ = 0;
    for (const auto& message : parties.recording(Party::kA).messages()) {
      blinded_ += message.message.step == protocol::steps::kBlindedIds ? 1 : 0;
    }
    return both;
  }
  static void expect_same(const Alignments& x, const Alignments& y) {
    EXPECT_EQ(x.first.rows, y.first.rows);
    EXPECT_EQ(x.first.real, y.first.real);
    EXPECT_EQ(x.second.rows, y.second.rows);
    EXPECT_EQ(x.second.real, y.second.real);
  }

  testing::PlainScheme scheme_;
  std::pair<protocol::Ids, protocol::Ids> ids_ = protocol::make_ids({40, 36, 30});
  ScoringParty a_{Party::kA, ids_.first};
  ScoringParty b_{Party::kB, ids_.second};
  std::size_t blinded_ = 0;
};

TEST_F(ScoredAgain, ComesInTheSameOrderAndSendsNoIds) {
  for (const auto mode : {job::AlignmentMode::kIntersection, job::AlignmentMode::kOnlyB, job::AlignmentMode::kUnion}) {
    const Alignments first = score(mode);
    EXPECT_GT(blinded_, 0U);
    expect_same(score(mode), first);
    EXPECT_EQ(blinded_, 0U);
    expect_same(score(mode), first);
  }
  EXPECT_EQ(a_.count(), 3U);
  EXPECT_EQ(testing::mode_of(a_.folder / "alignments"), 0700U);
}

TEST_F(ScoredAgain, OpensTheSameZBitForBit) {
  SeededRandom random(5);
  const protocol::MatMulSpec spec = protocol::small_spec(4, 3, 2, 30);
  const IntMatrix x_a = protocol::random_features(spec.features_a, IntMatrix::Kind::kDense, 40, 4, random);
  const IntMatrix x_b = protocol::random_features(spec.features_b, IntMatrix::Kind::kDense, 36, 3, random);
  const protocol::Keys keys = protocol::draw_keys();
  protocol::MatMulScorer scorer({&scheme_}, spec);
  const auto opened = [&](const Alignments& rows) {
    return scorer.score(&keys, [&](protocol::MatMul& layer, Party party) {
      return layer.forward(party == Party::kA ? x_a.select_rows(rows.first.rows) : x_b.select_rows(rows.second.rows));
    });
  };
  const protocol::Scores first = opened(score());
  EXPECT_EQ(opened(score()), first) << "shares and Z";
  // What would happen without it: another order, and other masks for every row.
  fs::remove_all(a_.folder / "alignments");
  EXPECT_EQ(protocol::equal_values(opened(score()).at_a, first.at_a), 0U);
}

TEST_F(ScoredAgain, IsAlignedAnewIfAFileChangedOrAPartyLostWhatItKept) {
  const Alignments first = score();
  b_.ids.pop_back();
  (void)score();
  EXPECT_GT(blinded_, 0U) << "B's file is another";
  b_.ids = ids_.second;
  expect_same(score(), first);
  fs::remove_all(b_.folder / "alignments");
  (void)score();
  EXPECT_GT(blinded_, 0U) << "B has nothing kept";
  (void)score();
  EXPECT_EQ(blinded_, 0U);
}

TEST_F(ScoredAgain, BelongsToOneModelAndMode) {
  (void)score();
  EXPECT_EQ(a_.kept().of(a_.file(), job::AlignmentMode::kIntersection).size(), 1U);
  EXPECT_TRUE(a_.kept("r-20").of(a_.file(), job::AlignmentMode::kIntersection).empty());
  EXPECT_TRUE(a_.kept().of(a_.file(), job::AlignmentMode::kUnion).empty());
}

TEST_F(ScoredAgain, RefusesWhatWasDamagedOrRenamed) {
  (void)score();
  const auto mode = job::AlignmentMode::kIntersection;
  const MarkedFile file = a_.file();
  const AlignmentId id = a_.kept().of(file, mode).at(0);
  const fs::path path = *fs::directory_iterator(a_.folder / "alignments");
  const std::string content = testing::content_of(path);
  const auto write = [&](const std::string& bytes) {
    (void)a_.folder.write("alignments/" + path.filename().string(), bytes);
  };
  for (std::size_t i = 0; i < content.size(); i += 9) {
    std::string changed = content;
    changed[i] = static_cast<char>(changed[i] ^ 4);
    write(changed);
    EXPECT_THROW((void)a_.kept().load(file, mode, id), DataError) << i;
    write(content.substr(0, i));
    EXPECT_THROW((void)a_.kept().load(file, mode, id), DataError) << i;
  }
  write(content);
  EXPECT_NO_THROW((void)a_.kept().load(file, mode, id));
  std::string name = path.filename().string();
  const AlignmentId other = alignment_id("other");
  name.replace(name.find('-') + 1, 2 * other.size(), to_hex(other));
  fs::rename(path, path.parent_path() / name);
  EXPECT_THAT(testing::message_of<DataError>([&] { (void)a_.kept().load(file, mode, other); }),
              HasSubstr("is another alignment than its name says; remove it"));
  MarkedFile shorter = file;
  shorter.rows = 3;
  EXPECT_TRUE(a_.kept().of(shorter, mode).empty());
}

TEST_F(ScoredAgain, KeepsTheNewestOnly) {
  const protocol::Alignment alignment{{0, 1}, {true, true}};
  const MarkedFile file = a_.file();
  for (int i = 0; i < 300; ++i) {
    a_.kept().keep(file, job::AlignmentMode::kUnion, alignment_id(std::to_string(i)), alignment);
  }
  EXPECT_EQ(a_.count(), 256U);
  EXPECT_EQ(a_.kept().of(file, job::AlignmentMode::kUnion).size(), kMostOffered);
}

// B says what all know a meeting by. One that says the same of two meetings could have an A score in one order of rows
// and another A in the other, under one name, and would see the difference of an A's rows.
TEST(ScoredAgainBySeveral, IsKeptUnderANameThatBDidNotChoose) {
  const std::string said_by_b = "session 1";
  const auto mode = job::AlignmentMode::kIntersection;
  const protocol::Ids ids = protocol::make_ids({20, 20, 20}).first;
  std::array<ScoringParty, 2> as = {ScoringParty(Party::kA, ids), ScoringParty(Party::kA, ids)};
  const ScoringParty b(Party::kB, ids);
  const testing::PlainScheme scheme;
  const auto score = [&] {
    testing::SeveralParties parties(2, scheme);
    return parties.run(
        [&](std::size_t place, protocol::Session& session) {
          protocol::AlignedPeers peers{.names = testing::names_of_as(2), .own = place, .secrets = {}};
          peers.secrets.resize(2);
          const auto secret = session.output_masks()->secret_with(1 - place, "alignment");
          peers.secrets[1 - place].assign(secret.begin(), secret.end());
          return as.at(place).align(session, mode, peers, said_by_b);
        },
        [&](const protocol::Sessions& sessions) {
          return b.align(sessions, mode, {.names = testing::names_of_as(2)}, said_by_b);
        });
  };
  const auto kept_by = [&](const ScoringParty& party) { return party.kept().of(party.file(), mode); };

  const auto [first_of_as, first_of_b] = score();
  const AlignmentOffer first = kept_by(b);
  ASSERT_EQ(first.size(), 1U);
  for (const ScoringParty& a : as) EXPECT_EQ(kept_by(a), first);
  EXPECT_EQ(score().second.rows, first_of_b.rows) << "in the order that is kept";

  fs::remove_all(as[1].folder / "alignments");
  const auto [second_of_as, second_of_b] = score();
  EXPECT_NE(second_of_b.rows, first_of_b.rows);
  const AlignmentOffer second = kept_by(as[1]);
  ASSERT_EQ(second.size(), 1U);
  EXPECT_NE(second, first) << "another order has another name";
  for (const AlignmentOffer& both : {kept_by(as[0]), kept_by(b)}) {
    EXPECT_THAT(both, ::testing::UnorderedElementsAre(first[0], second[0]));
  }
  EXPECT_EQ(as[0].kept().load(as[0].file(), mode, first[0]).rows, first_of_as[0].rows) << "the first is still there";
}

}  // namespace
}  // namespace blindfl::app::kept_alignments_test
