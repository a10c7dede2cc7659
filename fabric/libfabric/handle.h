// Owns one object of the library.

#ifndef DRYDOCK_FABRIC_LIBFABRIC_HANDLE_H_
#define DRYDOCK_FABRIC_LIBFABRIC_HANDLE_H_

#include <utility>

#include "drydock/fabric/libfabric/api.h"

namespace drydock::fabric::libfabric {

// Closes its object when it is destroyed; a failure to close is ignored then, so code that must
// know calls Close first. T is a fid_* structure, whose first member is a fid. Move-only. The Api
// must outlive it. Threads: as the object.
template <typename T>
class Handle {
 public:
  Handle() = default;
  Handle(Api& api, T* object) : api_(&api), object_(object) {}
  Handle(Handle&& other) noexcept
      : api_(other.api_), object_(std::exchange(other.object_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(object_, other.object_);
    return *this;
  }
  ~Handle() { Close(); }

  T* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

  // Closes now; returns 0 or the library's error. Closing an empty handle does nothing.
  int Close() {
    T* object = std::exchange(object_, nullptr);
    return object == nullptr ? 0 : api_->Close(&object->fid);
  }

 private:
  Api* api_ = nullptr;
  T* object_ = nullptr;
};

}  // namespace drydock::fabric::libfabric

#endif  // DRYDOCK_FABRIC_LIBFABRIC_HANDLE_H_
