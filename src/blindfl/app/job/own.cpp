#include "blindfl/app/job/own.h"

namespace blindfl::app::job {

namespace {

constexpr double kMostCategories = 1e9;
constexpr double kWeek = 7.0 * 24 * 3600;

}  // namespace

std::span<const Name<Metric>> names_of(Metric /*metric*/) {
  static constexpr Name<Metric> kNames[] = {{"loss", Metric::kLoss},
                                            {"auc", Metric::kAuc},
                                            {"pr_auc", Metric::kPrAuc},
                                            {"ks", Metric::kKs},
                                            {"lift", Metric::kLift},
                                            {"accuracy", Metric::kAccuracy},
                                            {"precision", Metric::kPrecision},
                                            {"recall", Metric::kRecall},
                                            {"f1", Metric::kF1},
                                            {"log_loss", Metric::kLogLoss},
                                            {"rmse", Metric::kRmse},
                                            {"r2", Metric::kR2},
                                            {"mae", Metric::kMae},
                                            {"deviance", Metric::kDeviance}};
  return kNames;
}

std::span<const Name<LogLevel>> names_of(LogLevel /*level*/) {
  static constexpr Name<LogLevel> kNames[] = {
      {"quiet", LogLevel::kQuiet}, {"info", LogLevel::kInfo}, {"debug", LogLevel::kDebug}};
  return kNames;
}

TypeWords Value<ClassWeights>::type(const Rule& rule) {
  TypeWords words = Value<std::vector<double>>::type(rule);
  words.one += ", or balanced";
  return words;
}

ClassWeights Value<ClassWeights>::read(const YamlNode& node, const Where& where) {
  if (node.kind == YamlNode::Kind::kScalar && node.text == "balanced") return {.balanced = true};
  if (node.kind != YamlNode::Kind::kList) where.refuse(node, type(where.rule));
  return {.weights = Value<std::vector<double>>::read(node, where)};
}

std::string Value<ClassWeights>::write(const ClassWeights& value) {
  return value.balanced ? "balanced" : Value<std::vector<double>>::write(value.weights);
}

std::span<const Name<Acceptance>> names_of(Acceptance /*acceptance*/) {
  static constexpr Name<Acceptance> kNames[] = {
      {"nothing", Acceptance::kNothing}, {"open_top", Acceptance::kOpenTop}, {"fine_scores", Acceptance::kFineScores}};
  return kNames;
}

Entries entries_of(prepare::VocabularySpec& vocabulary) {
  return Entries()
      .add("min_count", vocabulary.min_count, "rarer categories of the training file count as unknown",
           {.lowest = 1, .highest = kMostCategories, .synonyms = {"min_freq"}})
      .add("most", vocabulary.most, "keep only this many, the most frequent",
           {.lowest = 1, .highest = kMostCategories, .otherwise = "all", .synonyms = {"max_size", "max_tokens"}})
      .add("hash_buckets", vocabulary.hash_buckets, "no vocabulary: categories share this many rows by their hash",
           {.lowest = 2, .highest = kMostCategories, .otherwise = "a vocabulary", .synonyms = {"buckets", "hash"}});
}

Entries entries_of(prepare::ColumnSpec& column) {
  return Entries()
      .add("name", column.name, "as in the header; its number, from 1, in a file without one", {.needed = true})
      .add("kind", column.kind, "a number, one category, several categories in one cell, or nothing that is used",
           {.otherwise = "default_kind, or numeric", .synonyms = {"type", "dtype"}})
      .add("transform", column.transform,
           "of a number: mean 0 and standard deviation 1 in the training file, cut off at 8 standard deviations or at "
           "numeric.largest if that is less (standardise); or the same of log(1 + x), of -log(1 - x) below 0 (log)",
           {.synonyms = {"scaling", "normalise", "normalize"}})
      .add("missing", column.missing,
           "what a missing number becomes, in training and later: the mean of the training file's transformed column, "
           "0, "
           "a constant; or that it is an error. A missing category is the reserved one, which unknown ones are too",
           {.synonyms = {"fill", "fillna", "impute"}})
      .add("constant", column.constant, "what a missing number becomes if missing is constant",
           {.otherwise = "none", .synonyms = {"fill_value"}})
      .add("vocabulary", column.vocabulary, "which categories are told apart")
      .add("one_hot", column.one_hot, "categories become one binary feature each, and no embedding",
           {.synonyms = {"onehot", "dummy"}})
      .add("separator", column.separator, "what stands between the categories of a cell of kind multi")
      .add("most_per_row", column.most_per_row, "categories of a cell of kind multi; a cell with more is an error",
           {.lowest = 1, .highest = 65536})
      .add("pooling", column.pooling, "a cell of kind multi looks up the sum or the mean of its embeddings");
}

Entries entries_of(Libsvm& libsvm) {
  return Entries()
      .add("features", libsvm.features, "how many features there are; a test file may lack the last",
           {.lowest = 1,
            .highest = 4294967295.0,
            .otherwise = "the highest index seen",
            .synonyms = {"cols", "columns"}})
      .add("first_index", libsvm.first_index, "what the files call the first feature", {.lowest = 0, .highest = 1});
}

Entries entries_of(Label& label) {
  return Entries().add("positive", label.positive,
                       "of two classes, the one whose probability is the score, as the file writes it",
                       {.otherwise = "the larger number, or the last word by name",
                        .synonyms = {"positive_class", "pos_label", "pos_class"}});
}

Entries entries_of(Data& data) {
  return Entries()
      .add("train", data.train, "file with the rows to train on", {.otherwise = "none"})
      .add("test", data.test, "file with rows to measure the trained model on", {.otherwise = "none"})
      .add("score", data.score, "file with rows to predict the labels of",
           {.otherwise = "none", .synonyms = {"predict"}})
      .add("format", data.format, "format of all these files; auto: what they look like")
      .add("delimiter", data.delimiter, "between the cells of a CSV file: one character, or the word tab",
           {.synonyms = {"sep", "separator"}})
      .add("header", data.header, "the first line of a CSV file names its columns")
      .add("libsvm", data.libsvm, "what LIBSVM files do not say about themselves")
      .add("id_column", data.id_column, "names the people, by whom rows are aligned; it is no feature",
           {.otherwise = "none", .synonyms = {"id", "key", "index"}})
      .add("label_column", data.label_column, "what is to be predicted; only B has it",
           {.otherwise = "none", .synonyms = {"labels", "target", "y"}})
      .add("label", data.label, "what B says about its labels; their column is label_column")
      .add("weight_column", data.weight_column,
           "B: how much each row counts in the loss and in the metrics, 0 or more; only ratios matter, and it is no "
           "feature",
           {.otherwise = "all rows alike", .synonyms = {"weight", "weights", "sample_weight", "row_weight"}})
      .add("missing", data.missing, "cells that say nothing", {.may_be_empty = true, .synonyms = {"na_values"}})
      .add("default_kind", data.default_kind, "kind of the columns that are not listed",
           {.otherwise = "a column that is not listed is an error"})
      .add("columns", data.columns, "how single columns are read",
           {.most_items = 10000, .synonyms = {"features", "fields"}})
      .add("numeric", data.numeric, "how numeric features become integers; the peer learns these three options");
}

Entries entries_of(Top& top) {
  return Entries()
      .add("class_weights", top.class_weights,
           "how much a row of each class counts in the loss: one number for each class, numbers ascending, words by "
           "name, but of two classes the positive one last; balanced: rows / (classes * rows of the class); empty: all "
           "alike",
           {.lowest = 0, .highest = 1e6, .most_items = 10000, .synonyms = {"class_weight", "weights"}})
      .add("clip_gradient", top.clip_gradient, "largest norm of the gradient of B's own layers",
           {.lowest = 0, .above_lowest = true, .otherwise = "not clipped", .synonyms = {"max_norm", "clip_grad_norm"}})
      .add("metrics", top.metrics,
           "what is measured, the one that early stopping watches first; empty: what suits the model. pr_auc is the "
           "average precision, lift that of the tenth that scores highest; precision and recall are those of class 1 "
           "or, of more than two classes, means over the classes",
           {.synonyms = {"metric"}})
      .add("baseline", top.baseline,
           "when training is over and the peer has left, train a plain model of the same kind on B's features alone, "
           "and "
           "measure it on the same test rows");
}

std::vector<std::string> Link::names_of_as() const {
  std::vector<std::string> names;
  for (const PeerLink& peer : peers) names.push_back(peer.name);
  if (!others.empty() && name) names.push_back(*name);
  for (const OtherA& other : others) names.push_back(other.name);
  return names;
}

Entries entries_of(PeerLink& peer) {
  return Entries()
      .add("name", peer.name, "what this A is called, in its own job too", {.needed = true})
      .add("listen", peer.listen, "wait for it at this HOST:PORT, a port of its own",
           {.otherwise = "say dial", .synonyms = {"bind"}})
      .add("dial", peer.dial, "call it, which listens at this HOST:PORT",
           {.otherwise = "say listen", .synonyms = {"connect", "address", "host"}})
      .add("certificate", peer.certificate, "its certificate: the only one that is accepted there",
           {.needed = true, .synonyms = {"cert", "crt", "peer"}})
      .add("fingerprint", peer.fingerprint, "of its certificate, as peer_fingerprint",
           {.otherwise = "not compared", .synonyms = {"peer_fingerprint"}});
}

Entries entries_of(OtherA& other) {
  return Entries()
      .add("name", other.name, "what that A is called, in B's job and in its own", {.needed = true})
      .add("certificate", other.certificate, "its certificate, with which it signs what B passes on",
           {.needed = true, .synonyms = {"cert", "crt", "peer"}})
      .add("fingerprint", other.fingerprint, "of its certificate, as peer_fingerprint",
           {.otherwise = "not compared", .synonyms = {"peer_fingerprint"}});
}

Entries entries_of(Link& link) {
  return Entries()
      .add("name", link.name, "at A with several A's: what B and the other A's call this one",
           {.otherwise = "needed with others"})
      .add("listen", link.listen, "wait for the peer at this HOST:PORT; 0.0.0.0 for all interfaces",
           {.otherwise = "say dial", .synonyms = {"bind"}})
      .add("dial", link.dial, "call the peer, who listens at this HOST:PORT",
           {.otherwise = "say listen", .synonyms = {"connect", "address", "host"}})
      .add("certificate", link.certificate, "this party's certificate, from `blindfl keygen`",
           {.otherwise = "needed, unless plaintext", .synonyms = {"cert", "crt", "identity"}})
      .add("key", link.key, "the private key of that certificate",
           {.secret = true, .otherwise = "needed, unless plaintext", .synonyms = {"private_key"}})
      .add("peer", link.peer, "the peer's certificate: the only one that is accepted",
           {.otherwise = "needed, unless plaintext", .synonyms = {"peer_certificate", "ca"}})
      .add("peer_fingerprint", link.peer_fingerprint,
           "fingerprint of the peer's certificate, as `blindfl fingerprint` prints it and the peer read it out; a file "
           "with another "
           "one is refused",
           {.otherwise = "not compared", .synonyms = {"fingerprint"}})
      .add("peers", link.peers, "at B with several A's: each of them, in place of listen or dial, and peer",
           {.most_items = protocol::kMostPeers})
      .add("others", link.others, "at A with several A's: all the others, who talk to it through B",
           {.most_items = protocol::kMostPeers - 1})
      .add("patience", link.patience, "how long to wait for a peer that is not there, or has gone",
           {.lowest = 1, .highest = kWeek, .unit = "seconds", .synonyms = {"timeout"}})
      .add("patience_silent", link.patience_silent,
           "how long a peer that is there may send nothing while this party waits for it. Longer than the peer ever "
           "computes without sending: minutes, for the largest tables",
           {.lowest = 1, .highest = kWeek, .unit = "seconds", .synonyms = {"silence", "silent"}})
      .add("keepalive", link.keepalive, "a link that is silent for so long is asked whether it still is one",
           {.lowest = 1, .highest = 3600, .unit = "seconds"})
      .add("window", link.window, "bytes that may be under way each way, and are kept to be sent again after a cut",
           {.lowest = 1, .highest = 4096, .unit = "MiB", .synonyms = {"buffer"}})
      .add("plaintext", link.plaintext,
           "no TLS: anybody on the way can read and change everything. Only inside a link that is protected",
           {.synonyms = {"insecure", "no_tls"}});
}

Entries entries_of(Limits& limits) {
  return Entries()
      .add("scorings", limits.scorings,
           "at A: how often one file may be scored with one model, the test at the end of training included. Each time "
           "B could ask for something else, and under a shared top scores are rounded anew, which tells more of them; "
           "`blindfl inspect` shows the count",
           {.lowest = 1, .highest = 1e9, .otherwise = "16; 1 under a shared top", .synonyms = {"predictions"}})
      .add("peer_ids", limits.peer_ids,
           "ids that the peer may have, where rows are aligned by ids: each costs this party computing, and tells the "
           "peer whether this party has it too",
           {.lowest = 1, .highest = 67108864})
      .add("peer_ratio", limits.peer_ratio,
           "the peer's ids for each of this party's, of which at least 1000 are counted: a peer with far more may be "
           "guessing",
           {.lowest = 0, .highest = 1e9, .above_lowest = true, .synonyms = {"ratio"}})
      .add("peer_features", limits.peer_features,
           "numeric features that the peer may have: this party keeps a share of the weights of each",
           {.lowest = 1, .highest = 4294967295.0})
      .add("peer_categories", limits.peer_categories,
           "categories of all the peer's fields together: this party keeps a share of the embedding of each",
           {.lowest = 1, .highest = 4294967295.0});
}

Entries entries_of(Resources& resources) {
  return Entries()
      .add("threads", resources.threads, "threads that compute",
           {.lowest = 1, .highest = 4096, .otherwise = "one per core", .synonyms = {"cores", "num_threads", "workers"}})
      .add("memory", resources.memory,
           "memory for this job: encoded rows take up to a quarter of it, and what is more goes to a file",
           {.lowest = 0, .highest = 1e6, .above_lowest = true, .unit = "GiB", .otherwise = "1 GiB for rows"});
}

Entries entries_of(Run& run) {
  return Entries()
      .add("folder", run.folder, "where results, checkpoints and logs go",
           {.synonyms = {"out", "output", "output_dir", "directory", "dir"}})
      .add("keep", run.keep, "checkpoints that stay: the newest", {.lowest = 1, .highest = 1e6})
      .add("log", run.log, "how much is written down", {.synonyms = {"log_level", "verbosity"}})
      .add("progress", run.progress, "show on the screen how far it is")
      .add("ledger", run.ledger, "write down what crosses the link, for `blindfl audit`")
      .add(
          "keep_view", run.keep_view,
          "keep in the run's folder what this party sees of the rows for validation and test, for `blindfl audit "
          "--attacks`: at B under an open top the source layers' outputs, otherwise this party's shares of them. It is "
          "nothing that this party had not anyway, and nothing leaves; but it is as secret as the shares are")
      .add("weight_seed", run.weight_seed,
           "this party's shares of the initial weights follow from it. For experiments: who guesses it knows them",
           {.secret = true, .otherwise = "random", .synonyms = {"seed", "random_seed"}});
}

Entries entries_of(Own& own) {
  return Entries()
      .add("party", own.party, "which party this is: a has features, b has features and the labels",
           {.needed = true, .synonyms = {"role"}})
      .add("accept", own.accept,
           "what A accepts, and only A says. Under an open top B sees the source layers' outputs, and recovers A's "
           "features that are 0 or 1 exactly (SECURITY.md); train, resume, predict and evaluate at A refuse to start "
           "unless this is open_top. Under a shared top they start without, and with score_bits above 4, which tell B "
           "more of A's features than coarser ones, only if this is fine_scores",
           {.synonyms = {"consent", "accepts"}})
      .add("data", own.data, "this party's rows")
      .add("top", own.top, "B's own layers, after the source layers; only B has this section")
      .add("link", own.link, "the way to the peer", {.synonyms = {"network", "net"}})
      .add("limits", own.limits, "what this party lets its peer ask of it, checked before any work is done")
      .add("resources", own.resources, "what this machine gives")
      .add("run", own.run, "where things go", {.synonyms = {"output"}});
}

}  // namespace blindfl::app::job
