#pragma once

#include <cstddef>
#include <vector>

namespace blindfl::bench {

struct EmbedMessagesOptions {
  std::vector<std::size_t> vocabularies{100, 10000};
  bool json = false;
};

/// The Embed-MatMul layer of `report_wide_deep`, tables by oblivious transfer, under either top: where bytes and
/// processor time of a training step go, message by message.
void report_embed_messages(const EmbedMessagesOptions& options);

}  // namespace blindfl::bench
