// The attributes of devices: against the profile that the environment names.

#include <fcntl.h>
#include <infiniband/efadv.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "drydock/sim/profile/profile.h"
#include "drydock/sim/verbs/newer_functions.h"
#include "drydock/sim/verbs/testing/end.h"
#include "drydock/sim/verbs/testing/profile_in_use.h"
#include "drydock/sim/verbs/testing/repeated_alarm.h"
#include "gtest/gtest.h"

// Of a header that is not installed.
extern "C" int ibv_read_sysfs_file(const char* folder, const char* file, char* buffer,
                                   std::size_t bytes);

namespace drydock::sim_testing {
namespace {

using sim::DeviceAttributes;
using sim::Profile;
using sim::verbs::MaxReceiveDepth;
using sim::verbs::MaxSendDepth;

TEST(DeviceTest, TheListIsTheProfiles) {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  ASSERT_NE(list, nullptr);
  const Profile& profile = ProfileInUse();
  ASSERT_EQ(static_cast<std::size_t>(count), profile.nics.size());
  std::set<__be64> guids;
  for (int i = 0; i < count; ++i) {
    const std::string& name = profile.nics[static_cast<std::size_t>(i)].name;
    EXPECT_EQ(ibv_get_device_name(list[i]), name);
    EXPECT_EQ(ibv_get_device_index(list[i]), i);
    guids.insert(ibv_get_device_guid(list[i]));
    const std::string path = list[i]->ibdev_path;
    const std::string end = "/class/infiniband/" + name;
    ASSERT_GE(path.size(), end.size());
    EXPECT_EQ(path.substr(path.size() - end.size()), end);
  }
  EXPECT_EQ(guids.size(), profile.nics.size());
  EXPECT_EQ(list[count], nullptr);
  ibv_free_device_list(list);
  list = ibv_get_device_list(nullptr);
  ASSERT_NE(list, nullptr);
  ibv_free_device_list(list);
}

TEST(DeviceTest, ItsAttributes) {
  ibv_context* context = OpenDevice(0);
  ibv_device_attr attr;
  std::memset(&attr, 0xee, sizeof attr);
  ASSERT_EQ(ibv_query_device(context, &attr), 0);
  const DeviceAttributes& device = Device();
  EXPECT_EQ(attr.vendor_id, 0x1d0fu);
  EXPECT_EQ(attr.vendor_part_id,
            std::stoul(ProfileInUse().vendor_device_id.substr(5), nullptr, 16));
  EXPECT_EQ(attr.max_qp, static_cast<int>(device.max_qp));
  EXPECT_EQ(attr.max_cq, static_cast<int>(device.max_cq));
  EXPECT_EQ(attr.max_cqe, static_cast<int>(device.max_cq_depth));
  EXPECT_EQ(attr.max_mr, static_cast<int>(device.max_mr));
  EXPECT_EQ(attr.max_pd, static_cast<int>(device.max_pd));
  EXPECT_EQ(attr.max_ah, static_cast<int>(device.max_ah));
  EXPECT_EQ(attr.max_mr_size, device.max_mr_pages * device.page_bytes);
  EXPECT_EQ(attr.max_sge_rd, static_cast<int>(device.max_wr_rdma_sges));
  EXPECT_EQ(attr.phys_port_cnt, 1);
  EXPECT_EQ(attr.max_srq, 0);

  ibv_device_attr_ex extended;
  std::memset(&extended, 0xee, sizeof extended);
  ASSERT_EQ(ibv_query_device_ex(context, nullptr, &extended), 0);
  EXPECT_EQ(extended.orig_attr.max_qp, attr.max_qp);
  EXPECT_EQ(extended.phys_port_cnt_ex, 1u);
  EXPECT_EQ(ibv_close_device(context), 0);
}

TEST(DeviceTest, ItsPort) {
  ibv_context* context = OpenDevice(0);
  ibv_port_attr attr;
  std::memset(&attr, 0xee, sizeof attr);
  ASSERT_EQ(ibv_query_port(context, 1, &attr), 0);
  EXPECT_EQ(attr.state, IBV_PORT_ACTIVE);
  EXPECT_EQ(attr.max_msg_sz, Device().mtu);
  EXPECT_EQ(attr.gid_tbl_len, 1);
  EXPECT_EQ(attr.lmc, 1);
  EXPECT_EQ(attr.link_layer, IBV_LINK_LAYER_UNSPECIFIED);
  // Four lanes of 25 or 50 Gbit/s, or eight of 50.
  const double gbps = ProfileInUse().link_gbps;
  EXPECT_EQ(attr.active_width, gbps >= 400 ? 4 : 2);
  EXPECT_EQ(attr.active_speed, gbps >= 200 ? 64 : 32);
  EXPECT_EQ(attr.port_cap_flags2, 0);
  EXPECT_EQ(ibv_query_port(context, 0, &attr), EINVAL);
  EXPECT_EQ(ibv_query_port(context, 2, &attr), EINVAL);

  // Programs that were built later have a longer structure.
  std::array<std::uint8_t, sizeof attr + 16> longer;
  longer.fill(0xee);
  ASSERT_EQ(verbs_get_ctx(context)->query_port(
                context, 1, reinterpret_cast<ibv_port_attr*>(longer.data()), longer.size() - 8),
            0);
  EXPECT_TRUE(
      std::all_of(longer.begin() + sizeof attr, longer.end() - 8, [](int b) { return b == 0; }));
  EXPECT_EQ(longer[longer.size() - 8], 0xee);

  // The function behind the macro is for programs whose structure ends earlier.
  std::memset(&attr, 0xee, sizeof attr);
  ASSERT_EQ((ibv_query_port)(context, 1, reinterpret_cast<_compat_ibv_port_attr*>(&attr)), 0);
  EXPECT_EQ(attr.max_msg_sz, Device().mtu);
  EXPECT_EQ(attr.port_cap_flags2, 0xeeee);
  EXPECT_EQ(ibv_close_device(context), 0);
}

TEST(DeviceTest, EveryNicHasItsGid) {
  std::set<std::string> gids;
  for (std::size_t i = 0; i < ProfileInUse().nics.size(); ++i) {
    ibv_context* context = OpenDevice(static_cast<int>(i));
    ibv_gid gid{};
    ASSERT_EQ(ibv_query_gid(context, 1, 0, &gid), 0);
    EXPECT_EQ(gid.raw[0], 0xfe);  // link-local, as EFA's are
    gids.emplace(reinterpret_cast<const char*>(gid.raw), sizeof gid.raw);
    EXPECT_EQ(ibv_query_gid(context, 1, 1, &gid), -1);
    EXPECT_EQ(ibv_query_gid(context, 2, 0, &gid), -1);
    __be16 pkey = 0;
    EXPECT_EQ(ibv_query_pkey(context, 1, 0, &pkey), 0);
    EXPECT_EQ(pkey, 0xffff);
    EXPECT_EQ(ibv_close_device(context), 0);
  }
  EXPECT_EQ(gids.size(), ProfileInUse().nics.size());
}

TEST(DeviceTest, ItsGidByTheTable) {
  ibv_context* context = OpenDevice(0);
  ibv_gid gid{};
  ASSERT_EQ(ibv_query_gid(context, 1, 0, &gid), 0);
  ibv_gid_entry entries[3];
  std::memset(static_cast<void*>(entries), 0xee, sizeof entries);
  ASSERT_EQ(ibv_query_gid_table(context, entries, 3, 0), 1);
  EXPECT_EQ(std::memcmp(entries[0].gid.raw, gid.raw, sizeof gid), 0);
  EXPECT_EQ(entries[0].gid_index, 0u);
  EXPECT_EQ(entries[0].port_num, 1u);
  EXPECT_EQ(entries[0].gid_type, IBV_GID_TYPE_IB);
  EXPECT_EQ(entries[1].port_num, 0xeeeeeeeeu);
  EXPECT_EQ(ibv_query_gid_table(context, entries, 0, 0), -EINVAL);
  ibv_gid_entry entry{};
  ASSERT_EQ(ibv_query_gid_ex(context, 1, 0, &entry, 0), 0);
  EXPECT_EQ(std::memcmp(entry.gid.raw, gid.raw, sizeof gid), 0);
  EXPECT_EQ(ibv_query_gid_ex(context, 1, 1, &entry, 0), EINVAL);
  EXPECT_EQ(ibv_query_gid_ex(context, 2, 0, &entry, 0), EINVAL);
  EXPECT_EQ(ibv_query_gid_ex(context, 257, 0, &entry, 0), EINVAL);
  EXPECT_EQ(ibv_query_gid_ex(context, 1, 0, &entry, 1), EOPNOTSUPP);
  EXPECT_EQ(ibv_get_pkey_index(context, 1, 0xffff), 0);
  EXPECT_EQ(ibv_get_pkey_index(context, 1, 0x7fff), -1);
  std::uint64_t speed = 0;
  EXPECT_EQ(sim::verbs::QueryPortSpeed(context, 1, &speed), 0);
  EXPECT_EQ(speed, static_cast<std::uint64_t>(ProfileInUse().link_gbps * 10));
  EXPECT_EQ(sim::verbs::QueryPortSpeed(context, 2, &speed), EINVAL);
  EXPECT_EQ(ibv_close_device(context), 0);
}

TEST(DeviceTest, StructuresOfEveryLength) {
  ibv_context* context = OpenDevice(0);
  const DeviceAttributes& device = Device();
  const std::uint32_t caps = (device.rdma_read ? 1u : 0) | (device.rnr_retry ? 2u : 0) | 4u | 32u |
                             (device.rdma_write ? 8u : 0) |
                             (device.unsolicited_write_recv ? 16u : 0) |
                             (device.max_comp_cntr > 0 ? 64u : 0);
  using sim::verbs::DeviceAttr;
  constexpr std::uint32_t kShortest = offsetof(DeviceAttr, inline_buf_size_ex);
  for (std::uint32_t length = 0; length <= sizeof(DeviceAttr) + 24; ++length) {
    alignas(8) std::array<std::uint8_t, sizeof(DeviceAttr) + 32> bytes;
    bytes.fill(0xee);
    auto* attr = reinterpret_cast<DeviceAttr*>(bytes.data());
    const int error =
        efadv_query_device(context, reinterpret_cast<efadv_device_attr*>(attr), length);
    // Nothing beyond what the caller has.
    EXPECT_TRUE(std::all_of(bytes.begin() + length, bytes.end(), [](int b) { return b == 0xee; }))
        << length;
    if (length < kShortest) {
      EXPECT_EQ(error, EINVAL) << length;
      continue;
    }
    ASSERT_EQ(error, 0) << length;
    EXPECT_EQ(attr->comp_mask, 0u);
    EXPECT_EQ(attr->max_sq_wr, device.max_sq_depth);
    EXPECT_EQ(attr->max_rq_wr, device.max_rq_depth);
    EXPECT_EQ(attr->max_sq_sge, device.max_wr_send_sges);
    EXPECT_EQ(attr->max_rq_sge, device.max_wr_recv_sges);
    EXPECT_EQ(attr->inline_buf_size, device.inline_buf_size);
    if (length < sizeof *attr) continue;
    EXPECT_EQ(attr->inline_buf_size_ex,
              device.inline_buf_size_ex == 0 ? device.inline_buf_size : device.inline_buf_size_ex);
    EXPECT_EQ(attr->device_caps, caps);
    EXPECT_EQ(attr->max_rdma_size, device.max_rdma_size);
    // What a later release may add is nothing.
    EXPECT_TRUE(std::all_of(bytes.begin() + sizeof *attr, bytes.begin() + length,
                            [](int b) { return b == 0; }));
  }
  EXPECT_EQ(ibv_close_device(context), 0);
}

TEST(DeviceTest, TheDepthsOfQueues) {
  ibv_context* context = OpenDevice(0);
  const DeviceAttributes& device = Device();
  sim::verbs::SqDepthAttr send{};
  send.max_send_sge = 1;
  const int narrow = MaxSendDepth(context, &send, sizeof send);
  EXPECT_EQ(narrow, static_cast<int>(sim::MaxSendQueueDepth(ProfileInUse(), 64)));
  send.max_inline_data = static_cast<std::uint32_t>(sim::MaxInlineBytes(ProfileInUse()));
  const int wide = MaxSendDepth(context, &send, sizeof send);
  EXPECT_EQ(wide, device.inline_buf_size_ex > device.inline_buf_size ? narrow / 2 : narrow);
  send.max_inline_data = 0;
  send.flags = sim::verbs::kSqDepthInlineWrite;  // whether the device has these or not
  EXPECT_EQ(MaxSendDepth(context, &send, sizeof send),
            static_cast<int>(sim::MaxSendQueueDepth(ProfileInUse(), 128)));
  send.flags = 0;
  send.max_inline_data = static_cast<std::uint32_t>(sim::MaxInlineBytes(ProfileInUse()) + 1);
  EXPECT_EQ(MaxSendDepth(context, &send, sizeof send), -EINVAL);
  send = {};
  send.max_send_sge = device.max_wr_send_sges + 1;
  EXPECT_EQ(MaxSendDepth(context, &send, sizeof send), -EINVAL);
  send = {};
  send.max_rdma_sge = device.max_wr_rdma_sges + 1;
  EXPECT_EQ(MaxSendDepth(context, &send, sizeof send), -EINVAL);
  send = {};
  EXPECT_EQ(MaxSendDepth(context, &send, sizeof send - 1), -EINVAL);

  // The structure of a program: a mask, a number of segments, and four bytes of whatever.
  sim::verbs::RqDepthAttr receive;
  std::memset(&receive, 0xee, sizeof receive);
  static_assert(sizeof receive == 16);
  receive.comp_mask = 0;
  receive.max_recv_sge = 0;
  EXPECT_EQ(MaxReceiveDepth(context, &receive, sizeof receive), -EINVAL);
  for (std::uint32_t segments = 1; segments <= device.max_wr_recv_sges; ++segments) {
    receive.max_recv_sge = segments;
    EXPECT_EQ(MaxReceiveDepth(context, &receive, sizeof receive),
              static_cast<int>(device.max_rq_depth / segments));
  }
  EXPECT_EQ(MaxReceiveDepth(context, &receive, 11), -EINVAL);
  receive.max_recv_sge = device.max_wr_recv_sges + 1;
  EXPECT_EQ(MaxReceiveDepth(context, &receive, sizeof receive), -EINVAL);
  EXPECT_EQ(ibv_close_device(context), 0);
}

// A program waits for asynchronous events as it does on EFA: it can ask without waiting, watch the
// descriptor, and leave by a signal.
TEST(DeviceTest, AsynchronousEventsCanBeAwaitedAndNoneComes) {
  ibv_context* context = OpenDevice(0);
  ibv_async_event event{};
  {
    const RepeatedAlarm alarm;
    EXPECT_EQ(ibv_get_async_event(context, &event), -1);
    EXPECT_EQ(errno, EINTR);
  }

  const int flags = fcntl(context->async_fd, F_GETFL);
  ASSERT_GE(flags, 0);
  ASSERT_EQ(fcntl(context->async_fd, F_SETFL, flags | O_NONBLOCK), 0);
  EXPECT_EQ(ibv_get_async_event(context, &event), -1);
  EXPECT_EQ(errno, EAGAIN);
  pollfd asked{.fd = context->async_fd, .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&asked, 1, 0), 0);
  EXPECT_NE(fcntl(context->async_fd, F_GETFD) & FD_CLOEXEC, 0);
  const int fd = context->async_fd;
  EXPECT_EQ(ibv_close_device(context), 0);
  EXPECT_EQ(fcntl(fd, F_GETFD), -1);
}

// The kernel destroys what is left of a device's file when it closes.
TEST(DeviceTest, NothingOfAClosedDeviceIsReached) {
  if (!Device().rdma_write) GTEST_SKIP() << "these NICs do not write";
  End writer({.nic = 0});
  std::vector<std::byte> memory(4096);
  ibv_context* context = OpenDevice(1);
  ibv_pd* domain = ibv_alloc_pd(context);
  ibv_cq_ex* queue = MakeQueue(context, 16);
  const EndOptions options;
  ibv_qp* target =
      MakeQueuePair(context, QueuePairAttributes(domain, queue, queue, options), options);
  ASSERT_EQ(MakeReady(target), 0);
  ibv_mr* region = ibv_reg_mr(domain, memory.data(), memory.size(),
                              IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  ASSERT_NE(region, nullptr);
  ibv_ah_attr reached{};
  reached.is_global = 1;
  reached.port_num = 1;
  ASSERT_EQ(ibv_query_gid(context, 1, 0, &reached.grh.dgid), 0);
  ibv_ah* handle = ibv_create_ah(writer.domain, &reached);
  reached.grh.dgid = writer.gid;
  ASSERT_NE(ibv_create_ah(domain, &reached), nullptr);
  const std::uint32_t key = region->rkey;
  const std::uint32_t number = target->qp_num;

  const auto write = [&] {
    ibv_qp_ex* from = writer.extended;
    ibv_wr_start(from);
    from->wr_id = 1;
    from->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_rdma_write(from, key, reinterpret_cast<std::uintptr_t>(memory.data()));
    ibv_wr_set_ud_addr(from, handle, number, End::kQkey);
    ibv_wr_set_sge(from, writer.region->lkey, writer.address(0), 8);
    EXPECT_EQ(ibv_wr_complete(from), 0);
    return Await(writer.send_queue);
  };
  writer.memory[0] = std::byte{42};
  EXPECT_EQ(write().status, IBV_WC_SUCCESS);
  memory[0] = std::byte{0};
  ASSERT_EQ(ibv_close_device(context), 0);
  EXPECT_EQ(write().vendor_error, 9u);  // no such queue pair
  EXPECT_EQ(memory[0], std::byte{0});
  EXPECT_EQ(ibv_destroy_ah(handle), 0);
}

TEST(DeviceTest, AFileOfSysfsIsATextOrNone) {
  const std::string folder = ::testing::TempDir();
  const std::string name = "sysfs-" + std::to_string(getpid());
  const auto read = [&](std::size_t bytes) {
    std::string buffer(bytes, 'x');
    const int length = ibv_read_sysfs_file(folder.c_str(), name.c_str(), buffer.data(), bytes);
    return length < 0 ? "none" : std::string(buffer.c_str(), static_cast<std::size_t>(length) + 1);
  };
  using std::string_literals::operator""s;
  EXPECT_EQ(read(10), "none");
  std::ofstream(folder + "/" + name) << "0x1d0f\n";
  EXPECT_EQ(read(10), "0x1d0f\0"s);
  EXPECT_EQ(read(7), "0x1d0f\0"s);
  EXPECT_EQ(read(6), "none");  // no room for its end
  std::remove((folder + "/" + name).c_str());
  ASSERT_EQ(mkdir((folder + "/" + name).c_str(), 0700), 0);
  EXPECT_EQ(read(10), "none");
  std::remove((folder + "/" + name).c_str());
}

TEST(DeviceTest, NothingIsPinned) {
  EXPECT_EQ(ibv_fork_init(), 0);
  EXPECT_EQ(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
}

}  // namespace
}  // namespace drydock::sim_testing
