// The rest of the interface: what has one answer here, and what EFA does not have.

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace sim::verbs {
namespace {

int NotSupported() { return EOPNOTSUPP; }

template <typename Result>
Result* NoSuchThing() {
  errno = EOPNOTSUPP;
  return nullptr;
}

}  // namespace
}  // namespace sim::verbs

using sim::verbs::NoSuchThing;
using sim::verbs::NotSupported;

extern "C" {

// ---- fork: no page is pinned, so a child can share what it likes ----

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
  std::FILE* stream = std::fopen(name.c_str(), "re");
  if (stream == nullptr) return -1;
  std::size_t read = std::fread(buffer, 1, bytes, stream);
  std::fclose(stream);
  if (read > 0 && buffer[read - 1] == '\n') buffer[--read] = '\0';
  if (read < bytes) buffer[read] = '\0';
  return static_cast<int>(read);
}

// ---- words ----

const char* ibv_node_type_str(ibv_node_type type) {
  return type == IBV_NODE_UNSPECIFIED ? "unspecified" : "unknown";
}
const char* ibv_port_state_str(ibv_port_state state) {
  return state == IBV_PORT_ACTIVE ? "active" : "not active";
}
const char* ibv_event_type_str(ibv_event_type) { return "unknown"; }

// ---- asynchronous events: there is none ----

int ibv_get_async_event(ibv_context*, ibv_async_event*) {
  errno = EOPNOTSUPP;
  return -1;
}
void ibv_ack_async_event(ibv_async_event*) {}

// ---- what EFA does not have ----

ibv_srq* ibv_create_srq(ibv_pd*, ibv_srq_init_attr*) { return NoSuchThing<ibv_srq>(); }
int ibv_modify_srq(ibv_srq*, ibv_srq_attr*, int) { return NotSupported(); }
int ibv_query_srq(ibv_srq*, ibv_srq_attr*) { return NotSupported(); }
int ibv_destroy_srq(ibv_srq*) { return NotSupported(); }
int ibv_attach_mcast(ibv_qp*, const ibv_gid*, std::uint16_t) { return NotSupported(); }
int ibv_detach_mcast(ibv_qp*, const ibv_gid*, std::uint16_t) { return NotSupported(); }
int ibv_resize_cq(ibv_cq*, int) { return NotSupported(); }
int ibv_rereg_mr(ibv_mr*, int, ibv_pd*, void*, std::size_t, int) { return NotSupported(); }
int ibv_query_ece(ibv_qp*, ibv_ece*) { return NotSupported(); }
int ibv_set_ece(ibv_qp*, ibv_ece*) { return NotSupported(); }
int ibv_get_pkey_index(ibv_context*, std::uint8_t, __be16) { return 0; }
int ibv_init_ah_from_wc(ibv_context*, std::uint8_t, ibv_wc*, ibv_grh*, ibv_ah_attr*) {
  return NotSupported();
}
ibv_ah* ibv_create_ah_from_wc(ibv_pd*, ibv_wc*, ibv_grh*, std::uint8_t) {
  return NoSuchThing<ibv_ah>();
}
ibv_context* ibv_import_device(int) { return NoSuchThing<ibv_context>(); }
ibv_pd* ibv_import_pd(ibv_context*, std::uint32_t) { return NoSuchThing<ibv_pd>(); }
ibv_mr* ibv_import_mr(ibv_pd*, std::uint32_t) { return NoSuchThing<ibv_mr>(); }
void ibv_unimport_pd(ibv_pd*) {}
void ibv_unimport_mr(ibv_mr*) {}

// librdmacm asks for these when it is loaded; it has no business with EFA.
void ibv_copy_ah_attr_from_kern(void*, void*) {}
void ibv_copy_qp_attr_from_kern(void*, void*) {}
void ibv_copy_path_rec_from_kern(void*, void*) {}
void ibv_copy_path_rec_to_kern(void*, void*) {}

}  // extern "C"
