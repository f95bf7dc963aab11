#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "blindfl/net/ledger/ledger.h"
#include "blindfl/net/ledger/ledger_file.h"
#include "blindfl/net/memory_channel.h"
#include "testing/scratch_folder.h"
#include "testing/steps.h"

namespace blindfl::net {

inline LedgerHead head_of(std::string_view party, std::string_view session = "golden") {
  using namespace std::chrono;
  return {std::string(party), std::string(session),
          sys_days(year(2026) / 11 / 15) + hours(14) + minutes(30) + seconds(5)};
}

inline std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

inline std::string text_of_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

/// Two ends of a link in one process, each with a ledger.
class LedgerPair : public ::testing::Test {
 protected:
  LedgerPair() {
    std::tie(a_, b_) = make_memory_channels();
    a_->write_ledger(std::make_unique<Ledger>(path_a_, head_of("A")));
    b_->write_ledger(std::make_unique<Ledger>(path_b_, head_of("B")));
  }

  static void pass(Channel& from, Channel& to, const Message& message, std::string_view payload) {
    from.send(message, as_bytes(payload));
    (void)to.receive(message);
  }

  /// A few messages both ways, with and without a shape, one of them empty and one of them sent twice.
  void exchange() {
    pass(*a_, *b_, {protocol::steps::kPublicKey, 0, 8}, "key of A");
    pass(*b_, *a_, {protocol::steps::kPublicKey, 0, 7}, "B's key");
    pass(*a_, *b_, {protocol::steps::kForwardOperand, 3, 7, 62, 2}, "operand");
    pass(*b_, *a_, {protocol::steps::kOutputShare, 4, 0, 128, 1}, "");
    pass(*a_, *b_, {protocol::steps::kForwardOperand, 3, 7, 62, 2}, "operand");
  }

  void close() {
    a_->close_ledger();
    b_->close_ledger();
  }

  testing::ScratchFolder folder_;
  std::filesystem::path path_a_ = folder_ / "a.ledger";
  std::filesystem::path path_b_ = folder_ / "b.ledger";
  std::unique_ptr<Channel> a_;
  std::unique_ptr<Channel> b_;
};

}  // namespace blindfl::net
