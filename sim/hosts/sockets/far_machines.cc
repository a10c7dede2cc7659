#include "drydock/sim/hosts/sockets/far_machines.h"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/sim/hosts/message.h"
#include "drydock/sim/hosts/sockets/call.h"

namespace drydock::sim {
namespace {

using namespace std::chrono_literals;

// Other members may have started when we did; the one that begins the network needs a moment.
constexpr coro::Duration kCallTime = 5s;
// There are at most so many strangers, and a newer one displaces the oldest: all machines may call
// at once, and silent ones keep nobody out.
constexpr std::size_t kMostStrangers = kMachines;
// So many are accepted in one look at the sockets: who connects without end does not hold the
// device up. The others come with the next look.
constexpr int kMostAccepted = 64;
// For so long nobody is listened to where the program has as many open files as it may have.
constexpr coro::Duration kDeafness = 100ms;
// The longest message: a packet of the largest MTU of all profiles fits by far.
constexpr std::size_t kLongest = sizeof(Message) + (64 << 10);

// The subject of an event of the sockets: one of these, or a slot and one of these.
enum Tag : std::uint64_t { kListening = 1, kRendezvous, kStranger, kOut, kIn };
constexpr std::uint64_t TagOf(Tag tag, std::uint8_t slot = 0) {
  return std::uint64_t{tag} << 8 | slot;
}

}  // namespace

absl::StatusOr<std::unique_ptr<FarMachines>> FarMachines::Join(const Options& options) {
  ASSIGN_OR_RETURN(CalledRendezvous called,
                   CallRendezvous(options.network, options.key_file, kCallTime));
  // The local address by which the rendezvous is reached reaches the other machines, too.
  const SocketAddress rendezvous = called.stream.socket().PeerAddress();
  const SocketAddress here = called.stream.socket().LocalAddress().WithPort(0);
  ASSIGN_OR_RETURN(Socket listening, Socket::Bind(here));
  RETURN_IF_ERROR(listening.Listen());
  const std::uint16_t port = listening.LocalAddress().port();
  ASSIGN_OR_RETURN(std::unique_ptr<Membership> membership,
                   Membership::Join(std::move(called.stream), options.fabric, options.terms,
                                    options.host, port));
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  if (epoll < 0) return absl::UnavailableError(absl::StrCat("epoll: ", std::strerror(errno)));
  absl::StatusOr<std::unique_ptr<Ear>> ear = Ear::Make(epoll);
  if (!ear.ok()) {
    close(epoll);
    return ear.status();
  }
  Joined joined{.key = called.key,
                .fabric = options.fabric,
                .rendezvous = rendezvous,
                .listening = std::move(listening),
                .membership = std::move(membership)};
  return std::unique_ptr<FarMachines>(new FarMachines(std::move(joined), epoll, *std::move(ear)));
}

FarMachines::FarMachines(Joined joined, int epoll, std::unique_ptr<Ear> ear)
    : key_(joined.key),
      listening_(std::move(joined.listening)),
      membership_(std::move(joined.membership)),
      fabric_(joined.fabric),
      rendezvous_(joined.rendezvous),
      epoll_(epoll),
      ear_(std::move(ear)) {
  Watch(listening_.fd(), EPOLLIN, TagOf(kListening));
  Watch(membership_->fd(), EPOLLIN, TagOf(kRendezvous));
}

FarMachines::~FarMachines() {
  ear_.reset();
  close(epoll_);
}

void FarMachines::Watch(int fd, std::uint32_t events, std::uint64_t tag) {
  epoll_event event{.events = events, .data = {.u64 = tag}};
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) {
    epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event);
  }
}

// ---- Machines in the network ----

bool FarMachines::Has(std::uint8_t slot) const {
  const Member& member = membership_->At(slot);
  return member.incarnation != 0 && member.host != membership_->host();
}

// A machine that has left counts as present until its connection is read to the end: the
// rendezvous's news may overtake its last messages.
std::uint32_t FarMachines::LivingIn(std::uint8_t slot) const {
  const Member& member = membership_->At(slot);
  const bool speaks = channels_[slot] != nullptr && channels_[slot]->open_in();
  return member.present || speaks ? member.incarnation : 0;
}

std::unique_ptr<Channel> FarMachines::MakeChannel(std::uint8_t slot) {
  const Member& member = membership_->At(slot);
  SocketChannel::Ends ends{.key = key_, .us = seat(), .them = seat(), .address = member.address};
  ends.them.slot = slot;
  ends.them.incarnation = member.incarnation;
  auto channel = std::make_unique<SocketChannel>(
      ends,
      [this, slot](int fd) {
        Watch(fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, TagOf(kOut, slot));
      },
      [this, slot] { channels_[slot] = nullptr; });
  channels_[slot] = channel.get();
  if (abandoned_) channel->Abandon();
  if (arrived_ != nullptr && arrived_from_ == slot) {
    channel->Adopt(*std::exchange(arrived_, nullptr));
    Watch(channel->in_fd(), EPOLLIN, TagOf(kIn, slot));
  }
  return channel;
}

void FarMachines::Abandon() {
  abandoned_ = true;
  for (SocketChannel* const channel : channels_) {
    if (channel != nullptr) channel->Abandon();
  }
  CloseSocketsInChild();
}

// ---- Arrivals ----

bool FarMachines::Poll(const Visit& visit) {
  DropOldStrangers();
  ListenAgain();
  ReturnToRendezvous();
  std::array<epoll_event, 64> events;
  const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 0);
  bool visited = false;
  bool strangers = false;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t tag = events[static_cast<std::size_t>(i)].data.u64;
    const auto slot = static_cast<std::uint8_t>(tag);
    SocketChannel* const channel = channels_[slot];
    switch (tag >> 8) {
      case kListening:
        Accept();
        break;
      case kRendezvous:
        ListenToRendezvous();
        break;
      case kStranger:
        strangers = true;
        break;
      default:
        if (channel == nullptr) break;
        tag >> 8 == kOut ? channel->OnOut() : channel->OnIn();
        visit(slot);
        visited = true;
    }
  }
  if (strangers) ListenToStrangers(visit);
  return visited || strangers;
}

void FarMachines::ListenToRendezvous() {
  if (membership_->Listen()) return;
  epoll_ctl(epoll_, EPOLL_CTL_DEL, membership_->fd(), nullptr);
  if (membership_->cut()) recall_.emplace(rendezvous_, key_, fabric_, seat(), clock_.Now());
}

void FarMachines::ReturnToRendezvous() {
  if (!recall_.has_value()) return;
  std::optional<Stream> stream = recall_->Turn(clock_.Now());
  if (!stream.has_value()) return;
  recall_.reset();
  membership_->Resume(*std::move(stream));
  Watch(membership_->fd(), EPOLLIN, TagOf(kRendezvous));
}

// The oldest come first.
void FarMachines::DropOldStrangers() {
  while (!strangers_.empty() && clock_.Now() >= strangers_.front()->since + kPatience) {
    strangers_.erase(strangers_.begin());
  }
}

void FarMachines::ListenAgain() {
  if (deaf_until_ == coro::kNever || clock_.Now() < deaf_until_) return;
  deaf_until_ = coro::kNever;
  Watch(listening_.fd(), EPOLLIN, TagOf(kListening));
}

void FarMachines::Accept() {
  for (int accepted = 0; accepted < kMostAccepted; ++accepted) {
    Socket socket = listening_.Accept();
    if (!socket.valid() && (errno == EMFILE || errno == ENFILE)) {
      // The caller stays where it is, and would keep our thread awake.
      epoll_ctl(epoll_, EPOLL_CTL_DEL, listening_.fd(), nullptr);
      deaf_until_ = clock_.Now() + kDeafness;
    }
    if (!socket.valid()) return;
    if (strangers_.size() >= kMostStrangers) strangers_.erase(strangers_.begin());
    Watch(socket.fd(), EPOLLIN, TagOf(kStranger));
    strangers_.push_back(std::make_unique<Stranger>(
        Stranger{.stream = Stream(std::move(socket), kLongestOfHandshake, kLongestOfHandshake * 2),
                 .called = Called(key_),
                 .since = clock_.Now()}));
  }
}

void FarMachines::ListenToStrangers(const Visit& visit) {
  std::erase_if(strangers_, [&](const auto& stranger) { return !ListenTo(*stranger, visit); });
}

bool FarMachines::ListenTo(Stranger& stranger, const Visit& visit) {
  Stream& stream = stranger.stream;
  stream.Receive();
  std::span<const std::byte> message;
  while (stream.Next(message)) {
    if (stranger.greeted) {
      if (!stranger.called.Believes(message)) return false;
      stream.Release();
      Admit(stranger, visit);
      return false;  // no stranger any more
    }
    const std::optional<Challenge> challenge = stranger.called.Greet(message);
    if (!challenge.has_value() || !stream.Say(*challenge)) return false;
    stranger.greeted = true;
    stream.Release();
  }
  return !stream.ended() && !stream.garbage();
}

// A caller with the key is believed if it means us and is the machine that the slot holds now.
void FarMachines::Admit(Stranger& stranger, const Visit& visit) {
  const Hello& hello = stranger.called.hello();
  const std::uint8_t slot = hello.from.slot;
  const Member& member = membership_->At(slot);
  if (hello.purpose != Purpose::kPeer || hello.to != seat() || !Has(slot)) return;
  if (hello.from.network != seat().network || hello.from.incarnation != member.incarnation) return;
  stranger.stream.Allow(kLongest);
  SocketChannel* const channel = channels_[slot];
  if (channel != nullptr && channel->Adopt(stranger.stream)) {
    Watch(channel->in_fd(), EPOLLIN, TagOf(kIn, slot));
  } else {
    arrived_ = &stranger.stream;
    arrived_from_ = slot;
  }
  visit(slot);
  arrived_ = nullptr;
}

void FarMachines::OnArrival(std::function<void()> heard) { ear_->Start(std::move(heard)); }

bool FarMachines::Listen() {
  ear_->Arm();
  pollfd sockets{.fd = epoll_, .events = POLLIN, .revents = 0};
  return poll(&sockets, 1, 0) > 0;
}

}  // namespace drydock::sim
