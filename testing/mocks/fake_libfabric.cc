#include "drydock/testing/mocks/fake_libfabric.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace drydock::fabric::libfabric {
namespace {

// Where an object's function tables find the fake: the fid's context, as in real providers.
FakeLibfabric& FakeOf(const fid& object) { return *static_cast<FakeLibfabric*>(object.context); }

// ---- Completion queues and counters ----

FakeEntry TakeEntry(FakeLibfabric& fake) {
  FakeEntry entry = std::move(fake.entries.front());
  fake.entries.pop_front();
  return entry;
}

// Entries of one format begin as those of the next larger one.
ssize_t Fill(FakeLibfabric& fake, void* buffer, std::size_t count, fi_addr_t* sources) {
  const std::size_t size = fake.last_format == FI_CQ_FORMAT_TAGGED ? sizeof(fi_cq_tagged_entry)
                                                                   : sizeof(fi_cq_data_entry);
  auto* out = static_cast<std::byte*>(buffer);
  std::size_t filled = 0;
  while (filled < count && !fake.entries.empty() && !fake.entries.front().failed) {
    const FakeEntry entry = TakeEntry(fake);
    std::memcpy(out + filled * size, &entry.success, size);
    if (sources != nullptr) sources[filled] = entry.source;
    ++filled;
  }
  if (filled > 0) return static_cast<ssize_t>(filled);
  return fake.entries.empty() ? -FI_EAGAIN : -FI_EAVAIL;
}

ssize_t ReadQueue(fid_cq* queue, void* buffer, std::size_t count) {
  FakeOf(queue->fid).reads_sources = false;
  return Fill(FakeOf(queue->fid), buffer, count, nullptr);
}

ssize_t ReadQueueFrom(fid_cq* queue, void* buffer, std::size_t count, fi_addr_t* sources) {
  FakeOf(queue->fid).reads_sources = true;
  return Fill(FakeOf(queue->fid), buffer, count, sources);
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

std::uint64_t ReadCount(fid_cntr* counter) { return FakeOf(counter->fid).count; }
std::uint64_t ReadErrorCount(fid_cntr* counter) { return FakeOf(counter->fid).error_count; }
int AddCount(fid_cntr* counter, std::uint64_t value) {
  FakeOf(counter->fid).count += value;
  return 0;
}
int SetCount(fid_cntr* counter, std::uint64_t value) {
  FakeOf(counter->fid).count = value;
  return 0;
}

// ---- Endpoints ----

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

// What all messages have in common.
template <typename Message>
FakePost PostOf(FakePost::Kind kind, const Message& message, std::uint64_t flags) {
  FakePost post{.kind = kind, .context = message.context, .flags = flags, .data = message.data};
  post.peer = message.addr;
  post.segments = message.iov_count;
  return post;
}

ssize_t SendMessage(fid_ep* endpoint, const fi_msg* message, std::uint64_t flags) {
  FakePost post = PostOf(FakePost::kSend, *message, flags);
  post.length = message->msg_iov[0].iov_len;
  return Record(endpoint, post);
}
ssize_t ReceiveMessage(fid_ep* endpoint, const fi_msg* message, std::uint64_t flags) {
  FakePost post = PostOf(FakePost::kRecv, *message, flags);
  post.length = message->msg_iov[0].iov_len;
  return Record(endpoint, post);
}
ssize_t Remote(FakePost::Kind kind, fid_ep* endpoint, const fi_msg_rma& message,
               std::uint64_t flags) {
  FakePost post = PostOf(kind, message, flags);
  post.length = message.msg_iov[0].iov_len;
  post.remote = message.rma_iov[0];
  return Record(endpoint, post);
}
ssize_t WriteMessage(fid_ep* endpoint, const fi_msg_rma* message, std::uint64_t flags) {
  return Remote(FakePost::kWrite, endpoint, *message, flags);
}
ssize_t ReadRemote(fid_ep* endpoint, const fi_msg_rma* message, std::uint64_t flags) {
  return Remote(FakePost::kRead, endpoint, *message, flags);
}
ssize_t Tagged(FakePost::Kind kind, fid_ep* endpoint, const fi_msg_tagged& message,
               std::uint64_t flags) {
  FakePost post = PostOf(kind, message, flags);
  post.length = message.msg_iov[0].iov_len;
  post.tag = message.tag;
  post.ignore = message.ignore;
  return Record(endpoint, post);
}
ssize_t SendTagged(fid_ep* endpoint, const fi_msg_tagged* message, std::uint64_t flags) {
  return Tagged(FakePost::kTaggedSend, endpoint, *message, flags);
}
ssize_t ReceiveTagged(fid_ep* endpoint, const fi_msg_tagged* message, std::uint64_t flags) {
  return Tagged(FakePost::kTaggedRecv, endpoint, *message, flags);
}

ssize_t Atomic(FakePost::Kind kind, fid_ep* endpoint, const fi_msg_atomic& message,
               std::uint64_t flags) {
  FakePost post = PostOf(kind, message, flags);
  post.length = message.msg_iov[0].count;
  post.remote = {message.rma_iov[0].addr, message.rma_iov[0].count, message.rma_iov[0].key};
  post.operation = message.op;
  post.datatype = message.datatype;
  return Record(endpoint, post);
}
ssize_t PlainAtomic(fid_ep* endpoint, const fi_msg_atomic* message, std::uint64_t flags) {
  return Atomic(FakePost::kAtomic, endpoint, *message, flags);
}
ssize_t FetchAtomic(fid_ep* endpoint, const fi_msg_atomic* message, fi_ioc*, void**, std::size_t,
                    std::uint64_t flags) {
  return Atomic(FakePost::kFetchAtomic, endpoint, *message, flags);
}
ssize_t CompareAtomic(fid_ep* endpoint, const fi_msg_atomic* message, const fi_ioc*, void**,
                      std::size_t, fi_ioc*, void**, std::size_t, std::uint64_t flags) {
  return Atomic(FakePost::kCompareAtomic, endpoint, *message, flags);
}
int IsValid(fid_ep* endpoint, fi_datatype datatype, fi_op operation, std::size_t* count) {
  const bool bits = operation == FI_BOR || operation == FI_BAND || operation == FI_BXOR;
  if (bits && (datatype == FI_FLOAT || datatype == FI_DOUBLE)) return -FI_EOPNOTSUPP;
  *count = FakeOf(endpoint->fid).most_atomic_values;
  return 0;
}

ssize_t CancelRequest(fid_t object, void* context) {
  FakeLibfabric& fake = FakeOf(*object);
  fake.cancelled.push_back(context);
  if (fake.cancel_answers.empty()) return 0;
  const ssize_t answer = fake.cancel_answers.front();
  fake.cancel_answers.pop_front();
  return answer;
}

// Fills one table of function pointers: `size` and what `set` sets.
template <typename Table, typename Set>
Table MakeTable(Set set) {
  Table table{};
  table.size = sizeof table;
  set(table);
  return table;
}

fi_ops_cq queue_table = MakeTable<fi_ops_cq>([](fi_ops_cq& table) {
  table.read = &ReadQueue;
  table.readfrom = &ReadQueueFrom;
  table.readerr = &ReadError;
  table.strerror = &ErrorWords;
});
fi_ops_cntr counter_table = MakeTable<fi_ops_cntr>([](fi_ops_cntr& table) {
  table.read = &ReadCount;
  table.readerr = &ReadErrorCount;
  table.add = &AddCount;
  table.set = &SetCount;
});
fi_ops_eq event_table = MakeTable<fi_ops_eq>([](fi_ops_eq& table) {
  table.read = [](fid_eq*, std::uint32_t*, void*, std::size_t, std::uint64_t) -> ssize_t {
    return -FI_EAGAIN;
  };
});
fi_ops_ep endpoint_table =
    MakeTable<fi_ops_ep>([](fi_ops_ep& table) { table.cancel = &CancelRequest; });
fi_ops_msg message_table = MakeTable<fi_ops_msg>([](fi_ops_msg& table) {
  table.sendmsg = &SendMessage;
  table.recvmsg = &ReceiveMessage;
});
fi_ops_rma remote_table = MakeTable<fi_ops_rma>([](fi_ops_rma& table) {
  table.writemsg = &WriteMessage;
  table.readmsg = &ReadRemote;
});
fi_ops_tagged tagged_table = MakeTable<fi_ops_tagged>([](fi_ops_tagged& table) {
  table.sendmsg = &SendTagged;
  table.recvmsg = &ReceiveTagged;
});
fi_ops_atomic atomic_table = MakeTable<fi_ops_atomic>([](fi_ops_atomic& table) {
  table.writemsg = &PlainAtomic;
  table.readwritemsg = &FetchAtomic;
  table.compwritemsg = &CompareAtomic;
  table.writevalid = table.readwritevalid = table.compwritevalid = &IsValid;
});

// Room for any fid structure.
struct Storage {
  union {
    fid_fabric fabric;
    fid_domain domain;
    fid_cq queue;
    fid_cntr counter;
    fid_av vector;
    fid_ep endpoint;
    fid_mr region;
  };
};

// ---- fi_getinfo ----

char* Copy(const std::string& text) { return strdup(text.c_str()); }

// The part of an info that fi_freeinfo closes by its own table.
struct Link {
  fid_nic nic{};
  fi_link_attr attributes{};
};
int CloseLink(fid* object) {
  delete reinterpret_cast<Link*>(object);
  return 0;
}
fi_ops link_table = MakeTable<fi_ops>([](fi_ops& table) { table.close = &CloseLink; });

bool Fits(const FakeNic& nic, const fi_info& hints) {
  if (nic.provider != hints.fabric_attr->prov_name) return false;
  const char* fabric = hints.fabric_attr->name;
  if (fabric != nullptr && nic.fabric != fabric) return false;
  if (nic.type != hints.ep_attr->type) return false;
  if ((hints.caps & ~(nic.capabilities | nic.always)) != 0) return false;
  if ((hints.tx_attr->msg_order & ~nic.order) != 0) return false;
  if (hints.tx_attr->inject_size > nic.most_inject_bytes) return false;
  const bool protected_datagrams = hints.domain_attr->threading == FI_THREAD_SAFE ||
                                   hints.domain_attr->resource_mgmt == FI_RM_ENABLED;
  if (nic.type == FI_EP_DGRAM && protected_datagrams) return false;
  return (nic.mode & ~hints.mode) == 0;  // no mode that was not offered
}

fi_info* MakeInfo(const FakeNic& nic, const fi_info* hints) {
  fi_info* info = fi_allocinfo();
  info->mode = nic.mode;
  info->caps = nic.capabilities | nic.always;
  info->addr_format = nic.address_format;
  info->src_addrlen = nic.address_bytes;
  info->tx_attr->size = info->rx_attr->size = nic.depth;
  info->tx_attr->inject_size = nic.inject_bytes;
  info->tx_attr->iov_limit = info->rx_attr->iov_limit = nic.segments;
  info->tx_attr->msg_order = info->rx_attr->msg_order = nic.order;
  info->ep_attr->type = nic.type;
  info->ep_attr->max_msg_size = nic.max_message_bytes;
  info->ep_attr->msg_prefix_size = nic.prefix_bytes;
  info->domain_attr->name = Copy(nic.name);
  info->domain_attr->mr_mode = nic.mr_mode;
  info->domain_attr->cq_data_size = 4;
  info->fabric_attr->name = Copy(nic.fabric);
  info->fabric_attr->prov_name = Copy(nic.provider);
  auto* link = new Link;
  link->attributes.mtu = nic.mtu_bytes;
  link->nic.fid.ops = &link_table;
  link->nic.link_attr = &link->attributes;
  info->nic = &link->nic;
  if (hints == nullptr) return info;
  info->caps = hints->caps | nic.always;
  // EFA gives up every order that is not asked for (ofiwg/libfabric prov/efa/src/efa_user_info.c).
  if (nic.provider == "efa") {
    info->tx_attr->msg_order = info->rx_attr->msg_order = nic.order & hints->tx_attr->msg_order;
  }
  if ((hints->mode & FI_RX_CQ_DATA) != 0 && nic.optional_rx_cq_data) {
    info->mode |= FI_RX_CQ_DATA;
    info->rx_attr->mode |= FI_RX_CQ_DATA;
  }
  if (hints->tx_attr->inject_size > nic.inject_bytes) {
    info->tx_attr->inject_size = hints->tx_attr->inject_size;
    info->tx_attr->size = nic.depth / 2;
  }
  return info;
}

}  // namespace

FakeNic FakeEfaDirect() { return FakeNic(); }

FakeNic FakeEfa() {
  FakeNic nic;
  nic.fabric = "efa";
  nic.mode = 0;
  nic.capabilities =
      FI_MSG | FI_RMA | FI_TAGGED | FI_ATOMIC | FI_MULTI_RECV | FI_DIRECTED_RECV | FI_SOURCE;
  nic.order = FI_ORDER_SAS;
  nic.optional_rx_cq_data = false;
  nic.inject_bytes = nic.most_inject_bytes = 4096;
  nic.segments = 4;
  nic.max_message_bytes = UINT64_MAX;
  return nic;
}

FakeNic FakeEfaDatagram() {
  FakeNic nic;
  nic.fabric = "efa";
  nic.name = "rdmap0s0-dgrm";
  nic.mode = FI_CONTEXT2 | FI_MSG_PREFIX;
  nic.type = FI_EP_DGRAM;
  nic.capabilities = FI_MSG | FI_SOURCE;
  nic.max_message_bytes = 8928;
  nic.prefix_bytes = 40;
  return nic;
}

FakeNic FakeSoftware() {
  FakeNic nic = FakeEfa();
  nic.provider = "soft";
  nic.fabric = "lan";
  nic.name = "eth0";
  nic.address_format = FI_SOCKADDR_IN;
  nic.address_bytes = 16;
  nic.mr_mode = 0;
  nic.inject_bytes = 64;
  nic.most_inject_bytes = 1000;
  return nic;
}

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
    if (hints != nullptr && !Fits(nic, *hints)) continue;
    *link = MakeInfo(nic, hints);
    link = &(*link)->next;
  }
  return first;
}

FakeLibfabric::FakeLibfabric(std::vector<FakeNic> nics) : nics_(std::move(nics)) {
  AnswerLists();
  AnswerOpens();
  AnswerEndpoints();
  ON_CALL(api_, InsertAddress).WillByDefault([this](auto, const void* address, fi_addr_t* peer) {
    if (const int error = Answer(); error != 0) return error;
    const auto* bytes = static_cast<const std::uint8_t*>(address);
    last_inserted.assign(bytes, bytes + nics_.front().address_bytes);
    *peer = next_number.value_or(next_peer_++);
    return 1;
  });
  ON_CALL(api_, Close).WillByDefault([this](fid* object) {
    EXPECT_EQ(open_.erase(object), 1u) << "closed twice, or never opened";
    enabled_.erase(object);
    delete reinterpret_cast<Storage*>(object);
    return 0;
  });
}

void FakeLibfabric::AnswerLists() {
  ON_CALL(api_, Version).WillByDefault([] { return FI_VERSION(1, 17); });
  ON_CALL(api_, GetInfo).WillByDefault([this](std::uint32_t, const fi_info* hints, fi_info** out) {
    if (const int error = Answer(); error != 0) return error;
    if (hints != nullptr) asked_capabilities.push_back(hints->caps);
    *out = MakeInfos(hints);
    if (*out == nullptr) return -FI_ENODATA;
    ++infos_alive_;
    return 0;
  });
  ON_CALL(api_, FreeInfo).WillByDefault([this](fi_info* info) {
    --infos_alive_;
    fi_freeinfo(info);
  });
}

void FakeLibfabric::AnswerOpens() {
  ON_CALL(api_, OpenFabric).WillByDefault([this](auto, fid_fabric** out) { return Open(out); });
  ON_CALL(api_, OpenDomain).WillByDefault([this](auto, auto, fid_domain** out) {
    return Open(out);
  });
  ON_CALL(api_, OpenCompletionQueue)
      .WillByDefault([this](auto, fi_cq_attr* attributes, fid_cq** out) {
        last_format = attributes->format;
        const int error = Open(out);
        if (error == 0) (*out)->ops = &queue_table;
        return error;
      });
  ON_CALL(api_, OpenCounter).WillByDefault([this](auto, auto, fid_cntr** out) {
    if (!counters) return -FI_ENOSYS;
    const int error = Open(out);
    if (error == 0) (*out)->ops = &counter_table;
    return error;
  });
  ON_CALL(api_, OpenOps).WillByDefault([](auto, auto, auto) { return -FI_ENOSYS; });
  ON_CALL(api_, OpenEventQueue).WillByDefault([this](auto, auto, fid_eq** out) {
    const int error = Open(out);
    if (error == 0) (*out)->ops = &event_table;
    return error;
  });
  ON_CALL(api_, OpenAddressVector).WillByDefault([this](auto, auto, fid_av** out) {
    return Open(out);
  });
  ON_CALL(api_, RegisterMemory)
      .WillByDefault([this](auto, const fi_mr_attr* attributes, auto, fid_mr** out) {
        requested_key = attributes->requested_key;
        last_access = attributes->access;
        const int error = Open(out);
        if (error != 0) return error;
        (*out)->key = 1000 + requested_key;
        (*out)->mem_desc = *out;
        return 0;
      });
}

void FakeLibfabric::AnswerEndpoints() {
  ON_CALL(api_, OpenEndpoint).WillByDefault([this](auto, fi_info* info, fid_ep** out) {
    const int error = Open(out);
    if (error != 0) return error;
    opened_inject_bytes.push_back(info->tx_attr->inject_size);
    opened_modes.push_back(info->mode);
    (*out)->ops = &endpoint_table;
    (*out)->msg = &message_table;
    (*out)->rma = &remote_table;
    (*out)->tagged = &tagged_table;
    (*out)->atomic = &atomic_table;
    return 0;
  });
  ON_CALL(api_, Bind).WillByDefault([this](auto, auto, std::uint64_t flags) {
    bind_flags.push_back(flags);
    return Answer();
  });
  ON_CALL(api_, SetOption).WillByDefault([this](fid_ep* endpoint, int option, std::size_t value) {
    const auto error = option_errors.find(option);
    if (error != option_errors.end()) return error->second;
    options_set.push_back({option, value, enabled_.count(&endpoint->fid) > 0});
    return 0;
  });
  ON_CALL(api_, GetOption).WillByDefault([this](auto, int option, std::size_t* value) {
    const auto known = options.find(option);
    if (known == options.end()) return -FI_ENOPROTOOPT;
    *value = known->second;
    return 0;
  });
  ON_CALL(api_, Enable).WillByDefault([this](fid_ep* endpoint) {
    enabled_.insert(&endpoint->fid);
    return Answer();
  });
  ON_CALL(api_, GetName).WillByDefault([this](auto, void* address, std::size_t* length) {
    if (const int error = Answer(); error != 0) return error;
    *length = nics_.front().address_bytes;
    std::memset(address, 7, *length);
    return 0;
  });
}

}  // namespace drydock::fabric::libfabric
