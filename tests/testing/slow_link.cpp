// A slow line between two network namespaces, for kernels without netem: two TUN devices, one in each namespace, and
// this process in between, which lets packets pass at a given rate and hands them over a given time later. Runs until
// it is killed, and takes its devices with it.
//
//   slow_link NAMESPACE_A NAMESPACE_B DEVICE DELAY_MS RATE_MBIT

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <deque>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

/// As much as a router would hold; beyond it packets are lost, as netem's are.
constexpr std::size_t kLongestQueue = 10000;
constexpr std::size_t kLargestPacket = 65536;

int open_in(const std::string& network, const std::string& device) {
  const int space = open(("/run/netns/" + network).c_str(), O_RDONLY | O_CLOEXEC);
  if (space < 0 || setns(space, CLONE_NEWNET) != 0) throw std::runtime_error("cannot enter namespace " + network);
  close(space);
  const int tun = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  ifreq request{};
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  device.copy(request.ifr_name, IFNAMSIZ - 1);
  if (tun < 0 || ioctl(tun, TUNSETIFF, &request) != 0) throw std::runtime_error("cannot make device " + device);
  return tun;
}

/// One way through the line.
class Lane {
 public:
  Lane(int from, int to, nanoseconds delay, double bytes_per_second)
      : from_(from), to_(to), delay_(delay), bytes_per_second_(bytes_per_second) {}

  /// Takes what has come: it is on the line once all before it is, and arrives `delay` after that.
  void take() {
    std::array<std::byte, kLargestPacket> packet{};
    for (ssize_t size = 0; (size = read(from_, packet.data(), packet.size())) > 0;) {
      if (waiting_.size() >= kLongestQueue) continue;
      const double seconds = static_cast<double>(size) / bytes_per_second_;
      free_at_ = std::max(free_at_, Clock::now()) + nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
      waiting_.push_back({free_at_ + delay_, {packet.begin(), packet.begin() + size}});
    }
  }
  /// Hands over what is due.
  void give() {
    while (!waiting_.empty() && waiting_.front().due <= Clock::now()) {
      const std::vector<std::byte>& bytes = waiting_.front().bytes;
      // A device that does not take it loses it, as a line does.
      [[maybe_unused]] const ssize_t written = write(to_, bytes.data(), bytes.size());
      waiting_.pop_front();
    }
  }
  [[nodiscard]] int from() const { return from_; }
  [[nodiscard]] Clock::time_point next() const {
    return waiting_.empty() ? Clock::now() + std::chrono::seconds(1) : waiting_.front().due;
  }

 private:
  struct Packet {
    Clock::time_point due;
    std::vector<std::byte> bytes;
  };
  int from_;
  int to_;
  nanoseconds delay_;
  double bytes_per_second_;
  Clock::time_point free_at_{};
  std::deque<Packet> waiting_;
};

[[noreturn]] void run(std::array<Lane, 2>& lanes) {
  while (true) {
    const auto left = std::min(lanes[0].next(), lanes[1].next()) - Clock::now();
    const auto wait = std::max(nanoseconds(0), std::chrono::duration_cast<nanoseconds>(left));
    const timespec timeout{wait.count() / 1'000'000'000, wait.count() % 1'000'000'000};
    std::array<pollfd, 2> ready{pollfd{lanes[0].from(), POLLIN, 0}, pollfd{lanes[1].from(), POLLIN, 0}};
    ppoll(ready.data(), ready.size(), &timeout, nullptr);
    for (Lane& lane : lanes) {
      lane.take();
      lane.give();
    }
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() != 5) {
    std::cerr << "usage: slow_link NAMESPACE_A NAMESPACE_B DEVICE DELAY_MS RATE_MBIT\n";
    return 2;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // whatever ends the script ends the line
  const int a = open_in(words[0], words[2]);
  const int b = open_in(words[1], words[2]);
  const auto delay = nanoseconds(static_cast<std::int64_t>(std::stod(words[3]) * 1e6));
  const double bytes_per_second = std::stod(words[4]) * 1e6 / 8;
  std::array<Lane, 2> lanes{Lane(a, b, delay, bytes_per_second), Lane(b, a, delay, bytes_per_second)};
  run(lanes);
} catch (const std::exception& error) {
  std::cerr << "slow_link: " << error.what() << "\n";
  return 1;
}
