// Sentences of SECURITY.md and docs/ that an outsider found untrue: the old ones stay away, what took their place is
// there.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace blindfl::app::security_words_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// The words of a page, one blank between two, wherever its lines end.
std::string words_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << path;
  std::string all;
  for (std::string word; in >> word;) all.append(all.empty() ? "" : " ").append(word);
  return all;
}

std::string security_page() {
  return words_of(std::filesystem::path(BLINDFL_DOCS).parent_path() / "SECURITY.md");
}

TEST(SecurityWords, OnBranchesTellWherePaillierHasThem) {
  const std::string page = security_page();
  EXPECT_THAT(page, HasSubstr("Under the lattice scheme, key generation, encryption and opening have no branch"));
  EXPECT_THAT(page, HasSubstr("Paillier has more of them: one-time exponents are looked up in tables digit by digit"));
  EXPECT_THAT(page, Not(HasSubstr("zero. Key generation, encryption and opening have no branch")));
}

TEST(SecurityWords, OnClearingNameWhatIsNotCleared) {
  const std::string page = security_page();
  EXPECT_THAT(page, HasSubstr("Not cleared: features, in a party's own memory anyway, and shares of embeddings"));
  EXPECT_THAT(page, HasSubstr("what waits in the link to be sent, and gRPC's and OpenSSL's buffers"));
  EXPECT_THAT(page, Not(HasSubstr("Numbers are cleared when freed; GMP's")));
}

TEST(SecurityWords, OnSizesOfAPeerSayWhatBoundsThem) {
  const std::string page = words_of(std::filesystem::path(BLINDFL_DOCS) / "formats.md");
  EXPECT_THAT(page, HasSubstr("Nothing is allocated because of the size in a frame's header."));
  EXPECT_THAT(page, HasSubstr("by the receiver's own `private.limits`"));
  EXPECT_THAT(page, Not(HasSubstr("because of a size that a peer sent")));
}

TEST(SecurityWords, TellWhatThePeerLearnsOfNonZeroFeaturesAndOfCommonIds) {
  const std::string page = security_page();
  EXPECT_THAT(page, HasSubstr("it tells the peer the most non-zero features that a row may have"));
  EXPECT_THAT(page, HasSubstr("B stops at once if there is none"));
}

TEST(SecurityWords, SayThatResumeOpensTheSameZAgain) {
  EXPECT_THAT(security_page(), HasSubstr("Steps that are taken again after resume open the same Z again."));
}

TEST(SecurityWords, HaveTheFiguresOfWholeRunsAndOfKeys) {
  const std::string page = security_page();
  EXPECT_THAT(page, HasSubstr("### Hiding for the whole run"));
  EXPECT_THAT(page, HasSubstr("112 bits (2048-bit keys, the default; NIST: until 2030)"));
}

TEST(FormatsWords, ListTheSettingsOfALayerAsTheyAreSent) {
  const std::string page = words_of(std::filesystem::path(BLINDFL_DOCS) / "formats.md");
  for (const char* name : {"nonzeros_a, nonzeros_b", "update (`exchanged` or `encrypted`", "run.passes, run.layers"}) {
    EXPECT_THAT(page, HasSubstr(name));
  }
  EXPECT_THAT(page, HasSubstr("`std::to_chars`"));
  EXPECT_THAT(page, Not(HasSubstr("%.17g")));
}

}  // namespace
}  // namespace blindfl::app::security_words_test
