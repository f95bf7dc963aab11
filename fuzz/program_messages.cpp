// What the peer's program says beside the protocols: the shape of its features, which run it could resume, whether
// training stops, and who is here. Input: a byte that says which of the four (modulo 4), and whether a right one is
// edited, or the rest is the message as it stands (bit 7). What is read is the same when it is written again.

#include <functional>

#include "blindfl/app/link/gathering.h"
#include "blindfl/app/plan/party_shape.h"
#include "blindfl/base/error.h"
#include "blindfl/train/resume_handshake.h"
#include "input.h"

namespace {

using namespace blindfl;

const PartyShape kShape{.numeric = 61,
                        .nonzeros = 14,
                        .encoding = {.scale = 12, .largest = 8.5, .clip = true},
                        .fields = {{.name = "f1", .categories = 40},
                                   {.name = "f2", .categories = 1000, .most = 5, .pooling = Pooling::kMean}}};
const train::RunOffer kOffer{.run = "0123456789abcdef", .steps = {40, 20, 0}};
const train::StopVote kVote{.better = true};
const app::GatheringWord kWord{.names = {"shop", "bank"}, .words = "bank: another certificate"};

/// A right message, and what the receiver makes of one: the same bytes, from what it understood.
struct Kind {
  Bytes right;
  std::function<Bytes(ByteSource&)> again;
  bool shows_words = false;  ///< what is not printable is shown as something else
};

Kind kind_of(unsigned number) {
  switch (number) {
    case 0:
      return {write_to_bytes([](ByteSink& out) { app::write_shape(kShape, out); }), [](ByteSource& in) {
                const PartyShape shape = app::read_shape(in);
                fuzz::check(shape.nonzeros <= shape.numeric && shape.fields.size() <= app::kMostFields,
                            "in proportion");
                return write_to_bytes([&](ByteSink& out) { app::write_shape(shape, out); });
              }};
    case 1:
      return {write_to_bytes([](ByteSink& out) { train::write_offer(kOffer, out); }), [](ByteSource& in) {
                const train::RunOffer offer = train::read_offer(in);
                try {
                  (void)train::common_step(kOffer, std::span(&offer, 1));
                } catch (const ConfigError&) {  // there is nothing in common
                }
                return write_to_bytes([&](ByteSink& out) { train::write_offer(offer, out); });
              }};
    case 2:
      return {write_to_bytes([](ByteSink& out) { app::write_word(kWord, out); }),
              [](ByteSource& in) {
                const app::GatheringWord word = app::read_word(in);
                // Of words that are not printable something else is shown.
                const Bytes again = write_to_bytes([&](ByteSink& out) { app::write_word(word, out); });
                BufferSource twice(again);
                const app::GatheringWord same = app::read_word(twice);
                fuzz::check(same.names == word.names && same.words == word.words, "written again, it is the same");
                return again;
              },
              true};
    default:
      return {write_to_bytes([](ByteSink& out) { train::write_vote(kVote, out); }), [](ByteSource& in) {
                const train::StopVote vote = train::read_vote(in);
                return write_to_bytes([&](ByteSink& out) { train::write_vote(vote, out); });
              }};
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const unsigned switches = input.take_byte();
  const Kind kind = kind_of((switches & 0x7F) % 4);
  const ByteView rest = input.rest();
  const Bytes message = (switches & 0x80) != 0 ? Bytes(rest.begin(), rest.end()) : fuzz::edited(input, kind.right);
  BufferSource in(message);
  try {
    const Bytes again = kind.again(in);
    const ByteView read = ByteView(message).first(message.size() - in.remaining());
    fuzz::check(kind.shows_words ? again.size() == read.size() : std::ranges::equal(again, read),
                "written again, it is the same");
  } catch (const ProtocolError&) {
    fuzz::check(message != kind.right, "a right one is not refused");
  }
  return 0;
}
