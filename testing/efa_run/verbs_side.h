// What a program on plain verbs has on one NIC: a device, a queue pair with two completion queues,
// some memory. Unlike those of sim/verbs it is linked with libibverbs itself, and knows nothing of
// us.

#ifndef DRYDOCK_TESTING_EFA_RUN_VERBS_SIDE_H_
#define DRYDOCK_TESTING_EFA_RUN_VERBS_SIDE_H_

#include <infiniband/efadv.h>
#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <vector>

namespace drydock::rules {

// Ends the program, with exit status 3, when a call that every program needs fails.
inline void Need(bool good, const char* what) {
  if (good) return;
  std::perror(what);
  std::exit(3);
}

struct SideOptions {
  int nic = 0;
  std::uint32_t sends = 64;
  int send_entries = 128;
  int receive_entries = 128;
  std::uint8_t rnr_retry = 7;  // for ever
  bool one_thread = false;     // the queue pair is in a thread domain
  bool channel = false;        // of the completion queue of sends
};

// Everything is destroyed by Close, or piece by piece before; nothing is by itself.
class Side {
 public:
  static constexpr std::size_t kBytes = 1 << 20;

  explicit Side(const SideOptions& options = {});
  void Close();

  void Receive(std::uint64_t wr_id);
  // Errnos of the post. A message of 64 bytes, or a write of `bytes` from our memory to the peer's.
  int Send(const Side& peer, std::uint64_t wr_id);
  int Write(const Side& peer, std::uint64_t wr_id, std::uint32_t bytes);
  // A session of one request that is not rung for.
  void Begin(const Side& peer, std::uint64_t wr_id);

  // The next completion; ends the program when none comes within half a minute.
  ibv_wc Wait(ibv_cq* queue) const;
  // `count` of them, all good.
  void WaitForAll(ibv_cq* queue, int count) const;

  // The peer's address handle, made when it is not there; Forget destroys it.
  ibv_ah* HandleOf(const Side& peer);
  void Forget(const Side& peer);
  void CloseQueuePair();
  void CloseQueues();
  void Deregister();

  ibv_context* context = nullptr;
  ibv_pd* domain = nullptr;
  ibv_td* thread = nullptr;
  ibv_pd* parent = nullptr;
  ibv_comp_channel* channel = nullptr;
  ibv_cq* sends = nullptr;
  ibv_cq* receives = nullptr;
  ibv_qp* queue_pair = nullptr;
  std::uint32_t number = 0;  // of the queue pair, also of one that is gone
  ibv_qp_ex* extended = nullptr;
  ibv_mr* region = nullptr;
  std::vector<char> memory;

 private:
  ibv_gid gid_{};
  std::map<const Side*, ibv_ah*> handles_;
};

// Two sides that know each other: each may write to the other's memory.
struct Pair {
  explicit Pair(const SideOptions& of_a = {}, const SideOptions& of_b = {.nic = 1});
  void Close() {
    a.Close();
    b.Close();
  }
  Side a, b;
};

}  // namespace drydock::rules

#endif  // DRYDOCK_TESTING_EFA_RUN_VERBS_SIDE_H_
