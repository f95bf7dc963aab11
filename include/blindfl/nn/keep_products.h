#pragma once

#include "blindfl/data/row_source.h"
#include "blindfl/nn/federated_module.h"
#include "blindfl/protocol/layers/keep_options.h"

namespace blindfl::nn {

using protocol::KeepOptions;

/// Makes, once for all training rows, the products that training does not change: in every MatMul of `model`, B's
/// features times A's share of their weights. Batches that then say which rows they have (`data::Batch::numbers`) need
/// no such product in a step; all others are as before. For training without weight decay, which changes that share:
/// after a step with it, the products are made again in every pass. Loading state forgets what is kept.
///
/// Both parties call it at the same time, with rows of the same people in the same order. `train::Trainer` does so by
/// itself. Layers must be given the features that the rows have, and no others: B refuses what differs.
/// Cost: about an epoch's products of that kind, and 16 bytes for each row and output at both parties.
/// Reveals: the number of rows. Throws ConfigError if the parties have different numbers of rows, and as the layers do.
void keep_products(const FederatedModule& model, const data::RowSource& rows, const KeepOptions& options = {});

}  // namespace blindfl::nn
