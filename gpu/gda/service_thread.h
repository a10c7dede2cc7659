// A thread that serves devices: simulated NICs that watch doorbells, a host that rings in a
// device's place, a proxy.

#ifndef DRYDOCK_GPU_GDA_SERVICE_THREAD_H_
#define DRYDOCK_GPU_GDA_SERVICE_THREAD_H_

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace drydock::gpu::gda {

// Ownership: the caller's; dies before what its services use. Threads: Run may be called by any;
// the others by one, and while no thread runs, except Stop.
class ServiceThread {
 public:
  // Does what can be done now; true when there was something.
  using Service = std::function<bool()>;

  ServiceThread() = default;
  ServiceThread(const ServiceThread&) = delete;
  ServiceThread& operator=(const ServiceThread&) = delete;
  ~ServiceThread() { Stop(); }

  void Add(Service service) { services_.push_back(std::move(service)); }

  // Every service once, on the calling thread.
  bool Step();

  // From now on a thread of its own does so all the time.
  void Start();
  // Returns when it has ended. Harmless when there is none.
  void Stop();

  // Does something with what the services use (a world, its fabrics, devices that are attached to
  // it) while they wait.
  void Run(const std::function<void()>& work);

 private:
  void Loop();

  std::vector<Service> services_;
  std::mutex mutex_;
  std::atomic<int> waiting_{0};  // for the mutex
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_SERVICE_THREAD_H_
