#include "blindfl/app/job/shared.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "blindfl/he/registry/registry.h"

namespace blindfl::app::job {

namespace {

using protocol::Update;

constexpr std::string_view kAuto = "auto";
constexpr std::string_view kExchanged = "exchanged";
constexpr std::string_view kEncrypted = "encrypted";
constexpr std::array kUpdates = {kAuto, kExchanged, kEncrypted};
constexpr double kMostUnits = 65536;  // of a layer
constexpr double kMostWeight = 1e12;
constexpr double kMostRate = 1e6;

Rule layer_widths(std::size_t fewest) {
  return {.lowest = 1, .highest = kMostUnits, .fewest_items = fewest, .most_items = 16};
}

}  // namespace

std::span<const Name<ModelKind>> names_of(ModelKind /*kind*/) {
  static constexpr Name<ModelKind> kNames[] = {
      {"lr", ModelKind::kLr},           {"mlr", ModelKind::kMlr}, {"linear", ModelKind::kLinear},
      {"poisson", ModelKind::kPoisson}, {"mlp", ModelKind::kMlp}, {"wdl", ModelKind::kWdl},
      {"dlrm", ModelKind::kDlrm},       {"fm", ModelKind::kFm},   {"deepfm", ModelKind::kDeepfm},
  };
  return kNames;
}

bool is_classifier(ModelKind kind) {
  return kind != ModelKind::kLinear && kind != ModelKind::kPoisson;
}

bool has_embeddings(ModelKind kind) {
  return kind == ModelKind::kWdl || kind == ModelKind::kDlrm || kind == ModelKind::kDeepfm;
}

bool has_factors(ModelKind kind) {
  return kind == ModelKind::kFm || kind == ModelKind::kDeepfm;
}

TypeWords Value<std::optional<Update>>::type(const Rule& /*rule*/) {
  return choice_type(kUpdates);
}

std::optional<Update> Value<std::optional<Update>>::read(const YamlNode& node, const Where& where) {
  const std::string_view word = kUpdates[read_choice(node, where, kUpdates)];
  if (word == kAuto) return std::nullopt;
  return word == kEncrypted ? Update::kEncrypted : Update::kExchanged;
}

std::string Value<std::optional<Update>>::write(std::optional<Update> value) {
  return std::string(!value ? kAuto : value == Update::kEncrypted ? kEncrypted : kExchanged);
}

std::span<const Name<Security>> names_of(Security /*security*/) {
  static constexpr Name<Security> kNames[] = {{"112", Security::k112}, {"128", Security::k128}};
  return kNames;
}

std::vector<std::string> Scheme::allowed_schemes() const {
  std::vector<std::string> names = allowed;
  if (security == Security::k112) return names;
  for (std::string& name : names) name = he::at_security(he::scheme_entry(name), 128).name;
  return names;
}

Entries entries_of(Dlrm& dlrm) {
  return Entries()
      .add("bottom", dlrm.bottom, "widths of the hidden layers for numeric features", layer_widths(1))
      .add("top", dlrm.top, "widths of the hidden layers after the interaction", layer_widths(1))
      .add("vectors", dlrm.vectors,
           "vectors of embedding_dim values that the categorical features become, and that interact",
           {.lowest = 1, .highest = 1024});
}

Entries entries_of(Model& model) {
  return Entries()
      .add(
          "kind", model.kind,
          "logistic (lr), multinomial (mlr), linear or Poisson regression; multi-layer perceptron (mlp); wide and deep "
          "(wdl); deep learning recommendation model (dlrm); factorisation machine (fm), and beside a multi-layer "
          "perceptron (deepfm)",
          {.needed = true, .synonyms = {"type", "model", "architecture"}})
      .add(
          "top", model.top,
          "who sees what is above the source layers. shared: nobody does; both hold shares of outputs, derivatives and "
          "weights, and B learns the mean loss and the accuracy of each validation and the scores that are opened, "
          "rounded. open: B does, and with it could recover A's features that are 0 or 1 exactly, which A must accept "
          "(private.accept: open_top); it takes less time and traffic, and does what a shared top does not: dlrm, "
          "placeholders (only_b, union), clipping")
      .add("score_bits", model.score_bits,
           "under a shared top, the fractional bits of each score that B gets: of the logit, of the logarithm of a "
           "count, or of the labels' standard deviation. Scores tell B of A's features, coarse ones too; more than 4 "
           "bits "
           "tell more, and A must accept that (private.accept: fine_scores)",
           {.lowest = 0, .highest = 16})
      .add("classes", model.classes, "how many classes the labels have; needed for mlr, possible for mlp, wdl and dlrm",
           {.lowest = 2,
            .highest = 10000,
            .otherwise = "2, but for mlr",
            .synonyms = {"num_classes", "n_classes", "outputs"}})
      .add("hidden", model.hidden, "widths of the hidden layers of mlp, and of the deep part of wdl and deepfm",
           [] {
             Rule rule = layer_widths(1);
             rule.synonyms = {"layers", "hidden_layers", "hidden_sizes", "hidden_units"};
             return rule;
           }())
      .add("activation", model.activation, "what follows each hidden layer")
      .add("embedding_dim", model.embedding_dim, "values that each category becomes in wdl, dlrm and deepfm",
           {.lowest = 1, .highest = 1024, .synonyms = {"embedding", "embedding_size", "embedding_dimension"}})
      .add(
          "factors", model.factors,
          "factors of each feature in fm and deepfm: pairs of numeric and one-hot features interact by the products of "
          "their vectors",
          {.lowest = 1, .highest = 1024, .synonyms = {"rank", "num_factors", "latent_dim"}})
      .add("dlrm", model.dlrm, "what only dlrm has")
      .add("largest_weight", model.largest_weight,
           "trained weights of the source layers are assumed not to exceed it; numbers are sized for it",
           {.lowest = 0, .highest = kMostWeight, .above_lowest = true})
      .add("output_scale", model.output_scale,
           "under an open top B sees the source layers' outputs with this many fractional bits and no more; above 20 "
           "only with fine_outputs_reveal_features",
           {.lowest = 0, .highest = 60})
      .add("fine_outputs_reveal_features", model.fine_outputs_reveal_features,
           "allows an output_scale above 20, which gives A's features away: at full precision they follow from the "
           "outputs by lattice reduction")
      .add("initial_deviation", model.initial_deviation,
           "standard deviation of the source layers' initial weights. It does not protect A's features: B recovers "
           "those that are 0 or 1 whatever it is (private.accept)",
           {.lowest = 0, .highest = kMostWeight, .above_lowest = true, .otherwise = "as torch's Linear"});
}

Entries entries_of(FixedPointSpec& encoding) {
  return Entries()
      .add("scale", encoding.scale, "fractional bits; 0 suits integers, and costs the least",
           {.lowest = 0, .highest = 60})
      .add("largest", encoding.largest, "no value may exceed it in magnitude",
           {.lowest = 0, .highest = 1e18, .above_lowest = true, .synonyms = {"max", "range", "bound"}})
      .add("clip", encoding.clip, "take the largest for a value beyond it, instead of stopping with an error");
}

Entries entries_of(RateChange& change) {
  return Entries()
      .add("epoch", change.epoch, "from the beginning of this epoch on; the first is 1",
           {.lowest = 2, .otherwise = "say step"})
      .add("step", change.step, "or from this step on; the first is 0", {.lowest = 1, .otherwise = "say epoch"})
      .add("learning_rate", change.learning_rate, "the learning rate from there on",
           {.lowest = 0, .highest = kMostRate, .needed = true, .synonyms = {"lr", "rate"}});
}

Entries entries_of(EarlyStopping& stopping) {
  return Entries()
      .add(
          "patience", stopping.patience,
          "epochs without improvement in validation after which training stops, and keeps the model of the best epoch; "
          "watched is the first of B's metrics; 0: it never stops early",
          {.lowest = 0, .highest = 1e6})
      .add("minimum_improvement", stopping.minimum_improvement,
           "by how much the watched metric must get better to count as improved",
           {.lowest = 0, .synonyms = {"min_delta"}});
}

Entries entries_of(Training& training) {
  return Entries()
      .add("epochs", training.epochs, "passes over the training rows",
           {.lowest = 1,
            .highest = 1e6,
            .otherwise = "10, or as many as make 1000 steps",
            .synonyms = {"num_epochs", "max_epochs"}})
      .add("batch", training.batch, "batch size: rows of a mini-batch",
           {.lowest = 1, .highest = 1e6, .synonyms = {"batch_size", "minibatch"}})
      .add("learning_rate", training.learning_rate, "learning rate of SGD, from the first step on",
           {.lowest = 0, .highest = kMostRate, .synonyms = {"lr", "eta", "step_size"}})
      .add("momentum", training.momentum, "momentum of SGD",
           {.lowest = 0,
            .highest = 1,
            .below_highest = true,
            .otherwise = "0.9; 0 where updates are encrypted, or may be: with more than 32768 features at a party"})
      .add("weight_decay", training.weight_decay, "L2 penalty, as torch's SGD has it",
           {.lowest = 0, .highest = 1e3, .synonyms = {"l2", "regularisation", "regularization"}})
      .add("schedule", training.schedule, "changes of the learning rate, in order", {.synonyms = {"lr_schedule"}})
      .add("order_seed", training.order_seed, "the order of the rows follows from it; it is no secret",
           {.synonyms = {"seed", "shuffle_seed"}})
      .add("validation_share", training.validation_share,
           "share of the training rows that is not trained on, but measured after each epoch",
           {.lowest = 0, .highest = 0.9, .synonyms = {"validation_split", "validation"}})
      .add("test_share", training.test_share,
           "share of the rows that is neither trained on nor validated with, but measured with when training is over; "
           "0: none. Which rows follows from order_seed and, where ids are matched, from the order that this run found",
           {.lowest = 0,
            .highest = 0.9,
            .otherwise = "0.1, or 0 if there is a test file",
            .synonyms = {"test_split", "test_size", "holdout"}})
      .add("early_stopping", training.early_stopping, "when to stop before the last epoch")
      .add("checkpoint_every", training.checkpoint_every,
           "steps from one checkpoint to the next; 0: one at the end of each epoch, or, without early stopping, of "
           "about "
           "100 epochs of more")
      .add("row_weights", training.row_weights,
           "under a shared top, that B's rows count differently (private.data.weight_column, "
           "private.top.class_weights): "
           "both parties work on weights that only B knows, each below 16 times the average row's")
      .add("derivative", training.derivative,
           "how derivatives of the loss of a row by the source layers' outputs become integers");
}

namespace {

std::vector<std::string> table_ways() {
  std::vector<std::string> ways{std::string(protocol::kByOt)};
  for (const auto& name : he::scheme_names()) ways.emplace_back(name);
  return ways;
}

}  // namespace

Entries entries_of(Scheme& scheme) {
  return Entries()
      .add("security", scheme.security,
           "bits of security of every encryption, at least: 112 allows Paillier with keys of 2048 bits, which NIST "
           "accepts until 2030; with 128 Paillier has keys of 3072 bits. The lattice has 128 in any case",
           {.synonyms = {"security_bits", "security_level"}})
      .add("default", scheme.default_scheme, "the encryption of every product that nobody chose another for",
           {.choices = he::scheme_names(), .synonyms = {"scheme"}})
      .add("allowed", scheme.allowed, "all that may be used", {.choices = he::scheme_names(), .fewest_items = 1})
      .add("automatic", scheme.automatic,
           "choose what takes the least time for each layer, of what is allowed and left open here",
           {.synonyms = {"auto"}})
      .add("features_a", scheme.features_a, "the encryption of products with A's features",
           {.choices = he::scheme_names(), .otherwise = "chosen, or the default", .synonyms = {"scheme_a"}})
      .add("features_b", scheme.features_b, "the encryption of products with B's features",
           {.choices = he::scheme_names(), .otherwise = "chosen, or the default", .synonyms = {"scheme_b"}})
      .add("tables", scheme.tables,
           "how embedding tables are looked up in: by oblivious transfer (ot), or over an encryption",
           {.choices = table_ways(), .otherwise = "chosen, or as products with the party's features"})
      .add("update", scheme.update,
           "how A's weights learn: by exchanged gradients, or encrypted at A, for millions of sparse features; auto: "
           "what takes less time, or exchanged if automatic is false")
      .add("line_speed", scheme.line_speed, "speed of the line between the parties, for choosing",
           {.lowest = 0, .highest = 1e9, .above_lowest = true, .unit = "Mbit/s", .synonyms = {"bandwidth", "speed"}})
      .add("round_trip", scheme.round_trip, "there and back on that line, for choosing",
           {.lowest = 0, .highest = 1e6, .unit = "ms", .synonyms = {"latency", "ping"}})
      .add("most_memory", scheme.most_memory,
           "memory for ciphertexts that stay with a party; what needs more is not chosen",
           {.lowest = 0, .highest = 1e6, .above_lowest = true, .unit = "GiB", .synonyms = {"memory"}});
}

Entries entries_of(Alignment& alignment) {
  return Entries().add(
      "mode", alignment.mode,
      "whose rows are trained on: row i of both files is about the same person (aligned); people of both parties, whom "
      "both learn (intersection) or only B learns (only_b); everybody, and neither learns who is where (union)",
      {.needed = true});
}

Entries entries_of(Shared& shared) {
  return Entries()
      .add("model", shared.model, "what is trained")
      .add("training", shared.training, "how it is trained")
      .add("scheme", shared.scheme, "how it is encrypted", {.synonyms = {"encryption"}})
      .add("alignment", shared.alignment, "which rows belong together", {.synonyms = {"psi"}});
}

}  // namespace blindfl::app::job
