#include "blindfl/protocol/align/psi_union.h"

#include <span>
#include <utility>

#include "blindfl/protocol/align/psi_matching.h"

namespace blindfl::protocol {

namespace {

std::span<const Point> piece(const Points& points, std::uint64_t begin, std::uint64_t end) {
  return std::span(points).subspan(begin, end - begin);
}

Points pick(const Points& points, std::span<const std::uint32_t> places) {
  Points picked;
  picked.reserve(places.size());
  for (const std::uint32_t place : places) picked.push_back(points[place]);
  return picked;
}

}  // namespace

UnionSteps::UnionSteps(BlindingKey blinding, Points theirs, Random& random)
    : blinding_(std::move(blinding)),
      label_(random),
      veil_(random),
      theirs_(std::move(theirs)),
      order_(shuffled(static_cast<std::uint32_t>(theirs_.size()), random)) {}

Points UnionSteps::label_theirs(std::uint64_t begin, std::uint64_t end, ThreadPool& pool) const {
  return (blinding_ * label_).multiply(piece(theirs_, begin, end), pool);
}

Points UnionSteps::shuffle_theirs(std::uint64_t begin, std::uint64_t end, ThreadPool& pool) {
  Points points = blinding_.multiply(pick(theirs_, std::span(order_).subspan(begin, end - begin)), pool);
  double_blinded_.insert(double_blinded_.end(), points.begin(), points.end());
  return points;
}

std::uint64_t UnionSteps::compare(const Points& own, Random& random) {
  const Points missing = difference(double_blinded_, own);
  // The peer knows the order of `double_blinded_`.
  missing_ = pick(missing, shuffled(static_cast<std::uint32_t>(missing.size()), random));
  return double_blinded_.size() - missing_.size();
}

Points UnionSteps::veil_missing(std::uint64_t begin, std::uint64_t end, ThreadPool& pool) const {
  return (label_ * veil_).multiply(piece(missing_, begin, end), pool);
}

Points UnionSteps::name(std::span<const Point> points, ThreadPool& pool) const {
  return label_.multiply(points, pool);
}

Points UnionSteps::unveil(std::span<const Point> points, ThreadPool& pool) const {
  return veil_.inverse().multiply(points, pool);
}

}  // namespace blindfl::protocol
