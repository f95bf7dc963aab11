#pragma once

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "blindfl/protocol/layers/embed_matmul.h"
#include "he/paillier/tensor_lab.h"
#include "testing/matrices.h"
#include "testing/schemes.h"
#include "testing/two_parties.h"

namespace blindfl::protocol {

/// A table that nobody has, with both parties' halves in hand; what is encrypted is opened with its owner's key.
inline std::vector<double> opened_table(EmbedMatMul& a, EmbedMatMul& b, std::size_t index) {
  const bool a_has = a.tables()[index]->mine();
  EmbeddingTable& has = *(a_has ? a : b).tables()[index];
  EmbeddingTable& other = *(a_has ? b : a).tables()[index];
  if (has.field().update == Update::kExchanged) return decode_ring(open(has.weight()->piece, other.weight()->piece));
  std::vector<double> values = decode_ring(has.weight()->piece);
  const auto& keys = (a_has ? b : a).session().keys(has.field().scheme);
  const he::paillier::testing::TensorLab lab(
      dynamic_cast<const he::paillier::PaillierKeyOwner&>(*keys.owner).secret_key());
  const EncryptedUpdateHolder& holder = *has.holder();
  const MomentumSums sums(holder.plan());
  const auto add = [&](const he::EncryptedMatrix& matrix, double factor) {
    const he::paillier::CryptoTensor& m = he::paillier::testing::own(matrix);
    const he::paillier::Integers opened = lab.decrypt(m);
    for (std::size_t i = 0; i < opened.size(); ++i) {
      values[i] += factor * std::ldexp(mpz_get_d(opened[i]), -m.shape().scale);
    }
  };
  add(holder.sum(), 1.0);
  if (!sums.has_momentum()) return values;
  const std::size_t window = sums.window_of(holder.steps());
  add(holder.window(false), -sums.fading(holder.steps(), window));
  if (window > 0) add(holder.window(true), -sums.fading(holder.steps(), window - 1));
  return values;
}

/// Both halves of one Embed-MatMul layer, made at the same time, as layers with several schemes must be.
class EmbedPair {
 public:
  EmbedPair(const std::vector<const he::Scheme*>& schemes, const EmbedMatMulSpec& spec, testing::Channels channels,
            const testing::SavedKeys& keys = {})
      : parties(schemes, std::move(channels), testing::Record::kYes, keys) {
    const auto make = [&](Session& session) { return std::make_unique<EmbedMatMul>(session, spec); };
    std::tie(a_, b_) = parties.run(make);
  }
  EmbedPair(const he::Scheme& scheme, const EmbedMatMulSpec& spec, testing::Channels channels)
      : EmbedPair(std::vector<const he::Scheme*>{&scheme}, spec, std::move(channels)) {}
  EmbedPair(const he::Scheme& scheme, const EmbedMatMulSpec& spec)
      : EmbedPair(scheme, spec, testing::make_channels()) {}

  [[nodiscard]] EmbedMatMul& at(Party party) { return party == Party::kA ? *a_ : *b_; }

  std::pair<EmbedMatMul::Forward, EmbedMatMul::Forward> forward(const std::vector<IntMatrix>& x_a,
                                                                const std::vector<IntMatrix>& x_b, std::size_t rows) {
    return parties.run([&](Session&) { return a_->forward(x_a, rows); },
                       [&](Session&) { return b_->forward(x_b, rows); });
  }
  /// A batch of both parties' with its number.
  struct Numbered {
    std::uint32_t number = 0;
    std::vector<IntMatrix> a;
    std::vector<IntMatrix> b;
  };
  /// A pass that knows what comes next, if anything is said to come.
  std::pair<EmbedMatMul::Forward, EmbedMatMul::Forward> forward(const Numbered& batch, std::size_t rows,
                                                                const Numbered* coming) {
    const auto half = [&](EmbedMatMul& layer, std::vector<IntMatrix> Numbered::*own) {
      const ComingBatch next{coming == nullptr ? std::span<const std::uint32_t>() : std::span(&coming->number, 1),
                             coming == nullptr ? std::span<const IntMatrix>() : std::span(coming->*own)};
      return layer.forward(batch.*own, rows, std::span(&batch.number, 1), coming == nullptr ? nullptr : &next);
    };
    return parties.run([&](Session&) { return half(*a_, &Numbered::a); },
                       [&](Session&) { return half(*b_, &Numbered::b); });
  }
  std::pair<EmbedGradients, EmbedGradients> backward(const EmbedPass& pass_a, const EmbedPass& pass_b,
                                                     const Derivative& derivative) {
    return parties.run(
        [&](Session&) { return a_->backward(pass_a, absent_derivative(derivative.rows, derivative.real_rows)); },
        [&](Session&) { return b_->backward(pass_b, derivative); });
  }

  /// The weights that nobody has: both pieces added up.
  [[nodiscard]] std::vector<double> weight() { return decode_ring(open(a_->weight()->piece, b_->weight()->piece)); }
  [[nodiscard]] std::vector<double> table(std::size_t index) { return opened_table(*a_, *b_, index); }

  testing::TwoParties parties;

 private:
  std::unique_ptr<EmbedMatMul> a_;
  std::unique_ptr<EmbedMatMul> b_;
};

/// Random categories of one field; rows of a multi-valued one have between 0 and `most` of them.
inline IntMatrix random_categories(const CategoryField& field, std::size_t rows, SeededRandom& random) {
  std::vector<std::size_t> starts{0};
  std::vector<IntMatrix::Column> all;
  for (std::size_t r = 0; r < rows; ++r) {
    const std::size_t count = field.most == 1 ? 1 : random.below(field.most + 1);
    for (std::size_t i = 0; i < count; ++i) {
      all.push_back(static_cast<IntMatrix::Column>(random.below(field.categories)));
    }
    starts.push_back(all.size());
  }
  return encode_categories(field, starts, all);
}

inline std::vector<IntMatrix> random_categories(const std::vector<EmbedField>& fields, std::size_t rows,
                                                SeededRandom& random) {
  std::vector<IntMatrix> all;
  all.reserve(fields.size());
  for (const EmbedField& f : fields) all.push_back(random_categories(f.field, rows, random));
  return all;
}

inline Derivative random_derivative(const EmbedMatMulSpec& spec, SeededRandom& random) {
  std::vector<double> dz(spec.batch * spec.out);
  for (double& v : dz) v = 2 * random.uniform() - 1;
  return encode_derivative(FixedPoint(spec.derivative), spec.batch, spec.out, dz);
}

/// The layer on doubles, with plain SGD: what the protocol is compared with.
class PlainEmbed {
 public:
  PlainEmbed(EmbedPair& pair, const EmbedMatMulSpec& spec) : spec_(spec), weight_(pair.weight()) {
    for (std::size_t t = 0; t < spec.fields_a.size() + spec.fields_b.size(); ++t) tables_.push_back(pair.table(t));
    weight_buffer_.resize(weight_.size());
    for (const auto& table : tables_) table_buffers_.emplace_back(table.size());
  }

  [[nodiscard]] const std::vector<double>& weight() const { return weight_; }
  [[nodiscard]] const std::vector<double>& table(std::size_t t) const { return tables_[t]; }

  /// rows x inputs.
  [[nodiscard]] std::vector<double> embeddings(const std::vector<const IntMatrix*>& x) const {
    const std::size_t inputs = tables_.size() * spec_.dimension;
    std::vector<double> e(x.front()->rows() * inputs);
    for (std::size_t t = 0; t < x.size(); ++t) {
      for_entries(*x[t], [&](std::size_t r, std::size_t c, double v) {
        for (std::size_t d = 0; d < spec_.dimension; ++d) {
          e[r * inputs + t * spec_.dimension + d] += v * tables_[t][c * spec_.dimension + d];
        }
      });
    }
    return e;
  }
  [[nodiscard]] std::vector<double> output(const std::vector<const IntMatrix*>& x) const {
    return product(embeddings(x), weight_, x.front()->rows(), tables_.size() * spec_.dimension, spec_.out);
  }

  struct Gradients {
    std::vector<double> weight;
    std::vector<std::vector<double>> tables;
  };
  /// Of the summed loss.
  [[nodiscard]] Gradients gradients(const std::vector<const IntMatrix*>& x, const Derivative& derivative) const {
    const std::size_t rows = x.front()->rows();
    const std::size_t inputs = tables_.size() * spec_.dimension;
    std::vector<double> dz;
    for (const std::int64_t v : derivative.share->to_dense()) {
      dz.push_back(std::ldexp(static_cast<double>(v), -derivative.share->scale()));
    }
    Gradients g;
    g.weight = product(transposed(embeddings(x), rows, inputs), dz, inputs, rows, spec_.out);
    const std::vector<double> de = product(dz, transposed(weight_, inputs, spec_.out), rows, spec_.out, inputs);
    for (std::size_t t = 0; t < x.size(); ++t) {
      std::vector<double> dq(tables_[t].size());
      for_entries(*x[t], [&](std::size_t r, std::size_t c, double v) {
        for (std::size_t d = 0; d < spec_.dimension; ++d) {
          dq[c * spec_.dimension + d] += v * de[r * inputs + t * spec_.dimension + d];
        }
      });
      g.tables.push_back(std::move(dq));
    }
    return g;
  }
  void step(const SgdPlan& plan, std::size_t t, const Gradients& g, std::size_t rows) {
    const auto apply = [&](std::vector<double>& w, std::vector<double>& buffer, const std::vector<double>& gradient) {
      for (std::size_t i = 0; i < w.size(); ++i) {
        buffer[i] = plan.options().momentum * buffer[i] + gradient[i] / static_cast<double>(rows);
        w[i] -= plan.learning_rate_at(t) * buffer[i];
      }
    };
    apply(weight_, weight_buffer_, g.weight);
    for (std::size_t i = 0; i < tables_.size(); ++i) apply(tables_[i], table_buffers_[i], g.tables[i]);
  }

 private:
  template <class F>
  static void for_entries(const IntMatrix& x, F&& f) {
    for (std::size_t r = 0; r < x.rows(); ++r) {
      x.for_each_in_row(
          r, [&](std::size_t c, std::int64_t v) { f(r, c, std::ldexp(static_cast<double>(v), -x.scale())); });
    }
  }
  static std::vector<double> product(const std::vector<double>& x, const std::vector<double>& y, std::size_t rows,
                                     std::size_t inner, std::size_t cols) {
    std::vector<double> z(rows * cols);
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t i = 0; i < inner; ++i) {
        for (std::size_t c = 0; c < cols; ++c) z[r * cols + c] += x[r * inner + i] * y[i * cols + c];
      }
    }
    return z;
  }
  static std::vector<double> transposed(const std::vector<double>& x, std::size_t rows, std::size_t cols) {
    std::vector<double> y(x.size());
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < cols; ++c) y[c * rows + r] = x[r * cols + c];
    }
    return y;
  }

  EmbedMatMulSpec spec_;
  std::vector<double> weight_;
  std::vector<std::vector<double>> tables_;
  std::vector<double> weight_buffer_;
  std::vector<std::vector<double>> table_buffers_;
};

/// Plain SGD on one party's pieces; tables that are updated under encryption take their step themselves.
inline void take_step(EmbedMatMul& layer, const EmbedGradients& gradients, double rate) {
  const auto learn = [&](Weight& weight, const ShareMatrix& gradient) {
    weight.piece -= multiply_public(gradient, PublicFactor(rate), weight.piece.scale());
    ++weight.version;
  };
  learn(*layer.weight(), gradients.weight);
  for (std::size_t t = 0; t < layer.tables().size(); ++t) {
    Weight& weight = *layer.tables()[t]->weight();
    if (weight.update) {
      weight.update->step();
    } else {
      learn(weight, gradients.tables[t].value());
    }
  }
}

/// A's fields, then B's.
inline std::vector<const IntMatrix*> side_by_side(const std::vector<IntMatrix>& a, const std::vector<IntMatrix>& b) {
  std::vector<const IntMatrix*> all;
  for (const std::vector<IntMatrix>* x : {&a, &b}) {
    for (const IntMatrix& field : *x) all.push_back(&field);
  }
  return all;
}

}  // namespace blindfl::protocol
