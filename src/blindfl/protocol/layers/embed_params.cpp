#include "blindfl/protocol/layers/embed_params.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>

#include "blindfl/base/error.h"
#include "blindfl/protocol/layers/peers.h"
#include "blindfl/protocol/layers/steps.h"
#include "blindfl/protocol/session/output.h"
#include "blindfl/share/integer_pieces.h"
#include "blindfl/share/products.h"

namespace blindfl::protocol {

namespace {

/// Bits of a real of that magnitude at a scale.
int bits_of(double largest, int scale) {
  return static_cast<int>(std::ceil(std::log2(largest))) + scale;
}

/// Of a look-up by oblivious transfer each category's row is rounded, otherwise their sum.
std::size_t most_rounded(const EmbedField& field) {
  return field.by_ot() ? field.field.most : 1;
}

/// A row's embedding is up to this many times as large as a table's values.
double most_summed(const EmbedField& field) {
  return field.field.pooling == Pooling::kSum ? static_cast<double>(field.field.most) : 1.0;
}

// Of what a run may give away, pieces take half: products have the rest.
static_assert(he::kHidingOfRun == 40);
constexpr double kBudgetOfPieces = 0x1p-41;

// Tables that learn from exchanged gradients.
constexpr int kTableScale = 32;
// Bits of a looked-up value that are rounded off, at least: room for noise.
constexpr int kLeastRounded = 8;
// Scales of what gradients are made of, where there is room for them, and at least. Derivatives are on the left of
// products, where each bit is one of the modulus: they have so many more than gradients, whose noise then outweighs
// what was rounded.
constexpr int kFinestFactor = 20;
constexpr int kFinestDerivative = 20;
constexpr int kFinerThanGradients = 5;
constexpr int kCoarsestFactor = 16;
constexpr int kCoarsestShare = 10;
// Derivatives by embeddings, and gradients, are expected to be at most so many times as large as a derivative by Z; and
// derivatives by embeddings, on average over a run, at most this part of it. Nobody knows them, so nothing can check
// it: lifts of larger ones fail the likelier.
constexpr double kExpectedGrowth = 16;
constexpr double kLargestOverMean = 64;
// Embeddings are not rounded to fewer fractional bits than this for the sake of hiding.
constexpr int kCoarsestEmbedding = 14;

}  // namespace

std::string ot_refusal(const EmbedField& field) {
  if (field.update == Update::kEncrypted) return "a table by oblivious transfer cannot be updated under encryption";
  if (field.field.scale() != 0) {
    return "a table by oblivious transfer takes sums of a row's categories, and rows of this field are means of up "
           "to " +
           std::to_string(field.field.most);
  }
  return {};
}

EmbedMatMulParams::EmbedMatMulParams(const EmbedMatMulSpec& spec)
    : spec_(spec),
      derivative_(spec.derivative),
      initial_deviation_(spec.initial_deviation),
      embedding_scale_(spec.embedding_scale) {
  check_ranges();
  if (initial_deviation_ == 0) {
    const std::size_t all = inputs() + spec.fields_others * spec.dimension;
    initial_deviation_ = 1.0 / std::sqrt(3.0 * static_cast<double>(all));
  }
  weight_bound_ = static_cast<UInt128>(std::ceil(std::ldexp(spec.largest_weight, spec.weight_scale)));
  check_bits();
}

void EmbedMatMulParams::check_ranges() const {
  check_run_length(spec_.run, spec_.name.c_str());
  check_top();
  check_peers(spec_.peers, spec_.fields_others, shared(), where());
  const auto positive = [](double x) { return std::isfinite(x) && x > 0 && x <= 0x1p20; };
  require<InvalidArgument>(spec_.out > 0 && spec_.batch > 0 && spec_.dimension > 0 && inputs() > 0, where(),
                           ": a layer needs fields, an embedding dimension, outputs and rows");
  for (const Party party : {Party::kA, Party::kB}) {
    for (const EmbedField& f : fields(party)) {
      require<InvalidArgument>(f.field.categories > 0 && f.field.categories < IntMatrix::kNoColumn && f.field.most > 0,
                               where(), ": field '", f.field.name, "' needs a table with rows");
      if (!f.by_ot()) continue;
      const std::string refused = ot_refusal(f);
      require<InvalidArgument>(refused.empty(), where(), ": field '", f.field.name, "': ", refused);
    }
  }
  require<InvalidArgument>(spec_.weight_scale >= 0 && spec_.weight_scale <= FixedPoint::kMaxScale &&
                               spec_.gradient_scale >= 0 &&
                               spec_.gradient_scale <= spec_.derivative.scale + spec_.weight_scale &&
                               spec_.embedding_scale > 0 && spec_.embedding_scale < kShareScale - 1,
                           where(), ": a scale is out of range");
  // What is not opened gives nothing away.
  check_output_scale(spec_.output_scale, product_scale(), spec_.fine_outputs_reveal_features || shared(), where());
  require<InvalidArgument>(positive(spec_.largest_weight) && positive(spec_.largest_embedding), where(),
                           ": the largest weight and the largest embedding must be positive and at most 2^20");
  require<InvalidArgument>(std::isfinite(spec_.initial_deviation) && spec_.initial_deviation >= 0 &&
                               spec_.initial_deviation <= spec_.largest_weight &&
                               std::isfinite(spec_.table_deviation) && spec_.table_deviation >= 0 &&
                               spec_.table_deviation <= spec_.largest_embedding,
                           where(), ": initial deviations must be between 0 and the largest value");
}

void EmbedMatMulParams::check_top() const {
  require<InvalidArgument>(spec_.output_room >= 0 && spec_.output_room <= ShareMatrix::kMostRingBits, where(),
                           ": the output room must be between 0 and ", ShareMatrix::kMostRingBits, " bits");
  require<InvalidArgument>(shared() || spec_.output_room == 0, where(),
                           ": shares of Z are lifted under a shared top only; leave the output room at 0");
}

void EmbedMatMulParams::choose_output_ring() {
  check_output_scale(spec_.output_scale, product_scale(), spec_.fine_outputs_reveal_features || shared(), where());
  output_bits_ = product_bits(inputs(), embedding_bound_, weight_bound_) + 1;
  check_largest_output(spec_.largest_output, spec_.output_scale, product_scale(), where());
  output_ring_ = protocol::output_ring(spec_.largest_output, product_scale());
  output_bits_ = std::min(output_bits_, output_ring_ - kOutputHeadroom);
  output_ring_ += spec_.output_room;
  require<InvalidArgument>(output_ring_ < ShareMatrix::kMostRingBits, where(), ": outputs in a ring of ", output_ring_,
                           " bits, ", spec_.output_room, " of them for lifts; at most ", ShareMatrix::kMostRingBits - 1,
                           " are possible. Lower the output room, or the scale of embeddings or weights");
}

void EmbedMatMulParams::check_bits() {
  double summed = 1.0;
  std::size_t rounded = 1;
  for (const Party party : {Party::kA, Party::kB}) {
    for (const EmbedField& f : fields(party)) {
      summed = std::max(summed, most_summed(f));
      rounded = std::max(rounded, most_rounded(f));
    }
  }
  const double largest = spec_.largest_embedding * summed;
  const auto hides_at = [&](int scale) {
    embedding_scale_ = scale;
    // And a unit for the noise of a lookup, and one for each rounding of it.
    embedding_bound_ = static_cast<UInt128>(std::ceil(std::ldexp(largest, scale))) + 1 + rounded;
    return divergence_of_pieces() <= kBudgetOfPieces;
  };
  int scale = spec_.embedding_scale;
  while (!hides_at(scale) && scale > std::min(spec_.embedding_scale, kCoarsestEmbedding)) --scale;
  require<InvalidArgument>(divergence_of_pieces() <= kBudgetOfPieces, where(), ": shares of embeddings of up to ",
                           largest, " at scale ", scale, " would not hide them in a run of ", passes(),
                           " passes. Lower the range of embeddings, the most categories that a row of a summed field "
                           "may have, or the length "
                           "of the run");
  choose_output_ring();
  choose_gradients();
  const auto kept = [&](const LiftedGradient& lift, const char* what) {
    const int bits = lift.kept_bits(spec_.gradient_scale) + PublicFactor::kBits;
    require<InvalidArgument>(bits <= kMaxRescaleBits, where(), ": ", what, " of ", bits,
                             " bits could overflow; at most ", kMaxRescaleBits,
                             " bits are safe. Lower the gradient scale");
  };
  kept(weight_lift_, "gradients with factors");
  for (const Party party : {Party::kA, Party::kB}) {
    for (const EmbedField& f : fields(party)) {
      if (f.update == Update::kExchanged) kept(table_lift(f), "gradients of tables with factors");
    }
  }
}

void EmbedMatMulParams::choose_gradients() {
  const auto lifts_at = [&](int derivative_scale, int weight_scale) {
    derivative_scale_ = derivative_scale;
    backward_weight_scale_ = weight_scale;
    weight_lift_.scale = derivative_scale + embedding_scale_;
    weight_lift_.bits = std::min(product_bits(spec_.batch, derivative_bound(derivative_scale), embedding_bound_),
                                 bits_of(kExpectedGrowth * spec_.derivative.largest, weight_lift_.scale));
    weight_lift_.mean_bits = weight_lift_.bits;
    weight_lift_.ring_bits = he::ring_for_lifts(weight_lift_.bits, run_values(spec_.out, inputs()));
    derivative_lift_.scale = derivative_scale + weight_scale;
    derivative_lift_.bits = bits_of(expected_derivative(1), derivative_lift_.scale);
    derivative_lift_.mean_bits = bits_of(mean_derivative(), derivative_lift_.scale);
    derivative_lift_.ring_bits = he::ring_for_lifts(derivative_lift_.mean_bits, run_values(spec_.batch, inputs()));
    choose_rings();
    return std::max(weight_lift_.ring_bits, derivative_lift_.ring_bits) <= ShareMatrix::kMostRingBits &&
           (!lifts_with_room() || weight_lift_.ring_bits < ShareMatrix::kMostRingBits);
  };
  bool fits = false;
  const int finest_weight = std::min(spec_.weight_scale, kFinestFactor);
  const int finest_derivative =
      std::clamp(gradient_precision(spec_.batch) + kFinerThanGradients, kCoarsestFactor, kFinestDerivative);
  for (int d = std::min(derivative_.scale(), finest_derivative);
       !fits && d >= std::min(derivative_.scale(), kCoarsestFactor); --d) {
    for (int w = finest_weight; !fits && w >= std::min(finest_weight, kCoarsestFactor); --w) fits = lifts_at(d, w);
  }
  require<InvalidArgument>(
      fits, where(), ": gradients of ", weight_lift_.bits, " bits and derivatives of ", derivative_lift_.bits,
      " bits could overflow: shares that are read as numbers need rings of ", weight_lift_.ring_bits, " and ",
      derivative_lift_.ring_bits, " bits, and there are ", ShareMatrix::kMostRingBits,
      ". Lower the range or scale of the derivative, the range of weights or embeddings, or the "
      "length of the run");
  for (const Party party : {Party::kA, Party::kB}) {
    for (const EmbedField& f : fields(party)) {
      if (f.update == Update::kEncrypted) continue;
      require<InvalidArgument>(derivative_share_scale(f) >= std::min(spec_.gradient_scale, kCoarsestShare), where(),
                               ": gradients of the table of field '", f.field.name,
                               "' could overflow: there is no ring for shares that are read as numbers so often. Lower "
                               "the range of the derivative, or the length of the run");
    }
  }
}

// The gradient of W is lifted exactly, whatever it is: all rows have the largest derivative and embedding. So is dE, to
// the ring in which tables take it.
void EmbedMatMulParams::choose_rings() {
  embedding_derivative_ring_ = derivative_lift_.ring_bits;
  if (!lifts_with_room()) return;
  const int gradient = product_bits(spec_.batch, derivative_bound(derivative_scale_), embedding_bound_);
  weight_lift_.bits = std::max(gradient, gradient_noise()) + 1;
  weight_lift_.mean_bits = weight_lift_.bits;
  weight_lift_.ring_bits = weight_lift_.bits + kRoomOfLifts;
  weight_lift_.with_room = true;
  // A bit for noise and rounding.
  const int largest = std::max(bits_of(largest_embedding_derivative(), derivative_lift_.scale), derivative_noise()) + 1;
  embedding_derivative_ring_ = std::min(largest + kRoomOfLifts, derivative_lift_.ring_bits);
}

std::vector<RoomLift> EmbedMatMulParams::lifts(std::size_t rows) const {
  std::vector<RoomLift> lifts;
  if (!lifts_with_room()) return lifts;
  lifts.push_back({.values = inputs() * spec_.out, .from = weight_lift_.kept_ring(spec_.gradient_scale)});
  if (embedding_derivative_ring_ < derivative_lift_.ring_bits) {
    lifts.push_back({rows * inputs(), embedding_derivative_ring_, derivative_lift_.ring_bits});
  }
  return lifts;
}

UInt128 EmbedMatMulParams::derivative_bound(int scale) const {
  return static_cast<UInt128>(std::ceil(std::ldexp(spec_.derivative.largest, scale))) + 1;
}

double EmbedMatMulParams::failure_of_derivative_lift() const {
  return std::ldexp(1.0, derivative_lift_.mean_bits - derivative_lift_.ring_bits);
}

int EmbedMatMulParams::table_scale(const EmbedField& field) const {
  if (field.update == Update::kEncrypted) return kShareScale - field.field.scale();
  return std::max(kTableScale, embedding_scale_ + kLeastRounded - field.field.scale());
}

double EmbedMatMulParams::divergence_of_piece() const {
  return blindfl::divergence_of_piece(static_cast<double>(embedding_bound_));
}

double EmbedMatMulParams::divergence_of_pieces() const {
  const auto values = static_cast<double>(spec_.batch) * static_cast<double>(inputs());
  return values * static_cast<double>(passes()) * static_cast<double>(spec_.run.layers) * divergence_of_piece();
}

LiftedGradient EmbedMatMulParams::table_lift(const EmbedField& field) const {
  const double all_rows = expected_derivative(static_cast<double>(spec_.batch) * most_summed(field));
  const int scale = derivative_share_scale(field) + field.field.scale();
  const int mean_bits = bits_of(mean_gradient(field), scale);
  LiftedGradient lift{bits_of(all_rows, scale), scale, he::ring_for_lifts(mean_bits, table_values(field)), mean_bits,
                      shared() ? bit_length(spec_.batch) : 0};
  // A wider ring costs no byte there: as wide as an optimizer can add up.
  if (field.by_ot()) lift.ring_bits = std::max(lift.ring_bits, lift.widest_kept_ring());
  return lift;
}

int EmbedMatMulParams::derivative_share_scale(const EmbedField& field) const {
  const int most = std::min(spec_.gradient_scale, derivative_lift_.scale);
  // Encrypted sums need room for whole shares, at whatever scale these come.
  if (field.update == Update::kEncrypted) return most;
  const int left = ShareMatrix::kMostRingBits -
                   he::ring_for_lifts(bits_of(mean_gradient(field), field.field.scale()), table_values(field));
  return std::min(most, left);
}

double EmbedMatMulParams::failure_over_run(double values, const LiftedGradient& lift, double decayed) const {
  double failure = lift.failure_of_factors(spec_.gradient_scale);
  // Shares of what decays fill the ring in the end.
  if (spec_.sgd.weight_decay != 0) failure += std::ldexp(decayed, -127);
  return static_cast<double>(passes()) * values * failure;
}

double EmbedMatMulParams::failure_of_weights() const {
  const double values = static_cast<double>(inputs()) * static_cast<double>(spec_.out);
  const auto largest = static_cast<double>(weight_bound_);
  // Shares are rounded for the backward product, in the ring of 2^128.
  const double rounded = static_cast<double>(passes()) * values * std::ldexp(largest, -127);
  return failure_over_run(values, weight_lift_, largest) + rounded;
}

double EmbedMatMulParams::failure_of_table(const EmbedField& field) const {
  if (field.update == Update::kEncrypted) return 0;
  const double values = static_cast<double>(field.field.categories) * static_cast<double>(spec_.dimension);
  return failure_over_run(values, table_lift(field), std::ldexp(spec_.largest_embedding, table_scale(field)));
}

double EmbedMatMulParams::failure_of_table_lift(const EmbedField& field) const {
  const LiftedGradient lift = table_lift(field);
  return std::ldexp(1.0, lift.mean_bits - lift.ring_bits);
}

std::size_t EmbedMatMulParams::first_column(Party party, std::size_t field) const {
  return ((party == Party::kB ? spec_.fields_a.size() : 0) + field) * spec_.dimension;
}

double EmbedMatMulParams::largest_embedding_derivative() const {
  return static_cast<double>(spec_.out) * spec_.derivative.largest * spec_.largest_weight;
}

double EmbedMatMulParams::mean_derivative() const {
  return std::min(largest_embedding_derivative(), spec_.derivative.largest / kLargestOverMean);
}

// Over a table's categories; each row adds to as many as it has.
double EmbedMatMulParams::mean_gradient(const EmbedField& field) const {
  const double entries = static_cast<double>(spec_.batch) * static_cast<double>(field.field.most);
  const double rows = std::max(1.0, entries / static_cast<double>(field.field.categories));
  return std::min(rows * mean_derivative(), expected_derivative(static_cast<double>(spec_.batch) * most_summed(field)));
}

double EmbedMatMulParams::expected_derivative(double summed) const {
  return std::min(summed * largest_embedding_derivative(), kExpectedGrowth * spec_.derivative.largest);
}

int EmbedMatMulParams::derivative_share_bits(const EmbedField& field) const {
  return derivative_lift_.ring_bits - 1 + derivative_share_scale(field) - derivative_lift_.scale +
         bit_length(spec_.batch);
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
  settings.add("largest_output", spec_.largest_output);
  settings.add("initial_deviation", initial_deviation_).add("table_deviation", spec_.table_deviation);
  settings.add("scheme", spec_.scheme);
  if (shared()) settings.add("top", "shared").add("output_room", spec_.output_room);
  if (spec_.peers > 1) settings.add("peers", spec_.peers).add("fields_others", spec_.fields_others);
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
      if (f.calls > 0) settings.add(name + ".calls", f.calls);
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

// Of a table's gradient.
std::uint64_t EmbedMatMulParams::table_values(const EmbedField& field) const {
  const double values = static_cast<double>(field.field.categories) * static_cast<double>(spec_.dimension);
  return protocol::run_values(spec_.run, passes(), values, field.by_ot() ? products_and_lifts() : products());
}

std::size_t EmbedMatMulParams::fields_by_ot() const {
  std::size_t count = 0;
  for (const Party party : {Party::kA, Party::kB}) {
    count += static_cast<std::size_t>(std::ranges::count_if(fields(party), &EmbedField::by_ot));
  }
  return count;
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

}  // namespace blindfl::protocol
