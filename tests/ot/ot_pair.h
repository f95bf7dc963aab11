#pragma once

#include <string>
#include <utility>
#include <vector>

#include "blindfl/ot/kernels.h"
#include "blindfl/ot/setup.h"

namespace blindfl::ot {

/// Those that this processor can run.
inline std::vector<std::string> kernel_names() {
  std::vector<std::string> all;
  for (const Kernels* kernels : available_kernels()) all.emplace_back(kernels->name);
  return all;
}

inline OtSpec spec_of(int tree_depth, unsigned char id = 1, Party sender = Party::kA) {
  OtSpec spec;
  spec.id.fill(std::byte{id});
  spec.sender = sender;
  spec.tree_depth = tree_depth;
  return spec;
}

/// Both ends of one direction, set up from randomness of the operating system, or from what is given.
struct OtPair {
  OtPair(const OtSpec& spec, const Kernels& sender_kernels, const Kernels& receiver_kernels, Random& from = random())
      : OtPair(finish(SenderSetup(spec, from, sender_kernels), ReceiverSetup(spec, from, receiver_kernels), from)) {}
  explicit OtPair(int tree_depth = 4, const Kernels& kernels = fastest_kernels())
      : OtPair(spec_of(tree_depth), kernels, kernels) {}

  void extend(std::size_t tiles) { sender.extend(receiver.extend(tiles), tiles); }

  static Random& random() {
    static Random random;
    return random;
  }

  RandomOtSender sender;
  RandomOtReceiver receiver;

 private:
  struct Finished {
    RandomOtSender sender;
    RandomOtReceiver receiver;
  };
  static Finished finish(SenderSetup sender, ReceiverSetup receiver, Random& from) {
    const Bytes sender_hello = sender.hello();
    const Bytes receiver_hello = receiver.hello();
    auto [pool, trees] = std::move(receiver).finish(sender_hello, from);
    return {std::move(sender).finish(receiver_hello, trees), std::move(pool)};
  }
  explicit OtPair(Finished finished) : sender(std::move(finished.sender)), receiver(std::move(finished.receiver)) {}
};

inline bool choice_at(const ReceiverBatch& batch, std::size_t i) {
  return (batch.choices[i / 64] >> (i % 64) & 1) != 0;
}

/// How many of the receiver's pads are the sender's pad of its choice.
inline std::size_t count_right(const SenderBatch& sender, const ReceiverBatch& receiver) {
  std::size_t right = 0;
  for (std::size_t i = 0; i < receiver.size(); ++i) {
    const bool choice = choice_at(receiver, i);
    right += receiver.pads[i] == (choice ? sender.one[i] : sender.zero[i]) ? 1 : 0;
  }
  return right;
}

}  // namespace blindfl::ot
