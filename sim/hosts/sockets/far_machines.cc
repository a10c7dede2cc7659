#include "drydock/sim/hosts/sockets/far_machines.h"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "drydock/coro/status_macros.h"
#include "drydock/sim/hosts/message.h"
#include "drydock/sim/hosts/sockets/call.h"

namespace drydock::sim {
namespace {

using namespace std::chrono_literals;

// Other members may have started when we did; the one that begins the network needs a moment.
constexpr coro::Duration kCallTime = 5s;
// Strangers that do not prove themselves within this time are dropped; there are at most so many.
constexpr coro::Duration kPatience = 5s;
constexpr std::size_t kMostStrangers = 512;
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
  const SocketAddress here = called.stream.socket().LocalAddress().WithPort(0);
  ASSIGN_OR_RETURN(Socket listening, Socket::Bind(here));
  RETURN_IF_ERROR(listening.Listen());
  const std::uint16_t port = listening.LocalAddress().port();
  ASSIGN_OR_RETURN(std::unique_ptr<Membership> membership,
                   Membership::Join(std::move(called.stream), options.fabric, options.terms,
                                    options.host, port));
  return std::unique_ptr<FarMachines>(
      new FarMachines(called.key, std::move(listening), std::move(membership)));
}

FarMachines::FarMachines(const Key& key, Socket listening, std::unique_ptr<Membership> membership)
    : key_(key),
      listening_(std::move(listening)),
      membership_(std::move(membership)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)) {
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
  if (arrived_ != nullptr && arrived_from_ == slot) {
    channel->Adopt(*std::exchange(arrived_, nullptr));
    Watch(channel->in_fd(), EPOLLIN, TagOf(kIn, slot));
  }
  return channel;
}

// ---- Arrivals ----

bool FarMachines::Poll(const Visit& visit) {
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
        if (heard_of_ && !membership_->Listen()) {
          heard_of_ = false;
          epoll_ctl(epoll_, EPOLL_CTL_DEL, membership_->fd(), nullptr);
        }
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

void FarMachines::Accept() {
  std::erase_if(strangers_, [this](const auto& stranger) {
    return clock_.Now() - stranger->since > kPatience;
  });
  while (true) {
    Socket socket = listening_.Accept();
    if (!socket.valid()) return;
    if (strangers_.size() >= kMostStrangers) continue;
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

void FarMachines::OnArrival(std::function<void()> heard) {
  ear_ = std::make_unique<Ear>(epoll_, std::move(heard));
}

bool FarMachines::Listen() {
  ear_->Arm();
  pollfd sockets{.fd = epoll_, .events = POLLIN, .revents = 0};
  return poll(&sockets, 1, 0) > 0;
}

}  // namespace drydock::sim
