#include "blindfl/lab/secureml/dealt_triplets.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "blindfl/lab/secureml/steps.h"

namespace blindfl::lab::secureml {

namespace {

constexpr std::uint32_t kRowNumbers = 1;  // the layer of a request's second message
constexpr std::uint64_t kMostValues = std::uint64_t{1} << 40;
using Seed = std::array<std::byte, KeyStream::kKeyBytes>;

/// What A asks for.
struct Request {
  enum class Kind : std::uint32_t { kMask = 1, kTriplet = 2, kDrop = 3, kEnd = 4 };

  Kind kind = Kind::kEnd;
  std::uint32_t mask = 0;
  std::uint64_t rows = 0;  ///< of a mask, or how many of its rows
  std::uint64_t cols = 0;  ///< of a mask, or of V
  std::uint32_t form = 0;

  static constexpr std::size_t kBytes = 28;
  [[nodiscard]] Bytes bytes() const {
    return write_to_bytes([&](ByteSink& out) {
      out.write_u32(static_cast<std::uint32_t>(kind));
      out.write_u32(mask);
      out.write_u64(rows);
      out.write_u64(cols);
      out.write_u32(form);
    });
  }
  [[nodiscard]] static Request read(const Bytes& bytes) {
    BufferSource in(bytes);
    Request request;
    const std::uint32_t kind = in.read_u32();
    require<ProtocolError>(kind >= 1 && kind <= 4, "triplet request: kind ", kind, " of 4");
    request.kind = static_cast<Kind>(kind);
    request.mask = in.read_u32();
    request.rows = in.read_u64();
    request.cols = in.read_u64();
    request.form = in.read_u32();
    const bool has_shape = request.kind == Kind::kMask || request.kind == Kind::kTriplet;
    require<ProtocolError>(!has_shape || (request.rows > 0 && request.cols > 0 && request.form <= 1 &&
                                          request.cols <= kMostValues / request.rows),
                           "triplet request: a matrix of ", request.rows, " x ", request.cols);
    return request;
  }
};

void ask(net::Channel& third_party, const Request& request) {
  third_party.send({steps::kTripletRequest, 0, Request::kBytes}, request.bytes());
}

/// The shares that a seed stands for, one after the other.
class Shares {
 public:
  explicit Shares(const Seed& seed) : random_(Random::derived(seed, as_bytes("SecureML: dealt shares"))) {}
  [[nodiscard]] Words next(std::size_t rows, std::size_t cols) { return random_words(rows, cols, random_); }

 private:
  Random random_;
};

Seed receive_seed(net::Channel& third_party) {
  const Bytes bytes = third_party.receive({steps::kDealtSeed, 0, sizeof(Seed)});
  Seed seed{};
  std::ranges::copy(bytes, seed.begin());
  return seed;
}

/// The third party, with its masks.
class Dealer {
 public:
  Dealer(net::Channel& a, net::Channel& b, Random random) : a_(a), b_(b), random_(std::move(random)) {}

  /// Whether there is more to come.
  [[nodiscard]] bool serve() {
    const Request request = Request::read(a_.receive({steps::kTripletRequest, 0, Request::kBytes}));
    switch (request.kind) {
      case Request::Kind::kMask:
        make_mask(request);
        return true;
      case Request::Kind::kTriplet:
        make_triplet(request);
        return true;
      case Request::Kind::kDrop:
        require<ProtocolError>(masks_.erase(request.mask) == 1, "triplet request: mask ", request.mask,
                               " is not known");
        return true;
      case Request::Kind::kEnd:
        break;
    }
    return false;
  }

 private:
  [[nodiscard]] Shares send_seed(net::Channel& to) {
    Seed seed{};
    random_.fill(seed);
    to.send({steps::kDealtSeed, 0, sizeof seed}, seed);
    return Shares(seed);
  }

  void make_mask(const Request& request) {
    Words u = send_seed(a_).next(request.rows, request.cols);
    u += send_seed(b_).next(request.rows, request.cols);
    masks_.emplace(next_mask_++, std::move(u));
  }

  void make_triplet(const Request& request) {
    const auto mask = masks_.find(request.mask);
    require<ProtocolError>(mask != masks_.end(), "triplet request: mask ", request.mask, " is not known");
    const Words& u = mask->second;
    const std::vector<std::uint32_t> rows = receive_rows(request, u.rows());
    const bool plain = static_cast<Form>(request.form) == Form::kPlain;
    const std::size_t inner = plain ? u.cols() : rows.size();
    Shares of_a = send_seed(a_);
    Shares of_b = send_seed(b_);
    Words v = of_a.next(inner, request.cols);
    v += of_b.next(inner, request.cols);
    Words z = plain ? multiply(RowsOf{u, rows}, v) : multiply_transposed(RowsOf{u, rows}, v);
    z -= of_a.next(z.rows(), z.cols());
    b_.send({steps::kDealtCorrection, 0, z.bytes().size(), z.rows(), z.cols()}, z.bytes());
  }

  [[nodiscard]] std::vector<std::uint32_t> receive_rows(const Request& request, std::size_t most) {
    std::vector<std::uint32_t> rows(request.rows);
    a_.receive({steps::kTripletRequest, kRowNumbers, 4 * request.rows}, [&](ByteSource& in) {
      for (std::uint32_t& row : rows) {
        row = in.read_u32();
        require<ProtocolError>(row < most, "triplet request: row ", row, " of a mask of ", most, " rows");
      }
    });
    return rows;
  }

  net::Channel& a_;
  net::Channel& b_;
  Random random_;
  std::map<std::uint32_t, Words> masks_;
  std::uint32_t next_mask_ = 0;
};

}  // namespace

LeftMask DealtTriplets::mask(std::size_t rows, std::size_t cols) {
  if (party_ == Party::kA) ask(third_party_, {.kind = Request::Kind::kMask, .rows = rows, .cols = cols});
  return {next_mask_++, Shares(receive_seed(third_party_)).next(rows, cols)};
}

Triplet DealtTriplets::triplet(const TripletSpec& spec) {
  check(spec);
  if (party_ == Party::kA) {
    ask(third_party_, {.kind = Request::Kind::kTriplet,
                       .mask = spec.mask.number(),
                       .rows = spec.rows.size(),
                       .cols = spec.cols,
                       .form = static_cast<std::uint32_t>(spec.form)});
    third_party_.send({steps::kTripletRequest, kRowNumbers, spec.rows.size_bytes()}, std::as_bytes(spec.rows));
  }
  Shares shares(receive_seed(third_party_));
  Words v = shares.next(spec.inner(), spec.cols);
  if (party_ == Party::kA) {
    Words z = shares.next(spec.result_rows(), spec.cols);
    return {std::move(v), std::move(z)};
  }
  const std::uint64_t bytes = sizeof(std::uint64_t) * spec.result_rows() * spec.cols;
  const Bytes z = third_party_.receive({steps::kDealtCorrection, 0, bytes, spec.result_rows(), spec.cols});
  return {std::move(v), Words::from_bytes(spec.result_rows(), spec.cols, z)};
}

void DealtTriplets::drop(LeftMask mask) {
  if (party_ == Party::kA) ask(third_party_, {.kind = Request::Kind::kDrop, .mask = mask.number()});
}

void DealtTriplets::finish() {
  if (party_ == Party::kA) ask(third_party_, {.kind = Request::Kind::kEnd});
}

void deal(net::Channel& a, net::Channel& b, Random random) {
  Dealer dealer(a, b, std::move(random));
  try {
    while (dealer.serve()) {
    }
  } catch (...) {
    a.close();
    b.close();
    throw;
  }
}

}  // namespace blindfl::lab::secureml
