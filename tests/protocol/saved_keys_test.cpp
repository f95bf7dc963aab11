// A party's own keys outlive a session, where what is encrypted under them does.

#include "blindfl/protocol/session/saved_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "blindfl/base/secret_sink.h"
#include "blindfl/base/text.h"
#include "testing/links.h"
#include "testing/schemes.h"
#include "testing/steps.h"
#include "testing/thrown.h"
#include "testing/two_parties.h"

namespace blindfl::protocol::saved_keys_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Saved = std::shared_ptr<const SecretVector<std::byte>>;

Saved keys_of(const Session& session) {
  SecretSink out;
  session.save_keys(out);
  return std::make_shared<const SecretVector<std::byte>>(out.take());
}

class SavedKeys : public ::testing::Test {
 protected:
  testing::PlainScheme plain_;
  he::LatticeScheme lattice_;
  std::unique_ptr<he::Scheme> paillier_ = testing::make_scheme("paillier");

  static testing::SavedKeys keys_of_both(testing::TwoParties& parties) {
    return {keys_of(parties.session(Party::kA)), keys_of(parties.session(Party::kB))};
  }
  static void expect_refused(const std::vector<const he::Scheme*>& schemes, const SecretVector<std::byte>& bytes,
                             const std::string& words) {
    EXPECT_THAT(testing::message_of<DataError>([&] { (void)read_keys(bytes, schemes); }), HasSubstr(words));
  }
};

TEST_F(SavedKeys, AreUsedInTheNextSession) {
  testing::TwoParties first(*paillier_);
  const testing::SavedKeys saved = keys_of_both(first);
  testing::TwoParties second({paillier_.get()}, testing::make_channels(), testing::Record::kYes, saved);
  for (const Party party : {Party::kA, Party::kB}) {
    EXPECT_EQ(first.session(party).key_owner().public_key(), second.session(party).key_owner().public_key());
  }
  EXPECT_NE(first.session(Party::kA).id(), second.session(Party::kA).id());
  EXPECT_EQ(*keys_of(second.session(Party::kA)), *saved.first) << "saved again, they are the same";
  EXPECT_NE(*saved.first, *saved.second);
}

TEST_F(SavedKeys, AreThoseOfSchemesThatCanBeSavedAndWereUsed) {
  const std::vector<const he::Scheme*> schemes{&plain_, &lattice_, paillier_.get()};
  testing::TwoParties parties(schemes);
  const Saved none = keys_of(parties.session(Party::kA));
  EXPECT_EQ(none->size(), 12U);
  parties.run([](Session& s) { (void)s.keys("lattice", "4096/100"); });
  EXPECT_EQ(*keys_of(parties.session(Party::kA)), *none) << "a lattice's keys are fresh each time";
  parties.run([](Session& s) { (void)s.keys("paillier"); });
  const testing::SavedKeys saved = keys_of_both(parties);
  EXPECT_GT(saved.first->size(), none->size());

  testing::TwoParties again(schemes, testing::make_channels(), testing::Record::kYes, saved);
  EXPECT_EQ(*keys_of(again.session(Party::kB)), *saved.second) << "not used yet, and not lost either";
  again.run([](Session& s) { (void)s.keys("paillier"); });
  EXPECT_EQ(*keys_of(again.session(Party::kB)), *saved.second);
  EXPECT_EQ(again.session(Party::kA).keys("paillier").owner->public_key(),
            parties.session(Party::kA).keys("paillier").owner->public_key());

  // A session without that scheme has no use for them.
  EXPECT_NO_THROW(testing::TwoParties({&plain_}, testing::make_channels(), testing::Record::kYes, saved));
}

TEST_F(SavedKeys, AreRefusedWhereTheyAreDamagedOrOfAnotherSizeWithoutTellingThem) {
  testing::TwoParties parties(*paillier_);
  const SecretVector<std::byte> saved = *keys_of(parties.session(Party::kA));
  const std::vector<const he::Scheme*> schemes{paillier_.get()};
  ASSERT_EQ(read_keys(saved, schemes).size(), 1U);

  const he::PaillierScheme larger;
  const std::vector<const he::Scheme*> other{&larger};
  expect_refused(other, saved, "2048");
  expect_refused(other, saved, "1024");

  for (std::size_t size = 0; size < saved.size(); size += 7) {
    expect_refused(schemes, {saved.begin(), saved.begin() + static_cast<std::ptrdiff_t>(size)}, "");
  }
  const std::string as_text = to_hex(saved);
  for (std::size_t at = 0; at < saved.size(); at += at < 120 ? 1 : 37) {
    SecretVector<std::byte> damaged = saved;
    damaged[at] ^= std::byte{0x10};
    std::string message;
    try {
      const auto keys = read_keys(damaged, schemes);
      // Only a name of a scheme that is not here, or what randomises, can change without being noticed.
      EXPECT_TRUE(keys[0] == nullptr || keys[0]->public_key() != parties.session(Party::kA).key_owner().public_key())
          << at;
    } catch (const DataError& error) {
      message = error.what();
      EXPECT_FALSE(message.empty());
    }
    for (std::size_t i = 120; i + 16 < as_text.size(); i += 16) {
      EXPECT_THAT(message, Not(HasSubstr(as_text.substr(i, 16))));
    }
  }
  SecretVector<std::byte> longer = saved;
  longer.push_back(std::byte{0});
  expect_refused(schemes, longer, "too long");
  SecretVector<std::byte> twice = saved;
  twice[8] = std::byte{2};
  twice.insert(twice.end(), saved.begin() + 12, saved.end());
  expect_refused(schemes, twice, "two are of the scheme");
}

TEST_F(SavedKeys, OfAnotherSizeStopTheSessionBeforeAnythingIsSent) {
  testing::TwoParties parties(*paillier_);
  const he::PaillierScheme larger;
  const auto [mine, theirs] = net::make_memory_channels();
  SessionOptions options;
  options.saved_keys = keys_of(parties.session(Party::kA));
  EXPECT_THROW(Session(Party::kA, *mine, larger, options), DataError);
  EXPECT_THROW((void)theirs->receive({steps::kHello, 0, 69}), TransportError);
}

}  // namespace
}  // namespace blindfl::protocol::saved_keys_test
