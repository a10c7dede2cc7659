// Which stand-in is current on a thread, as libfabric meets it when it registers memory by address.
// What a driver itself answers, of all contexts of one GPU, is a matter of host_driver.h.
//
//   const gpu::CurrentHostDevice current(device->ordinal());
//   domain.RegisterMemory(request);  // HostDeviceOptions::needs_context: refused without

#ifndef DRYDOCK_GPU_HOST_DEVICE_CURRENT_DEVICE_H_
#define DRYDOCK_GPU_HOST_DEVICE_CURRENT_DEVICE_H_

#include <optional>

namespace drydock::gpu {

// Makes a stand-in current on the calling thread, as long as this lives; then the one before is
// again. A thread begins with none, whatever its parent has. Dies on its thread, the last one
// first.
class CurrentHostDevice {
 public:
  explicit CurrentHostDevice(int ordinal);
  CurrentHostDevice(const CurrentHostDevice&) = delete;
  CurrentHostDevice& operator=(const CurrentHostDevice&) = delete;
  ~CurrentHostDevice();

  // The number of the one that is; absent: none.
  static std::optional<int> OnThisThread();

 private:
  const std::optional<int> before_;
};

}  // namespace drydock::gpu

#endif  // DRYDOCK_GPU_HOST_DEVICE_CURRENT_DEVICE_H_
