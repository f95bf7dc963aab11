#include "blindfl/protocol/layers/embed_matmul.h"

#include <functional>
#include <numbers>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/base/saved_state.h"
#include "blindfl/protocol/layers/peers.h"
#include "blindfl/protocol/layers/steps.h"
#include "blindfl/share/products.h"

namespace blindfl::protocol {

namespace {

// Both parties then compare the names of the schemes in use, whoever left the choice to the session.
EmbedMatMulSpec with_scheme_names(const Session& session, EmbedMatMulSpec spec) {
  spec.scheme = session.scheme(spec.scheme).name();
  for (std::vector<EmbedField>* fields : {&spec.fields_a, &spec.fields_b}) {
    for (EmbedField& field : *fields) {
      if (!field.by_ot()) field.scheme = session.scheme(field.scheme).name();
    }
  }
  return spec;
}

// Under a shared top shares of dZ travel, as for a layer of features, and not integer shares of E.
ProductSteps weight_gradient_steps(const EmbedMatMulParams& params, std::uint32_t layer) {
  if (params.shared()) return {steps::kSharedDerivative, steps::kSharedGradient, layer};
  return {steps::kEmbeddingOperand, steps::kWeightGradient, layer};
}

}  // namespace

EmbedMatMul::EmbedMatMul(Session& session, const EmbedMatMulSpec& spec)
    : session_(session),
      params_(std::make_shared<const EmbedMatMulParams>(with_scheme_names(session, spec))),
      layer_(session.new_layer()),
      scheme_(session.scheme(spec.scheme)),
      limbs_(params_->choose_limbs(scheme_)),
      gradient_limbs_(params_->shared() ? params_->choose_gradient_limbs(scheme_) : Limbs{}),
      derivative_limbs_(params_->shared() ? params_->choose_derivative_limbs(scheme_) : Limbs{}),
      embedding_(session, scheme_, {steps::kWeightOperand, steps::kEmbeddingProduct, layer_},
                 [params = params_, limbs = limbs_](std::size_t rows) { return params->embedding(limbs, rows); }),
      weight_gradient_(session, scheme_, weight_gradient_steps(*params_, layer_),
                       [params = params_, limbs = gradient_limbs_](std::size_t rows) {
                         return params->shared() ? params->shared_weight_gradient(limbs, rows)
                                                 : params->weight_gradient(rows);
                       }),
      embedding_derivative_(session, scheme_, {steps::kBackwardOperand, steps::kEmbeddingDerivative, layer_},
                            [params = params_, limbs = derivative_limbs_](std::size_t rows) {
                              return params->shared() ? params->shared_embedding_derivative(limbs, rows)
                                                      : params->embedding_derivative(rows);
                            }) {
  check_place(session, spec.peers, spec.name);
  // Made now, so that what the scheme cannot do is refused before anything is sent.
  for (RepeatedProduct* product : {&embedding_, &weight_gradient_, &embedding_derivative_}) {
    (void)product->plan(spec.batch);
  }
  SeededRandom random = session.weight_random(layer_);
  draw_weight(random);
  for (const Party party : {Party::kA, Party::kB}) {
    for (std::size_t i = 0; i < params_->fields(party).size(); ++i) {
      tables_.push_back(std::make_unique<EmbeddingTable>(session, params_, party, i, random));
    }
  }
  session.agree("layer '" + spec.name + "'", params_->agreement());
  // Here and not with the first pass: an optimizer wants to know how the tables learn.
  for (const auto& table : tables_) {
    if (table->field().update == Update::kEncrypted) table->product().take_keys(Pass::kForward, spec.batch);
  }
}

void EmbedMatMul::draw_weight(SeededRandom& random) {
  const EmbedMatMulSpec& spec = params_->spec();
  weight_ = std::make_shared<Weight>();
  weight_->name = spec.name + ".weight";
  weight_->piece = draw_piece(params_->inputs(), spec.out, params_->initial_deviation() / std::numbers::sqrt2,
                              spec.weight_scale, spec.largest_weight, random);
  weight_->shared_gradient = true;
  weight_->gradient_scale = params_->weight_lift().kept_scale(spec.gradient_scale);
  weight_->gradient_bits = params_->weight_lift().kept_bits(spec.gradient_scale);
  weight_->largest = spec.largest_weight;
  weight_->batch = spec.batch;
}

void EmbedMatMul::begin_pass(Pass pass, std::size_t rows) {
  session_.settle();
  const std::vector<RepeatedProduct*> products =
      pass == Pass::kForward ? std::vector{&embedding_} : std::vector{&weight_gradient_, &embedding_derivative_};
  const bool at_b = session_.party() == Party::kB;
  const bool both_ways = pass == Pass::kForward || params_->shared();
  for (RepeatedProduct* product : products) {
    product->take_keys(rows);
    if (rows != params_->spec().batch) continue;
    if (both_ways || at_b) product->expect_to_multiply(rows);
    if (both_ways || !at_b) product->expect_to_encrypt(rows);
  }
  for (const auto& table : tables_) table->product().take_keys(pass, rows);
}

void EmbedMatMul::check_categories(std::span<const IntMatrix> categories, std::size_t rows) const {
  const std::vector<EmbedField>& fields = params_->fields(session_.party());
  require<InvalidArgument>(categories.size() == fields.size(), "layer '", params_->spec().name, "' takes ",
                           fields.size(), " fields of this party, the batch has ", categories.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const CategoryField& field = fields[i].field;
    const IntMatrix& x = categories[i];
    require<InvalidArgument>(x.cols() == field.categories && x.scale() == field.scale() && x.bound() <= field.bound(),
                             "layer '", params_->spec().name, "': field '", field.name, "' has a table of ",
                             field.categories, " rows, the batch's has ", x.cols(), " or is encoded otherwise");
    require<InvalidArgument>(x.rows() == rows, "layer '", params_->spec().name, "': field '", field.name, "' has ",
                             x.rows(), " rows in a batch of ", rows);
    for (std::size_t r = 0; r < rows; ++r) {
      std::size_t entries = 0;
      x.for_each_in_row(r, [&](std::size_t, std::int64_t) { ++entries; });
      require<InvalidArgument>(entries <= field.most, "layer '", params_->spec().name, "': field '", field.name,
                               "', row ", r, " of the batch has ", entries, " categories, and ", field.most,
                               " were declared as the most");
    }
  }
}

std::shared_ptr<BatchKeys> EmbedMatMul::keys_of(std::span<const IntMatrix> categories, std::size_t rows,
                                                std::span<const std::uint32_t> numbers) {
  if (ahead_ && ahead_->are_of(numbers, rows)) return std::exchange(ahead_, nullptr);
  auto keys = std::make_shared<BatchKeys>(tables_, rows, numbers);
  keys->ask(categories);
  session_.exchange(
      keys->ask_bytes(), [&] { keys->send_asks(); }, [&] { keys->receive_asks(); });
  keys->take_asks();
  return keys;
}

// Step 0 of the forward pass: shares of tables and weights travel once per change, not once per use.
void EmbedMatMul::refresh_operands(std::size_t rows, BatchKeys& keys, BatchKeys* next) {
  const std::uint64_t of_weights = embedding_.operand_bytes(rows, weight_->version);
  std::uint64_t bytes = of_weights + keys.answer_bytes() + (next != nullptr ? next->ask_bytes() : 0);
  for (const auto& table : tables_) bytes += table->mine() ? 0 : table->product().operand_bytes(rows);
  session_.exchange(
      bytes,
      [&] {
        keys.send_answers();
        for (const auto& table : tables_) {
          if (!table->mine()) table->product().send_operand(rows);
        }
        if (of_weights > 0)
          embedding_.send_operand(rows, weight_->version,
                                  stack_rows(limbs_, narrowed(weight_->piece, params_->output_ring())));
        if (next != nullptr) next->send_asks();
      },
      [&] {
        keys.receive_answers();
        for (const auto& table : tables_) {
          if (table->mine()) table->product().receive_operand(rows);
        }
        embedding_.receive_operand(rows, weight_->version);
        if (next != nullptr) next->receive_asks();
      });
  keys.take_answers();
}

// This party's share of E: all tables at once, those of its own fields and those of the peer's. Each is a number that
// says nothing by itself: one's own are drawn, and the peer's are what is left of E without them.
ShareMatrix EmbedMatMul::look_up(const std::vector<IntMatrix>& categories, std::size_t rows) {
  ShareMatrix pieces(rows, params_->inputs(), params_->embedding_scale());
  std::uint64_t bytes = 0;
  for (const auto& table : tables_) bytes += table->mine() ? table->lookup_bytes(rows) : 0;
  session_.exchange(
      bytes,
      [&] {
        std::size_t own = 0;
        for (const auto& table : tables_) {
          if (table->mine()) place_columns(pieces, table->first_column(), table->send_lookup(categories[own++]));
        }
      },
      [&] {
        for (const auto& table : tables_) {
          if (!table->mine()) place_columns(pieces, table->first_column(), table->receive_lookup(rows));
        }
      });
  return pieces;
}

// This party's share of E W from its share of either.
ShareMatrix EmbedMatMul::multiply_pieces(const ShareMatrix& embeddings) {
  const std::size_t rows = embeddings.rows();
  const IntMatrix left = split_columns(limbs_, embeddings);
  ShareMatrix share;
  ShareMatrix opened;
  session_.exchange(
      embedding_.reply_bytes(rows), [&] { share = embedding_.send(rows, left); },
      [&] { opened = embedding_.receive(rows); });
  share += opened;
  return std::move(
      share += multiply(left, stack_rows(limbs_, narrowed(weight_->piece, params_->output_ring())), session_.pool()));
}

EmbedMatMul::Forward EmbedMatMul::forward(const std::vector<IntMatrix>& categories, std::size_t rows,
                                          std::span<const std::uint32_t> numbers, const ComingBatch* coming) {
  const Stopwatch::Lap lap(session_.protocol_time());
  check_categories(categories, rows);
  if (params_->fields_by_ot() == 0 || session_.repeats_masks()) coming = nullptr;
  if (coming != nullptr) check_categories(coming->categories, rows);
  std::uint64_t version = weight_->version;
  for (const auto& table : tables_) version += table->product().version();
  session_.check_scoring(layer_, params_->spec().name, version);
  begin_pass(Pass::kForward, rows);
  if (params_->fields_by_ot() > 0) {
    const OtCount once = BatchKeys::ots(tables_, rows);
    OtCount ots = ahead_ && ahead_->are_of(numbers, rows) ? OtCount{} : once;
    if (coming != nullptr) ots = ots + once;
    session_.ots().reserve(ots);
  }
  const std::shared_ptr<BatchKeys> keys = keys_of(categories, rows, numbers);
  keys->use();
  std::shared_ptr<BatchKeys> next;
  if (coming != nullptr) {
    next = std::make_shared<BatchKeys>(tables_, rows, coming->numbers);
    next->ask(coming->categories);
  }
  refresh_operands(rows, *keys, next.get());
  if (next) {
    next->take_asks();
    session_.when_waiting(next);
  }
  ShareMatrix embeddings = look_up(categories, rows);
  ShareMatrix share = multiply_pieces(embeddings);
  return {{std::move(share), params_->output_bits()}, {categories, std::move(embeddings), keys, std::move(next)}};
}

// Weights are rounded in the ring of 2^128: as numbers they are far too short for that to fail.
ShareMatrix EmbedMatMul::backward_weights() const {
  return narrowed(rescale(transpose(weight_->piece), params_->backward_weight_scale()),
                  params_->embedding_derivative_ring());
}

EmbedMatMul::Shares EmbedMatMul::backward_at_a(const EmbedPass& pass) {
  const std::size_t rows = pass.embeddings.rows();
  weight_gradient_.send_operand(rows, RepeatedProduct::kOnce,
                                narrowed(pass.embeddings, params_->weight_lift().ring_bits));
  if (embedding_derivative_.operand_bytes(rows, weight_->version) > 0) {
    embedding_derivative_.send_operand(rows, weight_->version, backward_weights());
  }
  Shares shares;
  shares.weight = transpose(weight_gradient_.receive(rows));
  shares.embeddings = embedding_derivative_.receive(rows);
  return shares;
}

EmbedMatMul::Shares EmbedMatMul::backward_at_b(const EmbedPass& pass, const Derivative& derivative) {
  const IntMatrix dz =
      rounded_derivative(*derivative.share, params_->derivative_scale(), low64(params_->derivative_bound()));
  // Both operands before the first reply: A sends them one after the other without reading.
  weight_gradient_.receive_operand(dz.rows(), RepeatedProduct::kOnce);
  embedding_derivative_.receive_operand(dz.rows(), weight_->version);
  Shares shares;
  shares.weight = weight_gradient_.send(dz.rows(), dz.transpose());
  shares.embeddings = embedding_derivative_.send(dz.rows(), dz);
  // While A opens them, B adds what needs no message.
  shares.weight += multiply_transposed(dz, narrowed(pass.embeddings, shares.weight.ring_bits()), session_.pool());
  shares.weight = transpose(shares.weight);
  shares.embeddings += multiply(dz, backward_weights(), session_.pool());
  return shares;
}

EmbedMatMul::Shares EmbedMatMul::backward_shared(const EmbedPass& pass, const ShareMatrix& dz) {
  const std::size_t rows = dz.rows();
  const IntMatrix pieces = split_columns(gradient_limbs_, transpose(pass.embeddings));
  // Any numbers that are right modulo the ring of the product: nothing is lost by reading a share as one.
  const IntMatrix numbers =
      split_columns(derivative_limbs_, lifted(narrowed(dz, params_->embedding_derivative_ring())));
  const ShareMatrix elements = stack_rows(gradient_limbs_, narrowed(dz, params_->weight_lift().ring_bits));
  const ShareMatrix weights = stack_rows(derivative_limbs_, backward_weights());
  const std::uint64_t of_weights = embedding_derivative_.operand_bytes(rows, weight_->version);
  session_.exchange(
      weight_gradient_.operand_bytes(rows, RepeatedProduct::kOnce) + of_weights,
      [&] {
        weight_gradient_.send_operand(rows, RepeatedProduct::kOnce, elements);
        if (of_weights > 0) embedding_derivative_.send_operand(rows, weight_->version, weights);
      },
      [&] {
        // While the peer still encrypts.
        weight_gradient_.prepare_left(rows, pieces);
        embedding_derivative_.prepare_left(rows, numbers);
        weight_gradient_.receive_operand(rows, RepeatedProduct::kOnce);
        embedding_derivative_.receive_operand(rows, weight_->version);
      });
  Shares shares;
  Shares opened;
  session_.exchange(
      weight_gradient_.reply_bytes(rows) + embedding_derivative_.reply_bytes(rows),
      [&] {
        shares.weight = weight_gradient_.send(rows, pieces);
        shares.embeddings = embedding_derivative_.send(rows, numbers);
        // While the peer opens them: what needs no message.
        shares.weight += multiply(pieces, elements, session_.pool());
        shares.embeddings += multiply(numbers, weights, session_.pool());
      },
      [&] {
        opened.weight = weight_gradient_.receive(rows);
        opened.embeddings = embedding_derivative_.receive(rows);
      });
  shares.weight += opened.weight;
  shares.embeddings += opened.embeddings;
  return shares;
}

EmbedMatMul::Shares EmbedMatMul::lifted_with_room(Shares raw) {
  // Rounded where that never fails.
  raw.weight = rescale(raw.weight, weight_->gradient_scale);
  std::vector<LiftedShare> shares{{raw.weight}};
  const int wanted = params_->derivative_lift().ring_bits;
  if (raw.embeddings.ring_bits() < wanted) shares.push_back({raw.embeddings, wanted});
  std::vector<ShareMatrix> wider = lift_with_room(session_, layer_, shares);
  raw.weight = std::move(wider.front());
  if (wider.size() > 1) raw.embeddings = std::move(wider.back());
  return raw;
}

void EmbedMatMul::table_gradients(const EmbedPass& pass, const ShareMatrix& raw, const Derivative& derivative,
                                  EmbedGradients& gradients) {
  const std::size_t rows = raw.rows();
  const std::size_t batch = params_->spec().batch;
  // From here on each share is a number by itself, which a failed lift would tell of: see `he::ring_for_lifts`.
  const ShareMatrix numbers = lifted(raw);
  gradients.tables.resize(tables_.size());
  std::vector<ShareMatrix> parts;
  std::vector<const IntMatrix*> categories(tables_.size());
  std::uint64_t operand_bytes = 0;
  std::uint64_t reply_bytes = 0;
  std::size_t own = 0;
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    EmbeddingTable& table = *tables_[t];
    const ShareMatrix part = select_columns(numbers, table.first_column(), params_->spec().dimension);
    // What is updated under encryption is so as of a full batch; what is exchanged is finished in the end.
    parts.push_back(table.field().update == Update::kEncrypted
                        ? finished_gradient(part, derivative, batch, table.derivative_scale())
                        : rescale(part, table.derivative_scale()));
    if (table.mine()) categories[t] = &pass.categories[own++];
    operand_bytes += table.mine() ? 0 : table.product().derivative_bytes(rows);
    reply_bytes += table.mine() ? table.product().gradient_bytes(rows) : 0;
  }
  // Calls one of the two for each table, in the order that both parties have.
  const auto for_tables = [&](bool mine, const std::function<void(EmbeddingTable&, std::size_t)>& f) {
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      if (tables_[t]->mine() == mine) f(*tables_[t], t);
    }
  };
  session_.exchange(
      operand_bytes + (pass.next ? pass.next->answer_bytes() : 0),
      [&] {
        for_tables(false, [&](EmbeddingTable& table, std::size_t t) { table.product().send_derivative(parts[t]); });
        if (pass.next) pass.next->send_answers();
      },
      [&] {
        for_tables(true, [&](EmbeddingTable& table, std::size_t t) {
          table.product().receive_derivative(*categories[t], &parts[t]);
        });
        if (pass.next) pass.next->receive_answers();
      });
  ahead_ = pass.next;
  session_.exchange(
      reply_bytes,
      [&] {
        for_tables(true, [&](EmbeddingTable& table, std::size_t t) {
          gradients.tables[t] = table.product().send_gradient(*categories[t], &parts[t]);
        });
      },
      [&] {
        for_tables(false, [&](EmbeddingTable& table, std::size_t t) {
          gradients.tables[t] = table.product().receive_gradient(rows);
        });
      });
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    std::optional<ShareMatrix>& gradient = gradients.tables[t];
    if (!gradient) continue;
    gradient = finished_gradient(lifted(*gradient), derivative, batch, tables_[t]->weight()->gradient_scale);
  }
}

EmbedGradients EmbedMatMul::backward(const EmbedPass& pass, const Derivative& derivative) {
  const Stopwatch::Lap lap(session_.protocol_time());
  session_.check_training(params_->spec().name);
  const EmbedMatMulSpec& spec = params_->spec();
  check_derivative(derivative, session_.party(), pass.embeddings.rows(), spec.name, spec.top);
  std::optional<ShareMatrix> share;
  if (params_->shared()) {
    require<InvalidArgument>(derivative.shared->cols() == spec.out, "layer '", spec.name, "' has ", spec.out,
                             " outputs, and the share of their derivative ", derivative.shared->cols(), " columns");
    share = derivative_share(derivative, params_->derivative_scale(), params_->derivative_ring(), spec.name);
  }
  if (pass.keys) {
    pass.keys->serve(spec.name);
    pass.keys->use();
  }
  begin_pass(Pass::kBackward, pass.embeddings.rows());
  // Before values wait for it.
  reserve(session_, room_lift_cost(params_->lifts(pass.embeddings.rows())));
  Shares raw = share                           ? backward_shared(pass, *share)
               : session_.party() == Party::kA ? backward_at_a(pass)
                                               : backward_at_b(pass, derivative);
  if (params_->lifts_with_room()) raw = lifted_with_room(std::move(raw));
  EmbedGradients gradients;
  gradients.weight = finished_gradient(lifted(raw.weight), derivative, spec.batch, weight_->gradient_scale);
  table_gradients(pass, raw.embeddings, derivative, gradients);
  return gradients;
}

Settings EmbedMatMul::state_settings() const {
  Settings settings;
  settings.add("state", "Embed-MatMul").add("party", name_of(session_.party()));
  if (session_.place().several()) settings.add("place", session_.place().index);
  settings.add(params_->agreement());
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    tables_[t]->product().add_state_settings("table " + std::to_string(t) + ".key", settings);
  }
  return settings;
}

StateOrigin::Clock EmbedMatMul::clock() const {
  StateOrigin::Clock clock{weight_->version};
  clock.reserve(1 + tables_.size());
  for (const auto& table : tables_) clock.push_back(table->changes());
  return clock;
}

void EmbedMatMul::save(ByteSink& out) const {
  write_state_header(out, state_settings());
  origin_.save(out, session_, clock());
  write_weight(out, *weight_);
  for (const auto& table : tables_) table->save(out);
}

void EmbedMatMul::load(ByteSource& in) {
  const std::string what = "layer '" + params_->spec().name + "'";
  reading_state([&] {
    read_state_header(in, what, state_settings());
    const Bytes origin = StateOrigin::read(in);
    SavedWeight weight = read_weight(in, *weight_);
    for (const auto& table : tables_) table->load(in);
    weight_->version = weight.version;
    weight_->piece = std::move(weight.piece);
    ahead_.reset();
    embedding_.forget();
    embedding_derivative_.forget();
    origin_.loaded(session_, what, origin, clock());
  });
}

}  // namespace blindfl::protocol
