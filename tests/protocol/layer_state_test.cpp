// A layer's state is saved in one session and loaded in another: what it computes continues, and what does not belong
// together is refused.

#include "blindfl/protocol/layers/layer_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "protocol/embed_fixture.h"
#include "protocol/encrypted_fixture.h"
#include "testing/thrown.h"

namespace blindfl::protocol::layer_state_test {
namespace {

using ::testing::HasSubstr;

template <class Layer>
Bytes state_of(const Layer& layer) {
  return write_to_bytes([&](ByteSink& out) { layer.save(out); });
}
template <class Layer>
void load_state(Layer& layer, ByteView bytes) {
  BufferSource in(bytes);
  layer.load(in);
  EXPECT_EQ(in.remaining(), 0U);
}

/// Both halves, and what they were fed.
class Halves {
 public:
  Halves(const he::Scheme& scheme, const MatMulSpec& spec) : pair(scheme, spec), spec_(spec) {}

  /// Z, opened in the test; the same numbers for the same weights, but for the last bit.
  std::vector<double> output() {
    SeededRandom random(5);
    const IntMatrix x_a = random_features(spec_.features_a, IntMatrix::Kind::kDense, spec_.batch, spec_.in_a, random);
    const IntMatrix x_b = random_features(spec_.features_b, IntMatrix::Kind::kDense, spec_.batch, spec_.in_b, random);
    const auto [a, b] = pair.forward(x_a, x_b);
    return decode_ring(open(a.share, b.share));
  }
  /// What an optimizer would do, on all pieces that both parties change.
  void change(std::uint64_t seed) {
    Weight& a = pair.a.weight(Party::kA);
    Random random;
    const ShareMatrix mask = random_share(a.piece.rows(), a.piece.cols(), a.piece.scale(), random);
    ShareMatrix delta = mask;
    SeededRandom seeded(seed);
    for (UInt128& v : delta.values()) v += seeded.below(std::uint64_t{1} << 32);
    a.piece += delta;
    pair.b.weight(Party::kA).piece -= mask;
    for (const Party party : {Party::kA, Party::kB}) ++pair.at(party).weight(Party::kA).version;
  }

  MatMulPair pair;

 private:
  MatMulSpec spec_;
};

class MatMulState : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<he::Scheme> scheme_ = testing::make_scheme(GetParam());
  MatMulSpec spec_ = small_spec(4, 3, 2, 5);

  static void expect_near(const std::vector<double>& x, const std::vector<double>& y) {
    ASSERT_EQ(x.size(), y.size());
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], y[i], 0x1p-16);
  }
};

TEST_P(MatMulState, GivesTheSameOutputsInANewSession) {
  Halves first(*scheme_, spec_);
  first.change(1);
  const std::vector<double> before = first.output();
  const Bytes at_a = state_of(first.pair.a);
  const Bytes at_b = state_of(first.pair.b);

  Halves second(*scheme_, spec_);
  load_state(second.pair.a, at_a);
  load_state(second.pair.b, at_b);
  EXPECT_EQ(state_of(second.pair.a), at_a);
  EXPECT_EQ(state_of(second.pair.b), at_b);
  expect_near(second.output(), before);
  EXPECT_EQ(state_of(second.pair.a), at_a) << "an output changes nothing";
}

TEST_P(MatMulState, IsLoadedIntoALayerThatHasAlreadyRun) {
  Halves halves(*scheme_, spec_);
  const std::vector<double> before = halves.output();
  const Bytes at_a = state_of(halves.pair.a);
  const Bytes at_b = state_of(halves.pair.b);
  halves.change(1);
  const std::vector<double> changed = halves.output();
  load_state(halves.pair.a, at_a);
  load_state(halves.pair.b, at_b);
  expect_near(halves.output(), before);
  // As many changes as before the load, and another piece: what the peer has of the old one is no longer good.
  halves.change(2);
  const std::vector<double> otherwise = halves.output();
  Halves fresh(*scheme_, spec_);
  fresh.change(2);
  expect_near(otherwise, fresh.output());
  EXPECT_NE(changed, otherwise);
}

INSTANTIATE_TEST_SUITE_P(AllSchemes, MatMulState, ::testing::ValuesIn(testing::scheme_names()),
                         [](const auto& info) { return info.param; });

class StateOfTwo : public ::testing::Test {
 protected:
  testing::PlainScheme scheme_;
  MatMulSpec spec_ = small_spec(4, 3, 2, 5);

  void expect_refused(const MatMulSpec& other, const Bytes& state, const std::string& words) {
    Halves halves(scheme_, other);
    EXPECT_THAT(testing::message_of<DataError>([&] { load_state(halves.pair.a, state); }), HasSubstr(words));
  }
};

TEST_F(StateOfTwo, MustBeOfTheSameMoment) {
  Halves first(scheme_, spec_);
  first.change(1);
  const Bytes earlier = state_of(first.pair.a);
  first.change(1);
  const Bytes later = state_of(first.pair.b);
  Halves second(scheme_, spec_);
  load_state(second.pair.a, earlier);
  load_state(second.pair.b, later);
  EXPECT_THAT(testing::message_of<ConfigError>([&] { (void)second.output(); }), HasSubstr("saved state"));
}

TEST_F(StateOfTwo, MustBeOfTheSameTraining) {
  Halves first(scheme_, spec_);
  Halves another(scheme_, spec_);
  first.change(1);
  another.change(1);
  Halves second(scheme_, spec_);
  load_state(second.pair.a, state_of(first.pair.a));
  load_state(second.pair.b, state_of(another.pair.b));
  EXPECT_THAT(testing::message_of<ConfigError>([&] { (void)second.output(); }), HasSubstr("saved in"));
}

TEST_F(StateOfTwo, MustBeOfTheSameTrainingWithinOneSession) {
  Halves halves(scheme_, spec_);
  const Bytes start_a = state_of(halves.pair.a);
  const Bytes start_b = state_of(halves.pair.b);
  halves.change(1);
  const Bytes once = state_of(halves.pair.a);
  load_state(halves.pair.a, start_a);
  load_state(halves.pair.b, start_b);
  halves.change(1);  // as many changes, with other masks
  const Bytes again = state_of(halves.pair.b);
  Halves second(scheme_, spec_);
  load_state(second.pair.a, once);
  load_state(second.pair.b, again);
  EXPECT_THROW((void)second.output(), ConfigError);
}

TEST_F(StateOfTwo, OfAnotherLayerOrPartyIsRefusedInWords) {
  Halves halves(scheme_, spec_);
  const Bytes at_a = state_of(halves.pair.a);
  EXPECT_THAT(testing::message_of<DataError>([&] { load_state(halves.pair.b, at_a); }), HasSubstr("party is B here"));
  MatMulSpec other = spec_;
  other.out = 3;
  expect_refused(other, at_a, "out is 3 here and 2 in the saved state");
  other = spec_;
  other.features_a.scale = 8;
  expect_refused(other, at_a, "features_a.scale is 8 here");
  const auto lattice = testing::make_scheme("lattice");
  Halves elsewhere(*lattice, spec_);
  EXPECT_THAT(testing::message_of<DataError>([&] { load_state(elsewhere.pair.a, at_a); }),
              HasSubstr("scheme_a is lattice here and plain in the saved state"));
}

TEST(StateHeader, MayDifferInTheSettingThatIsNamedAndInNoOther) {
  const auto saved = [](std::uint64_t steps, const char* party) {
    return Settings().add("party", party).add("steps", steps).add("steps of another kind", std::uint64_t{3});
  };
  const Bytes bytes = write_to_bytes([&](ByteSink& out) { write_state_header(out, saved(20, "A")); });
  const auto read = [&](const Settings& here, std::string_view may_differ) {
    BufferSource source(bytes);
    read_state_header(source, "this", here, may_differ);
  };
  EXPECT_NO_THROW(read(saved(20, "A"), {}));
  EXPECT_NO_THROW(read(saved(30, "A"), "steps"));
  EXPECT_THROW(read(saved(30, "A"), {}), DataError);
  EXPECT_THROW(read(saved(30, "B"), "steps"), DataError);
  EXPECT_THROW(read(saved(20, "A").add("more", 1), "steps"), DataError);
}

TEST_F(StateOfTwo, CutShortOrWithADamagedHeaderIsRefusedAndChangesNothing) {
  Halves halves(scheme_, spec_);
  halves.change(1);
  const Bytes state = state_of(halves.pair.a);
  const std::size_t pieces = 2 * (8 + 4) + 16 * (4 + 3) * 2;
  const std::size_t header = state.size() - pieces - 16;
  Halves fresh(scheme_, spec_);
  const Bytes before = state_of(fresh.pair.a);
  for (std::size_t size = 0; size < state.size(); ++size) {
    EXPECT_THROW(load_state(fresh.pair.a, ByteView(state).first(size)), DataError) << size;
  }
  for (std::size_t at = 0; at < header; ++at) {
    for (const unsigned bit : {0U, 3U, 7U}) {
      Bytes damaged = state;
      damaged[at] ^= std::byte{1} << bit;
      EXPECT_THROW(load_state(fresh.pair.a, damaged), DataError) << at;
    }
  }
  EXPECT_EQ(state_of(fresh.pair.a), before);
  Bytes no_version = state;
  std::fill_n(no_version.begin() + static_cast<std::ptrdiff_t>(header + 16), 8, std::byte{0});
  EXPECT_THROW(load_state(fresh.pair.a, no_version), DataError);
  Bytes other_ring = state;
  other_ring[header + 16 + 8] ^= std::byte{1};
  EXPECT_THAT(testing::message_of<DataError>([&] { load_state(fresh.pair.a, other_ring); }),
              HasSubstr("shares modulo 2^129, and they are modulo 2^128 here"));
}

TEST(SavedShare, KeepsItsRingAndHasNothingBeyond) {
  Random random;
  const ShareMatrix share = random_share(3, 2, 32, random, 52);
  const auto bytes_of = [](const ShareMatrix& s) {
    return write_to_bytes([&](ByteSink& out) { write_share(out, s); });
  };
  const auto read = [](const Bytes& bytes, const ShareMatrix& like) {
    BufferSource in(bytes);
    return read_share(in, like);
  };
  const Bytes bytes = bytes_of(share);
  EXPECT_EQ(read(bytes, ShareMatrix(3, 2, 32, 52)), share);
  EXPECT_THROW((void)read(bytes, ShareMatrix(3, 2, 32)), DataError);
  Bytes beyond = bytes;
  beyond[4 + 6] |= std::byte{0x10};  // the bit of 2^52
  EXPECT_THAT(testing::message_of<DataError>([&] { (void)read(beyond, ShareMatrix(3, 2, 32, 52)); }),
              HasSubstr("not of its ring"));
}

/// Updates under encryption, with B's key in hand.
class EncryptedState : public ::testing::Test {
 protected:
  EncryptedState() {
    spec_.update = Update::kEncrypted;
    spec_.features_a = spec_.features_b = {.scale = 0, .largest = 4.0, .clip = false};
    spec_.derivative.largest = 16.0;
    spec_.sgd = {.learning_rate = 0.1, .momentum = 0.9, .steps = 20};
  }
  std::unique_ptr<he::Scheme> scheme_ = testing::make_scheme("paillier");
  MatMulSpec spec_ = small_spec(4, 3, 2, 5);
};

TEST_F(EncryptedState, NeedsTheKeysItWasSavedUnder) {
  Halves first(*scheme_, spec_);
  const Bytes state = state_of(first.pair.a);
  Halves second(*scheme_, spec_);
  EXPECT_THAT(testing::message_of<DataError>([&] { load_state(second.pair.a, state); }), HasSubstr("key is "));
}

TEST_F(EncryptedState, HasPiecesThatTheirProductWasPlannedFor) {
  Halves halves(*scheme_, spec_);
  Bytes state = state_of(halves.pair.a);
  // The piece of B's weights lies before the encrypted ones, of which there are none yet: 56 bytes, three counts.
  state[state.size() - 56 - 24 - 1] = std::byte{0x7f};
  EXPECT_THAT(testing::message_of<DataError>([&] { load_state(halves.pair.a, state); }), HasSubstr("too many bits"));
}

TEST_F(EncryptedState, IsNotSavedBetweenABackwardPassAndItsStep) {
  Halves halves(*scheme_, spec_);
  (void)halves.output();
  const Bytes before = state_of(halves.pair.a);
  SeededRandom random(5);
  const IntMatrix x_a = random_features(spec_.features_a, IntMatrix::Kind::kDense, spec_.batch, spec_.in_a, random);
  const IntMatrix x_b = random_features(spec_.features_b, IntMatrix::Kind::kDense, spec_.batch, spec_.in_b, random);
  (void)halves.pair.backward(x_a, x_b, random_derivative(spec_, random));
  EXPECT_THROW((void)state_of(halves.pair.a), InvalidArgument);
  EXPECT_THROW((void)state_of(halves.pair.b), InvalidArgument);
  halves.pair.a.holder()->discard();
  EXPECT_EQ(state_of(halves.pair.a), before);
}

TEST(EmbedState, IsRefusedWhereATableIsAnother) {
  const testing::PlainScheme scheme;
  EmbedMatMulSpec spec;
  spec.fields_a = {{CategoryField{.name = "a", .categories = 6}}};
  spec.fields_b = {{CategoryField{.name = "b", .categories = 4}}};
  spec.dimension = 2;
  spec.out = 2;
  spec.batch = 3;
  EmbedPair first(scheme, spec);
  const Bytes at_a = state_of(first.at(Party::kA));
  EmbedPair same(scheme, spec);
  load_state(same.at(Party::kA), at_a);
  load_state(same.at(Party::kB), state_of(first.at(Party::kB)));
  EXPECT_EQ(state_of(same.at(Party::kA)), at_a);
  EXPECT_EQ(same.table(1), first.table(1));
  SeededRandom random(1);
  EXPECT_NO_THROW(
      (void)same.forward(random_categories(spec.fields_a, 3, random), random_categories(spec.fields_b, 3, random), 3));
  for (std::size_t size = 0; size < at_a.size(); size += 3) {
    EXPECT_THROW(load_state(first.at(Party::kA), ByteView(at_a).first(size)), DataError) << size;
  }
  spec.fields_b.front().field.categories = 5;
  EmbedPair other(scheme, spec);
  EXPECT_THAT(testing::message_of<DataError>([&] { load_state(other.at(Party::kA), at_a); }),
              HasSubstr("fields_b.0.categories is 5 here and 4 in the saved state"));
}

}  // namespace
}  // namespace blindfl::protocol::layer_state_test
