// Bytes from a peer are hostile: whatever happens to those of a shared top, the receiver gets an error of the right
// type. SharedTopOfAHostilePeer spoils each message of whole runs, which takes long under the address sanitizer;
// SharedTopOnASpoiltLink, which does not, receives each message by itself with every bit of its header and checksum
// flipped and many of its payload, and cut at as many places, and spoils some messages of whole runs.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "blindfl/base/crc32c.h"
#include "blindfl/base/error.h"
#include "blindfl/mpc/openings.h"
#include "blindfl/mpc/range_check.h"
#include "blindfl/mpc/right_rows.h"
#include "blindfl/mpc/row_weights.h"
#include "blindfl/mpc/shared_elements.h"
#include "blindfl/mpc/shared_product.h"
#include "blindfl/mpc/shared_relu.h"
#include "blindfl/mpc/smooth_evaluation.h"
#include "blindfl/protocol/session/room_lift.h"
#include "mpc/shared_fixture.h"
#include "testing/forging_transport.h"
#include "testing/tampering_transport.h"

namespace blindfl::mpc::drivers_hostile_test {
namespace {

using testing::Tampering;
using testing::TamperingTransport;

/// What is made of random OTs, and openings.
void run_bits(Session& s, const SharedPair& z) {
  const ShareMatrix& mine = z.of(s.party());
  SharedRelu relu(s, 32, 64);
  (void)relu.forward(mine);
  (void)relu.backward(mine);
  (void)weighted(s, s.new_layer(), mine, s.party() == Party::kB ? std::vector<double>{1, 2.5} : std::vector<double>{});
  (void)protocol::lift_with_room(s, s.new_layer(), narrowed(mine, 40));
  (void)all_in_range(s, s.new_layer(), mine, -4, 4, 24);
  const ShareMatrix own =
      own_scores(s, s.new_layer(), mine, s.party() == Party::kB ? std::vector<double>{2, 0} : std::vector<double>{});
  (void)count_right(s, s.new_layer(), own, BitShares(2), 24);
  (void)open_sum(s, s.new_layer(), mine, {});
  (void)open_scores(s, s.new_layer(), mine, 4);
}

const SmoothFunction& wave() {
  static const SmoothFunction fitted =
      SmoothFunction::fit({.functions = {Smooth::kSigmoid}, .low = -4, .high = 4, .error = 1e-2});
  return fitted;
}

/// What is made of ciphertexts.
void run_ciphers(Session& s, const SharedPair& z) {
  const ShareMatrix& mine = z.of(s.party());
  const SmoothSpec spec{.rows = 2, .cols = 3};
  const auto plan = std::make_shared<const SmoothPlan>(lattice().slots(), wave(), spec);
  const auto preparation = std::make_shared<const PreparationPlan>(lattice().slots(), wave(), spec);
  (void)SmoothEvaluation(s, plan, Party::kB).evaluate(mine);
  (void)PreparedEvaluation(s, preparation, wave(), Party::kA).evaluate(mine);
  (void)SharedElements(s, {.rows = 2, .cols = 3}, Party::kB).product(mine, mine);
  SharedProduct product(s, {.form = ProductForm::kLeftTransposed,
                            .batch = 2,
                            .left_cols = 3,
                            .other = 3,
                            .left_scale = 20,
                            .right_scale = 20,
                            .left_ring = 38,
                            .largest = 64,
                            .result_ring = 40});
  (void)product.product(mine, mine);
}

/// All of it with `party`'s bytes going through a transport that spoils them.
template <class Spoiling, class How>
std::shared_ptr<Spoiling> run_spoilt(bool bits, Party party, const How& how) {
  const SharedPair z = shared(2, 3, std::vector<double>{1, -1, 0.5, 2, -3, 3}, 20);
  auto channels = net::make_memory_channels();
  auto& end = party == Party::kA ? channels.first : channels.second;
  auto spoiling = std::make_shared<Spoiling>(end->transport(), how);
  end = std::make_unique<net::Channel>(spoiling);
  testing::TwoParties parties(lattice(), std::move(channels), testing::Record::kNo);
  parties.run([&](Session& s) { bits ? run_bits(s, z) : run_ciphers(s, z); });
  return spoiling;
}
/// Returns what it sent.
Bytes run_tampered(bool bits, Party party, const Tampering& tampering) {
  return run_spoilt<TamperingTransport>(bits, party, tampering)->sent_bytes();
}

struct Frame {
  std::uint64_t begin;
  std::uint64_t number;  ///< among those that the party sent
  net::Message message;
};

/// Of the steps that a shared top has: each kind once, the last if there are several.
std::vector<Frame> frames_of(ByteView stream) {
  std::map<net::Step, Frame> found;
  for (std::uint64_t at = 0; at < stream.size();) {
    const net::FrameHeader header = net::decode_header(stream.subspan(at).first<net::kFrameHeaderBytes>());
    const std::uint16_t step = header.message.step.number();
    if (step >= steps::kComparison.number || (step >= 7 && step <= 9)) {
      found.insert_or_assign(header.message.step, Frame{at, header.sequence, header.message});
    }
    at += net::kFrameHeaderBytes + header.message.size + net::kFrameTrailerBytes;
  }
  std::vector<Frame> frames;
  for (const auto& [step, frame] : found) frames.push_back(frame);
  return frames;
}

struct Case {
  bool bits;
  Party party;
};

class SharedTopOfAHostilePeer : public ::testing::TestWithParam<Case> {
 protected:
  Bytes sent_ = run_tampered(GetParam().bits, GetParam().party, {});
  std::vector<Frame> frames_ = frames_of(sent_);
};

TEST_P(SharedTopOfAHostilePeer, AFlippedBitOfAnyMessageIsAProtocolError) {
  ASSERT_GE(frames_.size(), 4U);
  std::uint64_t bit = 3;
  for (const Frame& frame : frames_) {
    const std::uint64_t in_header = 8 * frame.begin + (bit += 37) % (8 * net::kFrameHeaderBytes);
    EXPECT_THROW((void)run_tampered(GetParam().bits, GetParam().party, {.flip_bit = in_header}), ProtocolError)
        << frame.message.step.number();
    if (GetParam().bits) continue;  // checksums are the same there, and base OTs take their time
    const std::uint64_t in_payload = 8 * (frame.begin + net::kFrameHeaderBytes) + bit * 997 % (8 * frame.message.size);
    EXPECT_THROW((void)run_tampered(GetParam().bits, GetParam().party, {.flip_bit = in_payload}), ProtocolError)
        << frame.message.step.number();
  }
}

TEST_P(SharedTopOfAHostilePeer, ATruncatedMessageIsATransportError) {
  for (const Frame& frame : frames_) {
    const std::uint64_t within = frame.begin + net::kFrameHeaderBytes + frame.message.size / 2;
    EXPECT_THROW((void)run_tampered(GetParam().bits, GetParam().party, {.cut_after = within}), TransportError)
        << frame.message.step.number();
  }
}

const auto kStreams =
    ::testing::Values(Case{true, Party::kA}, Case{true, Party::kB}, Case{false, Party::kA}, Case{false, Party::kB});
std::string name_of_stream(const ::testing::TestParamInfo<Case>& test) {
  return std::string(test.param.bits ? "bits_" : "ciphers_") + std::string(name_of(test.param.party));
}
INSTANTIATE_TEST_SUITE_P(Streams, SharedTopOfAHostilePeer, kStreams, name_of_stream);

class SharedTopOnASpoiltLink : public SharedTopOfAHostilePeer {
 protected:
  /// The frame by itself, as the first of a link.
  [[nodiscard]] Bytes alone(const Frame& frame) const {
    const ByteView payload = ByteView(sent_).subspan(frame.begin + net::kFrameHeaderBytes, frame.message.size);
    const net::FrameHeaderBytes header = net::encode_header({frame.message, 0});
    return write_to_bytes([&](ByteSink& out) {
      out.write(header);
      out.write(payload);
      out.write_u32(crc32c(payload, net::header_checksum(header)));
    });
  }
  /// Receives what arrives before the link ends.
  static void receive(const net::Message& expected, ByteView arriving) {
    const auto [peer, own] = net::make_memory_channels(arriving.size() + 1);
    if (!arriving.empty()) peer->transport()->write(arriving);
    peer->close();
    (void)own->receive(expected);
  }
  /// Calls `visit` with places in a frame of so many bytes: all of its header and of its checksum, and about 60
  /// between.
  template <class Visit>
  static void for_places(std::size_t bytes, Visit&& visit) {
    const std::size_t payload = bytes - net::kFrameHeaderBytes - net::kFrameTrailerBytes;
    const std::size_t stride = std::max<std::size_t>(1, payload / 60);
    for (std::size_t at = 0; at < bytes;) {
      visit(at);
      const bool within = at + 1 >= net::kFrameHeaderBytes && at + stride < net::kFrameHeaderBytes + payload;
      at += within ? stride : 1;
    }
  }
};

TEST_P(SharedTopOnASpoiltLink, AFlippedBitIsAProtocolErrorAndACutATransportError) {
  ASSERT_GE(frames_.size(), 4U);
  for (const Frame& frame : frames_) {
    SCOPED_TRACE(frame.message.step.number());
    const Bytes whole = alone(frame);
    EXPECT_NO_THROW(receive(frame.message, whole));
    for_places(whole.size(), [&](std::size_t at) {
      for (unsigned bit = 0; bit < 8; ++bit) {
        Bytes flipped = whole;
        flipped[at] ^= static_cast<std::byte>(1U << bit);
        EXPECT_THROW(receive(frame.message, flipped), ProtocolError) << "bit " << bit << " of byte " << at;
      }
      EXPECT_THROW(receive(frame.message, ByteView(whole).first(at)), TransportError) << "cut after " << at;
    });
  }
}

// Every message in one way each: a bit of the payload, half a message, a byte less under a checksum that is right.
TEST_P(SharedTopOnASpoiltLink, EndsARunWithAnError) {
  const bool bits = GetParam().bits;
  for (std::size_t i = 0; i < frames_.size(); ++i) {
    const Frame& frame = frames_[i];
    SCOPED_TRACE(frame.message.step.number());
    const std::uint64_t middle = frame.begin + net::kFrameHeaderBytes + frame.message.size / 2;
    if (i % 3 == 0) {
      EXPECT_THROW((void)run_tampered(bits, GetParam().party, {.flip_bit = 8 * middle + i}), ProtocolError);
    } else if (i % 3 == 1) {
      EXPECT_THROW((void)run_tampered(bits, GetParam().party, {.cut_after = middle}), TransportError);
    } else {
      const testing::Forgery shorter{frame.number, [](net::Message&, Bytes& payload) { payload.pop_back(); }};
      EXPECT_THROW((void)run_spoilt<testing::ForgingTransport>(bits, GetParam().party, shorter), ProtocolError);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Streams, SharedTopOnASpoiltLink, kStreams, name_of_stream);

// Where a send waits for the peer, two that cross must not wait for each other.
TEST(SharedTop, RunsOverALinkThatHoldsLittle) {
  const SharedPair z = shared(2, 3, std::vector<double>{1, -1, 0.5, 2, -3, 3}, 20);
  testing::TwoParties parties(lattice(), net::make_memory_channels(5000), testing::Record::kNo);
  parties.run([&](Session& s) {
    run_bits(s, z);
    run_ciphers(s, z);
  });
}

TEST(SharedTop, SaysOfEveryStepWhatItReveals) {
  std::set<std::string_view> opened;
  for (const net::Step step : steps::kAll) {
    const net::StepInfo& info = net::describe(step);
    if (info.protection == net::Protection::kShare) {
      opened.insert(info.name);
    } else {
      EXPECT_TRUE(info.reveals.starts_with("nothing: ")) << info.name;
    }
  }
  EXPECT_EQ(opened, (std::set<std::string_view>{"sum share", "score share", "range share"}));
}

}  // namespace
}  // namespace blindfl::mpc::drivers_hostile_test
