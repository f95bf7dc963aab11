#include "blindfl/app/job/job_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "blindfl/app/job/reference.h"
#include "testing/job_text.h"
#include "testing/scratch_folder.h"
#include "testing/thrown.h"

namespace blindfl::app::job_options_test {
namespace {

using blindfl::testing::kJobText;
using blindfl::testing::message_of;
using blindfl::testing::ScratchFolder;
using ::testing::HasSubstr;

const Command kTrain = {.name = "train",
                        .summary = "trains",
                        .options = job_options(),
                        .run = [](const Arguments& /*arguments*/, std::ostream& /*out*/) {},
                        .more_help = [] { return job::reference_text(); }};

TEST(JobOptions, NameAFileAndWhatToChange) {
  const ScratchFolder folder;
  const std::string path = folder.write("job.yaml", kJobText).string();
  const auto read = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"--job", path});
    return read_job_options(Arguments(kTrain, words));
  };
  EXPECT_EQ(read({}), job::load_job(path));
  const job::Job job = read({"--set", "shared.training.epochs=3", "--set=private.run.keep=7"});
  EXPECT_EQ(job.shared.training.epochs, 3U);
  EXPECT_EQ(job.own.run.keep, 7U);
  EXPECT_EQ(message_of<ConfigError>([&] {
              (void)read({"--set", "shared.training.epochs"});
            }),
            "--set needs KEY=VALUE, as in --set shared.training.epochs=5");
  EXPECT_THAT(message_of<UsageError>([&] { (void)read({"--job", path}); }), HasSubstr("--job is given twice"));
}

TEST(JobOptions, ThreadsAreThoseOfTheSectionResources) {
  const ScratchFolder folder;
  const std::string path = folder.write("job.yaml", kJobText).string();
  Command train = kTrain;
  train.options.push_back(threads_option());
  const auto read = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"--job", path});
    return read_job_options(Arguments(train, words)).own.resources.threads;
  };
  EXPECT_EQ(read({}), std::nullopt);
  EXPECT_EQ(read({"--threads", "3"}), 3U);
  EXPECT_EQ(read({"--threads", "3", "--set", "private.resources.threads=5"}), 3U);
  EXPECT_THAT(message_of<UsageError>([&] {
                (void)read({"--threads", "0"});
              }),
              HasSubstr("--threads needs a whole number from 1 to 4096"));
}

TEST(JobOptions, AreInTheHelpWithAllThatAJobMaySay) {
  const std::string help = help_of(kTrain);
  EXPECT_THAT(help, HasSubstr("usage: blindfl train --job FILE [--set KEY=VALUE]...\n"));
  EXPECT_THAT(help, HasSubstr("\nshared.training: how it is trained\n  epochs "));
}

class LinkOfJob : public ::testing::Test {
 protected:
  LinkOfJob() {
    net::save_identity(net::generate_identity("a", 1), folder_ / "a.crt", folder_ / "a.key");
    net::save_identity(net::generate_identity("b", 1), folder_ / "b.crt", folder_ / "b.key");
    link_.listen = "127.0.0.1:0";
    link_.certificate = folder_ / "b.crt";
    link_.key = folder_ / "b.key";
    link_.peer = folder_ / "a.crt";
  }

  const ScratchFolder folder_;
  job::Link link_;
};

TEST_F(LinkOfJob, HasItsAddressAndCertificates) {
  link_.patience = 7;
  link_.patience_silent = 11;
  link_.window = 2;
  const net::GrpcOptions options = link_of(link_);
  EXPECT_EQ(options.role, net::GrpcOptions::Role::kListen);
  EXPECT_EQ(options.address, "127.0.0.1:0");
  EXPECT_EQ(options.patience, std::chrono::seconds(7));
  EXPECT_EQ(options.silence, std::chrono::seconds(11));
  EXPECT_EQ(options.keepalive, net::GrpcOptions{}.keepalive);
  EXPECT_EQ(options.window, std::uint64_t{2} << 20);
  ASSERT_TRUE(options.tls.has_value());
  link_.listen.reset();
  link_.dial = "peer:7000";
  EXPECT_EQ(link_of(link_).role, net::GrpcOptions::Role::kDial);
  EXPECT_EQ(link_of(link_).address, "peer:7000");
}

TEST_F(LinkOfJob, HasTheDefaultsOfALink) {
  const net::GrpcOptions options = link_of(link_);
  EXPECT_EQ(options.patience, net::GrpcOptions{}.patience);
  EXPECT_EQ(options.silence, net::GrpcOptions{}.silence);
  EXPECT_EQ(options.keepalive, net::GrpcOptions{}.keepalive);
  EXPECT_EQ(options.window, net::GrpcOptions{}.window);
}

TEST_F(LinkOfJob, NeedsThePeerThatWasReadOut) {
  const std::string print = net::fingerprint(net::load_certificate(folder_ / "a.crt"));
  std::string colons;
  for (const char c : print) colons += c == ' ' ? ':' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  for (const std::string& written : {print, colons}) {
    link_.peer_fingerprint = written;
    EXPECT_NO_THROW((void)link_of(link_)) << written;
  }
  link_.peer_fingerprint = net::fingerprint(net::load_certificate(folder_ / "b.crt"));
  EXPECT_THAT(message_of<ConfigError>([&] { (void)link_of(link_); }),
              HasSubstr("a.crt: has another fingerprint than private.link.peer_fingerprint"));
}

TEST_F(LinkOfJob, IsOpenOnlyIfToldSo) {
  const job::Link open{.dial = "x:1", .plaintext = true};
  EXPECT_FALSE(link_of(open).tls.has_value());
  link_.key.reset();
  EXPECT_THAT(message_of<ConfigError>([&] { (void)link_of(link_); }), HasSubstr("needs certificate, key and peer"));
  EXPECT_THAT(message_of<ConfigError>([] { (void)link_of({}); }), HasSubstr("either listen or dial"));
}

}  // namespace
}  // namespace blindfl::app::job_options_test
