#pragma once

namespace blindfl::he {

/// What values give away of what they hide, beyond the result, as far as is proved: docs/protocols.md, "Hiding".
struct Exposure {
  double distance = 0;      ///< statistical distance from a simulation, where masks are uniform
  double divergence = 0;    ///< Kullback-Leibler divergence in nats, where noise is smooth: the worse of two directions
  double lift_failure = 0;  ///< the chance that a lift fails

  Exposure& operator+=(const Exposure& other);
  friend Exposure operator+(Exposure a, const Exposure& b) { return a += b; }
  friend Exposure operator*(double times, Exposure e) {
    return {times * e.distance, times * e.divergence, times * e.lift_failure};
  }
  /// The statistical distance of all of it, by Pinsker's inequality.
  [[nodiscard]] double total_distance() const;
  bool operator==(const Exposure&) const = default;
};

}  // namespace blindfl::he
