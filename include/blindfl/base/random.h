#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "blindfl/base/int128.h"

namespace blindfl {

/// A stream of pseudo-random bytes: AES-256 in counter mode under a 256-bit key.
class KeyStream {
 public:
  static constexpr std::size_t kKeyBytes = 32;
  explicit KeyStream(std::span<const std::byte, kKeyBytes> key);
  KeyStream(KeyStream&& other) noexcept;
  KeyStream& operator=(KeyStream&& other) noexcept;
  ~KeyStream();

  void fill(std::span<std::byte> out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Randomness fit for masks, keys and encryption: seeded by the operating system.
/// There is deliberately no way to give it a number as a seed. One thread at a time; use `fork()` for another thread.
///
/// A child of the system call fork() does not repeat its parent's numbers: the first draw there takes a new key from
/// the operating system. (Noticed by pthread_atfork, which a bare clone() passes by.) What was drawn before, and kept,
/// is the same in both: keys, masks, randomness made ahead. A session therefore belongs to one process.
class Random {
 public:
  /// Throws Error if the operating system has no randomness to give.
  Random();

  void fill(std::span<std::byte> out) {
    if (process_ != current_process() && process_ != kAnyProcess) renew();
    stream_.fill(out);
  }

  template <class T>
  void fill_integers(std::span<T> out) {
    static_assert(std::is_integral_v<T> || std::is_same_v<T, UInt128>);
    fill(std::as_writable_bytes(out));
  }
  std::uint64_t next_u64();
  UInt128 next_u128();
  /// Uniform in [0, n), without bias. `n` must be positive.
  std::uint64_t below(std::uint64_t n);

  /// A generator of its own, keyed from this one.
  [[nodiscard]] Random fork();

  /// A pseudo-random function of a secret key and a context (HMAC-SHA-256, then AES-CTR): the same stream again for the
  /// same two, an unrelated one otherwise. `key` must itself come from a `Random`, and stay secret. The stream
  /// continues unchanged in a child process: that is what repeating means.
  ///
  /// Sound where the same stream never meets two different inputs: where the context has all that a message is made of
  /// (purpose, parameters, keys, the values that are hidden, what arrived from the peer), a repeated stream gives a
  /// repeated message, which tells nothing new. A mask needs what it hides in its context; a key, all that the public
  /// key is made of; an encryption, the public key and the plaintext; a reply, these of the peer and the operand's
  /// bytes. Were one left out, the difference of two messages would be free of what hid them. Nothing that was drawn
  /// elsewhere, or made ahead, may be mixed in.
  [[nodiscard]] static Random derived(std::span<const std::byte, KeyStream::kKeyBytes> key,
                                      std::span<const std::byte> context);

 private:
  /// Processes since the first, by fork().
  using Process = std::uint64_t;
  static constexpr Process kAnyProcess = ~Process{0};

  Random(KeyStream stream, Process process) : stream_(std::move(stream)), process_(process) {}
  [[nodiscard]] static Process current_process() { return fork_count.load(std::memory_order_relaxed); }
  [[nodiscard]] static Process watched_process();
  void renew();

  static std::atomic<Process> fork_count;
  KeyStream stream_;
  Process process_;
};

/// Reproducible randomness for data order, initial weights and generated data. Never for masks, keys or encryption:
/// those take a `Random`, which this is not.
class SeededRandom {
 public:
  /// Streams of one seed with different `purpose` are independent.
  explicit SeededRandom(std::uint64_t seed, std::uint64_t purpose = 0);
  /// From a whole key, where what is drawn must not be guessed by trying seeds.
  SeededRandom(std::span<const std::byte, KeyStream::kKeyBytes> key, std::uint64_t purpose);

  std::uint64_t next_u64();
  /// Uniform in [0, n), without bias. `n` must be positive.
  std::uint64_t below(std::uint64_t n);
  /// Uniform in [0, 1).
  double uniform();
  /// Normal with mean 0 and standard deviation 1.
  double normal();

 private:
  KeyStream stream_;
};

}  // namespace blindfl
