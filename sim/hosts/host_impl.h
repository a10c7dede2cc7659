// The implementation of a Host: a machine among others, or one that is alone in virtual time.

#ifndef DRYDOCK_SIM_HOSTS_HOST_IMPL_H_
#define DRYDOCK_SIM_HOSTS_HOST_IMPL_H_

#include <functional>
#include <memory>
#include <mutex>

#include "drydock/sim/hosts/host.h"

namespace drydock::sim {

// Each function does what Host's function of its name says.
class Host::Impl {
 public:
  virtual ~Impl() = default;

  virtual std::mutex& mutex() = 0;
  virtual World& world() = 0;
  virtual Node& node() = 0;
  virtual bool Progress() = 0;
  virtual void Posted() = 0;
  virtual void Kick() = 0;
  virtual void OnCompletion(std::function<void()> report) = 0;
  virtual int Watch(std::function<bool()> glance) = 0;
  virtual void Unwatch(int number) = 0;
  virtual bool in_virtual_time() const = 0;
  virtual bool usable() const = 0;
  virtual HostCounters counters() const = 0;
  virtual bool resting() const = 0;
};

// One whose world follows the program's virtual time. REQUIRES: options.virtual_time is there.
std::unique_ptr<Host::Impl> MakeAlone(const HostOptions& options, const NodeIdentity& identity);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_HOST_IMPL_H_
