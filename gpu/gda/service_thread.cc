#include "drydock/gpu/gda/service_thread.h"

#include <algorithm>

namespace drydock::gpu::gda {
namespace {

// Rounds in vain after which the thread lets others run: a device may be a thread of this machine,
// and wait for this processor where there are few.
int IdleRounds() { return std::thread::hardware_concurrency() > 4 ? 4096 : 32; }

}  // namespace

bool ServiceThread::Step() {
  bool any = false;
  for (const Service& service : services_) any |= service();
  return any;
}

void ServiceThread::Start() {
  if (thread_.joinable()) return;
  stop_ = false;
  thread_ = std::thread([this] { Loop(); });
}

void ServiceThread::Stop() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

void ServiceThread::Run(const std::function<void()>& work) {
  ++waiting_;
  const std::lock_guard lock(mutex_);
  --waiting_;
  work();
}

void ServiceThread::Loop() {
  const int most = IdleRounds();
  int idle = 0;
  while (!stop_) {
    bool any = false;
    {
      const std::lock_guard lock(mutex_);
      any = Step();
    }
    // No further than the limit: a thread may be idle for longer than an int counts.
    idle = any ? 0 : std::min(idle + 1, most + 1);
    // A mutex is not fair: without this, a thread that waits for it might wait for ever.
    if (idle > most || waiting_ > 0) std::this_thread::yield();
  }
}

}  // namespace drydock::gpu::gda
