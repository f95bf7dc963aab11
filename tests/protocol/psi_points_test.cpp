#include "blindfl/protocol/align/psi_points.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/base/text.h"

namespace blindfl::protocol::psi_points_test {
namespace {

Points points_of(const std::vector<std::string>& ids, ThreadPool& pool) {
  std::vector<std::uint32_t> rows(ids.size());
  std::iota(rows.begin(), rows.end(), 0U);
  return hash_to_points(ids, rows, pool);
}

Points some_points(std::size_t count, ThreadPool& pool) {
  std::vector<std::string> ids(count);
  for (std::size_t i = 0; i < count; ++i) ids[i] = std::to_string(i);
  return points_of(ids, pool);
}

Point from_hex(std::string_view hex) {
  Point point{};
  for (std::size_t i = 0; i < point.size(); ++i) {
    point[i] = static_cast<std::byte>(std::stoi(std::string(hex.substr(2 * i, 2)), nullptr, 16));
  }
  return point;
}

/// What is not the encoding of any point: bytes beyond the field, negative numbers, numbers without a square root.
std::vector<Point> not_points() {
  return {
      from_hex("00ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"),
      from_hex("ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
      from_hex("edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
      from_hex("0100000000000000000000000000000000000000000000000000000000000000"),
      from_hex("ed57ffd8c914fb201471d1c3d245ce3c746fcbe63a3679d51b6a516ebebe0e20"),
      from_hex("26948d35ca62e643e26a83177332e6b6afeb9d08e4268b650f1f5bbd8d81d371"),
  };
}

TEST(HashToPoints, IsThatOfTheWireFormat) {
  // From a program in another language that follows RFC 9496 and nothing of ours.
  const std::vector<std::string> ids{"", "alice@example.org", std::string("\0\xFF\0", 3)};
  const std::vector<std::string> expected{"fc6cb781fa088ef3c5a4ad539fb2ae09e7913f9b90b370322cf4c86b31ec8d3c",
                                          "663685b78e14b21ed9ab384d2e0d183095b62fb340cfcb669c54998961e1bc14",
                                          "88062b73da8fed50a03065363f217e5220aaeceec67d93f8915bd99e495dd90f"};
  ThreadPool pool;
  const Points points = points_of(ids, pool);
  for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(to_hex(points[i]), expected[i]);
  const std::vector<std::uint32_t> rows{2, 0};
  EXPECT_EQ(hash_to_points(ids, rows, pool), (Points{points[2], points[0]}));
}

TEST(BlindingKey, IsAnotherEachTimeAndHidesThePoint) {
  Random random;
  ThreadPool pool;
  const Points points = some_points(20, pool);
  Points all = points;
  for (int i = 0; i < 5; ++i) {
    const Points blinded = BlindingKey(random).multiply(points, pool);
    all.insert(all.end(), blinded.begin(), blinded.end());
  }
  EXPECT_NO_THROW(check_points(all, "points", pool));
  EXPECT_NO_THROW(check_distinct(all, "points"));
}

TEST(BlindingKey, MultipliesInAnyOrder) {
  Random random;
  ThreadPool pool;
  const Points points = some_points(5, pool);
  const BlindingKey a(random);
  const BlindingKey b(random);
  const Points both = a.multiply(b.multiply(points, pool), pool);
  EXPECT_EQ(b.multiply(a.multiply(points, pool), pool), both);
  EXPECT_EQ((a * b).multiply(points, pool), both);
  EXPECT_EQ(a.inverse().multiply(both, pool), b.multiply(points, pool));
}

TEST(BlindingKey, GivesTheSameWithSeveralThreads) {
  Random random;
  ThreadPool alone;
  ThreadPool pool(3);
  const Points points = some_points(70, pool);
  EXPECT_EQ(points, some_points(70, alone));
  const BlindingKey key(random);
  EXPECT_EQ(key.multiply(points, pool), key.multiply(points, alone));
}

TEST(BlindingKey, RefusesToMultiplyWhatIsNotAPoint) {
  Random random;
  ThreadPool pool;
  const BlindingKey key(random);
  Points points = not_points();
  points.push_back(Point{});
  for (const Point& point : points) {
    EXPECT_THROW((void)key.multiply(Points{point}, pool), ProtocolError) << to_hex(point);
  }
}

TEST(CheckPoints, FindsOneAmongMany) {
  ThreadPool pool(2);
  const Points good = some_points(50, pool);
  EXPECT_NO_THROW(check_points(good, "points", pool));
  Points bad = not_points();
  bad.push_back(Point{});
  for (const Point& point : bad) {
    Points points = good;
    points[37] = point;
    EXPECT_THROW(check_points(points, "points", pool), ProtocolError) << to_hex(point);
  }
}

TEST(CheckPoints, RefusesEqualOnes) {
  ThreadPool pool;
  Points points = some_points(50, pool);
  EXPECT_NO_THROW(check_distinct(points, "points"));
  points[3] = points[48];
  EXPECT_THROW(check_distinct(points, "points"), ProtocolError);
}

}  // namespace
}  // namespace blindfl::protocol::psi_points_test
