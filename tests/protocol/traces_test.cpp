// What crosses the link in a few steps of training, a scoring pass and a reload, message by message, against files that
// were recorded: a change of the code that is to change nothing on the wire shows here that it did not.
//
//   BLINDFL_WRITE_TRACES=1 build/release/bin/protocol_tests --gtest_filter='*Traces*'    writes the files again

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/net/step.h"
#include "protocol/embed_fixture.h"
#include "protocol/matmul_fixture.h"
#include "protocol/shared_embed_fixture.h"
#include "protocol/shared_fixture.h"
#include "testing/scratch_folder.h"
#include "testing/steps.h"

namespace blindfl::protocol::traces_test {
namespace {

constexpr std::size_t kTracedBatch = 12;
constexpr std::size_t kScoredRows = 5;
constexpr int kTracedSteps = 3;

struct Trace {
  std::string name;                  ///< of its file
  bool embeddings = false;           ///< Embed-MatMul, or MatMul
  std::vector<std::string> schemes;  ///< of the session, the default first
  std::string learns{};              ///< the scheme of A's weights or of all tables; empty: the default
  Update update = Update::kExchanged;
  double momentum = 0;
  Top top = Top::kOpen;
  bool by_ot = false;  ///< tables
};

void PrintTo(const Trace& trace, std::ostream* out) {
  *out << trace.name;
}

const Trace kTraces[] = {
    {.name = "matmul_lattice", .schemes = {"lattice"}},
    {.name = "matmul_paillier", .schemes = {"paillier"}},
    {.name = "matmul_noisy", .schemes = {"noisy"}},
    {.name = "matmul_both_schemes", .schemes = {"lattice", "paillier"}, .learns = "paillier"},
    {.name = "matmul_encrypted", .schemes = {"paillier"}, .update = Update::kEncrypted},
    {.name = "matmul_encrypted_beside_lattice",
     .schemes = {"lattice", "paillier"},
     .learns = "paillier",
     .update = Update::kEncrypted,
     .momentum = 0.9},
    {.name = "matmul_shared_lattice", .schemes = {"lattice"}, .top = Top::kShared},
    {.name = "matmul_shared_encrypted",
     .schemes = {"paillier"},
     .update = Update::kEncrypted,
     .momentum = 0.9,
     .top = Top::kShared},
    {.name = "embed_lattice", .embeddings = true, .schemes = {"lattice"}},
    {.name = "embed_paillier", .embeddings = true, .schemes = {"paillier"}},
    {.name = "embed_noisy", .embeddings = true, .schemes = {"noisy"}},
    {.name = "embed_encrypted", .embeddings = true, .schemes = {"paillier"}, .update = Update::kEncrypted},
    {.name = "embed_encrypted_beside_lattice",
     .embeddings = true,
     .schemes = {"lattice", "paillier"},
     .learns = "paillier",
     .update = Update::kEncrypted,
     .momentum = 0.9},
    {.name = "embed_shared_lattice", .embeddings = true, .schemes = {"lattice"}, .top = Top::kShared},
    {.name = "embed_ot", .embeddings = true, .schemes = {"lattice"}, .by_ot = true},
    {.name = "embed_shared_ot", .embeddings = true, .schemes = {"lattice"}, .top = Top::kShared, .by_ot = true},
    {.name = "embed_shared_encrypted",
     .embeddings = true,
     .schemes = {"paillier"},
     .update = Update::kEncrypted,
     .momentum = 0.9,
     .top = Top::kShared},
};

MatMulSpec matmul_spec(const Trace& trace) {
  MatMulSpec spec = small_spec(6, 4, 3, kTracedBatch);
  spec.scheme_a = trace.learns;
  spec.update = trace.update;
  spec.top = trace.top;
  if (trace.top == Top::kShared) spec.update_b = trace.update;
  spec.sgd = {.learning_rate = 0.1, .momentum = trace.momentum, .steps = kTracedSteps};
  return spec;
}

EmbedMatMulSpec embed_spec(const Trace& trace) {
  EmbedMatMulSpec spec;
  spec.fields_a = {{.field = {.name = "a0", .categories = 7}}, {.field = {.name = "a1", .categories = 5, .most = 2}}};
  spec.fields_b = {{.field = {.name = "b0", .categories = 3}}};
  for (auto* fields : {&spec.fields_a, &spec.fields_b}) {
    for (EmbedField& field : *fields) {
      field.scheme = trace.learns;
      field.update = trace.update;
      if (trace.by_ot) field.scheme = kByOt;
    }
  }
  spec.top = trace.top;
  spec.dimension = 2;
  spec.out = 3;
  spec.batch = kTracedBatch;
  spec.sgd = {.learning_rate = 0.1, .momentum = trace.momentum, .steps = kTracedSteps};
  return spec;
}

template <class Layer>
void save_and_load(Layer& layer) {
  const Bytes saved = write_to_bytes([&](ByteSink& out) { layer.save(out); });
  BufferSource in(saved);
  layer.load(in);
}

/// `dz` at B, and at A what A has of it.
Derivative at_party(const Session& session, const Derivative& dz) {
  return session.party() == Party::kA ? absent_derivative(dz.rows, dz.real_rows) : dz;
}

void step(MatMul& layer, const MatMulGradients& gradients) {
  const auto learn = [&](Party features_of, const std::optional<ShareMatrix>& gradient) {
    Weight& weight = layer.weight(features_of);
    if (weight.update) return weight.update->step();
    if (!gradient) return;
    weight.piece -= multiply_public(*gradient, PublicFactor(0.1 / kTracedBatch), weight.piece.scale());
    if (weight.shared_gradient) ++weight.version;
  };
  learn(Party::kA, gradients.weight_a);
  learn(Party::kB, gradients.weight_b);
}

void open(Session& session, std::uint32_t layer, const OutputShare& share, int scale) {
  (void)open_output(session, layer, round_output(share, scale));
}

/// Steps of training, the last one of a short batch, scoring of fewer rows, the same after the state was loaded.
void run_matmul(testing::TwoParties& parties, const MatMulSpec& spec) {
  SeededRandom random(3);
  const IntMatrix x_a = random_features(spec.features_a, IntMatrix::Kind::kDense, kTracedBatch, spec.in_a, random);
  const IntMatrix x_b = random_features(spec.features_b, IntMatrix::Kind::kCsr, kTracedBatch, spec.in_b, random);
  const Derivative full = random_derivative(spec, random);
  const std::vector<double> few(kScoredRows * spec.out, 0.5);
  const Derivative part = encode_derivative(FixedPoint(spec.derivative), kTracedBatch, spec.out, few);
  std::vector<std::uint32_t> scored(kScoredRows, 1);
  parties.run([&](Session& session) {
    const IntMatrix& x = session.party() == Party::kA ? x_a : x_b;
    MatMul layer(session, spec);
    for (int i = 1; i <= kTracedSteps; ++i) {
      open(session, layer.layer(), layer.forward(x), spec.output_scale);
      step(layer, layer.backward(x, at_party(session, i < kTracedSteps ? full : part)));
    }
    const auto score = [&] { open(session, layer.layer(), layer.forward(x.select_rows(scored)), spec.output_scale); };
    score();
    score();
    save_and_load(layer);
    score();
  });
}

/// The same under a shared top, where nothing is opened.
void run_shared(testing::TwoParties& parties, const MatMulSpec& spec) {
  SeededRandom random(3);
  const SharedPass full = make_shared_pass(spec, IntMatrix::Kind::kDense, kTracedBatch, random);
  const SharedPass part = make_shared_pass(spec, IntMatrix::Kind::kCsr, kScoredRows, random);
  const std::vector<std::uint32_t> scored(kScoredRows, 1);
  parties.run([&](Session& session) {
    const Party me = session.party();
    MatMul layer(session, spec);
    PieceSgd sgd(spec.sgd);
    for (int i = 1; i <= kTracedSteps; ++i) {
      const SharedPass& pass = i < kTracedSteps ? full : part;
      (void)layer.forward(pass.x(me));
      sgd.step(layer, layer.backward(pass.x(me), pass.derivative.at(me)));
    }
    for (int i = 0; i < 2; ++i) (void)layer.forward(full.x(me).select_rows(scored));
    save_and_load(layer);
    (void)layer.forward(full.x(me).select_rows(scored));
  });
}

void run_embed(testing::TwoParties& parties, const EmbedMatMulSpec& spec) {
  SeededRandom random(3);
  const auto x_a = random_categories(spec.fields_a, kTracedBatch, random);
  const auto x_b = random_categories(spec.fields_b, kTracedBatch, random);
  const auto few_a = random_categories(spec.fields_a, kScoredRows, random);
  const auto few_b = random_categories(spec.fields_b, kScoredRows, random);
  const Derivative full = random_derivative(spec, random);
  const std::vector<double> few(kScoredRows * spec.out, 0.5);
  const Derivative part = encode_derivative(FixedPoint(spec.derivative), kTracedBatch, spec.out, few);
  parties.run([&](Session& session) {
    const bool at_a = session.party() == Party::kA;
    EmbedMatMul layer(session, spec);
    const auto forward = [&](const std::vector<IntMatrix>& x, std::size_t rows) {
      EmbedMatMul::Forward result = layer.forward(x, rows);
      open(session, layer.layer(), result.output, spec.output_scale);
      return std::move(result.pass);
    };
    for (int i = 1; i <= kTracedSteps; ++i) {
      const EmbedPass pass = forward(at_a ? x_a : x_b, kTracedBatch);
      take_step(layer, layer.backward(pass, at_party(session, i < kTracedSteps ? full : part)), 0.1 / kTracedBatch);
    }
    for (int i = 0; i < 2; ++i) (void)forward(at_a ? few_a : few_b, kScoredRows);
    save_and_load(layer);
    (void)forward(at_a ? few_a : few_b, kScoredRows);
  });
}

void run_shared_embed(testing::TwoParties& parties, const EmbedMatMulSpec& spec) {
  SeededRandom random(3);
  const SharedEmbedPass full = make_shared_embed_pass(spec, kTracedBatch, random);
  const SharedEmbedPass part = make_shared_embed_pass(spec, kScoredRows, random);
  const std::vector<IntMatrix> few[] = {random_categories(spec.fields_a, kScoredRows, random),
                                        random_categories(spec.fields_b, kScoredRows, random)};
  parties.run([&](Session& session) {
    const Party me = session.party();
    EmbedMatMul layer(session, spec);
    for (int i = 1; i <= kTracedSteps; ++i) {
      const SharedEmbedPass& pass = i < kTracedSteps ? full : part;
      const EmbedMatMul::Forward forward = layer.forward(pass.x(me), kTracedBatch);
      take_step(layer, layer.backward(forward.pass, pass.derivative.at(me)), 0.1 / kTracedBatch);
    }
    const auto score = [&] { (void)layer.forward(few[me == Party::kA ? 0 : 1], kScoredRows); };
    score();
    score();
    save_and_load(layer);
    score();
  });
}

/// "A sends forward operand of layer 0: 12345 bytes", one message a line, in their order.
std::string text_of(const testing::TwoParties& parties, Party party, net::Direction direction) {
  const Party sender = direction == net::Direction::kSent ? party : peer_of(party);
  std::string text;
  for (const testing::RecordedMessage& recorded : parties.recording(party).messages()) {
    if (recorded.direction != direction) continue;
    const net::Message& m = recorded.message;
    text += std::string(name_of(sender)) + " sends " + std::string(net::name_of(testing::all_steps().known(m.step))) +
            " of layer " + std::to_string(m.layer) + ": " + std::to_string(recorded.payload.size()) + " bytes\n";
  }
  return text;
}

class Traces : public ::testing::TestWithParam<Trace> {
 protected:
  /// All that A sends, then all that B sends. What each receives is what the other sent.
  [[nodiscard]] std::string record(testing::Channels channels) const {
    std::vector<const he::Scheme*> schemes;
    for (const auto& scheme : schemes_) schemes.push_back(scheme.get());
    testing::TwoParties parties(schemes, std::move(channels));
    if (GetParam().embeddings && GetParam().top == Top::kShared) {
      run_shared_embed(parties, embed_spec(GetParam()));
    } else if (GetParam().embeddings) {
      run_embed(parties, embed_spec(GetParam()));
    } else if (GetParam().top == Top::kShared) {
      run_shared(parties, matmul_spec(GetParam()));
    } else {
      run_matmul(parties, matmul_spec(GetParam()));
    }
    std::string all;
    for (const Party party : {Party::kA, Party::kB}) {
      const std::string sent = text_of(parties, party, net::Direction::kSent);
      EXPECT_EQ(sent, text_of(parties, peer_of(party), net::Direction::kReceived));
      all += sent;
    }
    return all;
  }

  /// Beside this source.
  [[nodiscard]] static std::filesystem::path file() {
    return std::filesystem::path(__FILE__).parent_path() / "traces" / (GetParam().name + ".txt");
  }

  std::vector<std::unique_ptr<he::Scheme>> schemes_ = [] {
    std::vector<std::unique_ptr<he::Scheme>> schemes;
    for (const std::string& name : GetParam().schemes) schemes.push_back(testing::make_scheme(name));
    return schemes;
  }();
};

TEST_P(Traces, AreWhatWasRecorded) {
  const std::string trace = record(testing::make_channels());
  if (std::getenv("BLINDFL_WRITE_TRACES") != nullptr) std::ofstream(file()) << trace;
  EXPECT_EQ(testing::content_of(file()), trace);
}

/// A small capacity makes the parties send and receive in two threads each.
TEST_P(Traces, AreTheSameWhereThePartiesWaitForEachOther) {
  if (std::getenv("BLINDFL_WRITE_TRACES") != nullptr) GTEST_SKIP();
  EXPECT_EQ(testing::content_of(file()), record(net::make_memory_channels(1000)));
}

INSTANTIATE_TEST_SUITE_P(Layers, Traces, ::testing::ValuesIn(kTraces),
                         [](const auto& trace) { return trace.param.name; });

}  // namespace
}  // namespace blindfl::protocol::traces_test
