#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/base/process_usage.h"
#include "blindfl/net/identity.h"
#include "timing.h"

namespace blindfl::bench {

/// A folder that is gone at the end of the scope.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = std::filesystem::temp_directory_path() / "bench_net_XXXXXX";
    require<Error>(mkdtemp(name.data()) != nullptr, "cannot make a temporary folder");
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::filesystem::path operator/(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// A program in a process of its own: killed, if it still runs, at the end of the scope.
class Program {
 public:
  /// `input` and `output` are file descriptors; what it says beyond is dropped.
  Program(std::vector<std::string> words, int input, int output) {
    posix_spawn_file_actions_t actions{};
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    std::vector<char*> pointers;
    pointers.reserve(words.size() + 1);
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    if (posix_spawnp(&id_, pointers[0], &actions, nullptr, pointers.data(), environ) != 0) id_ = 0;
    posix_spawn_file_actions_destroy(&actions);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    if (id_ == 0) return;
    kill(id_, SIGKILL);
    (void)wait();
  }
  [[nodiscard]] bool started() const { return id_ != 0; }
  /// Waits for its end. Did it end well?
  bool wait() {
    int status = 1;
    const pid_t id = std::exchange(id_, 0);
    return id != 0 && waitpid(id, &status, 0) == id && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

 private:
  pid_t id_ = 0;
};

/// A file descriptor with an owner.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) { require<Error>(number >= 0, "cannot open a file or a socket"); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(number_); }
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

/// Of bytes that went one way, or both.
struct Rate {
  double megabytes_per_second = 0;
  /// At both ends together. Unlike the other figure, it is hardly changed by what else this machine does.
  double processor_seconds_per_gigabyte = 0;
};

/// Copies bytes from one `openssl` program to another over TLS 1.3 on loopback: what this machine can do without
/// gRPC, frames and checksums.
class OpensslCopy {
 public:
  OpensslCopy() {
    net::save_identity(net::generate_identity("bench", 1), folder_ / "certificate", folder_ / "key");
    present_ = Program({"openssl", "version"}, null_.number(), null_.number()).wait();
    // A connection takes time before its first byte; that is not throughput.
    if (present_) start_ = median({copy(1), copy(1), copy(1)});
  }

  [[nodiscard]] bool present() const { return present_; }
  /// The better of two tries; nothing if there is no openssl here.
  [[nodiscard]] std::optional<Rate> rate(std::uint64_t bytes) const {
    if (!present_) return std::nullopt;
    const double megabytes = static_cast<double>(bytes) / 1e6;
    const double processor_before = processor_seconds(RUSAGE_CHILDREN);
    const double seconds = std::min(copy(bytes), copy(bytes)) - start_;
    const double processor = (processor_seconds(RUSAGE_CHILDREN) - processor_before) / 2;
    return Rate{megabytes / seconds, 1000 * processor / megabytes};
  }

 private:
  [[nodiscard]] static sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  [[nodiscard]] static int free_port() {
    const Descriptor probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    require<Error>(bind(probe.number(), reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                       getsockname(probe.number(), reinterpret_cast<sockaddr*>(&address), &size) == 0,
                   "cannot find a free port");
    return ntohs(address.sin_port);
  }
  static void wait_until_it_listens(int port) {
    for (int i = 0; i < 1000; ++i) {
      const Descriptor probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      sockaddr_in address = loopback(port);
      if (connect(probe.number(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    fail<Error>("openssl s_server does not listen");
  }

  /// Seconds from the client's start to the server's end.
  [[nodiscard]] double copy(std::uint64_t bytes) const {
    const std::string data = folder_ / "data";
    std::ofstream(data).flush();
    std::filesystem::resize_file(data, bytes);  // holes: no disk takes part
    const Descriptor input(open(data.c_str(), O_RDONLY | O_CLOEXEC));
    // The server would send what it reads, and stop at its end: it gets a pipe that nobody writes to.
    std::array<int, 2> ends{};
    require<Error>(pipe2(ends.data(), O_CLOEXEC) == 0, "cannot make a pipe");
    const Descriptor silence(ends[0]);
    const Descriptor never_written(ends[1]);

    const int port = free_port();
    // Two connections: the one that finds out that it listens, and the one that counts.
    Program server({"openssl", "s_server", "-quiet", "-tls1_3", "-naccept", "2", "-accept",
                    "127.0.0.1:" + std::to_string(port), "-cert", folder_ / "certificate", "-key", folder_ / "key"},
                   silence.number(), null_.number());
    wait_until_it_listens(port);
    const auto start = std::chrono::steady_clock::now();
    Program client({"openssl", "s_client", "-quiet", "-no_ign_eof", "-nocommands", "-tls1_3", "-connect",
                    "127.0.0.1:" + std::to_string(port)},
                   input.number(), null_.number());
    require<Error>(server.started() && client.started() && client.wait() && server.wait(), "openssl failed");
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  TemporaryFolder folder_;
  Descriptor null_{open("/dev/null", O_RDWR | O_CLOEXEC)};
  bool present_ = false;
  double start_ = 0;
};

}  // namespace blindfl::bench
