#include "drydock/sim/verbs/completion_channel.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "drydock/sim/hosts/forks.h"

namespace drydock::sim::verbs {
namespace {

// As the kernel reports a completion to the descriptor's reader: libibverbs, or a program that
// drives its queues itself (linux-rdma include/uapi/rdma/ib_user_verbs.h,
// ib_uverbs_comp_event_desc). libibverbs gives the kernel the queue's address as its handle.
using Event = std::uint64_t;

Event EventOf(const Queue& queue) {
  return reinterpret_cast<std::uintptr_t>(static_cast<const ibv_cq_ex*>(&queue));
}

// The program reads at one end of a socket, an event at a time, and we write at the other: unlike
// those of a pipe, its ends can be used without waiting in spite of the program's settings.
class Channel : public ibv_comp_channel {
 public:
  Channel(int read_end, int write_end) : ibv_comp_channel{}, write_end_(write_end) {
    fd = read_end;
  }
  ~Channel() {
    close(fd);
    close(write_end_);
  }

  void Put(const Queue& queue) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(EventOf(queue));
    Flush();
  }
  // Returns how many of the queue's events nobody has read.
  std::uint32_t Drop(const Queue& queue) {
    const std::lock_guard lock(mutex_);
    std::deque<Event> events;
    Event event = 0;
    while (recv(fd, &event, sizeof event, MSG_DONTWAIT) == sizeof event) events.push_back(event);
    events.insert(events.end(), waiting_.begin(), waiting_.end());
    const std::size_t dropped = std::erase(events, EventOf(queue));
    waiting_ = std::move(events);
    Flush();
    return static_cast<std::uint32_t>(dropped);
  }
  // Sends events that had no room yet: a socket holds some 270 events, more than a program has
  // armed queues.
  void Retry() {
    const std::lock_guard lock(mutex_);
    Flush();
  }

  Opened opened;

 private:
  void Flush() {
    while (!waiting_.empty()) {
      constexpr int kFlags = MSG_DONTWAIT | MSG_NOSIGNAL;
      const Event event = waiting_.front();
      if (send(write_end_, &event, sizeof event, kFlags) != sizeof event) return;
      waiting_.pop_front();
    }
  }

  const int write_end_;
  std::mutex mutex_;
  std::deque<Event> waiting_;
};

Channel& ChannelOf(ibv_comp_channel* channel) { return *static_cast<Channel*>(channel); }

// Queues that are armed; guarded by the mutex of the process's host.
constinit std::vector<Queue*>* armed_queues = nullptr;
std::vector<Queue*>& Armed() {
  if (armed_queues == nullptr) armed_queues = new std::vector<Queue*>;
  return *armed_queues;
}

// Those of its parent are not a forked child's: their channels are still the parent's, and it may
// have been changing the list. Kept, as they are no leak.
constinit std::vector<Queue*>* of_parent = nullptr;
[[gnu::constructor]] void ListenToForks() {
  AroundForks(nullptr, nullptr, [] {
    if (armed_queues != nullptr) of_parent = std::exchange(armed_queues, nullptr);
  });
}

// Returns whether the queue's event was due.
bool Report(Queue& queue) {
  if (!queue.ring()->TakeEvent()) return false;
  ++queue.events_told;
  ChannelOf(queue.channel).Put(queue);
  return true;
}

void ReportArmed() {
  std::erase_if(Armed(), [](Queue* queue) { return Report(*queue); });
}

}  // namespace

void WaitInVirtualTime(int fd, const Context& context) {
  if (!context.host->in_virtual_time()) return;
  const bool waits = (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0;
  pollfd descriptor{fd, POLLIN, 0};
  poll(&descriptor, 1, waits ? -1 : 0);
}

void Await(Queue& queue) {
  if (queue.closing) return;
  std::vector<Queue*>& armed = Armed();
  if (Report(queue)) {
    std::erase(armed, &queue);
    return;
  }
  if (std::find(armed.begin(), armed.end(), &queue) == armed.end()) armed.push_back(&queue);
  queue.owner().host->OnCompletion(ReportArmed);
}

void Abandon(Queue& queue) {
  queue.closing = true;
  std::erase(Armed(), &queue);
  if (queue.channel != nullptr) queue.events_told -= ChannelOf(queue.channel).Drop(queue);
}

std::uint32_t Unacknowledged(Queue& queue) {
  constexpr int kPatienceSeconds = 2;
  const bool waits = !queue.owner().host->in_virtual_time();
  timespec end{};
  clock_gettime(CLOCK_REALTIME, &end);
  if (waits) end.tv_sec += kPatienceSeconds;
  // A program that ends from a signal may have interrupted itself in ibv_ack_cq_events.
  const int locked =
      waits ? pthread_mutex_timedlock(&queue.mutex, &end) : pthread_mutex_trylock(&queue.mutex);
  if (locked != 0) return std::max(queue.events_told - queue.comp_events_completed, 1u);
  int waited = waits ? 0 : ETIMEDOUT;
  while (queue.comp_events_completed != queue.events_told && waited == 0) {
    waited = pthread_cond_timedwait(&queue.cond, &queue.mutex, &end);
  }
  const std::uint32_t left = queue.events_told - queue.comp_events_completed;
  pthread_mutex_unlock(&queue.mutex);
  return left;
}

}  // namespace drydock::sim::verbs

using drydock::sim::verbs::Calling;
using drydock::sim::verbs::ChannelOf;
using drydock::sim::verbs::ContextOf;
using drydock::sim::verbs::TellBusy;
using drydock::sim::verbs::TellOpened;
using drydock::sim::verbs::WaitInVirtualTime;

extern "C" {

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return nullptr;
  auto* channel = new drydock::sim::verbs::Channel(ends[0], ends[1]);
  channel->context = context;
  channel->refcnt = 0;
  const Calling lock(ContextOf(context));
  TellOpened(channel->opened, ContextOf(context), drydock::sim::ObjectKind::kCompletionChannel);
  return channel;
}

int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  {
    const drydock::sim::verbs::Closing lock(ContextOf(channel->context));
    if (!lock) return EBUSY;
    if (channel->refcnt > 0) {
      TellBusy(ChannelOf(channel).opened);
      return EBUSY;
    }
    ChannelOf(channel).opened.reset();
  }
  delete &ChannelOf(channel);
  return 0;
}

int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** queue, void** cq_context) {
  ChannelOf(channel).Retry();
  WaitInVirtualTime(channel->fd, ContextOf(channel->context));
  drydock::sim::verbs::Event event = 0;
  // A signal ends it (EINTR): programs leave this wait so.
  if (read(channel->fd, &event, sizeof event) != sizeof event) return -1;
  *queue = reinterpret_cast<ibv_cq*>(static_cast<std::uintptr_t>(event));
  *cq_context = (*queue)->cq_context;
  return 0;
}

void ibv_ack_cq_events(ibv_cq* queue, unsigned count) {
  pthread_mutex_lock(&queue->mutex);
  queue->comp_events_completed += count;
  pthread_cond_signal(&queue->cond);
  pthread_mutex_unlock(&queue->mutex);
}

}  // extern "C"
