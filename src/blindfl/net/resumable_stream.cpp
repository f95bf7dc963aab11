#include "blindfl/net/resumable_stream.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/base/random.h"

namespace blindfl::net {

namespace {

/// A packet that is not whole is lost with its connection: on a line that is cut again and again, small ones get
/// through.
constexpr std::size_t kFirstPacket = std::size_t{1} << 14;
/// Between two looks at the clock of a peer that may be silent for so long and no longer.
constexpr std::chrono::milliseconds kShortestWait{50};

/// Notes of a peer that are shown, and one more for each second: it must not fill a log.
constexpr std::uint64_t kFirstNotes = 100;

ResumableStream::Part whole(Bytes bytes) {
  const std::size_t size = bytes.size();
  return {std::make_shared<const Bytes>(std::move(bytes)), 0, size};
}

std::string duration_words(std::chrono::milliseconds duration) {
  const bool whole_seconds = duration.count() % 1000 == 0;
  return whole_seconds ? std::to_string(duration.count() / 1000) + " s" : std::to_string(duration.count()) + " ms";
}

const ResumableStream::Part& data_kind() {
  static const ResumableStream::Part part = whole({kDataKind});
  return part;
}

}  // namespace

ResumableStream::ResumableStream(const Options& options, std::function<void()> wake)
    : options_(options), wake_(std::move(wake)) {
  require<InvalidArgument>(options.window >= kLargestData, "a stream's window must have room for ", kLargestData,
                           " bytes");
  Random().fill(nonce_);
}

// ---- the user's side

ResumableStream::Clock::duration ResumableStream::connected_time() const {
  return connected_before_ + (connected_ ? Clock::now() - connected_at_ : Clock::duration{});
}

// `holds` must hold once `failure_` is set.
template <class Holds>
void ResumableStream::wait(std::unique_lock<std::mutex>& lock, const Holds& holds) {
  const Clock::duration began = connected_time();
  const auto wakes = [&] { return holds() || (notice_ && options_.on_notice); };
  while (!holds()) {
    if (notice_ && options_.on_notice) {
      const LinkNotice notice = *std::exchange(notice_, std::nullopt);
      told_ = !connected_;
      lock.unlock();
      options_.on_notice(notice);
      lock.lock();
      continue;
    }
    if (options_.silence.count() == 0) {
      changed_.wait(lock, wakes);
      continue;
    }
    const Clock::duration left = options_.silence - (connected_time() - std::max(began, heard_));
    if (left <= Clock::duration{} && connected_) {
      failure_ = "the peer answers, but has sent nothing for " + duration_words(options_.silence) +
                 " while this side waited for it: it is stuck, or busier than this party's patience_silent allows";
      changed_.notify_all();
      return;
    }
    changed_.wait_for(lock, std::max<Clock::duration>(left, kShortestWait), wakes);
  }
}

std::string ResumableStream::reason() const {
  if (!failure_.empty()) return failure_;
  if (bye_ && (!peer_bye_ || peer_bye_->reason == ByeReason::kDone))
    return "the link to the peer is closed on this side";
  switch (peer_bye_ ? peer_bye_->reason : ByeReason::kDone) {
    case ByeReason::kDone:
      return "the peer closed the link";
    case ByeReason::kError:
      return "the peer stopped after an error" +
             (peer_bye_->words.empty() ? "; it says there which" : ": " + peer_bye_->words);
    case ByeReason::kInterrupted:
      return "the peer's run was interrupted there";
  }
  return {};
}

void ResumableStream::write(ByteView bytes) {
  while (!bytes.empty()) {
    std::unique_lock lock(mutex_);
    const auto over = [this] { return bye_.has_value() || peer_bye_.has_value() || !failure_.empty(); };
    wait(lock, [&] { return over() || written_ - forgotten_ < options_.window; });
    require<TransportError>(!over(), reason());
    const auto room = static_cast<std::size_t>(options_.window - (written_ - forgotten_));
    const auto taken = bytes.first(std::min({bytes.size(), kLargestData, room}));
    lock.unlock();
    auto piece = std::make_shared<const Bytes>(taken.begin(), taken.end());
    lock.lock();
    require<TransportError>(!over(), reason());  // closed meanwhile: nothing may follow the end
    kept_.push_back({written_, std::move(piece)});
    written_ += taken.size();
    bytes = bytes.subspan(taken.size());
    lock.unlock();
    wake_();
  }
}

void ResumableStream::read(std::span<std::byte> out) {
  while (!out.empty()) {
    std::unique_lock lock(mutex_);
    wait(lock, [&] { return bye_ || !arrived_.empty() || peer_bye_ || !failure_.empty(); });
    require<TransportError>(!bye_ && !arrived_.empty(), reason());
    // The other thread only appends, and that moves no packet.
    const ByteView front = arrived_.front().bytes().subspan(front_used_);
    const std::size_t n = std::min(out.size(), front.size());
    lock.unlock();
    std::copy_n(front.begin(), n, out.begin());
    out = out.subspan(n);
    lock.lock();
    front_used_ += n;
    consumed_ += n;
    if (n == front.size()) {
      arrived_.pop_front();
      front_used_ = 0;
    }
    const bool worth_telling = owes_credit();
    lock.unlock();
    if (worth_telling) wake_();
  }
}

bool ResumableStream::has_arrived() const {
  const std::lock_guard lock(mutex_);
  return bye_ || !arrived_.empty() || peer_bye_ || !failure_.empty();
}

void ResumableStream::close(const ByePacket& bye) {
  {
    const std::lock_guard lock(mutex_);
    if (bye_) return;
    bye_ = bye;
  }
  changed_.notify_all();
  wake_();
}

void ResumableStream::linger(std::chrono::milliseconds at_most) {
  std::unique_lock lock(mutex_);
  const auto done = [this] {
    return bye_seen_ || !failure_.empty() || connections_ == 0 || (peer_bye_ && !owes_bye_seen_);
  };
  for (std::uint64_t before = ~forgotten_; !done() && before != forgotten_;) {
    before = forgotten_;
    changed_.wait_for(lock, at_most, [&] { return done() || forgotten_ != before; });
  }
}

void ResumableStream::note(std::string words) {
  require<InvalidArgument>(!words.empty(), "a note has no words");
  {
    const std::lock_guard lock(mutex_);
    note_ = std::move(words);
  }
  wake_();
}

// ---- the link's side

HelloPacket ResumableStream::hello() const {
  const std::lock_guard lock(mutex_);
  return {kLinkVersion, nonce_, peer_nonce_.value_or(Nonce{}), received_, options_.window};
}

void ResumableStream::connected(const HelloPacket& peer) {
  {
    const std::lock_guard lock(mutex_);
    require<ConfigError>(peer.version == kLinkVersion, "the peer speaks version ", peer.version,
                         " of the link protocol, this side version ", kLinkVersion,
                         ": both must run the same release of BlindFL");
    const bool known = peer_nonce_.has_value();
    require<TransportError>(!known || peer.mine == *peer_nonce_,
                            "the peer was restarted and has lost this session: start both parties again, or resume");
    // A caller whose first connection broke before the answer does not know this side's nonce yet.
    const bool from_the_start = peer.yours == Nonce{} && peer.received == 0;
    require<TransportError>(peer.yours == nonce_ || from_the_start,
                            "the peer continues another session than this one: was this side restarted? Start both "
                            "parties again, or resume");
    require<ProtocolError>(peer.received >= forgotten_ && peer.received <= written_ && peer.window >= kLargestData,
                           "the peer's hello names a position that this stream does not have");
    peer_nonce_ = peer.mine;
    peer_window_ = std::min(peer.window, options_.window);
    sent_ = peer.received;
    credited_ = 0;  // the last credit may be lost: tell again
    bye_sent_ = false;
    packet_limit_ = kFirstPacket;
    connected_before_ = connected_time();
    connected_at_ = Clock::now();
    connected_ = true;
    ++connections_;
    notice_.reset();
    if (std::exchange(told_, false))
      notice_ = LinkNotice{.words = "the link to the peer is there", .detail = {}, .is_back = true};
  }
  changed_.notify_all();
}

void ResumableStream::disconnected() {
  const std::lock_guard lock(mutex_);
  connected_before_ = connected_time();
  connected_ = false;
}

void ResumableStream::take_data(const DataPacket& data) {
  received_ += data.bytes().size();
  require<ProtocolError>(received_ - consumed_ <= options_.window, "the peer sends more than this side's window of ",
                         options_.window, " bytes");
}

// Many tiny packets take no more memory than one. The first is left alone: it may be being read.
void ResumableStream::keep(DataPacket data) {
  if (arrived_.size() >= 2 && arrived_.back().packet.size() + data.bytes().size() <= kLargestData) {
    Bytes& last = arrived_.back().packet;
    last.insert(last.end(), data.bytes().begin(), data.bytes().end());
  } else {
    arrived_.push_back(std::move(data));
  }
}

void ResumableStream::take_credit(const CreditPacket& credit) {
  require<ProtocolError>(credit.consumed >= forgotten_ && credit.consumed <= sent_,
                         "the peer claims to have read what was not sent");
  // Saying the same again is no progress.
  if (credit.consumed > forgotten_) heard_ = connected_time();
  forgotten_ = credit.consumed;
  while (!kept_.empty() && kept_.front().begin + kept_.front().piece->size() <= forgotten_) kept_.pop_front();
}

void ResumableStream::take_note(const NotePacket& note) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(connected_time()).count();
  if (notes_ >= kFirstNotes + static_cast<std::uint64_t>(seconds)) return;
  ++notes_;
  notice_ = LinkNotice{.words = "the peer says: " + note.words, .detail = {}};
}

void ResumableStream::deliver(LinkPacket packet) {
  {
    const std::lock_guard lock(mutex_);
    require<ProtocolError>(connected_ && !std::holds_alternative<HelloPacket>(packet),
                           "the peer sent a packet out of turn");
    if (auto* data = std::get_if<DataPacket>(&packet)) {
      heard_ = connected_time();
      require<ProtocolError>(!peer_bye_, "the peer sent data after its end");
      take_data(*data);
      keep(std::move(*data));
    } else if (const auto* credit = std::get_if<CreditPacket>(&packet)) {
      take_credit(*credit);
    } else if (auto* bye = std::get_if<ByePacket>(&packet)) {
      peer_bye_ = std::move(*bye);
      owes_bye_seen_ = true;
    } else if (const auto* note = std::get_if<NotePacket>(&packet)) {
      take_note(*note);
    } else {
      require<ProtocolError>(bye_.has_value(), "the peer has seen an end that this side did not send");
      bye_seen_ = true;
    }
  }
  changed_.notify_all();
}

// Often enough for the side with the smaller window, which waits once it is full.
bool ResumableStream::owes_credit() const {
  return connected_ && consumed_ - credited_ >= peer_window_ / 4;
}

std::vector<ResumableStream::Part> ResumableStream::data_parts() {
  std::vector<Part> parts{data_kind()};
  std::size_t size = 0;
  auto kept = std::ranges::partition_point(kept_, [this](const Kept& k) { return k.begin + k.piece->size() <= sent_; });
  // What waits goes in one packet, up to its largest size: many small writes cost little more than one.
  const auto room = static_cast<std::size_t>(std::min<std::uint64_t>(packet_limit_, forgotten_ + peer_window_ - sent_));
  packet_limit_ = std::min(kLargestData, 2 * packet_limit_);
  for (; kept != kept_.end() && size < room; ++kept) {
    const auto begin = static_cast<std::size_t>(sent_ + size - kept->begin);
    const std::size_t end = std::min(kept->piece->size(), begin + room - size);
    parts.push_back({kept->piece, begin, end});
    size += end - begin;
  }
  sent_ += size;
  return parts;
}

std::vector<ResumableStream::Part> ResumableStream::next_packet() {
  const std::lock_guard lock(mutex_);
  if (!connected_) return {};
  if (owes_bye_seen_) {
    owes_bye_seen_ = false;
    changed_.notify_all();
    return {whole(encode_packet(ByeSeenPacket{}))};
  }
  if (owes_credit()) {
    credited_ = consumed_;
    return {whole(encode_packet(CreditPacket{consumed_}))};
  }
  if (!note_.empty()) return {whole(encode_packet(NotePacket{std::exchange(note_, {})}))};
  if (sent_ < written_ && sent_ < forgotten_ + peer_window_) return data_parts();
  if (bye_ && !bye_sent_ && sent_ == written_) {
    bye_sent_ = true;
    return {whole(encode_packet(*bye_))};
  }
  return {};
}

void ResumableStream::fail(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) failure_ = why;
  }
  changed_.notify_all();
}

void ResumableStream::tell(LinkNotice notice) {
  {
    const std::lock_guard lock(mutex_);
    if (connected_ || !failure_.empty()) return;
    notice_ = std::move(notice);
  }
  changed_.notify_all();
}

void ResumableStream::wait_for_connection() {
  std::unique_lock lock(mutex_);
  wait(lock, [this] { return connections_ > 0 || bye_ || !failure_.empty(); });
  require<TransportError>(connections_ > 0, reason());
}

bool ResumableStream::is_over() const {
  const std::lock_guard lock(mutex_);
  return !failure_.empty() || (peer_bye_ && !owes_bye_seen_) || bye_seen_;
}

std::uint64_t ResumableStream::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_;
}

}  // namespace blindfl::net
