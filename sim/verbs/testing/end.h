// One end of a connection, as a program of libibverbs and libefa has it: a device, a protection
// domain, two completion queues, a queue pair that is ready, and some memory. For tests, which use
// the interface itself for all that they look at.

#ifndef DRYDOCK_SIM_VERBS_TESTING_END_H_
#define DRYDOCK_SIM_VERBS_TESTING_END_H_

#include <infiniband/efadv.h>
#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace drydock::sim_testing {

// Sets the variables that the library reads, unless they are set: profile `small`, and a network of
// this process's own. Happens by itself before main when this file is linked; prints the seed.
void SetUpEnvironment();

// One completion, with everything that the extended functions of a poll tell.
struct Entry {
  std::uint64_t wr_id = 0;
  ibv_wc_status status = IBV_WC_GENERAL_ERR;
  ibv_wc_opcode opcode = IBV_WC_SEND;
  std::uint32_t vendor_error = 0;
  std::uint32_t byte_len = 0;
  std::uint32_t immediate = 0;  // of this machine's byte order
  std::uint32_t queue_pair = 0;
  std::uint32_t source_queue_pair = 0;
  std::uint32_t source_handle = 0;
  unsigned flags = 0;
  std::optional<ibv_gid> source_gid;  // of a sender that is unknown
  bool unsolicited = false;
};

// The oldest completion, by start_poll and end_poll, or by ibv_poll_cq: the GID and `unsolicited`
// are then left out.
std::optional<Entry> Take(ibv_cq_ex* queue);
std::optional<Entry> TakePlain(ibv_cq_ex* queue);
// The next one; fails the test when none comes for a long time.
Entry Await(ibv_cq_ex* queue);
// Polls until `done`; fails the test when it takes a long time.
void PollUntil(const std::function<bool()>& done);

struct EndOptions {
  int nic = 0;
  std::uint32_t queue_entries = 128;  // of each completion queue
  std::uint32_t sends = 16;
  std::uint32_t receives = 16;
  std::uint32_t inline_bytes = 32;
  std::uint8_t rnr_retry = 7;
  bool inline_writes = false;           // work requests of 128 bytes
  bool unsolicited = false;             // immediates of peers' writes take no receive
  bool ready = true;                    // false: the queue pair stays as it was created
  bool registered = true;               // false: the memory has no region
  ibv_comp_channel* channel = nullptr;  // of the receives
};

// The device with this number; null, and a failed test, when there is none.
ibv_context* OpenDevice(int nic);

// Fails the test, and ends the program, when something cannot be had that every test needs.
class End {
 public:
  explicit End(const EndOptions& options = {});
  // Closes the objects that are still there, in the order that a program would.
  ~End();
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  static constexpr std::uint32_t kQkey = 0x11223344;
  static constexpr std::size_t kMemoryBytes = 1 << 16;

  // The peer's address handle here, made when it is not there yet.
  ibv_ah* HandleOf(const End& peer);
  // As the device numbers it.
  static std::uint16_t NumberOf(ibv_ah* handle);
  void Forget(const End& peer);

  std::byte* at(std::size_t offset) { return memory.data() + offset; }
  std::uint64_t address(std::size_t offset) const {
    return reinterpret_cast<std::uint64_t>(memory.data() + offset);
  }
  ibv_sge Segment(std::size_t offset, std::uint32_t length) const {
    return {.addr = address(offset), .length = length, .lkey = region->lkey};
  }

  // ibv_post_recv and ibv_post_send of one request; an errno, or 0.
  int Receive(std::uint64_t wr_id, std::vector<ibv_sge> segments);
  int Send(const End& peer, std::uint64_t wr_id, std::vector<ibv_sge> segments,
           std::optional<std::uint32_t> immediate = std::nullopt,
           unsigned flags = IBV_SEND_SIGNALED);
  // A session of one request, ibv_wr_start to ibv_wr_complete. `build` names the operation and the
  // bytes; the address is set afterwards.
  int Post(const End& peer, std::uint64_t wr_id, const std::function<void(ibv_qp_ex*)>& build);
  int Write(const End& peer, std::uint64_t wr_id, std::uint32_t length,
            std::optional<std::uint32_t> immediate = std::nullopt);
  int Read(const End& peer, std::uint64_t wr_id, std::uint32_t length);

  // Whether neither queue has anything more.
  bool Quiet();

  ibv_context* context = nullptr;
  ibv_gid gid{};
  ibv_pd* domain = nullptr;
  ibv_cq_ex* send_queue = nullptr;
  ibv_cq_ex* receive_queue = nullptr;
  ibv_qp* queue_pair = nullptr;
  ibv_qp_ex* extended = nullptr;
  ibv_mr* region = nullptr;
  std::vector<std::byte> memory;

 private:
  std::map<const End*, ibv_ah*> handles_;
};

// The steps of End. Null, and errno, or an errno.
ibv_cq_ex* MakeQueue(ibv_context* context, std::uint32_t entries,
                     ibv_comp_channel* channel = nullptr, void* cq_context = nullptr);
ibv_qp_init_attr_ex QueuePairAttributes(ibv_pd* domain, ibv_cq_ex* sends, ibv_cq_ex* receives,
                                        const EndOptions& options = {});
ibv_qp* MakeQueuePair(ibv_context* context, ibv_qp_init_attr_ex attributes,
                      const EndOptions& options = {});
// Moves to this state, with the attributes that the move needs: the qkey is that of every End.
int Move(ibv_qp* queue_pair, ibv_qp_state state);
// RESET to RTS.
int MakeReady(ibv_qp* queue_pair, std::uint8_t rnr_retry = 7);

// Bytes that differ from their neighbours.
void Fill(std::span<std::byte> bytes, unsigned seed);
bool Holds(std::span<const std::byte> bytes, unsigned seed);

}  // namespace drydock::sim_testing

#endif  // DRYDOCK_SIM_VERBS_TESTING_END_H_
