// The common profiles of the devices of one generation. Which instance type is of which generation,
// and whether it has RDMA read and write: EC2 user guide, page efa, "Supported instance types".

#include <chrono>

#include "drydock/sim/profile/families.h"

namespace drydock::sim {

using namespace std::chrono_literals;

namespace {

// No type of this generation has RDMA write; p4d and p4de are the only ones with RDMA read.
void MakeFirst(Profile& profile) {
  profile.vendor_device_id = "1d0f:efa0";  // recorded on p4d
  profile.device.rdma_read = false;
  profile.device.rdma_write = false;
  profile.device.max_rdma_size = 0;
  profile.device.unsolicited_write_recv = false;  // there is nothing to receive
  profile.device.sub_cqs_per_cq = 2;              // as p4d
  // 0.67 million messages a second (ofiwg/libfabric issue 5694, c5n).
  profile.issue_cost = 1500ns;
}

// As p5en, where not all of it is known either.
void MakeThird(Profile& profile) {
  profile.vendor_device_id = "1d0f:efa2";  // recorded on p5en
  profile.device.inline_buf_size_ex = 80;
  profile.duplicate_one_in = 256;
  profile.issue_cost = 380ns;
  profile.dma_gbps = 252;
  profile.header_bytes = 245;
  profile.host.work = 265ns;
}

// As p6.
void MakeFourth(Profile& profile) {
  MakeThird(profile);
  profile.vendor_device_id = "1d0f:efa3";  // recorded on p6-b200 and p6-b300
  profile.dma_gbps = 504;
}

}  // namespace

Profile GenerationProfile(Generation generation) {
  Profile profile = EfaProfile();
  // The send queue is not recorded: the shortest of any.
  profile.device.max_sq_depth = 2048;
  profile.device.max_llq_size = 2048 * 64;
  if (generation == Generation::kEfa1) MakeFirst(profile);
  if (generation == Generation::kEfa3) MakeThird(profile);
  if (generation == Generation::kEfa4) MakeFourth(profile);
  return profile;  // the second is that of p5, from which EfaProfile is taken
}

}  // namespace drydock::sim
