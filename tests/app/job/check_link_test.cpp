#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "blindfl/app/job/job.h"
#include "blindfl/app/job/kept_job.h"
#include "blindfl/base/error.h"
#include "testing/thrown.h"

namespace blindfl::app::job::check_link_test {
namespace {

using blindfl::testing::message_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kShared =
    "shared:\n"
    "  model: {kind: lr, top: open}\n"
    "  alignment: {mode: aligned}\n";

std::string b_with(const std::string& link, std::string_view shared = kShared) {
  return std::string(shared) + "private:\n  party: b\n  data: {train: b.csv, format: libsvm}\n  link: {" + link + "}\n";
}
std::string a_with(const std::string& link) {
  return std::string(kShared) +
         "private:\n  party: a\n  accept: open_top\n  data: {train: a.csv, format: libsvm}\n  link: {" + link + "}\n";
}

const std::string kOwn = "certificate: b.crt, key: b.key, ";
const std::string kShop = "{name: shop, listen: \"0.0.0.0:7001\", certificate: shop.crt}";
const std::string kBank = "{name: bank, dial: \"bank:7002\", certificate: bank.crt}";
const std::string kOfA = "dial: \"b:7001\", certificate: shop.crt, key: shop.key, peer: b.crt, ";

Job read(const std::string& text) {
  return parse_job(text, {.source = "job.yaml", .folder = "jobs"});
}
std::string refusal(const std::string& text) {
  return message_of<ConfigError>([&] { (void)read(text); });
}

TEST(LinkOfSeveral, NamesEachAWithAddressAndCertificate) {
  const Job b = read(b_with(kOwn + "peers: [" + kShop + ", " + kBank + "]"));
  ASSERT_EQ(b.own.link.peers.size(), 2U);
  EXPECT_EQ(b.own.link.peers[0].listen, "0.0.0.0:7001");
  EXPECT_EQ(b.own.link.peers[1].dial, "bank:7002");
  EXPECT_EQ(b.own.link.peers[1].certificate, "jobs/bank.crt") << "paths begin where the job is";
  EXPECT_TRUE(b.own.link.several_as());
  EXPECT_THAT(b.own.link.names_of_as(), ElementsAre("shop", "bank"));

  const Job a = read(a_with(kOfA + "name: shop, others: [{name: bank, certificate: bank.crt}]"));
  EXPECT_THAT(a.own.link.names_of_as(), ElementsAre("shop", "bank"));
  EXPECT_EQ(a.own.link.others[0].certificate, "jobs/bank.crt");
  EXPECT_FALSE(read(a_with(kOfA.substr(0, kOfA.size() - 2))).own.link.several_as());
}

TEST(LinkOfSeveral, HasNoTwoOfOneName) {
  const std::string other_shop = "{name: shop, dial: \"bank:7002\", certificate: bank.crt}";
  EXPECT_THAT(refusal(b_with(kOwn + "peers: [" + kShop + ", " + other_shop + "]")),
              HasSubstr("private.link.peers[1].name: there are two A's called 'shop'"));
  EXPECT_THAT(refusal(a_with(kOfA + "name: shop, others: [{name: shop, certificate: bank.crt}]")),
              HasSubstr("private.link.others[0].name: there are two A's called 'shop'"));
  EXPECT_THAT(refusal(a_with(kOfA + "name: x, others: [{name: y, certificate: y}, {name: y, certificate: z}]")),
              HasSubstr("others[1].name: there are two A's called 'y'"));
}

TEST(LinkOfSeveral, IsRefusedAtTheOtherParty) {
  EXPECT_THAT(refusal(a_with("certificate: a.crt, key: a.key, peers: [" + kShop + ", " + kBank + "]")),
              HasSubstr("private.link.peers: is for B, who talks to all A's, and this is A"));
  EXPECT_THAT(refusal(b_with("listen: \"x:1\", peer: a.crt, " + kOwn + "others: [{name: y, certificate: y}]")),
              HasSubstr("private.link.others: is for A, and this is B"));
  EXPECT_THAT(refusal(b_with("listen: \"x:1\", peer: a.crt, " + kOwn + "name: b")),
              HasSubstr("private.link.name: is for A, where there are several; leave it out"));
  EXPECT_THAT(refusal(a_with(kOfA + "name: shop")), HasSubstr("private.link.name: is for jobs with several A's"));
}

TEST(LinkOfSeveral, SaysAllOfEachPeer) {
  EXPECT_THAT(refusal(b_with(kOwn + "peers: [" + kShop + ", {name: bank, dial: \"bank:7002\"}]")),
              HasSubstr("private.link.peers[1].certificate is missing"));
  EXPECT_THAT(refusal(b_with(kOwn + "peers: [" + kShop + ", {name: bank, certificate: c}]")),
              HasSubstr("private.link.peers[1]: say where bank is: either listen or dial"));
  EXPECT_THAT(refusal(b_with(kOwn + "peers: [" + kShop + ", {name: bank, dial: nowhere, certificate: c}]")),
              HasSubstr("private.link.peers[1].dial: must be HOST:PORT"));
  EXPECT_THAT(refusal(b_with(kOwn + "peers: [" + kShop + ", {name: \"../x\", dial: \"x:1\", certificate: c}]")),
              HasSubstr("private.link.peers[1].name: must be 1 to 64 letters"));
  EXPECT_THAT(refusal(b_with(kOwn + "peers: [" + kShop + ", {name: bank, listen: \"0.0.0.0:7001\", certificate: c}]")),
              HasSubstr("private.link.peers[1].listen: another A is waited for at this address"));
  EXPECT_THAT(refusal(b_with(kOwn + "peers: [" + kShop + "]")),
              HasSubstr("private.link.peers: is for several A's; of one, say listen or dial, and peer"));
  EXPECT_THAT(refusal(b_with(kOwn + "listen: \"x:1\", peers: [" + kShop + ", " + kBank + "]")),
              HasSubstr("private.link.peers: says where each A is; leave out listen, dial, peer"));
  EXPECT_THAT(refusal(b_with("peers: [" + kShop + ", " + kBank + "]")),
              HasSubstr("private.link: needs certificate and key"));
  EXPECT_THAT(refusal(a_with(kOfA + "others: [{name: bank, certificate: bank.crt}]")),
              HasSubstr("private.link.name: is missing"));
  EXPECT_THAT(refusal(a_with(kOfA + "name: shop, others: [{name: bank}]")),
              HasSubstr("private.link.others[0].certificate is missing"));
}

TEST(LinkOfSeveral, NeedsCertificatesAndAnOpenTop) {
  EXPECT_THAT(refusal(b_with("plaintext: true, peers: [" + kShop + ", " + kBank + "]")),
              HasSubstr("private.link.plaintext: with several A's there is no link without certificates"));
  const std::string two = b_with(kOwn + "peers: [" + kShop + ", " + kBank + "]");
  EXPECT_THAT(refusal(two + "  run: {keep_view: true}\n"),
              HasSubstr("private.run.keep_view: keeps what is seen of one peer"));
  constexpr std::string_view kSharedTop = "shared:\n  model: {kind: lr, top: shared}\n  alignment: {mode: aligned}\n";
  EXPECT_THAT(refusal(b_with(kOwn + "peers: [" + kShop + ", " + kBank + "]", kSharedTop)),
              HasSubstr("shared.model.top: a shared top is between B and one A, and this job has 2; say "
                        "shared.model.top: open, and at each A that accepts it private.accept: open_top"));
}

TEST(LinkOfSeveral, DecidesWhichRunItIs) {
  const Job two = read(b_with(kOwn + "peers: [" + kShop + ", " + kBank + "]"));
  Job moved = two;
  moved.own.link.peers[0].listen = "0.0.0.0:9000";
  EXPECT_THAT(changes(two, moved), ElementsAre()) << "where an A is may change";
  Job turned = two;
  std::swap(turned.own.link.peers[0], turned.own.link.peers[1]);
  EXPECT_THAT(changes(two, turned), ElementsAre("private.link.peers was shop, bank, is bank, shop"));
  EXPECT_EQ(changes(two, parse_kept(kept_text(two), "kept")), std::vector<std::string>());

  const Job a = read(a_with(kOfA + "name: x, others: [{name: y, certificate: y}, {name: z, certificate: z}]"));
  Job reordered = a;
  std::swap(reordered.own.link.others[0], reordered.own.link.others[1]);
  EXPECT_THAT(changes(a, reordered), ElementsAre());
  reordered.own.link.others.pop_back();
  EXPECT_THAT(changes(a, reordered), ElementsAre("private.link.others was x, y, z, is x, z"));
}

}  // namespace
}  // namespace blindfl::app::job::check_link_test
