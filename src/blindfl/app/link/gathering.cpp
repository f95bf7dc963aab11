#include "blindfl/app/link/gathering.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "blindfl/app/link/named_errors.h"
#include "blindfl/base/error.h"
#include "blindfl/base/text.h"
#include "blindfl/protocol/session/place.h"
#include "blindfl/run/steps.h"

namespace blindfl::app {

namespace {

constexpr std::size_t kLongestName = 64;
constexpr std::size_t kLongestWords = 4096;
constexpr std::size_t kLongestWord = 16384;
/// So long B waits for others when it knows that nothing begins.
constexpr std::chrono::seconds kLastMoment{5};
/// So often those who are here hear that B is still there, also if nothing has changed.
constexpr std::chrono::seconds kRepeat{60};

void write_text(std::string_view text, ByteSink& out) {
  out.write_u64(text.size());
  out.write(as_bytes(text));
}

std::string read_text(ByteSource& in, std::size_t longest) {
  const std::uint64_t size = in.read_u64();
  require<ProtocolError>(size <= std::min<std::uint64_t>(in.remaining(), longest), "gathering: a text is too long");
  std::string text(size, '\0');
  in.read(std::as_writable_bytes(std::span(text)));
  return printable(text);
}

}  // namespace

void write_word(const GatheringWord& word, ByteSink& out) {
  out.write_u8(static_cast<std::uint8_t>(word.kind));
  out.write_u64(word.names.size());
  for (const std::string& name : word.names) write_text(name, out);
  write_text(std::string_view(word.words).substr(0, kLongestWords), out);
}

GatheringWord read_word(ByteSource& in) {
  GatheringWord word;
  const std::uint8_t kind = in.read_u8();
  require<ProtocolError>(1 <= kind && kind <= 3, "gathering: B says what nobody understands");
  word.kind = static_cast<GatheringWord::Kind>(kind);
  const std::uint64_t names = in.read_u64();
  require<ProtocolError>(names <= protocol::kMostPeers, "gathering: there are too many names");
  for (std::uint64_t i = 0; i < names; ++i) word.names.push_back(read_text(in, kLongestName));
  word.words = read_text(in, kLongestWords);
  require<ProtocolError>(in.remaining() == 0, "gathering: it has another length than it says");
  return word;
}

void say_word(net::Channel& channel, const GatheringWord& word) {
  const Bytes bytes = write_to_bytes([&](ByteSink& out) { write_word(word, out); });
  channel.send({run::steps::kGathering, 0, 8}, [&](ByteSink& out) { out.write_u64(bytes.size()); });
  channel.send({run::steps::kGathering, 1, bytes.size()}, bytes);
}

GatheringWord hear_word(net::Channel& channel) {
  std::uint64_t size = 0;
  channel.receive({run::steps::kGathering, 0, 8}, [&](ByteSource& in) { size = in.read_u64(); });
  require<ProtocolError>(size <= kLongestWord, "gathering: B announces ", size, " bytes");
  GatheringWord word;
  channel.receive({run::steps::kGathering, 1, size}, [&](ByteSource& in) { word = read_word(in); });
  return word;
}

Gathered await_all(net::Channel& channel, const std::vector<std::string>& mine,
                   const std::function<void(const std::vector<std::string>&)>& waits) {
  std::vector<std::string> before;
  while (true) {
    GatheringWord word = hear_word(channel);
    require<ConfigError>(word.kind != GatheringWord::Kind::kRefused, "B does not begin: ", word.words);
    if (word.kind == GatheringWord::Kind::kAllHere) {
      require<ProtocolError>(std::ranges::is_permutation(word.names, mine),
                             "gathering: B numbers other A's than those of this job");
      require<ProtocolError>(!word.words.empty(), "gathering: the meeting has no name");
      return {std::move(word.names), std::move(word.words)};
    }
    if (word.names != before) waits(word.names);
    before = std::move(word.names);
  }
}

namespace {

/// Where each peer is, shared between their threads and the one that gathers them.
class Arrivals {
 public:
  explicit Arrivals(std::size_t peers) : here_(peers), failed_(peers) {}

  void arrived(std::size_t i) {
    const std::lock_guard lock(mutex_);
    here_[i] = true;
    changed_.notify_all();
  }
  void failed(std::size_t i, std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = {i, std::move(error)};
    failed_[i] = true;
    changed_.notify_all();
  }

  struct Failure {
    std::size_t peer = 0;
    std::exception_ptr error;
  };
  struct State {
    std::vector<bool> here;
    std::optional<Failure> failure;
    [[nodiscard]] bool all() const { return std::ranges::find(here, false) == here.end(); }
  };
  /// Who is about to come is to be told, too.
  void wait_for_others(State& state) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kLastMoment, [&] {
      for (std::size_t i = 0; i < here_.size(); ++i) {
        if (!here_[i] && !failed_[i]) return false;
      }
      return true;
    });
    state.here = here_;
  }
  /// What it is when something has changed since `before`, or time is up.
  State wait(const State& before, std::chrono::milliseconds most) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, most, [&] { return failure_ || here_ != before.here; });
    return {here_, failure_};
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> here_;
  std::vector<bool> failed_;
  std::optional<Failure> failure_;
};

/// Tells those who are here.
class Speaker {
 public:
  explicit Speaker(const GatheredPeers& peers) : peers_(peers), told_(peers.names.size()) {}

  /// Whom B waits for: to those who have not heard it, or to all who are here.
  void tell_waiting(const Arrivals::State& state, bool again) {
    GatheringWord word;
    for (std::size_t i = 0; i < state.here.size(); ++i) {
      if (!state.here[i]) word.names.push_back(peers_.names[i]);
    }
    for (std::size_t i = 0; i < state.here.size(); ++i) {
      if (!state.here[i] || (!again && told_[i] == word.names)) continue;
      told_[i] = word.names;
      naming(peers_.names[i], [&] { say_word(peers_.channel(i), word); });
    }
  }
  void tell_refused(const Arrivals::State& state, const std::string& words) const {
    for (std::size_t i = 0; i < state.here.size(); ++i) {
      if (!state.here[i] || i == state.failure.value().peer) continue;
      try {
        say_word(peers_.channel(i), {.kind = GatheringWord::Kind::kRefused, .words = words});
      } catch (const Error&) {  // it has gone, too
      }
    }
  }
  void tell_all_here() const {
    for (std::size_t i = 0; i < peers_.names.size(); ++i) {
      naming(peers_.names[i], [&] {
        say_word(peers_.channel(i),
                 {.kind = GatheringWord::Kind::kAllHere, .names = peers_.names, .words = peers_.id()});
      });
    }
  }

 private:
  const GatheredPeers& peers_;
  std::vector<std::vector<std::string>> told_;
};

std::vector<std::string> missing(const Arrivals::State& state, const std::vector<std::string>& names) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!state.here[i]) all.push_back(names[i]);
  }
  return all;
}

std::string words_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    return known.what();
  }
}

/// A thread for each peer, which end before this does.
class Threads {
 public:
  Threads(const GatheredPeers& peers, Arrivals& arrivals) : peers_(peers) {
    for (std::size_t i = 0; i < peers.names.size(); ++i) {
      threads_.emplace_back([&, i] {
        try {
          naming(peers.names[i], [&] { peers.arrive(i); });
          arrivals.arrived(i);
        } catch (...) {
          arrivals.failed(i, std::current_exception());
        }
      });
    }
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() {
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }
  void stop_waiting(const Arrivals::State& state) const {
    for (std::size_t i = 0; i < peers_.names.size(); ++i) {
      if (!state.here[i]) peers_.give_up(i);
    }
  }

 private:
  const GatheredPeers& peers_;
  std::vector<std::thread> threads_;
};

}  // namespace

void gather(const GatheredPeers& peers, const std::function<void(const std::vector<std::string>&)>& waits,
            std::chrono::milliseconds grace) {
  Arrivals arrivals(peers.names.size());
  Speaker speaker(peers);
  const Threads threads(peers, arrivals);
  Arrivals::State state{std::vector<bool>(peers.names.size()), std::nullopt};
  std::vector<std::string> waited;
  auto most = grace;
  try {
    while (!state.all()) {
      const Arrivals::State now = arrivals.wait(state, most);
      const bool is_news = now.here != state.here;
      state = now;
      if (state.failure) std::rethrow_exception(state.failure->error);
      if (is_news) {
        most = grace;  // those who come together are not told of each other
        continue;
      }
      const std::vector<std::string> still = missing(state, peers.names);
      if (!still.empty() && still != waited) waits(still);
      waited = still;
      speaker.tell_waiting(state, most == kRepeat);
      most = kRepeat;
    }
    speaker.tell_all_here();
  } catch (...) {
    const std::exception_ptr error = std::current_exception();
    if (!state.failure) state.failure = Arrivals::Failure{peers.names.size(), error};
    arrivals.wait_for_others(state);
    speaker.tell_refused(state, words_of(error));
    threads.stop_waiting(state);
    std::rethrow_exception(error);
  }
}

}  // namespace blindfl::app
