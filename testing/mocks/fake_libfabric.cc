#include "testing/mocks/fake_libfabric.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

#include <cstring>
#include <utility>

namespace fabric::libfabric {
namespace {

using ::testing::_;

// Where an object's function tables find the fake: the fid's context, as in real providers.
FakeLibfabric& FakeOf(const fid& object) { return *static_cast<FakeLibfabric*>(object.context); }

FakeEntry TakeEntry(FakeLibfabric& fake) {
  FakeEntry entry = std::move(fake.entries.front());
  fake.entries.pop_front();
  return entry;
}

ssize_t ReadQueue(fid_cq* queue, void* buffer, std::size_t count) {
  FakeLibfabric& fake = FakeOf(queue->fid);
  auto* out = static_cast<fi_cq_data_entry*>(buffer);
  std::size_t filled = 0;
  while (filled < count && !fake.entries.empty() && !fake.entries.front().failed) {
    out[filled++] = TakeEntry(fake).success;
  }
  if (filled > 0) return static_cast<ssize_t>(filled);
  return fake.entries.empty() ? -FI_EAGAIN : -FI_EAVAIL;
}

ssize_t ReadError(fid_cq* queue, fi_cq_err_entry* out, std::uint64_t) {
  FakeLibfabric& fake = FakeOf(queue->fid);
  if (fake.entries.empty() || !fake.entries.front().failed) return -FI_EAGAIN;
  const FakeEntry entry = TakeEntry(fake);
  void* const room = out->err_data;
  const std::size_t size = out->err_data_size;
  *out = entry.error;
  out->err_data = room;
  out->err_data_size = std::min(size, entry.words.size());
  if (room != nullptr) std::memcpy(room, entry.words.data(), out->err_data_size);
  return 1;
}

const char* ErrorWords(fid_cq*, int, const void* data, char*, std::size_t) {
  return data == nullptr ? "" : static_cast<const char*>(data);
}

ssize_t Record(fid_ep* endpoint, const FakePost& post) {
  FakeLibfabric& fake = FakeOf(endpoint->fid);
  ssize_t answer = 0;
  if (!fake.post_answers.empty()) {
    answer = fake.post_answers.front();
    fake.post_answers.pop_front();
  }
  if (answer == 0) fake.posts.push_back(post);
  return answer;
}

ssize_t SendMessage(fid_ep* endpoint, const fi_msg* message, std::uint64_t flags) {
  return Record(endpoint, {FakePost::kSend,
                           message->context,
                           flags,
                           message->data,
                           message->addr,
                           message->msg_iov[0].iov_len,
                           {}});
}
ssize_t ReceiveMessage(fid_ep* endpoint, const fi_msg* message, std::uint64_t flags) {
  return Record(endpoint, {FakePost::kRecv,
                           message->context,
                           flags,
                           0,
                           message->addr,
                           message->msg_iov[0].iov_len,
                           {}});
}
ssize_t WriteMessage(fid_ep* endpoint, const fi_msg_rma* message, std::uint64_t flags) {
  return Record(endpoint, {FakePost::kWrite, message->context, flags, message->data, message->addr,
                           message->msg_iov[0].iov_len, message->rma_iov[0]});
}
ssize_t ReadRemote(fid_ep* endpoint, const fi_msg_rma* message, std::uint64_t flags) {
  return Record(endpoint, {FakePost::kRead, message->context, flags, 0, message->addr,
                           message->msg_iov[0].iov_len, message->rma_iov[0]});
}

fi_ops_cq QueueTable() {
  fi_ops_cq table{};
  table.size = sizeof table;
  table.read = &ReadQueue;
  table.readerr = &ReadError;
  table.strerror = &ErrorWords;
  return table;
}
fi_ops_msg MessageTable() {
  fi_ops_msg table{};
  table.size = sizeof table;
  table.sendmsg = &SendMessage;
  table.recvmsg = &ReceiveMessage;
  return table;
}
fi_ops_rma RemoteTable() {
  fi_ops_rma table{};
  table.size = sizeof table;
  table.writemsg = &WriteMessage;
  table.readmsg = &ReadRemote;
  return table;
}

fi_ops_cq queue_table = QueueTable();
fi_ops_msg message_table = MessageTable();
fi_ops_rma remote_table = RemoteTable();

// Room for any fid structure.
struct Storage {
  union {
    fid_fabric fabric;
    fid_domain domain;
    fid_cq queue;
    fid_av vector;
    fid_ep endpoint;
    fid_mr region;
  };
};

char* Copy(const std::string& text) { return strdup(text.c_str()); }

}  // namespace

int FakeLibfabric::Answer() { return calls_++ == fail_call_ ? fail_error_ : 0; }

template <typename T>
int FakeLibfabric::Open(T** out) {
  if (const int error = Answer(); error != 0) return error;
  auto* storage = new Storage{};
  *out = reinterpret_cast<T*>(storage);
  (*out)->fid.context = this;
  open_.insert(&(*out)->fid);
  return 0;
}

fi_info* FakeLibfabric::MakeInfos(const fi_info* hints) {
  fi_info* first = nullptr;
  fi_info** link = &first;
  for (const FakeNic& nic : nics_) {
    if (hints != nullptr && nic.provider != hints->fabric_attr->prov_name) continue;
    if (hints != nullptr && hints->fabric_attr->name != nullptr &&
        nic.fabric != hints->fabric_attr->name) {
      continue;
    }
    if (hints != nullptr && (nic.mode & ~hints->mode) != 0)
      continue;  // a mode that was not offered
    fi_info* info = fi_allocinfo();
    info->mode = nic.mode;
    info->addr_format = nic.address_format;
    info->src_addrlen = nic.address_bytes;
    info->tx_attr->size = info->rx_attr->size = nic.depth;
    info->ep_attr->max_msg_size = nic.max_message_bytes;
    info->domain_attr->name = Copy(nic.name);
    info->domain_attr->mr_mode = nic.mr_mode;
    info->domain_attr->cq_data_size = 4;
    info->fabric_attr->name = Copy(nic.fabric);
    info->fabric_attr->prov_name = Copy(nic.provider);
    *link = info;
    link = &info->next;
  }
  return first;
}

FakeLibfabric::FakeLibfabric(std::vector<FakeNic> nics) : nics_(std::move(nics)) {
  ON_CALL(api_, Version).WillByDefault([] { return FI_VERSION(1, 17); });
  ON_CALL(api_, GetInfo).WillByDefault([this](std::uint32_t, const fi_info* hints, fi_info** out) {
    if (const int error = Answer(); error != 0) return error;
    *out = MakeInfos(hints);
    if (*out == nullptr) return -FI_ENODATA;
    ++infos_alive_;
    return 0;
  });
  ON_CALL(api_, FreeInfo).WillByDefault([this](fi_info* info) {
    --infos_alive_;
    fi_freeinfo(info);
  });
  ON_CALL(api_, OpenFabric).WillByDefault([this](auto, fid_fabric** out) { return Open(out); });
  ON_CALL(api_, OpenDomain).WillByDefault([this](auto, auto, fid_domain** out) {
    return Open(out);
  });
  ON_CALL(api_, OpenCompletionQueue).WillByDefault([this](auto, auto, fid_cq** out) {
    const int error = Open(out);
    if (error == 0) (*out)->ops = &queue_table;
    return error;
  });
  ON_CALL(api_, OpenAddressVector).WillByDefault([this](auto, auto, fid_av** out) {
    return Open(out);
  });
  ON_CALL(api_, OpenEndpoint).WillByDefault([this](auto, auto, fid_ep** out) {
    const int error = Open(out);
    if (error == 0) {
      (*out)->msg = &message_table;
      (*out)->rma = &remote_table;
    }
    return error;
  });
  ON_CALL(api_, RegisterMemory)
      .WillByDefault([this](auto, const fi_mr_attr* attributes, auto, fid_mr** out) {
        requested_key = attributes->requested_key;
        last_access = attributes->access;
        const int error = Open(out);
        if (error == 0) (*out)->key = 1000 + requested_key;
        return error;
      });
  ON_CALL(api_, Bind).WillByDefault([this](auto, auto, std::uint64_t flags) {
    bind_flags.push_back(static_cast<int>(flags));
    return Answer();
  });
  ON_CALL(api_, Enable).WillByDefault([this](auto) { return Answer(); });
  ON_CALL(api_, GetName).WillByDefault([this](auto, void* address, std::size_t* length) {
    if (const int error = Answer(); error != 0) return error;
    *length = nics_.front().address_bytes;
    std::memset(address, 7, *length);
    return 0;
  });
  ON_CALL(api_, InsertAddress).WillByDefault([this](auto, auto, fi_addr_t* peer) {
    if (const int error = Answer(); error != 0) return error;
    *peer = next_peer_++;
    return 1;
  });
  ON_CALL(api_, Close).WillByDefault([this](fid* object) {
    EXPECT_EQ(open_.erase(object), 1u) << "closed twice, or never opened";
    delete reinterpret_cast<Storage*>(object);
    return 0;
  });
}

}  // namespace fabric::libfabric
