#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "blindfl/share/products.h"
#include "protocol/embed_fixture.h"
#include "protocol/views.h"
#include "testing/plain/plain_scheme.h"
#include "testing/steps.h"

namespace blindfl::protocol {

/// Steps of an Embed-MatMul layer over the plain scheme, and all that either party sees of the last one. Each party has
/// two fields: one category in each row of the first; several in those of the second, A's summed, B's averaged.
class EmbedSteps {
 protected:
  // Enough of each for one step to fill a test of uniformity: rows x dimension, rows x outputs, inputs x outputs,
  // categories x dimension.
  static constexpr std::size_t kBatch = 176;
  static constexpr std::size_t kDimension = 8;
  static constexpr std::size_t kOut = 42;
  static constexpr std::size_t kCategories = 170;
  static constexpr std::size_t kFields = 4;

  static EmbedMatMulSpec make_spec() {
    EmbedMatMulSpec spec;
    spec.fields_a = {{.field = {.name = "a0", .categories = kCategories}},
                     {.field = {.name = "a1", .categories = kCategories, .most = 3, .pooling = Pooling::kSum}}};
    spec.fields_b = {{.field = {.name = "b0", .categories = kCategories}},
                     {.field = {.name = "b1", .categories = kCategories, .most = 4, .pooling = Pooling::kMean}}};
    spec.dimension = kDimension;
    spec.out = kOut;
    spec.batch = kBatch;
    spec.table_deviation = 1.0;
    spec.initial_deviation = 0.5;
    return spec;
  }

  explicit EmbedSteps(bool mask) : EmbedSteps(mask, make_spec()) {}
  EmbedSteps(bool mask, EmbedMatMulSpec spec) : scheme_({.mask = mask}), spec_(std::move(spec)) {}

  /// One forward and one backward pass. Half of the rows of two fields have the same category, and half of those of the
  /// other two have none: they must be hidden like any other.
  void run_step() {
    categories_[0] = random_categories(spec_.fields_a, kBatch, random_);
    categories_[1] = random_categories(spec_.fields_b, kBatch, random_);
    std::vector<std::uint32_t> rows(kBatch / 2);
    for (std::uint32_t i = 0; i < kBatch / 2; ++i) rows[i] = i;
    for (auto& x : categories_) {
      std::vector<std::uint32_t> repeated = rows;
      repeated.resize(kBatch, 0);
      x[0] = x[0].select_rows(repeated);
      x[1] = x[1].select_rows(rows, kBatch);
    }
    derivative_ = random_derivative(spec_, random_);
    run_passes();
  }
  void run_passes() {
    std::tie(at_a_, at_b_) = pair_.forward(categories_[0], categories_[1], kBatch);
    pair_.parties.run(
        [&](Session& s) {
          (void)open_output(s, pair_.at(Party::kA).layer(), round_output(at_a_.output, spec_.output_scale));
        },
        [&](Session& s) {
          z_ = open_output(s, pair_.at(Party::kB).layer(), round_output(at_b_.output, spec_.output_scale));
        });
    std::tie(gradients_a_, gradients_b_) = pair_.backward(at_a_.pass, at_b_.pass, derivative_);
  }
  /// Steps of the size that a step has in training.
  void train(int steps) {
    for (int i = 0; i < steps; ++i) {
      run_step();
      take_step(pair_.at(Party::kA), gradients_a_, 0.1 / kBatch);
      take_step(pair_.at(Party::kB), gradients_b_, 0.1 / kBatch);
    }
  }

  [[nodiscard]] EmbeddingTable& table(Party party, std::size_t t) { return *pair_.at(party).tables()[t]; }
  /// Tables are numbered after their layer.
  [[nodiscard]] std::uint32_t layer_of_table(std::size_t t) {
    return pair_.at(Party::kA).layer() + 1 + static_cast<std::uint32_t>(t);
  }
  [[nodiscard]] static Party owner_of(std::size_t t) { return t < kFields / 2 ? Party::kA : Party::kB; }
  [[nodiscard]] const IntMatrix& categories_of(std::size_t t) const { return categories_[t / 2][t % 2]; }
  [[nodiscard]] const EmbedMatMul::Forward& forward_of(Party party) const { return party == Party::kA ? at_a_ : at_b_; }
  [[nodiscard]] const EmbedMatMulParams& params() { return pair_.at(Party::kA).params(); }

  // What nobody has, of the last step: pieces added up.
  [[nodiscard]] ShareMatrix weight() {
    return open(pair_.at(Party::kA).weight()->piece, pair_.at(Party::kB).weight()->piece);
  }
  [[nodiscard]] ShareMatrix table_values(std::size_t t) {
    return open(table(Party::kA, t).weight()->piece, table(Party::kB, t).weight()->piece);
  }
  [[nodiscard]] ShareMatrix embeddings() const { return open(at_a_.pass.embeddings, at_b_.pass.embeddings); }
  /// As B multiplies with it.
  [[nodiscard]] IntMatrix dz() {
    return rounded_derivative(*derivative_.share, params().derivative_scale(), low64(params().derivative_bound()));
  }
  /// A party's share of the weights, transposed, as the backward product has it.
  [[nodiscard]] ShareMatrix backward_weights(Party party) {
    return narrowed(rescale(transpose(pair_.at(party).weight()->piece), params().backward_weight_scale()),
                    params().derivative_lift().ring_bits);
  }
  /// As it comes out of its product.
  [[nodiscard]] ShareMatrix embedding_derivative() {
    return multiply(dz(), backward_weights(Party::kA) + backward_weights(Party::kB));
  }

  /// The last message of a step that `party` received.
  [[nodiscard]] Bytes last_received(Party party, net::Step step, std::uint32_t layer) const {
    std::optional<Bytes> last;
    for (const testing::RecordedMessage& m : pair_.parties.recording(party).messages()) {
      if (m.direction != net::Direction::kReceived || m.message.step != step || m.message.layer != layer) continue;
      last = m.payload;
    }
    EXPECT_TRUE(last.has_value()) << "no such message";
    return last.value_or(Bytes{});
  }
  [[nodiscard]] ShareMatrix opened_by(Party party, net::Step step, std::uint32_t layer,
                                      const he::ProductSpec& product) {
    const Bytes payload = last_received(party, step, layer);
    BufferSource in(payload);
    Random random;
    ThreadPool pool;
    return pair_.parties.session(party).key_owner().open(*scheme_.plan(product), in, random, pool);
  }

  /// A value that a party opens hides the product inside it, and what that is a part of.
  struct Opened {
    RingView product;
    RingView whole;

    Opened(const ShareMatrix& opened, const ShareMatrix& inside, const ShareMatrix& part_of) {
      product.add(opened, inside);
      whole.add(opened, part_of);
    }
    [[nodiscard]] bool hides_its_secrets() const { return product.hides_the_secret() && whole.hides_the_secret(); }
  };

  /// Of a table's last lookup.
  [[nodiscard]] std::vector<std::uint64_t> correction(std::size_t t) {
    const Bytes payload = last_received(peer_of(owner_of(t)), steps::kPieceCorrection, layer_of_table(t));
    std::vector<std::uint64_t> words(payload.size() / sizeof(std::uint64_t));
    std::memcpy(words.data(), payload.data(), payload.size());
    return words;
  }
  /// X T, a part of X Q, as the party without the field opens it.
  [[nodiscard]] Opened lookup(std::size_t t) {
    const Party opener = peer_of(owner_of(t));
    const IntMatrix& x = categories_of(t);
    return {
        opened_by(opener, steps::kLookupProduct, layer_of_table(t), params().lookup(table(opener, t).field(), kBatch)),
        multiply(x, table(opener, t).weight()->piece), multiply(x, table_values(t))};
  }
  /// The other's share of E times its own of W, a part of E W.
  [[nodiscard]] Opened embedding_product(Party opener) {
    const Limbs limbs = params().choose_limbs(scheme_);
    const auto product = [&](const ShareMatrix& e, const ShareMatrix& w) {
      return multiply(split_columns(limbs, e), stack_rows(limbs, w));
    };
    return {opened_by(opener, steps::kEmbeddingProduct, pair_.at(opener).layer(), params().embedding(limbs, kBatch)),
            product(forward_of(peer_of(opener)).pass.embeddings, pair_.at(opener).weight()->piece),
            product(embeddings(), weight())};
  }
  /// dZ^T L_A, a part of dW^T, as A opens it.
  [[nodiscard]] Opened weight_gradient() {
    return {opened_by(Party::kA, steps::kWeightGradient, pair_.at(Party::kA).layer(), params().weight_gradient(kBatch)),
            multiply_transposed(dz(), at_a_.pass.embeddings), multiply_transposed(dz(), embeddings())};
  }
  [[nodiscard]] ShareMatrix derivative_as_a_opens_it() {
    return opened_by(Party::kA, steps::kEmbeddingDerivative, pair_.at(Party::kA).layer(),
                     params().embedding_derivative(kBatch));
  }
  /// dZ R_A^T, a part of dE, as A opens it.
  [[nodiscard]] Opened derivative() {
    return {derivative_as_a_opens_it(), multiply(dz(), backward_weights(Party::kA)), embedding_derivative()};
  }
  /// A party's share of dE, as it comes out of its product.
  [[nodiscard]] ShareMatrix derivative_share(Party party) {
    const ShareMatrix of_a = derivative_as_a_opens_it();
    return party == Party::kA ? of_a : embedding_derivative() - of_a;
  }
  /// X^T times the opener's share of dE, a part of dQ, as the party without the field opens it.
  [[nodiscard]] Opened table_gradient(std::size_t t) {
    const Party opener = peer_of(owner_of(t));
    const auto part = [&](const ShareMatrix& of) {
      const ShareMatrix numbers = rescale(lifted(of), params().derivative_share_scale(table(opener, t).field()));
      return multiply_transposed(categories_of(t), select_columns(numbers, t * kDimension, kDimension));
    };
    return {opened_by(opener, steps::kTableGradient, layer_of_table(t),
                      params().table_gradient(table(opener, t).field(), kBatch)),
            part(derivative_share(opener)), part(embedding_derivative())};
  }
  /// All of the above, by name.
  [[nodiscard]] std::map<std::string, Opened> all_opened() {
    std::map<std::string, Opened> all;
    for (std::size_t t = 0; t < kFields; ++t) {
      all.emplace("lookup in table " + std::to_string(t), lookup(t));
      all.emplace("gradient of table " + std::to_string(t), table_gradient(t));
    }
    all.emplace("E W at A", embedding_product(Party::kA));
    all.emplace("E W at B", embedding_product(Party::kB));
    all.emplace("dW at A", weight_gradient());
    all.emplace("dE at A", derivative());
    return all;
  }
  /// What is seen of the rows that have one and the same category, or none, in as many steps as it takes.
  [[nodiscard]] bool second_halves_look_uniform(std::size_t t) {
    std::vector<UInt128> halves;
    int ring_bits = 0;
    while (halves.size() < 1280) {
      run_step();
      const RingView view = lookup(t).product;
      ring_bits = view.ring_bits;
      halves.insert(halves.end(), view.seen.begin() + static_cast<std::ptrdiff_t>(view.seen.size() / 2),
                    view.seen.end());
    }
    return testing::looks_uniform<UInt128>(halves, ring_bits);
  }
  struct Masks {
    std::vector<UInt128> values;
    int ring_bits = 0;
  };
  [[nodiscard]] std::vector<Masks> masks_of_two_equal_steps() {
    std::vector<Masks> masks;
    const auto add = [&] {
      for (const auto& [name, opened] : all_opened()) {
        masks.push_back({opened.product.rest(), opened.product.ring_bits});
      }
    };
    run_step();
    add();
    run_passes();
    add();
    return masks;
  }

  /// What each party keeps by itself, and the bits of it that must be uniform.
  struct Kept {
    RingView view;
    std::vector<int> first_bits;

    [[nodiscard]] bool hides_the_secret() const {
      return std::ranges::all_of(first_bits, [&](int bit) { return view.hides_the_secret_from_bit(bit); });
    }
  };
  [[nodiscard]] static Kept kept(const ShareMatrix& piece, const ShareMatrix& secret, std::vector<int> first_bits) {
    Kept kept{{}, std::move(first_bits)};
    kept.view.add(piece, secret);
    return kept;
  }

  testing::PlainScheme scheme_;
  SeededRandom random_{1};
  EmbedMatMulSpec spec_;
  EmbedPair pair_{scheme_, spec_};
  std::vector<IntMatrix> categories_[2];
  Derivative derivative_;
  EmbedMatMul::Forward at_a_;
  EmbedMatMul::Forward at_b_;
  EmbedGradients gradients_a_;
  EmbedGradients gradients_b_;
  std::optional<std::vector<double>> z_;
};

}  // namespace blindfl::protocol
