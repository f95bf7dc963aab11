#include "blindfl/protocol/layers/embed_params.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>

#include "blindfl/base/error.h"
#include "blindfl/protocol/layers/steps.h"
#include "blindfl/protocol/session/output.h"
#include "blindfl/share/products.h"

namespace blindfl::protocol {

namespace {

/// Bits of a real of that magnitude at a scale.
int bits_of(double largest, int scale) {
  return static_cast<int>(std::ceil(std::log2(largest))) + scale;
}

/// A row's embedding is up to this many times as large as a table's values.
double most_summed(const EmbedField& field) {
  return field.field.pooling == Pooling::kSum ? static_cast<double>(field.field.most) : 1.0;
}

}  // namespace

EmbedMatMulParams::EmbedMatMulParams(const EmbedMatMulSpec& spec)
    : spec_(spec), derivative_(spec.derivative), initial_deviation_(spec.initial_deviation) {
  check_ranges();
  if (initial_deviation_ == 0) initial_deviation_ = 1.0 / std::sqrt(3.0 * static_cast<double>(inputs()));
  weight_bound_ = static_cast<UInt128>(std::ceil(std::ldexp(spec.largest_weight, spec.weight_scale)));
  check_bits();
}

void EmbedMatMulParams::check_ranges() const {
  check_run_length(spec_.run, spec_.name.c_str());
  const auto positive = [](double x) { return std::isfinite(x) && x > 0 && x <= 0x1p20; };
  require<InvalidArgument>(spec_.out > 0 && spec_.batch > 0 && spec_.dimension > 0 && inputs() > 0, where(),
                           ": a layer needs fields, an embedding dimension, outputs and rows");
  for (const Party party : {Party::kA, Party::kB}) {
    for (const EmbedField& f : fields(party)) {
      require<InvalidArgument>(f.field.categories > 0 && f.field.categories < IntMatrix::kNoColumn && f.field.most > 0,
                               where(), ": field '", f.field.name, "' needs a table with rows");
    }
  }
  require<InvalidArgument>(spec_.weight_scale >= 0 && spec_.weight_scale <= FixedPoint::kMaxScale &&
                               spec_.gradient_scale >= 0 &&
                               spec_.gradient_scale <= spec_.derivative.scale + spec_.weight_scale &&
                               spec_.embedding_scale > 0 && spec_.embedding_scale < kShareScale - 1,
                           where(), ": a scale is out of range");
  check_output_scale(spec_.output_scale, product_scale(), spec_.fine_outputs_reveal_features, where());
  require<InvalidArgument>(positive(spec_.largest_weight) && positive(spec_.largest_embedding), where(),
                           ": the largest weight and the largest embedding must be positive and at most 2^20");
  require<InvalidArgument>(std::isfinite(spec_.initial_deviation) && spec_.initial_deviation >= 0 &&
                               spec_.initial_deviation <= spec_.largest_weight &&
                               std::isfinite(spec_.table_deviation) && spec_.table_deviation >= 0 &&
                               spec_.table_deviation <= spec_.largest_embedding,
                           where(), ": initial deviations must be between 0 and the largest value");
}

void EmbedMatMulParams::check_bits() {
  double summed = 1.0;
  for (const Party party : {Party::kA, Party::kB}) {
    for (const EmbedField& f : fields(party)) summed = std::max(summed, most_summed(f));
  }
  const double largest = spec_.largest_embedding * summed;
  const auto safe = [&](int bits, const char* what, const char* advice) {
    require<InvalidArgument>(bits <= kMaxRescaleBits, where(), ": ", what, " of ", bits,
                             " bits could overflow; at most ", kMaxRescaleBits, " bits are safe. ", advice);
  };
  safe(bits_of(largest, kShareScale), "embeddings",
       "Lower the range of embeddings or the most categories that a row of a summed field may have");
  const auto embedding_bound = static_cast<UInt128>(std::ceil(std::ldexp(largest, spec_.embedding_scale)));
  output_bits_ = product_bits(inputs(), embedding_bound, weight_bound_) + 1;
  safe(output_bits_, "outputs", "Lower the range of weights or embeddings, or the scale of weights");
  const int opened = output_bits_ + spec_.output_scale - product_scale();
  require<InvalidArgument>(opened <= kMaxOpenedBits, where(), ": outputs of ", opened, " bits at scale ",
                           spec_.output_scale, " could overflow when they are opened; at most ", kMaxOpenedBits,
                           " are safe. Lower the output scale");

  const char* advice = "Lower the range or scale of the derivative, or the range of weights";
  safe(product_bits(spec_.out, derivative_.bound(), weight_bound_), "derivatives of embeddings", advice);
  const int raw = product_bits(spec_.batch, derivative_.bound(), embedding_bound);
  safe(raw, "gradients", advice);
  weight_gradient_bits_ = raw + spec_.gradient_scale - derivative_.scale() - spec_.embedding_scale;
  // A short batch's gradient is multiplied by a public factor.
  safe(weight_gradient_bits_ + PublicFactor::kBits, "gradients of short batches", "Lower the gradient scale");
  safe(bits_of(largest_embedding_derivative(), spec_.gradient_scale) + PublicFactor::kBits,
       "derivatives of short batches", "Lower the gradient scale");
  for (const Party party : {Party::kA, Party::kB}) {
    for (const EmbedField& f : fields(party)) {
      safe(table_gradient_bits(f) + f.field.scale(), "gradients of tables", "Lower the gradient scale");
    }
  }
}

std::size_t EmbedMatMulParams::first_column(Party party, std::size_t field) const {
  return ((party == Party::kB ? spec_.fields_a.size() : 0) + field) * spec_.dimension;
}

double EmbedMatMulParams::largest_embedding_derivative() const {
  return static_cast<double>(spec_.out) * spec_.derivative.largest * spec_.largest_weight;
}

int EmbedMatMulParams::table_gradient_bits(const EmbedField& field) const {
  const double all_rows = largest_embedding_derivative() * static_cast<double>(spec_.batch) * most_summed(field);
  return bits_of(all_rows, spec_.gradient_scale);
}

int EmbedMatMulParams::derivative_share_bits() const {
  return 127 - (derivative_.scale() + spec_.weight_scale - spec_.gradient_scale) + bit_length(spec_.batch);
}

Settings EmbedMatMulParams::settings() const {
  Settings settings;
  // What the whole layer has comes first: words of a disagreement are cut off where there are very many fields.
  settings.add("dimension", spec_.dimension).add("out", spec_.out).add("batch", spec_.batch);
  settings.add("derivative.scale", spec_.derivative.scale).add("derivative.largest", spec_.derivative.largest);
  settings.add("derivative.clip", spec_.derivative.clip);
  settings.add("weight_scale", spec_.weight_scale).add("largest_weight", spec_.largest_weight);
  settings.add("largest_embedding", spec_.largest_embedding).add("embedding_scale", spec_.embedding_scale);
  settings.add("gradient_scale", spec_.gradient_scale).add("output_scale", spec_.output_scale);
  settings.add("initial_deviation", initial_deviation_).add("table_deviation", spec_.table_deviation);
  settings.add("scheme", spec_.scheme);
  const auto encrypted = [](const EmbedField& f) { return f.update == Update::kEncrypted; };
  if (std::ranges::any_of(spec_.fields_a, encrypted) || std::ranges::any_of(spec_.fields_b, encrypted)) {
    settings.add(spec_.sgd.settings());
  }
  for (const Party party : {Party::kA, Party::kB}) {
    const std::string whose = party == Party::kA ? "fields_a" : "fields_b";
    settings.add(whose, fields(party).size());
    for (std::size_t i = 0; i < fields(party).size(); ++i) {
      const EmbedField& f = fields(party)[i];
      const std::string name = whose + "." + std::to_string(i);
      settings.add(name + ".categories", f.field.categories).add(name + ".most", f.field.most);
      settings.add(name + ".pooling", f.field.pooling == Pooling::kSum ? "sum" : "mean");
      settings.add(name + ".update", encrypted(f) ? "encrypted" : "exchanged");
      settings.add(name + ".scheme", f.scheme);
    }
  }
  return settings;
}

Settings EmbedMatMulParams::agreement() const {
  return Settings().add("run.passes", passes()).add("run.layers", spec_.run.layers).add(settings());
}

std::uint64_t EmbedMatMulParams::run_values(std::size_t rows, std::size_t cols) const {
  return protocol::run_values(spec_.run, passes(), static_cast<double>(rows) * static_cast<double>(cols), products());
}

std::string EmbedMatMulParams::where() const {
  std::ostringstream text;
  text << "layer '" << spec_.name << "' (fields_a " << spec_.fields_a.size() << ", fields_b " << spec_.fields_b.size()
       << ", dimension " << spec_.dimension << ", out " << spec_.out << ", batch " << spec_.batch << ")";
  return text.str();
}

void EmbedMatMulParams::check_rows(std::size_t rows) const {
  require<InvalidArgument>(rows > 0 && rows <= spec_.batch, where(), ": a batch of ", rows, " rows");
}

he::ProductSpec EmbedMatMulParams::lookup(const EmbedField& field, std::size_t rows) const {
  check_rows(rows);
  return {.rows = rows,
          .inner = field.field.categories,
          .cols = spec_.dimension,
          .left_bound = field.field.bound(),
          .left_scale = field.field.scale(),
          .right_scale = table_scale(field),
          .run_values = run_values(spec_.batch, spec_.dimension)};
}

he::ProductSpec EmbedMatMulParams::embedding(const Limbs& limbs, std::size_t rows) const {
  check_rows(rows);
  return {.rows = rows,
          .inner = inputs() * limbs.count,
          .cols = spec_.out,
          .left_bound = limbs.bound(),
          .left_scale = spec_.embedding_scale,
          .right_scale = spec_.weight_scale,
          .run_values = run_values(spec_.batch, spec_.out)};
}

he::ProductSpec EmbedMatMulParams::weight_gradient(std::size_t rows) const {
  check_rows(rows);
  return {.rows = spec_.out,
          .inner = rows,
          .cols = inputs(),
          .left_bound = derivative_.bound(),
          .left_scale = derivative_.scale(),
          .right_scale = spec_.embedding_scale,
          .run_values = run_values(spec_.out, inputs())};
}

he::ProductSpec EmbedMatMulParams::embedding_derivative(std::size_t rows) const {
  check_rows(rows);
  return {.rows = rows,
          .inner = spec_.out,
          .cols = inputs(),
          .left_bound = derivative_.bound(),
          .left_scale = derivative_.scale(),
          .right_scale = spec_.weight_scale,
          .run_values = run_values(spec_.batch, inputs())};
}

he::ProductSpec EmbedMatMulParams::table_gradient(const EmbedField& field, std::size_t rows) const {
  check_rows(rows);
  return {.rows = field.field.categories,
          .inner = rows,
          .cols = spec_.dimension,
          .left_bound = field.field.bound(),
          .left_scale = field.field.scale(),
          .right_scale = spec_.gradient_scale,
          .run_values = run_values(field.field.categories, spec_.dimension)};
}

EncryptedUpdateSpec EmbedMatMulParams::encrypted_update(const EmbedField& field) const {
  const int scale = field.field.scale();
  return {
      .name = spec_.name,
      .in = field.field.categories,
      .out = spec_.dimension,
      .batch = spec_.batch,
      .features = FixedPoint({.scale = scale, .largest = std::ldexp(static_cast<double>(field.field.bound()), -scale)}),
      .most_terms = field.field.most,
      .product_scale = kShareScale,
      .largest_derivative = largest_embedding_derivative(),
      .share_bits = derivative_share_bits(),
      .share_scale = spec_.gradient_scale,
      .sgd = spec_.sgd,
      .passes = passes(),
      .products = products(),
      .run = spec_.run,
      .product_step = steps::kLookupProduct,
      .derivative_step = steps::kDerivativeShare};
}

Limbs EmbedMatMulParams::choose_limbs(const he::Scheme& scheme) const {
  constexpr std::size_t kFewest = 2;
  constexpr std::size_t kMost = 6;
  std::optional<Limbs> best;
  std::uint64_t least = 0;
  std::string refused;
  for (std::size_t count = kFewest; count <= kMost; ++count) {
    try {
      const Limbs limbs = Limbs::of(piece_bits(), count);
      const auto plan = scheme.plan(embedding(limbs, spec_.batch));
      const std::uint64_t bytes = plan->operand_bytes() + plan->reply_bytes();
      if (!best || bytes < least) {
        best = limbs;
        least = bytes;
      }
    } catch (const InvalidArgument& error) {
      refused = error.what();  // perhaps only because limbs of that length leave no room
    }
  }
  require<InvalidArgument>(best.has_value(), where(), ": ", refused);
  return *best;
}

}  // namespace blindfl::protocol
