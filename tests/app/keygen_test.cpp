#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "blindfl/app/commands/run.h"
#include "blindfl/net/identity.h"
#include "testing/scratch_folder.h"

namespace blindfl::app::keygen_test {
namespace {

using blindfl::testing::content_of;
using blindfl::testing::mode_of;
using blindfl::testing::ScratchFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Keygen : public ::testing::Test {
 protected:
  int call(const std::vector<std::string>& args) {
    out_.str({});
    err_.str({});
    return run(args, out_, err_);
  }
  int keygen(const std::string& name, const std::filesystem::path& to) {
    return call({"keygen", "--name", name, "--out", to.string()});
  }

  const ScratchFolder folder_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(Keygen, MakesAnIdentityAndSaysWhatToDoWithIt) {
  const auto certificate = folder_.path() / "alice.crt";
  const auto key = folder_.path() / "alice.key";
  ASSERT_EQ(keygen("alice", folder_.path()), kDone) << err_.str();
  EXPECT_EQ(err_.str(), "");
  const net::Identity identity = net::load_identity(certificate, key);
  EXPECT_EQ(mode_of(key), 0600U);
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr(certificate.string()), HasSubstr(key.string()),
                    HasSubstr(net::fingerprint(identity.certificate)), HasSubstr("Never send the private key")));
  EXPECT_THAT(out_.str(), Not(HasSubstr("BEGIN")));
  EXPECT_EQ(folder_.count(), 2);
}

TEST_F(Keygen, IsValidFor825DaysUnlessToldOtherwise) {
  const auto days_of = [&](const std::string& name) {
    const net::Validity validity = net::validity_of(net::load_certificate(folder_.path() / (name + ".crt")));
    return std::chrono::round<std::chrono::days>(validity.not_after - validity.not_before).count() - 1;
  };
  ASSERT_EQ(keygen("a", folder_.path()), kDone);
  EXPECT_EQ(days_of("a"), 825);
  ASSERT_EQ(call({"keygen", "--name=b", "--out=" + folder_.path().string(), "--days=7"}), kDone);
  EXPECT_EQ(days_of("b"), 7);
  for (const std::string days : {"0", "-1", "3651", "soon", ""}) {
    EXPECT_EQ(call({"keygen", "--name=c", "--out=" + folder_.path().string(), "--days=" + days}), kWrongUsage);
    EXPECT_THAT(err_.str(), StartsWith("blindfl keygen: --days needs"));
  }
  EXPECT_EQ(folder_.count(), 4);
}

TEST_F(Keygen, MakesAFolderForTheOwnerOnly) {
  const auto made = folder_.path() / "keys";
  const mode_t before = umask(0);
  EXPECT_EQ(keygen("alice", made), kDone);
  umask(before);
  EXPECT_EQ(mode_of(made), 0700U);
  EXPECT_TRUE(std::filesystem::exists(made / "alice.key"));
  EXPECT_EQ(keygen("bob", made), kDone) << "a folder that exists is as good";
}

TEST_F(Keygen, ReplacesNothing) {
  ASSERT_EQ(keygen("alice", folder_.path()), kDone);
  const std::string key = content_of(folder_.path() / "alice.key");
  EXPECT_EQ(keygen("alice", folder_.path()), kFailed);
  EXPECT_EQ(out_.str(), "");
  EXPECT_THAT(err_.str(), AllOf(StartsWith("blindfl keygen: "), HasSubstr("exists already")));
  EXPECT_EQ(content_of(folder_.path() / "alice.key"), key);
}

TEST_F(Keygen, RefusesNamesThatLeaveTheFolder) {
  for (const std::string name : {"../alice", "/tmp/alice", "a/b", "..", ".hidden"}) {
    EXPECT_EQ(keygen(name, folder_.path()), kWrongUsage);
    EXPECT_THAT(err_.str(), HasSubstr("--name"));
  }
  EXPECT_EQ(keygen("", folder_.path()), kWrongUsage);
  EXPECT_EQ(keygen(std::string(65, 'a'), folder_.path()), kFailed);
  EXPECT_EQ(keygen("B\xC3\xA4nk", folder_.path()), kFailed);
  EXPECT_EQ(folder_.count(), 0);
}

TEST_F(Keygen, RefusesFoldersThatCannotBe) {
  const auto file = folder_.write("file", "");
  EXPECT_EQ(keygen("alice", file), kFailed);
  EXPECT_THAT(err_.str(), HasSubstr("not a folder"));
  EXPECT_EQ(keygen("alice", folder_.path() / "no" / "such"), kFailed);
  EXPECT_THAT(err_.str(), HasSubstr("cannot be created"));
  EXPECT_EQ(folder_.count(), 1);
}

TEST_F(Keygen, NeedsANameAndAFolder) {
  EXPECT_EQ(call({"keygen"}), kWrongUsage);
  EXPECT_THAT(err_.str(), HasSubstr("--name is missing"));
  EXPECT_EQ(call({"keygen", "--name", "alice"}), kWrongUsage);
  EXPECT_THAT(err_.str(), HasSubstr("--out is missing"));
}

TEST_F(Keygen, PrintsTheFingerprintThatThePeerSees) {
  ASSERT_EQ(keygen("alice", folder_.path()), kDone);
  const std::string seen_by_alice = out_.str();
  ASSERT_EQ(call({"fingerprint", "--certificate", (folder_.path() / "alice.crt").string()}), kDone);
  EXPECT_THAT(out_.str(), StartsWith("fingerprint: "));
  EXPECT_THAT(seen_by_alice, HasSubstr(out_.str()));
}

TEST_F(Keygen, MakesAKeyThatIsNotTakenForACertificate) {
  ASSERT_EQ(keygen("alice", folder_.path()), kDone);
  EXPECT_EQ(call({"fingerprint", "--certificate", (folder_.path() / "alice.key").string()}), kFailed);
  EXPECT_THAT(err_.str(), HasSubstr("holds a private key"));
  EXPECT_EQ(out_.str(), "");
}

}  // namespace
}  // namespace blindfl::app::keygen_test
