// The provider's own data on a failed completion: a power of completion queues.
//
//   fabric::ErrorData data;  // zeroed: what it holds is read
//   queue.power<fabric::ErrorDetails>()->ReadErrorData(completion, data);
//   Log(data.data, data.size_bytes);  // before the queue is asked again

#ifndef DRYDOCK_FABRIC_ERROR_DATA_H_
#define DRYDOCK_FABRIC_ERROR_DATA_H_

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "drydock/fabric/capability.h"
#include "drydock/fabric/operation.h"

namespace drydock::fabric {

// In and out: err_data and err_data_size of libfabric's fi_cq_err_entry (fi_cq(3)).
struct ErrorData {
  // In: where the bytes go. Out, if there was no room: a buffer of the provider's, which is valid
  // until the queue's next Read or ReadErrorData.
  std::byte* data = nullptr;
  // In: the room at `data`; 0: `data` is not looked at. Out: how many bytes are there now; what
  // does not fit is cut off.
  std::size_t size_bytes = 0;
};

// What it is: the data that libfabric's fi_cq_readerr gives beside the codes. Ownership and
// threads: as its queue. Queues of all backends of this repository have it.
class ErrorDetails {
 public:
  static constexpr PowerId kPower{"ErrorDetails"};
  virtual ~ErrorDetails() = default;

  // The provider's data on a failed completion of this queue: for a person, and mostly text with a
  // zero at its end where it was not cut off. Call it before the next Read. No bytes: the provider
  // has none. An ErrorData that holds something by chance has the bytes written there.
  virtual void ReadErrorData(const Completion& completion, ErrorData& data) = 0;
};

// For backends: the buffer of the provider's, and these rules.
class ErrorBuffer {
 public:
  void Give(std::string_view bytes, ErrorData& data) {
    if (data.size_bytes == 0) {
      own_ = bytes;
      data.data = reinterpret_cast<std::byte*>(own_.data());
      data.size_bytes = own_.size();
      return;
    }
    data.size_bytes = std::min(data.size_bytes, bytes.size());
    std::memcpy(data.data, bytes.data(), data.size_bytes);
  }
  // Text, with the zero at its end.
  void GiveText(const std::string& text, ErrorData& data) {
    Give({text.c_str(), text.size() + 1}, data);
  }

 private:
  std::string own_;
};

}  // namespace drydock::fabric

#endif  // DRYDOCK_FABRIC_ERROR_DATA_H_
