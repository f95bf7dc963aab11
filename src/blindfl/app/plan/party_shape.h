#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/protocol/session/sessions.h"
#include "blindfl/tensor/party_shape.h"

namespace blindfl::app {

/// "3 numeric features, 2 categorical fields".
[[nodiscard]] std::string words_of(const PartyShape& shape);

/// The most fields that a party may have.
constexpr std::size_t kMostFields = 4096;

void write_shape(const PartyShape& shape, ByteSink& out);
/// Throws ProtocolError if it is not what `write_shape` wrote, or out of all proportion.
[[nodiscard]] PartyShape read_shape(ByteSource& in);

/// The features of all A's, in the order that all parties number them in: of the only one, where there is one.
class ShapesOfA {
 public:
  ShapesOfA() = default;
  ShapesOfA(PartyShape only) { all_.push_back(std::move(only)); }  // NOLINT: one is all of them
  /// `names` of several, in their order; without any they are numbered.
  explicit ShapesOfA(std::vector<PartyShape> all, std::vector<std::string> names = {})
      : all_(std::move(all)), names_(std::move(names)) {}

  [[nodiscard]] std::size_t size() const { return all_.size(); }
  [[nodiscard]] bool several() const { return all_.size() > 1; }
  [[nodiscard]] const PartyShape& operator[](std::size_t place) const { return all_.at(place); }
  [[nodiscard]] auto begin() const { return all_.begin(); }
  [[nodiscard]] auto end() const { return all_.end(); }
  /// "A", or the name of one of several.
  [[nodiscard]] std::string name(std::size_t place) const;
  /// Of several; empty if there is only one.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  /// As if one party had all of these features. Their encoding is that of the first.
  [[nodiscard]] PartyShape together() const;

 private:
  std::vector<PartyShape> all_;
  std::vector<std::string> names_;
};

/// Of everybody.
struct AllShapes {
  ShapesOfA a;
  PartyShape b;
};

/// Tells the peer this party's shape, and returns the peer's.
/// Cost: two messages each way. Reveals: the shape.
[[nodiscard]] PartyShape exchange_shapes(protocol::Session& session, const PartyShape& mine);

/// The same among all parties: B passes on what the A's say, if there are several. `names` are theirs then, and `place`
/// says which of them this party is, if it is one.
/// Cost: two messages each way with each peer, and two from B to each A for every other A. Reveals: all shapes.
[[nodiscard]] AllShapes exchange_shapes(const protocol::Sessions& sessions, const PartyShape& mine,
                                        const std::vector<std::string>& names, std::size_t place);

}  // namespace blindfl::app
