#include "blindfl/app/link/gathering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <stdexcept>
#include <thread>

#include "blindfl/app/link/named_errors.h"
#include "blindfl/base/error.h"
#include "blindfl/net/memory_channel.h"
#include "blindfl/run/steps.h"
#include "testing/thrown.h"

namespace blindfl::app::gathering_test {
namespace {

using blindfl::testing::message_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Names = std::vector<std::string>;
using std::chrono::milliseconds;

constexpr milliseconds kGrace{20};

/// B with two A's, `shop` and `bank`.
class GatheringTest : public ::testing::Test {
 protected:
  /// What B does; `arrive` of each.
  void gather_two(const std::function<void(std::size_t)>& arrive) {
    gather(
        {.names = {"shop", "bank"},
         .arrive = arrive,
         .give_up = [&](std::size_t i) { links_.at(i).second->close(); },
         .channel = [&](std::size_t i) -> net::Channel& { return *links_.at(i).second; },
         .id = [] { return std::string("42"); }},
        [&](const Names& still) { waited_.push_back(still); }, kGrace);
  }
  /// What an A does.
  Gathered await(std::size_t who) {
    return await_all(*links_.at(who).first, {"bank", "shop"},
                     [&](const Names& still) { heard_.at(who).push_back(still); });
  }

  std::array<std::pair<std::shared_ptr<net::Channel>, std::shared_ptr<net::Channel>>, 2> links_ = {
      net::make_memory_channels(), net::make_memory_channels()};
  std::vector<Names> waited_;
  std::array<std::vector<Names>, 2> heard_;
};

TEST_F(GatheringTest, TellsThoseWhoAreHereWhomItWaitsFor) {
  auto shop = std::async(std::launch::async, [&] { return await(0); });
  auto bank = std::async(std::launch::async, [&] { return await(1); });
  gather_two([&](std::size_t i) {
    if (i == 1) std::this_thread::sleep_for(8 * kGrace);
  });
  for (const Gathered& all : {shop.get(), bank.get()}) {
    EXPECT_THAT(all.names, ElementsAre("shop", "bank")) << "in B's order";
    EXPECT_EQ(all.id, "42");
  }
  EXPECT_THAT(waited_, ElementsAre(Names{"bank"}));
  EXPECT_THAT(heard_[0], ElementsAre(Names{"bank"}));
  EXPECT_THAT(heard_[1], ElementsAre()) << "who comes last waits for nobody";
}

TEST_F(GatheringTest, TellsThoseWhoAreHereWhyNothingBegins) {
  auto shop = std::async(std::launch::async, [&] { return message_of<ConfigError>([&] { (void)await(0); }); });
  const std::string at_b = message_of<DataError>([&] {
    gather_two([&](std::size_t i) {
      if (i == 0) return;
      std::this_thread::sleep_for(4 * kGrace);
      fail<DataError>("its certificate is another");
    });
  });
  EXPECT_EQ(at_b, "bank: its certificate is another");
  EXPECT_EQ(shop.get(), "B does not begin: bank: its certificate is another");
}

TEST_F(GatheringTest, GivesUpOnThoseWhoAreNotHere) {
  const std::string at_b = message_of<ConfigError>([&] {
    gather_two([&](std::size_t i) {
      if (i == 1) fail<ConfigError>("two jobs");
      (void)links_[0].second->receive({run::steps::kGathering, 7, 8});  // for ever, unless somebody closes it
    });
  });
  EXPECT_EQ(at_b, "bank: two jobs");
}

TEST_F(GatheringTest, IsNotThatOfAnotherJob) {
  say_word(*links_[0].second, {.kind = GatheringWord::Kind::kAllHere, .names = {"shop", "phone"}, .words = "42"});
  EXPECT_THAT(message_of<ProtocolError>([&] { (void)await(0); }), HasSubstr("other A's than those of this job"));
}

TEST(GatheringWords, AreReadWithCare) {
  const GatheringWord word{.kind = GatheringWord::Kind::kRefused, .names = {"shop"}, .words = "bank: no\nway"};
  const Bytes bytes = write_to_bytes([&](ByteSink& out) { write_word(word, out); });
  BufferSource whole(bytes);
  const GatheringWord back = read_word(whole);
  EXPECT_EQ(back.kind, word.kind);
  EXPECT_EQ(back.names, word.names);
  EXPECT_EQ(back.words, "bank: no?way") << "a peer's words do not command a terminal";
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    BufferSource cut(ByteView(bytes).first(size));
    EXPECT_ANY_THROW((void)read_word(cut)) << size;
  }
  for (const std::size_t place : {0U, 1U, 9U}) {  // the kind, and two lengths
    Bytes wrong = bytes;
    wrong.at(place) = std::byte{99};
    BufferSource source(wrong);
    EXPECT_THROW((void)read_word(source), ProtocolError) << place;
  }
}

TEST(WordsForAll, SayWhoseFailureItIsAndNothingOfBsOwn) {
  const Names names = {"shop", "bank"};
  const auto words = [&](const auto& error) {
    try {
      throw error;
    } catch (...) {
      return words_for_all(names);
    }
  };
  const std::string said = "bank: the parties disagree about the test file";
  EXPECT_EQ(words(ConfigError(said)), said);
  EXPECT_EQ(words(ProtocolError("shop: a mask proof ends too early")), "shop: a mask proof ends too early");
  EXPECT_EQ(words(TransportError("bank: no link to the peer at 10.0.0.5:7000")), "it lost bank");
  EXPECT_EQ(words(DataError("shop: /home/b/kept.bin: is damaged")), "it cannot continue with shop");
  EXPECT_EQ(words(DataError("/home/b/train.csv: row 5 has no label")), "");
  EXPECT_EQ(words(ConfigError("banker: is no A")), "");
  EXPECT_EQ(words(std::runtime_error("bad luck")), "");
  EXPECT_EQ(words(5), "");
}

}  // namespace
}  // namespace blindfl::app::gathering_test
