// A libfabric that opens everything and moves nothing: the mock's calls answered by objects whose
// function tables lead back here. A test says what a call answers next, and sees what was asked.

#ifndef TESTING_MOCKS_FAKE_LIBFABRIC_H_
#define TESTING_MOCKS_FAKE_LIBFABRIC_H_

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "testing/mocks/mock_libfabric_api.h"

namespace fabric::libfabric {

// What fi_cq_read finds next: a success, or an error entry.
struct FakeEntry {
  fi_cq_data_entry success{};
  bool failed = false;
  fi_cq_err_entry error{};
  std::string words;  // the provider's text
};

// One post, as the provider saw it.
struct FakePost {
  enum Kind { kSend, kRecv, kWrite, kRead } kind;
  void* context;
  std::uint64_t flags;
  std::uint64_t data;
  fi_addr_t peer;
  std::size_t length;
  fi_rma_iov remote;
};

// A NIC named `name` of `provider`, as fi_getinfo describes it; efa's attributes where it matters.
struct FakeNic {
  std::string provider = "efa";
  std::string fabric = "efa-direct";
  std::string name = "rdmap0s0-rdm";
  std::uint32_t address_format = FI_ADDR_EFA;
  std::size_t address_bytes = 32;
  std::uint64_t mode = FI_CONTEXT2;
  int mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  std::size_t depth = 4;
  std::uint64_t max_message_bytes = 1 << 20;
};

// Not thread-safe. Outlives what is opened on it.
class FakeLibfabric {
 public:
  explicit FakeLibfabric(std::vector<FakeNic> nics = {FakeNic()});

  // Answers every call as a working library does; set further expectations on it.
  ::testing::NiceMock<MockApi>& api() { return api_; }

  // The n-th control call that can fail, counted from 0, fails with `error`; -1: none.
  void FailCall(int number, int error) {
    fail_call_ = number;
    fail_error_ = error;
  }
  int calls() const { return calls_; }

  // Objects that are open, and lists that were not freed.
  std::size_t open_objects() const { return open_.size(); }
  int infos_alive() const { return infos_alive_; }

  std::deque<FakeEntry> entries;     // for fi_cq_read
  std::vector<FakePost> posts;       // what was posted
  std::deque<ssize_t> post_answers;  // for the next posts; then 0
  std::vector<int> bind_flags;       // of fi_ep_bind, in order
  std::uint64_t requested_key = 0;   // of the last registration
  std::uint64_t last_access = 0;

 private:
  struct Object;
  struct Tables;

  fi_info* MakeInfos(const fi_info* hints);
  int Answer();
  template <typename T>
  int Open(T** out);

  ::testing::NiceMock<MockApi> api_;
  std::vector<FakeNic> nics_;
  std::set<fid*> open_;
  int calls_ = 0;
  int fail_call_ = -1;
  int fail_error_ = 0;
  int infos_alive_ = 0;
  fi_addr_t next_peer_ = 0;
  fi_info* null_hint_list_ = nullptr;
};

}  // namespace fabric::libfabric

#endif  // TESTING_MOCKS_FAKE_LIBFABRIC_H_
