// The functions of libibverbs that need no device: fork support, sysfs, names and rates.

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <string>

namespace {

struct Rate {
  ibv_rate code;
  int mbps;
  int multiple;  // of 2.5 Gbit/s; 0: none
};
// The rates of libibverbs (linux-rdma/rdma-core libibverbs/src/verbs.c). Where lanes use 64b/66b
// coding, `mbps` is the rate on the wire.
constexpr Rate kRates[] = {{IBV_RATE_2_5_GBPS, 2500, 1},      {IBV_RATE_5_GBPS, 5000, 2},
                           {IBV_RATE_10_GBPS, 10000, 4},      {IBV_RATE_20_GBPS, 20000, 8},
                           {IBV_RATE_30_GBPS, 30000, 12},     {IBV_RATE_40_GBPS, 40000, 16},
                           {IBV_RATE_60_GBPS, 60000, 24},     {IBV_RATE_80_GBPS, 80000, 32},
                           {IBV_RATE_120_GBPS, 120000, 48},   {IBV_RATE_14_GBPS, 14062, 0},
                           {IBV_RATE_25_GBPS, 25781, 0},      {IBV_RATE_28_GBPS, 28125, 11},
                           {IBV_RATE_50_GBPS, 53125, 20},     {IBV_RATE_56_GBPS, 56250, 0},
                           {IBV_RATE_100_GBPS, 103125, 0},    {IBV_RATE_112_GBPS, 112500, 0},
                           {IBV_RATE_168_GBPS, 168750, 0},    {IBV_RATE_200_GBPS, 206250, 0},
                           {IBV_RATE_300_GBPS, 309375, 0},    {IBV_RATE_400_GBPS, 425000, 160},
                           {IBV_RATE_600_GBPS, 637500, 240},  {IBV_RATE_800_GBPS, 850000, 320},
                           {IBV_RATE_1200_GBPS, 1275000, 480}};

const Rate* Find(ibv_rate code) {
  for (const Rate& rate : kRates) {
    if (rate.code == code) return &rate;
  }
  return nullptr;
}

// libibverbs' own words, in the order of the enumerations: logs of programs are searched for them.
constexpr char kUnknown[] = "unknown";
constexpr const char* kNodeTypes[] = {"InfiniBand channel adapter",
                                      "InfiniBand switch",
                                      "InfiniBand router",
                                      "iWARP NIC",
                                      "usNIC",
                                      "usNIC UDP",
                                      "unspecified"};
constexpr const char* kPortStates[] = {"no state change (NOP)", "down", "init", "armed", "active",
                                       "active defer"};
constexpr const char* kEvents[] = {"CQ error",
                                   "local work queue catastrophic error",
                                   "invalid request local work queue error",
                                   "local access violation work queue error",
                                   "communication established",
                                   "send queue drained",
                                   "path migrated",
                                   "path migration request error",
                                   "local catastrophic error",
                                   "port active",
                                   "port error",
                                   "LID change",
                                   "P_Key change",
                                   "SM change",
                                   "SRQ catastrophic error",
                                   "SRQ limit reached",
                                   "last WQE reached",
                                   "client reregistration",
                                   "GID table change",
                                   "WQ fatal",
                                   "Device link speed change"};

template <std::size_t count>
const char* WordOf(const char* const (&words)[count], int number) {
  const auto index = static_cast<std::size_t>(number);
  return index < count ? words[index] : kUnknown;
}

}  // namespace

extern "C" {

// ---- fork: no page is pinned, so a child can share any page ----

int ibv_fork_init() { return 0; }
ibv_fork_status ibv_is_fork_initialized() { return IBV_FORK_UNNEEDED; }
int ibv_dontfork_range(void*, std::size_t) { return 0; }
int ibv_dofork_range(void*, std::size_t) { return 0; }

// ---- sysfs ----

const char* ibv_get_sysfs_path() {
  const char* given = std::getenv("SYSFS_PATH");
  return given != nullptr && given[0] != '\0' ? given : "/sys";
}

int ibv_read_sysfs_file(const char* folder, const char* file, char* buffer, std::size_t bytes) {
  const std::string name = std::string(folder) + "/" + file;
  const int fd = open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  ssize_t length = read(fd, buffer, bytes);
  close(fd);
  if (length > 0 && buffer[length - 1] == '\n') --length;
  // A text that has no room for its end is none (linux-rdma/rdma-core libibverbs/sysfs.c).
  if (length < 0 || static_cast<std::size_t>(length) >= bytes) return -1;
  buffer[length] = '\0';
  return static_cast<int>(length);
}

// ---- words ----

const char* ibv_node_type_str(ibv_node_type type) {
  return type < IBV_NODE_CA ? kUnknown : WordOf(kNodeTypes, type - IBV_NODE_CA);
}
const char* ibv_port_state_str(ibv_port_state state) { return WordOf(kPortStates, state); }
const char* ibv_event_type_str(ibv_event_type event) { return WordOf(kEvents, event); }

// ---- rates of a port ----

int ibv_rate_to_mult(ibv_rate code) {
  const Rate* rate = Find(code);
  return rate == nullptr || rate->multiple == 0 ? -1 : rate->multiple;
}
ibv_rate mult_to_ibv_rate(int multiple) {
  for (const Rate& rate : kRates) {
    if (multiple > 0 && rate.multiple == multiple) return rate.code;
  }
  return IBV_RATE_MAX;
}
int ibv_rate_to_mbps(ibv_rate code) {
  const Rate* rate = Find(code);
  return rate == nullptr ? -1 : rate->mbps;
}
ibv_rate mbps_to_ibv_rate(int mbps) {
  for (const Rate& rate : kRates) {
    if (rate.mbps == mbps) return rate.code;
  }
  return IBV_RATE_MAX;
}

}  // extern "C"
