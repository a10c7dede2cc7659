// A libfabric that opens everything and moves nothing: the mock's calls answered by objects whose
// function tables lead back here. A test says what a call answers next, and sees what was asked.

#ifndef DRYDOCK_TESTING_MOCKS_FAKE_LIBFABRIC_H_
#define DRYDOCK_TESTING_MOCKS_FAKE_LIBFABRIC_H_

#include <rdma/fi_atomic.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "drydock/testing/mocks/mock_libfabric_api.h"

namespace drydock::fabric::libfabric {

// What fi_cq_read finds next: a success, or an error entry.
struct FakeEntry {
  fi_cq_tagged_entry success{};
  bool failed = false;
  fi_cq_err_entry error{};
  std::string words;                    // the provider's text
  fi_addr_t source = FI_ADDR_NOTAVAIL;  // for fi_cq_readfrom
};

// One post, as the provider saw it.
struct FakePost {
  enum Kind {
    kSend,
    kRecv,
    kWrite,
    kRead,
    kTaggedSend,
    kTaggedRecv,
    kAtomic,
    kFetchAtomic,
    kCompareAtomic
  } kind;
  void* context = nullptr;
  std::uint64_t flags = 0;
  std::uint64_t data = 0;
  fi_addr_t peer = FI_ADDR_UNSPEC;
  std::size_t length = 0;  // of the first segment; of atomics, in values
  fi_rma_iov remote{};     // of atomics, with its length in values
  std::size_t segments = 1;
  std::uint64_t tag = 0;
  std::uint64_t ignore = 0;
  fi_op operation{};
  fi_datatype datatype{};
};

// One fi_setopt, in order with fi_enable.
struct FakeOption {
  int option;
  std::size_t value;
  bool enabled;  // the endpoint was enabled before
};

// A NIC named `name` of `provider`, as fi_getinfo describes it; efa-direct's attributes where it
// matters. What a hint asks for beyond these is refused with -FI_ENODATA.
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
  fi_ep_type type = FI_EP_RDM;
  std::uint64_t capabilities = FI_MSG | FI_RMA | FI_SOURCE;
  std::uint64_t always = 0;  // capabilities that are granted unasked
  std::uint64_t order = 0;
  bool optional_rx_cq_data = true;  // FI_RX_CQ_DATA is honoured where it is offered
  std::size_t inject_bytes = 32;
  std::size_t most_inject_bytes = 80;  // where it is hinted at, for half the depth
  std::size_t segments = 2;
  std::size_t mtu_bytes = 8928;
  std::size_t prefix_bytes = 0;
};

// EFA as libfabric 2 offers it: efa-direct, efa, and its datagram endpoints.
FakeNic FakeEfaDirect();
FakeNic FakeEfa();
FakeNic FakeEfaDatagram();
// A software provider with everything that one can ask for.
FakeNic FakeSoftware();

// Not thread-safe. Outlives the objects that are opened on it.
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

  std::deque<FakeEntry> entries;          // for fi_cq_read
  std::vector<FakePost> posts;            // all posts, in order
  std::deque<ssize_t> post_answers;       // for the next posts; then 0
  std::vector<std::uint64_t> bind_flags;  // of fi_ep_bind, in order
  std::vector<FakeOption> options_set;    // of fi_setopt, in order
  std::map<int, std::size_t> options;     // for fi_getopt, which knows no others
  std::map<int, int> option_errors;       // of fi_setopt, by option; else 0
  std::vector<void*> cancelled;           // of fi_cancel
  std::deque<ssize_t> cancel_answers;     // for the next fi_cancel; then 0
  std::size_t most_atomic_values = 16;    // of fi_atomicvalid and its kin; none for bits of floats
  std::uint64_t count = 0;                // of every counter
  std::uint64_t error_count = 0;
  bool counters = true;                            // fi_cntr_open works
  bool reads_sources = false;                      // the last read was fi_cq_readfrom
  fi_cq_format last_format = FI_CQ_FORMAT_UNSPEC;  // of the last fi_cq_open
  std::uint64_t requested_key = 0;                 // of the last registration
  std::uint64_t last_access = 0;
  std::vector<std::uint64_t> asked_capabilities;  // hints of each fi_getinfo, in order
  std::vector<std::size_t> opened_inject_bytes;   // of the info of each fi_endpoint, in order
  std::vector<std::uint64_t> opened_modes;        // the same
  std::vector<std::uint8_t> last_inserted;        // the bytes of the last fi_av_insert
  std::optional<fi_addr_t> next_number;           // of fi_av_insert; absent: one after the other

 private:
  // What the mock's calls do by default.
  void AnswerLists();
  void AnswerOpens();
  void AnswerEndpoints();

  fi_info* MakeInfos(const fi_info* hints);
  int Answer();
  template <typename T>
  int Open(T** out);

  ::testing::NiceMock<MockApi> api_;
  std::vector<FakeNic> nics_;
  std::set<fid*> open_;
  std::set<fid*> enabled_;
  int calls_ = 0;
  int fail_call_ = -1;
  int fail_error_ = 0;
  int infos_alive_ = 0;
  fi_addr_t next_peer_ = 0;
};

}  // namespace drydock::fabric::libfabric

#endif  // DRYDOCK_TESTING_MOCKS_FAKE_LIBFABRIC_H_
