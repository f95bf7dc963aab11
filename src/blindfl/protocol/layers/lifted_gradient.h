#pragma once

#include <cstddef>
#include <string>

#include "blindfl/base/bytes.h"

namespace blindfl::protocol {

/// A gradient that comes out of its product in a ring, is lifted from it, and then left to an optimizer: which
/// adds shares up, with momentum and over several passes.
struct LiftedGradient {
  int bits = 0;  ///< of the largest, at `scale`
  int scale = 0;
  int ring_bits = 128;
  int mean_bits = 0;  ///< of what a run is held to on average (LiftBudget), where it is: lifts of less fail less often
  int factor_bits = 0;  ///< that a share grows by where a public factor makes up for the rows that a batch lacks
  /// It is rounded in its ring, and lifted to that of 2^128 by random OTs, exactly (session/room_lift.h): under a
  /// shared top. `ring_bits` has room for the largest then, and no more.
  bool with_room = false;

  /// The scale to keep it at: `wanted`, or less, so that no sum of shares outgrows 2^127, but not below
  /// 16 fractional bits for that. Shares that are lifted with room fill that ring, and are kept at 16.
  [[nodiscard]] int kept_scale(int wanted) const;
  [[nodiscard]] int kept_bits(int wanted) const { return bits + kept_scale(wanted) - scale; }
  /// The ring that it is in once it is rounded to that scale, before it is lifted with room.
  [[nodiscard]] int kept_ring(int wanted) const { return ring_bits + kept_scale(wanted) - scale; }
  /// The chance that the sum of one value's shares outgrows it all the same, in one step.
  [[nodiscard]] double failure_of_factors(int wanted) const;
};

/// Fractional bits of a gradient of the summed loss that are not noise. Noise on one of the mean loss is below 2^-18,
/// with a standard deviation of a tenth of that; of the summed loss it is below 2^-16 in small batches, too.
[[nodiscard]] int gradient_precision(std::size_t batch);

/// Holds a run to the derivatives that the ring of its gradients was chosen for. The lift of a gradient fails with the
/// chance that it is of the ring, and a gradient is at most the largest feature times the sum of the derivatives. At
/// the party that has them whole.
class LiftBudget {
 public:
  /// `most` is what the derivatives of all rows and outputs of the run may add up to, by magnitude.
  LiftBudget(std::string layer, double most) : layer_(std::move(layer)), most_(most) {}

  /// Throws InvalidArgument, saying what to do, if the run has spent more with this, which is then not counted.
  void spend(double derivatives);

  void save(ByteSink& out) const;
  /// Throws DataError if what is read is no amount.
  void load(ByteSource& in);

 private:
  std::string layer_;
  double most_;
  double spent_ = 0;
};

}  // namespace blindfl::protocol
