#pragma once

#include <ostream>

#include "blindfl/net/ledger/ledger_comparison.h"
#include "blindfl/net/ledger/ledger_file.h"

namespace blindfl::net {

/// What crossed the link, for people: a table of steps, what their messages contain and reveal, the ends of the chains.
void print_audit(std::ostream& out, const LedgerFile& ledger);

/// Whether the two parties' ledgers agree, direction by direction, and a last line that says it in one sentence.
void print_comparison(std::ostream& out, const LedgerComparison& comparison);

}  // namespace blindfl::net
