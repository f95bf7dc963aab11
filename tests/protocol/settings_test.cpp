#include "blindfl/protocol/session/settings.h"

#include <gtest/gtest.h>

namespace blindfl::protocol::settings_test {
namespace {

Settings sample() {
  return Settings().add("batch", std::uint64_t{128}).add("rate", 0.1).add("clip", false).add("name", "wide");
}

TEST(Settings, AreLinesThatComeBackAsTheyWere) {
  EXPECT_EQ(sample().text(), "batch: 128\nrate: 0.1\nclip: no\nname: wide\n");
  EXPECT_EQ(Settings::parse(sample().text()), sample());
  EXPECT_EQ(Settings::parse(sample().text()).digest(), sample().digest());
  EXPECT_EQ(Settings::parse(""), Settings());
}

TEST(Settings, TellEveryDifferenceWithBothValues) {
  EXPECT_EQ(Settings::differences(sample(), sample()), "");
  const Settings other = Settings().add("batch", std::uint64_t{64}).add("rate", 0.1).add("clip", false).add("depth", 3);
  EXPECT_EQ(
      Settings::differences(sample(), other),
      "batch is 128 here and 64 at the peer; name is wide here and missing at the peer; depth is missing here and 3 "
      "at the peer");
  EXPECT_NE(sample().digest(), other.digest());
}

TEST(Settings, TellNumbersApartThatHardlyDiffer) {
  const Settings a = Settings().add("rate", 0.1);
  const Settings b = Settings().add("rate", 0.1 + 1e-17 * 2);
  EXPECT_NE(a.digest(), b.digest());
}

TEST(Settings, OfAPeerAreFitForAScreen) {
  const Settings hostile = Settings::parse("\x1b[2Jrate: 1\x07\n\nno colon here\n: empty\nrate: 1: 2");
  EXPECT_EQ(hostile.text(), "?[2Jrate: 1?\n: \nno colon here: \n: empty\nrate: 1: 2\n");
  EXPECT_NE(Settings::differences(sample(), hostile).find("missing"), std::string::npos);
}

}  // namespace
}  // namespace blindfl::protocol::settings_test
