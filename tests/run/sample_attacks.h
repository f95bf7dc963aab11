#pragma once

#include "blindfl/run/attack_page.h"

// A page of attacks, for tests that look at whole pages.

namespace blindfl::testing {

inline run::AttackPage sample_attacks(bool with_truth) {
  run::AttackPage page;
  page.summary.party = Party::kB;
  page.summary.run = "3f6a0c1db27e4a58";
  page.summary.release = "0.9.0";
  page.summary.steps = 2400;
  page.seen = "B's side of an open top: what it saw when rows for validation and test passed, 21 times.";
  page.with_truth = with_truth;
  page.results.figures = {
      {.attack = "binary columns from one opening",
       .of = "source layer 'source', 4,000 rows",
       .tries = "Columns of zeros and ones in the span of Z and of this party's own columns.",
       .measure = "the share of the peer's columns of two values that were found, right in all rows",
       .value = 0.875,
       .chance = 0,
       .standard_error = 0,
       .works = run::Works::kAbove,
       .advice = "Set shared.model.top to shared at both parties."},
      {.attack = "which rows were trained with",
       .of = "600 rows that were, 400 that were not",
       .tries = "Rows of a smaller loss are held for rows that were trained with.",
       .measure = "the AUC",
       .value = 0.512,
       .chance = 0.5,
       .standard_error = 0.0171,
       .works = run::Works::kAbove,
       .advice = "advice of the other"}};
  page.results.untried = {{"lattice reduction", "it takes from 1 to 24 columns of the peer, and 64 rows"}};
  return page;
}

}  // namespace blindfl::testing
