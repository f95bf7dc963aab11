#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "blindfl/he/elements.h"
#include "blindfl/mpc/party_cost.h"
#include "blindfl/mpc/top_parts.h"
#include "blindfl/protocol/session/room_lift.h"

// What training a top on shares takes, before there is one: bytes and flights as the drivers of this room count them,
// seconds as docs/appendix/planner.md says.

namespace blindfl::mpc {

/// A top on shares, as models have it. It begins with the sum of source layers and a bias; then, for each hidden layer,
/// the activation of its values and a linear layer; then the loss. With factors it has the score of a factorisation
/// machine beside that: added to what the layers give or, without hidden layers, below the bias.
struct TopShape {
  std::vector<std::size_t> hidden{};  ///< the first is the width of a source layer
  std::size_t factors = 0;            ///< of a factorisation machine, whose source layer has one more output; 0: none
  std::size_t outputs = 1;            ///< the number of classes for kMultinomial
  Activation activation = Activation::kRelu;
  Family family = Family::kLogistic;
};

/// What one use of a driver takes.
struct TopUse {
  PartyCost cost{};
  double seconds_a = 0;  ///< of computing
  double seconds_b = 0;
  double together = 0;      ///< of both, what they compute at the same time
  he::Exposure exposure{};  ///< of what it hides
};

/// What a step takes on average.
struct TopCost {
  double seconds_a = 0;
  double seconds_b = 0;
  double together = 0;
  double bytes_to_a = 0;
  double bytes_to_b = 0;
  double flights = 0;
  he::Exposure exposure{};
  bool random_ots = false;  ///< it takes some: then a session sets them up first
};

/// What setting random OTs up takes of each party, both at the same time: seconds.
constexpr double kOtSetupSeconds = 35e-3;

class TopPlan {
 public:
  /// Makes what both parties will make: fits of functions among it, which take time. Throws as building the top does.
  TopPlan(const he::Scheme& scheme, const TopShape& shape, const SharedTopOptions& options);

  /// A training step of a full batch, in the order in which it uses drivers.
  [[nodiscard]] std::vector<TopUse> step() const;
  /// A look at the ranges of functions, so many steps after the last.
  [[nodiscard]] std::vector<TopUse> range_check(std::size_t steps) const;
  /// Of a step of a run with so many steps in an epoch, range checks and what makes random OTs included.
  [[nodiscard]] TopCost mean_step(std::size_t steps_per_epoch) const;

  /// Products whose keys it needs, and the values of weights and biases.
  [[nodiscard]] std::vector<const he::Plan*> products() const;
  [[nodiscard]] std::size_t weights() const;
  /// Bytes of ciphertexts that stay with each party between steps.
  [[nodiscard]] std::uint64_t memory() const;

 private:
  struct Function {
    FunctionSpec spec;
    std::shared_ptr<const SmoothPlan> plan;
  };
  /// An activation, and the linear layer from it to the next layer.
  struct Hidden {
    std::size_t width = 0;
    std::size_t next = 0;
    std::optional<Function> activation{};  ///< none: ReLU
    std::shared_ptr<const he::ElementPlan> slopes{};
    std::shared_ptr<const he::Plan> output{};
    std::shared_ptr<const he::Plan> gradient{};
    std::shared_ptr<const he::Plan> derivative{};
    protocol::RoomLift values{};                    ///< lifts what both products with the values take
    protocol::RoomLift derivatives{};               ///< the same of derivatives by what it gives
    std::array<protocol::RoomLift, 2> gradients{};  ///< for the optimizer: of weights, of the bias
    he::Exposure of_gradients{};                    ///< of reading these as numbers
  };

  [[nodiscard]] Hidden make_hidden(const he::Scheme& scheme, std::size_t width, std::size_t next) const;
  /// Of what hiding was made for.
  [[nodiscard]] double uses_of_run() const;
  /// Lifts `cols` values a row from what layers share values in.
  [[nodiscard]] protocol::RoomLift value_lift(std::size_t cols, int to) const;
  /// Of values that are shared modulo 2^ring_bits.
  void add_function(std::vector<TopUse>& uses, const Function& function, int ring_bits) const;
  void add_forward(std::vector<TopUse>& uses) const;
  void add_loss(std::vector<TopUse>& uses) const;
  void add_backward(std::vector<TopUse>& uses) const;
  /// One of the two products of a factorisation machine.
  void add_factors(std::vector<TopUse>& uses) const;
  /// Whether the loss has shares of its derivative modulo 2^128.
  [[nodiscard]] bool loss_is_wide() const;

  TopShape shape_;
  SharedTopOptions options_;
  std::vector<Hidden> hidden_;
  std::shared_ptr<const he::ElementPlan> factors_{};  ///< none: no factorisation machine
  std::vector<Function> loss_;
};

}  // namespace blindfl::mpc
