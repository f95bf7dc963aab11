// A's agree on masks by way of B. Whoever is not who it should be is refused by name, at all parties.

#include "blindfl/protocol/session/mask_agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "blindfl/base/digest.h"
#include "blindfl/net/channel.h"
#include "blindfl/protocol/session/mask_messages.h"
#include "blindfl/protocol/session/output_masks.h"
#include "blindfl/protocol/session/steps.h"
#include "testing/schemes.h"
#include "testing/several_parties.h"

namespace blindfl::protocol::mask_agreement_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using testing::SeveralParties;

using Offers = std::vector<MaskOffer>;
using Proofs = std::vector<MaskProof>;

/// A B that may change what it relays, to each A by itself.
struct HostileB {
  std::function<void(std::size_t to, Offers&)> offers = [](std::size_t, Offers&) {};
  std::function<void(std::size_t to, Proofs&)> proofs = [](std::size_t, Proofs&) {};
  bool tells_verdicts = true;
  Offers heard{};
  Proofs proved{};

  template <class Said>
  static std::vector<Said> hear(const Sessions& sessions, net::Step step) {
    std::vector<Said> all;
    for (Session* session : sessions) {
      session->channel().receive({step, 0, Said::kBytes}, [&](ByteSource& in) { read(all.emplace_back(), in); });
    }
    return all;
  }
  template <class Said>
  static void tell(Session& session, net::Step step, const std::vector<Said>& all) {
    session.channel().send({step, 0, kListBytes<Said>}, [&](ByteSink& out) { write_list(all, out); });
  }

  void relay(const Sessions& sessions) {
    for (Session* session : sessions) {
      session->agree("whether there are several A's", Settings().add("several A's", true));
      session->settle();
    }
    heard = hear<MaskOffer>(sessions, steps::kMaskOffer);
    for (std::size_t to = 0; to < sessions.size(); ++to) {
      Offers changed = heard;
      offers(to, changed);
      tell(sessions[to], steps::kMaskOffers, changed);
    }
    proved = hear<MaskProof>(sessions, steps::kMaskProof);
    proved.emplace_back();
    for (std::size_t to = 0; to < sessions.size(); ++to) {
      Proofs changed = proved;
      proofs(to, changed);
      tell(sessions[to], steps::kMaskProofs, changed);
    }
    auto verdicts = hear<MaskVerdict>(sessions, steps::kMaskVerdict);
    verdicts.emplace_back();
    if (!tells_verdicts) verdicts.assign(verdicts.size(), MaskVerdict());
    for (Session* session : sessions) tell(*session, steps::kMaskVerdicts, verdicts);
  }
};

class MaskAgreement : public ::testing::Test {
 protected:
  MaskAgreement() {
    for (std::size_t i = 0; i < 3; ++i) as_.push_back(testing::mask_party(i, 3));
  }

  /// How each party's agreement ended; B's comes last. Empty: well.
  std::vector<std::string> outcomes(HostileB* hostile = nullptr, const std::function<void(Session&)>& second = {}) {
    SeveralParties parties(as_.size(), scheme_, testing::Record::kNo, SeveralParties::Masks::kNone);
    const auto caught = [](const std::function<void()>& work) -> std::string {
      try {
        work();
        return {};
      } catch (const ConfigError& error) {
        return error.what();
      } catch (const Error& error) {
        return std::string("another error: ") + error.what();
      }
    };
    auto [of_a, of_b] = parties.run(
        [&](std::size_t place, Session& session) {
          return caught([&] {
            if (place == 1 && second) {
              second(session);
            } else {
              agree_on_masks(session, as_[place]);
            }
          });
        },
        [&](const Sessions& sessions) {
          return caught([&] {
            if (hostile != nullptr) {
              closing_on_error(sessions, [&] { hostile->relay(sessions); });
            } else {
              agree_on_masks(sessions, "run 1", testing::names_of_as(3));
            }
          });
        });
    of_a.push_back(of_b);
    return of_a;
  }

  testing::PlainScheme scheme_;
  std::vector<MaskParty> as_;
};

TEST_F(MaskAgreement, GivesEachItsPlaceAndMasksOfItsOwn) {
  for (const std::size_t peers : {2, 3, 5}) {
    SeveralParties parties(peers, scheme_);
    for (std::size_t i = 0; i < peers; ++i) {
      EXPECT_EQ(parties.a(i).place(), (Place{i, peers}));
      EXPECT_EQ(parties.b()[i].place(), (Place{i, peers}));
      EXPECT_EQ(parties.b()[i].output_masks(), nullptr) << "B has no masks";
      EXPECT_EQ(parties.a(i).output_masks()->names(), testing::names_of_as(peers));
    }
  }
}

TEST_F(MaskAgreement, HasKeysAndRandomNumbersOfItsOwn) {
  std::set<std::array<std::byte, 32>> seen;
  for (int session = 0; session < 2; ++session) {
    HostileB honest;
    EXPECT_THAT(outcomes(&honest), Each(""));
    for (const MaskOffer& offer : honest.heard) seen.insert({offer.key, offer.nonce});
  }
  EXPECT_EQ(seen.size(), 2U * 2 * 3);
}

TEST_F(MaskAgreement, SendsNothingWithOneA) {
  testing::TwoParties parties(scheme_, testing::Record::kNo);
  const auto before = net::total(parties.session(Party::kA).channel().sent());
  (void)parties.run(
      [&](Session& a) {
        agree_on_masks(
            a, {.run = "run 1", .name = "a1", .identity = testing::identity_of(0), .b = testing::certificate_of_b()});
      },
      [&](Session& b) { agree_on_masks(Sessions(b), "run 1", {"a1"}); });
  EXPECT_EQ(net::total(parties.session(Party::kA).channel().sent()), before);
  EXPECT_EQ(parties.session(Party::kA).place(), Place());
  EXPECT_EQ(parties.session(Party::kA).output_masks(), nullptr);
}

TEST_F(MaskAgreement, TakesTheBytesThatItSaysItTakes) {
  SeveralParties parties(3, scheme_, testing::Record::kYes);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& sent = parties.recording(Party::kA, i).sent();
    const auto& received = parties.recording(Party::kA, i).received();
    EXPECT_EQ(sent.at(steps::kMaskOffer), (net::Traffic{1, 232}));
    EXPECT_EQ(sent.at(steps::kMaskProof), (net::Traffic{1, 524}));
    EXPECT_EQ(sent.at(steps::kMaskVerdict), (net::Traffic{1, 8}));
    EXPECT_EQ(received.at(steps::kMaskOffers), (net::Traffic{1, 3716}));
    EXPECT_EQ(received.at(steps::kMaskProofs), (net::Traffic{1, 8912}));
    EXPECT_EQ(received.at(steps::kMaskVerdicts), (net::Traffic{1, 140}));
  }
}

TEST_F(MaskAgreement, RefusesAnotherCertificateByNameEverywhere) {
  as_[1].identity = testing::identity_of(4);  // not the one that a1 and a3 know
  EXPECT_THAT(outcomes(),
              Each(AllOf(HasSubstr("the A's did not agree on masks"),
                         HasSubstr("'a1' refuses 'a2': its key message is not signed by the certificate"),
                         HasSubstr("'a3' refuses 'a2'"), HasSubstr("compare the certificate's fingerprint"))));
}

TEST_F(MaskAgreement, RefusesACertificateThatOnlyOneOfThemHasWrong) {
  as_[0].others[1].certificate = testing::identity_of(4)->certificate();
  EXPECT_THAT(outcomes(), Each(AllOf(HasSubstr("'a1' refuses 'a3'"), ::testing::Not(HasSubstr("'a2' refuses")))));
}

TEST_F(MaskAgreement, RefusesAForgedKey) {
  HostileB b;
  b.offers = [](std::size_t to, Offers& offers) {
    if (to == 0) offers[1].key[3] ^= std::byte{1};  // B's own, it hopes
  };
  const std::vector<std::string> all = outcomes(&b);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_THAT(all[i], AllOf(HasSubstr("'a1' refuses 'a2'"), HasSubstr("'a2' refuses 'a1'"), HasSubstr("forged")));
  }
}

TEST_F(MaskAgreement, RefusesAKeyThatIsForgedToAllAlike) {
  HostileB b;
  b.offers = [](std::size_t, Offers& offers) { offers[1].key[3] ^= std::byte{1}; };
  const std::vector<std::string> all = outcomes(&b);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_THAT(all[i], HasSubstr("'a2' refuses 'a2': its key message did not come back as it was sent"));
  }
}

TEST_F(MaskAgreement, RefusesWhatWasSignedInAnEarlierSession) {
  HostileB before;
  EXPECT_THAT(outcomes(&before), Each(""));
  HostileB replaying;
  replaying.offers = [&](std::size_t to, Offers& offers) {
    if (to != 1) offers[1] = before.heard[1];
  };
  replaying.proofs = [&](std::size_t, Proofs& proofs) { proofs[1] = before.proved[1]; };
  const std::vector<std::string> all = outcomes(&replaying);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_THAT(all[i], HasSubstr("'a1' refuses 'a2': its key message is not signed"));
}

TEST_F(MaskAgreement, RefusesTheProofOfAnother) {
  HostileB b;
  b.proofs = [](std::size_t, Proofs& proofs) { proofs[1] = proofs[2]; };
  EXPECT_THAT(outcomes(&b)[0], HasSubstr("'a1' refuses 'a2'"));
  b.proofs = [](std::size_t, Proofs& proofs) { proofs[1].signature = {}; };
  EXPECT_THAT(outcomes(&b)[2], HasSubstr("'a3' refuses 'a2'"));
}

// A B that two A's have a link to, and another B that the third has one to, hand on what is said to each.
TEST_F(MaskAgreement, RefusesWhatWasSignedForAnotherB) {
  as_[1].b = testing::identity_of(4)->certificate();
  EXPECT_THAT(outcomes(),
              Each(AllOf(HasSubstr("'a1' refuses 'a2': its key message is not signed by the certificate that is named "
                                   "for it, or not for this B"),
                         HasSubstr("'a2' refuses 'a1'"), HasSubstr("'a3' refuses 'a2'"),
                         ::testing::Not(HasSubstr("'a1' refuses 'a3'")))));
}

TEST_F(MaskAgreement, HoldsToItsOwnRefusalWhateverBTells) {
  HostileB b;
  b.tells_verdicts = false;
  b.offers = [](std::size_t to, Offers& offers) {
    if (to == 0) offers[1].key[3] ^= std::byte{1};
  };
  std::vector<std::string> all = outcomes(&b);
  EXPECT_THAT(all[0], AllOf(HasSubstr("B did not tell"), HasSubstr("'a1' refuses 'a2'")));
  EXPECT_THAT(all[1], HasSubstr("'a2' refuses 'a1'"));
  // Its own key changed, and the refusal of that kept back as well.
  b.offers = [](std::size_t, Offers& offers) { offers[1].key[3] ^= std::byte{1}; };
  b.proofs = [](std::size_t, Proofs& proofs) {
    for (MaskProof& proof : proofs) proof.verdict = {};
  };
  all = outcomes(&b);
  EXPECT_THAT(all[1], AllOf(HasSubstr("B did not tell"), HasSubstr("did not come back as it was sent")));
  EXPECT_THAT(all[0], ::testing::Not("")) << "a2 signed nothing";
}

TEST_F(MaskAgreement, RefusesAnotherRunByNameEverywhere) {
  as_[1].run = "run 2";
  EXPECT_THAT(outcomes(), Each(AllOf(HasSubstr("'a1' refuses 'a2': it is in another run"),
                                     HasSubstr("'a3' refuses 'a2'"), HasSubstr("B refuses 'a2'"))));
}

// B names runs, and may give two of them one name: an A that has the state of one of them must not continue with A's
// that have that of the other, or B would see sums of parts that do not belong together.
TEST_F(MaskAgreement, RefusesARunOfTheSameNameThatBeganOtherwiseByNameEverywhere) {
  using Agreed = std::pair<Bytes, std::string>;
  const auto agreed = [](const std::function<Bytes()>& agree) -> Agreed {
    try {
      return {agree(), ""};
    } catch (const ConfigError& error) {
      return {Bytes(), error.what()};
    }
  };
  // Of the A's, then of B.
  const auto agree = [&](const std::array<Bytes, 4>& began) {
    SeveralParties parties(3, scheme_, testing::Record::kNo, SeveralParties::Masks::kNone);
    auto [all, of_b] = parties.run(
        [&](std::size_t place, Session& session) {
          MaskParty me = as_[place];
          me.began = began.at(place);
          return agreed([&] { return agree_on_masks(session, me); });
        },
        [&](const Sessions& sessions) {
          return agreed([&] { return agree_on_masks(sessions, "run 1", testing::names_of_as(3), began[3]); });
        });
    all.push_back(of_b);
    return all;
  };
  const std::vector<Agreed> first = agree({});
  const std::vector<Agreed> second = agree({});
  EXPECT_EQ(first[0].second, "");
  EXPECT_EQ(first[0].first.size(), kDigestBytes);
  EXPECT_THAT(first, Each(first[0])) << "all know it alike";
  EXPECT_NE(second[0].first, first[0].first) << "another run, though of the same name";

  std::array<Bytes, 4> began;
  began.fill(first[0].first);
  for (const Agreed& party : agree(began)) EXPECT_EQ(party.second, "");
  for (const Bytes& other : {second[0].first, Bytes()}) {
    began[1] = other;
    for (const Agreed& party : agree(began)) {
      EXPECT_THAT(party.second, AllOf(HasSubstr("'a1' refuses 'a2': it is in another run"),
                                      HasSubstr("'a3' refuses 'a2'"), HasSubstr("B refuses 'a2'")));
    }
  }
}

TEST_F(MaskAgreement, RefusesTwoOfOneName) {
  as_[1].name = "a1";
  as_[1].others[0].name = "a2";
  EXPECT_THAT(outcomes(), Each(AllOf(HasSubstr("B refuses 'a1': two A's have this name; give each its own"),
                                     HasSubstr("'a3' refuses 'a1': two A's"))));
}

TEST_F(MaskAgreement, RefusesANameThatIsNotExpected) {
  as_[1].name = "phone";
  EXPECT_THAT(outcomes(), Each(AllOf(HasSubstr("B refuses 'phone': no A of this name is expected"),
                                     HasSubstr("'a1' refuses 'phone'"))));
}

TEST_F(MaskAgreement, RefusesAnotherNumber) {
  as_[1].others.pop_back();
  EXPECT_THAT(outcomes(), Each(HasSubstr("'a1' refuses 'a2': it counts another number of A's")));
}

TEST_F(MaskAgreement, RefusesABThatNumbersTheAsOtherwiseThanBefore) {
  as_[1].order = testing::names_of_as(3);
  EXPECT_THAT(outcomes(), Each("")) << "a1 and a3 have heard of no order";
  as_[1].order = {"a2", "a1", "a3"};
  const std::vector<std::string> all = outcomes();
  EXPECT_EQ(all[1],
            "another error: B numbers the A's as a1, a2 and a3 where they agree on masks, and told 'a2' before that "
            "they are a2, a1 and a3: 'a2' does not continue with a B that says both");
  for (const std::size_t i : {0, 2, 3}) EXPECT_NE(all[i], "") << "nobody has masks";
  EXPECT_THAT(all[3], HasSubstr("a2: "));
}

TEST_F(MaskAgreement, SaysWhoseVerdictNamesNobody) {
  HostileB b;
  b.proofs = [](std::size_t, Proofs& proofs) { proofs[2].verdict = {Refusal::kRun, 7}; };
  const std::vector<std::string> all = outcomes(&b);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(all[i], "another error: mask verdict: that of 'a3' names A number 8, and there are 3");
  }
}

TEST_F(MaskAgreement, TellsAnAThatBelievesItIsAlone) {
  const std::vector<std::string> all = outcomes(nullptr, [](Session& session) {
    session.agree("the optimizer", Settings().add("learning_rate", 0.1));
    session.settle();
  });
  EXPECT_THAT(all[1], HasSubstr("whether there are several A's"));
  EXPECT_THAT(all[3], AllOf(HasSubstr("a2: the parties disagree"), HasSubstr("the optimizer")));
}

/// An A that does what the others do, with a key that makes no secret.
void offer_zero_key(Session& session, const MaskParty& me) {
  session.agree("whether there are several A's", Settings().add("several A's", true));
  session.settle();
  MaskOffer mine{.peers = 3, .name = me.name, .run = me.run};
  session.channel().send({steps::kMaskOffer, 0, MaskOffer::kBytes}, [&](ByteSink& out) { write(mine, out); });
  Offers offers;
  session.channel().receive({steps::kMaskOffers, 0, kListBytes<MaskOffer>},
                            [&](ByteSource& in) { offers = read_list<MaskOffer>(in); });
  const MaskProof proof{
      .signature = me.identity->sign(signed_message(digest_of_offers(offers), me.name, net::fingerprint(me.b)))};
  session.channel().send({steps::kMaskProof, 0, MaskProof::kBytes}, [&](ByteSink& out) { write(proof, out); });
  (void)session.channel().receive({steps::kMaskProofs, 0, kListBytes<MaskProof>});
  session.channel().send({steps::kMaskVerdict, 0, MaskVerdict::kBytes},
                         [&](ByteSink& out) { write(MaskVerdict(), out); });
  (void)session.channel().receive({steps::kMaskVerdicts, 0, kListBytes<MaskVerdict>});
}

TEST_F(MaskAgreement, RefusesAKeyThatMakesNoSecret) {
  const std::vector<std::string> all = outcomes(nullptr, [&](Session& session) { offer_zero_key(session, as_[1]); });
  for (const std::size_t i : {0, 2, 3}) EXPECT_THAT(all[i], HasSubstr("'a1' refuses 'a2': its key is not one"));
}

TEST_F(MaskAgreement, IsRefusedBeforeAnythingIsSentWhereAPartyCannotBe) {
  testing::TwoParties parties(scheme_, testing::Record::kNo);
  Session& a = parties.session(Party::kA);
  const auto refused = [&](MaskParty me) { EXPECT_THROW(agree_on_masks(a, me), InvalidArgument); };
  MaskParty me = as_[0];
  me.name = "a2";
  refused(me);
  me = as_[0];
  me.name = std::string(65, 'a');
  refused(me);
  me = as_[0];
  me.run = "";
  refused(me);
  me = as_[0];
  me.run = "two\nlines";
  refused(me);
  me = as_[0];
  me.identity = nullptr;
  refused(me);
  me = as_[0];
  me.others[1].name = "a2";
  refused(me);
  me = as_[0];
  me.began = Bytes(31);
  refused(me);
  me = as_[0];
  me.b = {};
  refused(me);
  me = as_[0];
  me.others[0].certificate = me.b;
  EXPECT_THAT([&] { agree_on_masks(a, me); },
              ::testing::ThrowsMessage<InvalidArgument>(HasSubstr("the certificate of 'a2' is B's")));
  me = as_[0];
  me.others[0].certificate = me.identity->certificate();
  refused(me);
  me = as_[0];
  me.others[0].certificate = me.others[1].certificate;
  EXPECT_THAT([&] { agree_on_masks(a, me); },
              ::testing::ThrowsMessage<InvalidArgument>(HasSubstr("the certificates of 'a2' and 'a3' are the same")));
  me = as_[0];
  while (me.others.size() < kMostPeers) me.others.push_back({"more " + std::to_string(me.others.size()), "x"});
  refused(me);
  Session& b = parties.session(Party::kB);
  EXPECT_THROW(agree_on_masks(b, as_[0]), InvalidArgument);
  EXPECT_THROW(agree_on_masks(Sessions(b), "run 1", {"a1", "a2"}), InvalidArgument);
  EXPECT_THROW(agree_on_masks(Sessions(a), "run 1", {"a1"}), InvalidArgument);
}

/// What is written of a value, with the byte at that place changed.
template <class Said>
Bytes changed(const Said& said, std::size_t at, std::byte to) {
  Bytes bytes = write_to_bytes([&](ByteSink& out) { write(said, out); });
  bytes.at(at) = to;
  return bytes;
}
template <class Said>
void expect_refused(const Bytes& bytes) {
  BufferSource in(bytes);
  Said said;
  EXPECT_THROW(read(said, in), ProtocolError);
}

TEST(MaskMessages, AreReadAsTheyWereWritten) {
  const MaskOffer offer{.peers = 3,
                        .name = "a1",
                        .run = std::string(64, 'r'),
                        .began = {std::byte{3}},
                        .nonce = {std::byte{1}},
                        .key = {std::byte{2}}};
  const MaskProof proof{.verdict = {Refusal::kRun, 2}, .signature = Bytes(70, std::byte{7})};
  const auto again = [](const auto& said) {
    const Bytes bytes = write_to_bytes([&](ByteSink& out) { write(said, out); });
    EXPECT_EQ(bytes.size(), said.kBytes);
    BufferSource in(bytes);
    std::remove_cvref_t<decltype(said)> back;
    read(back, in);
    return back;
  };
  EXPECT_EQ(again(offer), offer);
  EXPECT_EQ(again(proof), proof);
  EXPECT_EQ(again(MaskVerdict{Refusal::kKey, 15}), (MaskVerdict{Refusal::kKey, 15}));
  const Bytes list = write_to_bytes([&](ByteSink& out) { write_list(Proofs(3, proof), out); });
  EXPECT_EQ(list.size(), kListBytes<MaskProof>);
  BufferSource in(list);
  EXPECT_EQ(read_list<MaskProof>(in), Proofs(3, proof));
}

TEST(MaskMessages, ThatAreNoneAreRefused) {
  const MaskOffer offer{.peers = 2, .name = "a1", .run = "r"};
  expect_refused<MaskOffer>(changed(offer, 0, std::byte{1}));             // version
  expect_refused<MaskOffer>(changed(offer, 8, std::byte{0}));             // no name
  expect_refused<MaskOffer>(changed(offer, 9, std::byte{'\n'}));          // not printable
  expect_refused<MaskOffer>(changed(offer, 8 + 63, std::byte{'x'}));      // something after the name's end
  expect_refused<MaskOffer>(changed(offer, 8 + 64 + 1, std::byte{200}));  // of the run
  expect_refused<MaskVerdict>(changed(MaskVerdict{}, 0, std::byte{9}));
  expect_refused<MaskVerdict>(changed(MaskVerdict{}, 3, std::byte{1}));
  expect_refused<MaskVerdict>(changed(MaskVerdict{}, 4, std::byte{1}));  // names an A for nothing
  expect_refused<MaskVerdict>(changed(MaskVerdict{Refusal::kRun, 0}, 4, std::byte{16}));
  const MaskProof proof{.signature = Bytes(70)};
  expect_refused<MaskProof>(changed(proof, 9, std::byte{3}));                      // a signature of 838 bytes
  expect_refused<MaskProof>(changed(proof, MaskProof::kBytes - 1, std::byte{1}));  // something after it
  for (const std::uint32_t count : {0U, 1U, 17U, 0xFFFFFFFFU}) {
    const Bytes list = write_to_bytes([&](ByteSink& out) {
      out.write_u32(count);
      out.write(Bytes(kListBytes<MaskOffer> - 4));
    });
    BufferSource in(list);
    EXPECT_THROW((void)read_list<MaskOffer>(in), ProtocolError) << count;
  }
  Bytes list = write_to_bytes([&](ByteSink& out) { write_list(Offers(2, offer), out); });
  list.back() = std::byte{1};
  BufferSource in(list);
  EXPECT_THROW((void)read_list<MaskOffer>(in), ProtocolError) << "room for a hidden message";
}

TEST(MaskMessages, AreSignedForOneAOneListOneBAndThisPurpose) {
  const MaskOffer offer{.peers = 2, .name = "a1", .run = "r"};
  Offers offers(2, offer);
  offers[1].name = "a2";
  const Bytes digest = digest_of_offers(offers);
  EXPECT_NE(signed_message(digest, "a1", "b"), signed_message(digest, "a2", "b"));
  EXPECT_NE(signed_message(digest, "a1", "b"), signed_message(digest, "a1", "c"));
  EXPECT_NE(signed_message(digest, "a1", "b"), signed_message(digest, "a", "1b"));
  for (const auto& change : std::vector<std::function<void(MaskOffer&)>>{
           [](MaskOffer& o) { o.nonce[0] = std::byte{1}; }, [](MaskOffer& o) { o.key[31] = std::byte{1}; },
           [](MaskOffer& o) { o.run = "s"; }, [](MaskOffer& o) { o.began[31] = std::byte{1}; },
           [](MaskOffer& o) { o.name = "a3"; }, [](MaskOffer& o) { o.peers = 3; }}) {
    Offers other = offers;
    change(other[1]);
    EXPECT_NE(digest_of_offers(other), digest);
  }
  std::swap(offers[0], offers[1]);
  EXPECT_NE(digest_of_offers(offers), digest);
  // TLS signs what begins with 64 spaces.
  EXPECT_NE(signed_message(digest, "a1", "b").front(), std::byte{' '});
}

}  // namespace
}  // namespace blindfl::protocol::mask_agreement_test
