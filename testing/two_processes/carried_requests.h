// A batch of requests, and all that they point to beside registered memory, where both processes
// see it.

#ifndef DRYDOCK_TESTING_TWO_PROCESSES_CARRIED_REQUESTS_H_
#define DRYDOCK_TESTING_TWO_PROCESSES_CARRIED_REQUESTS_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "drydock/fabric/endpoint.h"
#include "drydock/testing/two_processes/carrying.h"
#include "drydock/testing/two_processes/other_process.h"

namespace drydock::two_processes {

template <typename Request>
class CarriedRequests {
 public:
  CarriedRequests(OtherProcess& process, std::span<const Request> requests)
      : process_(process), requests_(process, requests) {
    for (Request& request : requests_.items()) CarryParts(request);
  }

  std::span<const Request> items() const { return requests_.items(); }

 private:
  void CarryParts(Request& request) {
    if constexpr (requires { request.more; }) {
      if (!request.more.empty()) request.more = Carry(request.more, segments_);
    }
    if constexpr (requires { request.inject; }) {
      if (!request.inject) return;
      fabric::LocalBuffer& source = [&]() -> fabric::LocalBuffer& {
        if constexpr (requires { request.source; }) {
          return request.source;
        } else {
          return request.buffer;
        }
      }();
      if (source.length_bytes == 0) return;
      source.data =
          Carry(std::span<const std::byte>(source.data, source.length_bytes), bytes_).data();
    }
  }

  template <typename T>
  std::span<T> Carry(std::span<const T> items,
                     std::vector<std::unique_ptr<SharedList<T>>>& carried) {
    carried.push_back(std::make_unique<SharedList<T>>(process_, items));
    return carried.back()->items();
  }

  OtherProcess& process_;
  SharedList<Request> requests_;
  std::vector<std::unique_ptr<SharedList<fabric::LocalBuffer>>> segments_;
  std::vector<std::unique_ptr<SharedList<std::byte>>> bytes_;
};

}  // namespace drydock::two_processes

#endif  // DRYDOCK_TESTING_TWO_PROCESSES_CARRIED_REQUESTS_H_
