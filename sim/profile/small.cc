// The default profile: no real machine, but one with the properties that tests want.

#include <chrono>

#include "drydock/sim/profile/families.h"

namespace drydock::sim {

using namespace std::chrono_literals;

Profile SmallProfile() {
  Profile profile = EfaProfile();
  profile.name = "small";
  profile.description = "two NICs with short queues: the default, made for tests";
  const GpuModel model{"simulated GPU", "0000:0000"};
  AddSwitch(profile, 0x45, 15.75);
  AddSwitch(profile, 0x89, 15.75);
  AddNic(profile, {0, 0}, 0x4f);
  AddGpu(profile, model, {0, 0}, 0x53);
  AddNic(profile, {1, 1}, 0x93);
  AddGpu(profile, model, {1, 1}, 0x97);
  profile.numa_cpus = {"0-3", "4-7"};
  profile.numa_link_gbytes_per_s = 6;  // less than one NIC's link, so that a test meets the limit

  // Short queues and few of everything, so that a test reaches the end of each.
  DeviceAttributes& device = profile.device;
  device.max_qp = 32;
  device.max_sq_depth = 64;
  device.min_sq_depth = 16;
  device.max_rq_depth = 64 * device.max_wr_recv_sges;
  device.max_llq_size = 64 * 64;
  device.max_cq = 64;
  device.max_cq_depth = 256;
  device.max_mr = 4096;
  device.max_mr_pages = 1 << 20;            // 4 GiB
  device.max_remote_write_pages = 1 << 18;  // 1 GiB
  device.max_total_pages = 1 << 21;         // 8 GiB
  device.max_pd = 32;
  device.max_ah = 64;
  device.inline_buf_size_ex = 80;  // so that both sizes of work requests can be tested

  // Rare events of a network are frequent here.
  profile.retransmit_one_in = 256;
  profile.duplicate_one_in = 64;
  return profile;
}

}  // namespace drydock::sim
