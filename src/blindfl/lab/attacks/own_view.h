#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "blindfl/base/party.h"
#include "blindfl/run/attack_page.h"
#include "blindfl/share/share_matrix.h"
#include "blindfl/tensor/family.h"

// The attacks on what one party kept of its own finished run, each beside what the same attack makes of random numbers:
// for `blindfl audit --attacks`. With the peer's columns as truth they count what was right; without it they count what
// shows by itself.

namespace blindfl::lab::attacks {

/// What a party saw of one source layer, of the same rows once or several times.
struct OwnView {
  Party party = Party::kB;
  std::string layer;             ///< its name in the model
  bool opened = false;           ///< Z was opened to this party; otherwise it has shares
  int output_scale = 0;          ///< of Z
  std::vector<torch::Tensor> z;  ///< one for each time, the oldest first, rows x outputs: Z, or shares read as numbers
  std::vector<torch::Tensor> share_b;  ///< at B, for each: its share of its own weights; empty: not known
  std::vector<ShareMatrix> shares;     ///< where Z was not opened, the shares themselves
  torch::Tensor own;                   ///< rows x this party's features, perhaps none
  std::size_t peer_columns = 0;        ///< the peer's numeric features, whose number both know; 0: not of these
  // The truth; undefined and empty where nobody offered it.
  torch::Tensor peer;          ///< rows x the peer's features
  std::vector<double> labels;  ///< at A: B's, one for each row
};

struct AuditOptions {
  std::uint64_t seed = 1;
  int draws = 40;           ///< of random numbers, for attacks that are quick
  int draws_of_search = 2;  ///< for those that search
};

/// The space of the peer's columns, whether it shows whole; and columns of zeros and ones: in the span of one opening,
/// and of several (attack_binary_columns, attack_differences). A column of any two values counts, since a constant is
/// in the span, too.
void audit_binary_columns(const OwnView& view, const AuditOptions& options, run::AttackResults& results);
/// With the truth: how near least squares come to the peer's columns and, at A, to labels (attack_regression).
void audit_regression(const OwnView& view, const AuditOptions& options, run::AttackResults& results);
/// A single output of a B without features, opened (attack_lattice).
void audit_lattice(const OwnView& view, const AuditOptions& options, run::AttackResults& results);
/// Whether shares look uniform, byte by byte.
void audit_uniformity(const OwnView& view, run::AttackResults& results);

/// What A has of its weights, before and after training.
struct OwnWeights {
  std::string layer;
  torch::Tensor features;      ///< A's, rows x columns
  torch::Tensor first;         ///< its share U_A before any step, columns x outputs; undefined if it was not kept
  torch::Tensor last;          ///< at the end
  torch::Tensor weights;       ///< the truth: both shares together; undefined if nobody offered it
  std::vector<double> labels;  ///< the truth: of the rows
};
/// Labels from X_A U_A, and from what training added to it; without the truth, whether it falls into two groups.
/// And A's share beside the weights (compare_shares).
void audit_weights(const OwnWeights& weights, const AuditOptions& options, run::AttackResults& results);

/// Released scores of finished models, at B.
struct OwnScores {
  torch::Tensor scores;  ///< rows x outputs: logits, or whatever is before the family's link
  Family family = Family::kLogistic;
  int score_bits = 0;            ///< that they are rounded to
  torch::Tensor own;             ///< rows x B's features
  std::size_t peer_columns = 0;  ///< A's numeric features
  std::vector<double> labels;    ///< B's, one for each row
  torch::Tensor peer;            ///< the truth: rows x A's features; undefined if nobody offered it
};
/// Patterns of A's features of a generalised linear model (attack_scores).
void audit_patterns(const OwnScores& scores, const AuditOptions& options, run::AttackResults& results);
/// How near a linear model of the attacker's features, fitted to half of the scores, comes to the model on the other
/// half (attack_model); beside one that was fitted to B's labels, or to shuffled scores where there are none.
void audit_model(const OwnScores& scores, const AuditOptions& options, run::AttackResults& results);
/// Which rows were trained with, from scores of such rows and of others (attack_membership).
void audit_membership(const OwnScores& trained, const OwnScores& fresh, run::AttackResults& results);

}  // namespace blindfl::lab::attacks
