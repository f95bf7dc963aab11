#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <csignal>

#include <future>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "blindfl/app/cli/interruption.h"
#include "blindfl/app/commands/run.h"
#include "testing/links.h"
#include "testing/scratch_folder.h"

namespace blindfl::app::ping_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Ping : public ::testing::Test {
 protected:
  Ping() {
    for (const bool first : {true, false}) {
      const std::string name = first ? "first" : "second";
      net::save_identity(testing::identity(first), folder_ / (name + ".crt"), folder_ / (name + ".key"));
    }
  }

  struct Result {
    int code = 0;
    std::string out;
    std::string err;
  };
  static Result call(const std::vector<std::string>& args) {
    std::ostringstream out;
    std::ostringstream err;
    const int code = run(args, out, err);
    return {code, out.str(), err.str()};
  }
  /// A party's command line.
  std::vector<std::string> ping(const std::string& where, const std::string& me, const std::string& peer) const {
    return {"ping",
            where,
            at_,
            "--certificate",
            (folder_ / (me + ".crt")).string(),
            "--key",
            (folder_ / (me + ".key")).string(),
            "--peer",
            (folder_ / (peer + ".crt")).string(),
            "--patience",
            "20",
            "--seconds",
            "1"};
  }

  testing::ScratchFolder folder_;
  // A port that is free now.
  std::string at_ =
      "127.0.0.1:" +
      std::to_string(net::GrpcTransport(testing::tls_options(net::GrpcOptions::Role::kListen, "127.0.0.1:0")).port());
};

TEST_F(Ping, TellsBothPartiesHowTheLinkIs) {
  auto listening = std::async(std::launch::async, [&] { return call(ping("--listen", "first", "second")); });
  const Result dialled = call(ping("--dial", "second", "first"));
  const Result listened = listening.get();
  for (const Result& result : {dialled, listened}) {
    EXPECT_EQ(result.code, kDone) << result.err;
    EXPECT_THAT(result.out, AllOf(HasSubstr("round trip"), HasSubstr("to the peer"), HasSubstr("from the peer"),
                                  HasSubstr("clocks"), HasSubstr("days more"), HasSubstr("The link works.")));
  }
}

TEST_F(Ping, SaysWhatIsWrong) {
  auto args = ping("--dial", "second", "first");
  args.insert(args.end(), {});
  args[10] = "1";  // patience
  const Result nobody = call(args);
  EXPECT_EQ(nobody.code, kFailed);
  EXPECT_THAT(nobody.err, HasSubstr("is the port right"));
  EXPECT_THAT(nobody.out, HasSubstr("no link to the peer at " + at_ + " yet: nobody listens there")) << "at once";

  const Result own = call(ping("--dial", "first", "first"));
  EXPECT_EQ(own.code, kFailed);
  EXPECT_THAT(own.err, HasSubstr("is this party's own"));

  const Result swapped = call({"ping", "--dial", at_, "--certificate", (folder_ / "first.crt").string(), "--key",
                               (folder_ / "second.key").string(), "--peer", (folder_ / "second.crt").string()});
  EXPECT_EQ(swapped.code, kFailed);

  const Result neither = call({"ping", "--certificate", "a", "--key", "b", "--peer", "c"});
  EXPECT_EQ(neither.code, kWrongUsage);
  EXPECT_THAT(neither.err, HasSubstr("--listen"));
  const Result both = call({"ping", "--dial", at_, "--plaintext", "--peer", "c"});
  EXPECT_EQ(both.code, kWrongUsage);
  const Result bare = call({"ping", "--dial", at_});
  EXPECT_EQ(bare.code, kWrongUsage);
  EXPECT_THAT(bare.err, HasSubstr("blindfl keygen"));
}

TEST_F(Ping, WarnsOfALinkWithoutTls) {
  auto listening = std::async(std::launch::async, [&] {
    return call({"ping", "--listen", at_, "--plaintext", "--patience", "20", "--seconds", "1"});
  });
  const Result dialled = call({"ping", "--dial", at_, "--plaintext", "--patience", "20", "--seconds", "1"});
  EXPECT_EQ(dialled.code, kDone) << dialled.err;
  EXPECT_THAT(dialled.out, HasSubstr("WARNING: no TLS"));
  EXPECT_THAT(listening.get().out, HasSubstr("WARNING: no TLS"));
}

TEST(Interruption, CallsWhatIsToStopAndNothingAfterwards) {
  Interruption interruption;
  std::promise<void> called;
  int calls = 0;
  interruption.on_interrupt([&] {
    if (++calls == 1) called.set_value();
  });
  kill(getpid(), SIGINT);
  called.get_future().get();
  EXPECT_TRUE(interruption.happened());
  interruption.ignore();
  kill(getpid(), SIGTERM);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(calls, 1);
}

// Libraries start threads before `main`, and the system gives them signals too.
TEST(Interruption, HearsOfASignalThatAnOlderThreadTook) {
  std::promise<void> over;
  std::thread older([done = over.get_future()] { done.wait(); });
  {
    Interruption interruption;
    std::promise<void> called;
    interruption.on_interrupt([&] { called.set_value(); });
    pthread_kill(older.native_handle(), SIGINT);
    called.get_future().get();
    EXPECT_TRUE(interruption.happened());
    EXPECT_FALSE(Interruption().happened());  // it was made after the signal
  }
  over.set_value();
  older.join();
}

}  // namespace
}  // namespace blindfl::app::ping_test
