#include "blindfl/nn/pairs.h"

namespace blindfl::nn {

namespace {

using protocol::CategoryShape;
using protocol::FeatureShape;
using protocol::PerPeer;
using protocol::Sessions;

/// The shapes as they were passed, with what B knows of the other A's; A says it itself.
template <class Shape, class OfA>
std::vector<Shape> with_others(const Sessions& sessions, const PerPeer<Shape>& shapes, std::size_t Shape::*others,
                               const OfA& of_a) {
  sessions.check_places();
  std::vector<Shape> all;
  std::size_t sum = 0;
  for (std::size_t place = 0; place < sessions.size(); ++place) {
    all.push_back(shapes.at(place, sessions.size()));
    sum += of_a(all.back());
  }
  if (!sessions.several()) return all;
  for (Shape& shape : all) shape.*others = sum - of_a(shape);
  return all;
}

std::vector<FeatureShape> with_others(const Sessions& sessions, const PerPeer<FeatureShape>& shapes) {
  return with_others(sessions, shapes, &FeatureShape::in_others, [](const FeatureShape& shape) { return shape.in_a; });
}
std::vector<CategoryShape> with_others(const Sessions& sessions, const PerPeer<CategoryShape>& shapes) {
  return with_others(sessions, shapes, &CategoryShape::fields_others,
                     [](const CategoryShape& shape) { return shape.fields_a.size(); });
}

template <class Shape>
std::vector<Shape> in_pairs(const Sessions& sessions, std::vector<Shape> all) {
  for (std::size_t place = 0; place < all.size(); ++place) {
    all[place] = protocol::shape_for_pair(std::move(all[place]), sessions[place].place());
  }
  return all;
}

}  // namespace

std::vector<FeatureShape> pair_shapes(const Sessions& sessions, const PerPeer<FeatureShape>& shapes) {
  return in_pairs(sessions, with_others(sessions, shapes));
}
std::vector<CategoryShape> pair_shapes(const Sessions& sessions, const PerPeer<CategoryShape>& shapes) {
  return in_pairs(sessions, with_others(sessions, shapes));
}

std::size_t all_features(const Sessions& sessions, const PerPeer<FeatureShape>& shapes) {
  const FeatureShape first = with_others(sessions, shapes).front();
  return first.in_a + first.in_b + first.in_others;
}
std::size_t all_fields(const Sessions& sessions, const PerPeer<CategoryShape>& shapes) {
  const CategoryShape first = with_others(sessions, shapes).front();
  return first.fields_a.size() + first.fields_b.size() + first.fields_others;
}

}  // namespace blindfl::nn
