#include "drydock/gpu/host_device/current_device.h"

namespace drydock::gpu {
namespace {

thread_local std::optional<int> current;

}  // namespace

CurrentHostDevice::CurrentHostDevice(int ordinal) : before_(current) { current = ordinal; }

CurrentHostDevice::~CurrentHostDevice() { current = before_; }

std::optional<int> CurrentHostDevice::OnThisThread() { return current; }

}  // namespace drydock::gpu
