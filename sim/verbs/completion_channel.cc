#include "sim/verbs/completion_channel.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <mutex>
#include <vector>

namespace sim::verbs {
namespace {

// Events that nobody has taken yet; the descriptor counts them.
class Channel : public ibv_comp_channel {
 public:
  void Put(Queue& queue) {
    {
      const std::lock_guard lock(events_mutex_);
      events_.push_back(&queue);
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = write(fd, &one, sizeof one);
  }
  Queue* Take() {
    const std::lock_guard lock(events_mutex_);
    if (events_.empty()) return nullptr;
    Queue* queue = events_.front();
    events_.pop_front();
    return queue;
  }
  void Drop(const Queue& queue) {
    const std::lock_guard lock(events_mutex_);
    std::erase(events_, &queue);
  }

 private:
  std::mutex events_mutex_;
  std::deque<Queue*> events_;
};

Channel& ChannelOf(ibv_comp_channel* channel) { return *static_cast<Channel*>(channel); }

// Queues that are armed; guarded by the mutex of the process's host.
std::vector<Queue*>& Armed() {
  static auto& armed = *new std::vector<Queue*>;
  return armed;
}

void ReportArmed() {
  std::erase_if(Armed(), [](Queue* queue) {
    if (!queue->ring()->TakeEvent()) return false;
    ChannelOf(queue->channel).Put(*queue);
    return true;
  });
}

}  // namespace

void Await(Queue& queue) {
  std::vector<Queue*>& armed = Armed();
  if (std::find(armed.begin(), armed.end(), &queue) == armed.end()) armed.push_back(&queue);
  queue.owner().host->OnCompletion(ReportArmed);
}

void Abandon(Queue& queue) {
  std::erase(Armed(), &queue);
  if (queue.channel != nullptr) ChannelOf(queue.channel).Drop(queue);
}

}  // namespace sim::verbs

using sim::verbs::ChannelOf;

extern "C" {

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  const int fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
  if (fd < 0) return nullptr;
  auto* channel = new sim::verbs::Channel;
  channel->context = context;
  channel->fd = fd;
  channel->refcnt = 0;
  return channel;
}

int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  if (channel->refcnt > 0) return EBUSY;
  close(channel->fd);
  delete &ChannelOf(channel);
  return 0;
}

int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** queue, void** cq_context) {
  while (true) {
    std::uint64_t count = 0;
    if (read(channel->fd, &count, sizeof count) < 0) {
      if (errno == EINTR) continue;
      return -1;
    }
    sim::verbs::Queue* taken = ChannelOf(channel).Take();
    if (taken == nullptr) continue;  // its queue has gone meanwhile
    *queue = reinterpret_cast<ibv_cq*>(static_cast<ibv_cq_ex*>(taken));
    *cq_context = taken->cq_context;
    return 0;
  }
}

void ibv_ack_cq_events(ibv_cq* queue, unsigned count) {
  sim::verbs::QueueOf(queue).comp_events_completed += count;
}

}  // extern "C"
