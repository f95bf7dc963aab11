#include "blindfl/base/random.h"

#include <pthread.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <numbers>

#include "blindfl/base/aes_ctr.h"
#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"

namespace blindfl {

namespace {

using Key = std::array<std::byte, KeyStream::kKeyBytes>;

Key operating_system_key() {
  Key key;
  std::size_t have = 0;
  while (have < key.size()) {
    const ssize_t got = getrandom(key.data() + have, key.size() - have, 0);
    if (got < 0 && errno == EINTR) continue;
    require<Error>(got > 0, "the operating system gives no randomness: ", std::strerror(errno));
    have += static_cast<std::size_t>(got);
  }
  return key;
}

KeyStream operating_system_stream() {
  Key key = operating_system_key();
  KeyStream stream(key);
  explicit_bzero(key.data(), key.size());
  return stream;
}

// Multiply-shift with rejection of the few values that would make some results likelier than others.
template <class Generator>
std::uint64_t draw_below(Generator& generator, std::uint64_t n) {
  require<InvalidArgument>(n > 0, "a random number is asked for from an empty range");
  const std::uint64_t unfair = (0 - n) % n;
  while (true) {
    const UInt128 product = static_cast<UInt128>(generator.next_u64()) * n;
    if (low64(product) >= unfair) return high64(product);
  }
}

}  // namespace

// Small requests are served from a buffer; large ones are made straight in the caller's memory.
struct KeyStream::State {
  static constexpr std::size_t kBuffer = 1024;

  explicit State(std::span<const std::byte, kKeyBytes> key) : cipher(AesCtr::make(key)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { explicit_bzero(buffer.data(), buffer.size()); }

  std::unique_ptr<AesCtr> cipher;
  std::array<std::byte, kBuffer> buffer{};
  std::size_t used = kBuffer;
};

KeyStream::KeyStream(std::span<const std::byte, kKeyBytes> key) : state_(std::make_unique<State>(key)) {}
KeyStream::KeyStream(KeyStream&& other) noexcept = default;
KeyStream& KeyStream::operator=(KeyStream&& other) noexcept = default;
KeyStream::~KeyStream() = default;

void KeyStream::fill(std::span<std::byte> out) {
  State& s = *state_;
  const std::size_t from_buffer = std::min(out.size(), State::kBuffer - s.used);
  // Handed-out bytes are erased, so that a later look at this memory does not show past masks.
  const auto handed_out = std::span(s.buffer).subspan(s.used, from_buffer);
  std::copy(handed_out.begin(), handed_out.end(), out.begin());
  std::fill(handed_out.begin(), handed_out.end(), std::byte{0});
  s.used += from_buffer;
  out = out.subspan(from_buffer);
  if (out.empty()) return;
  const std::size_t direct = out.size() >= State::kBuffer ? out.size() / AesCtr::kChunk * AesCtr::kChunk : 0;
  s.cipher->fill(out.first(direct));
  out = out.subspan(direct);
  if (out.empty()) return;
  s.cipher->fill(s.buffer);
  s.used = 0;
  fill(out);
}

std::atomic<Random::Process> Random::fork_count = 0;

// Registered once, by the first generator, before it hands anything out.
Random::Process Random::watched_process() {
  static const int failed =
      ::pthread_atfork(nullptr, nullptr, [] { fork_count.fetch_add(1, std::memory_order_relaxed); });
  require<Error>(failed == 0, "random numbers: forks of this process cannot be watched for: ", std::strerror(failed));
  return current_process();
}

Random::Random() : stream_(operating_system_stream()), process_(watched_process()) {}

void Random::renew() {
  stream_ = operating_system_stream();
  process_ = current_process();
}

std::uint64_t Random::next_u64() {
  std::uint64_t x = 0;
  fill_integers(std::span(&x, 1));
  return x;
}

UInt128 Random::next_u128() {
  UInt128 x = 0;
  fill_integers(std::span(&x, 1));
  return x;
}

std::uint64_t Random::below(std::uint64_t n) {
  return draw_below(*this, n);
}

Random Random::fork() {
  Key key;
  fill(key);
  Random forked{KeyStream(key), process_};
  explicit_bzero(key.data(), key.size());
  return forked;
}

Random Random::derived(std::span<const std::byte, KeyStream::kKeyBytes> key, std::span<const std::byte> context) {
  static_assert(kDigestBytes == KeyStream::kKeyBytes);
  Bytes seed = keyed_digest_of(key, context);
  Random made{KeyStream(std::span<const std::byte, KeyStream::kKeyBytes>(seed)), kAnyProcess};
  explicit_bzero(seed.data(), seed.size());
  return made;
}

namespace {

Key seed_key(std::uint64_t seed, std::uint64_t purpose) {
  Key key{};
  std::memcpy(key.data(), &seed, sizeof seed);
  std::memcpy(key.data() + sizeof seed, &purpose, sizeof purpose);
  return key;
}

KeyStream purpose_stream(std::span<const std::byte, KeyStream::kKeyBytes> key, std::uint64_t purpose) {
  Bytes derived = keyed_digest_of(key, std::as_bytes(std::span(&purpose, 1)));
  KeyStream stream(std::span<const std::byte, KeyStream::kKeyBytes>{derived});
  explicit_bzero(derived.data(), derived.size());
  return stream;
}

}  // namespace

SeededRandom::SeededRandom(std::uint64_t seed, std::uint64_t purpose) : stream_(seed_key(seed, purpose)) {}

SeededRandom::SeededRandom(std::span<const std::byte, KeyStream::kKeyBytes> key, std::uint64_t purpose)
    : stream_(purpose_stream(key, purpose)) {}

std::uint64_t SeededRandom::next_u64() {
  std::uint64_t x = 0;
  stream_.fill(std::as_writable_bytes(std::span(&x, 1)));
  return x;
}

std::uint64_t SeededRandom::below(std::uint64_t n) {
  return draw_below(*this, n);
}

double SeededRandom::uniform() {
  return static_cast<double>(next_u64() >> 11) * 0x1p-53;
}

double SeededRandom::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

}  // namespace blindfl
