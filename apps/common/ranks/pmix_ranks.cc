#include "drydock/apps/common/ranks/pmix_ranks.h"

#include <dlfcn.h>
#include <pmix.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/status_macros.h"

namespace drydock::apps {
namespace {

using namespace std::chrono_literals;

// The library is opened at run time: the same program starts where there is none.
constexpr char kLibrary[] = "libpmix.so.2";
// How long a rank waits before it looks again whether all have given.
constexpr coro::Duration kLook = 1ms;

struct Library {
  decltype(&PMIx_Init) init = nullptr;
  decltype(&PMIx_Finalize) finalize = nullptr;
  decltype(&PMIx_Put) put = nullptr;
  decltype(&PMIx_Commit) commit = nullptr;
  decltype(&PMIx_Fence_nb) fence = nullptr;
  decltype(&PMIx_Get) get = nullptr;
  decltype(&PMIx_Error_string) error_string = nullptr;
};

template <typename Function>
bool Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

absl::StatusOr<Library> OpenLibrary() {
  void* const opened = dlopen(kLibrary, RTLD_NOW | RTLD_GLOBAL);  // its plugins use its symbols
  if (opened == nullptr) {
    return absl::UnimplementedError(absl::StrCat("join the launcher's ranks: ", kLibrary,
                                                 " cannot be opened (the package libpmix2)"));
  }
  Library library;
  if (Find(opened, "PMIx_Init", library.init) && Find(opened, "PMIx_Finalize", library.finalize) &&
      Find(opened, "PMIx_Put", library.put) && Find(opened, "PMIx_Commit", library.commit) &&
      Find(opened, "PMIx_Fence_nb", library.fence) && Find(opened, "PMIx_Get", library.get) &&
      Find(opened, "PMIx_Error_string", library.error_string)) {
    return library;
  }
  return absl::UnimplementedError(
      absl::StrCat("join the launcher's ranks: ", kLibrary, " lacks functions of PMIx 2"));
}

class PmixRanks final : public Ranks {
 public:
  PmixRanks(std::size_t rank, std::size_t size, Library library, const pmix_proc_t& self)
      : Ranks(rank, size), library_(library), self_(self) {}
  ~PmixRanks() override { library_.finalize(nullptr, 0); }

  coro::Task<absl::StatusOr<Gathered>> Gather(std::vector<std::byte> mine,
                                              coro::Time deadline) override {
    const std::string key = absl::StrCat("drydock.", next_++);
    CO_RETURN_IF_ERROR(Put(key, mine));
    auto fence = std::make_shared<Fence>();
    CO_RETURN_IF_ERROR(Begin(fence));
    coro::EventLoop& loop = coro::EventLoop::Current();
    while (!fence->done.load(std::memory_order_acquire)) {
      if (loop.Now() >= deadline) {
        co_return absl::DeadlineExceededError("meet the other ranks: some did not come in time");
      }
      co_await coro::Sleep(kLook);
    }
    CO_RETURN_IF_ERROR(Check(fence->status, "meet the other ranks"));
    Gathered all(size());
    for (std::size_t rank = 0; rank < size(); ++rank) {
      CO_ASSIGN_OR_RETURN(all[rank], Get(rank, key));
    }
    co_return all;
  }

 private:
  struct Fence {
    pmix_info_t collect{};  // PMIx may look at it until it calls back
    std::atomic<bool> done{false};
    pmix_status_t status = PMIX_SUCCESS;  // once it is done
  };

  absl::Status Check(pmix_status_t status, absl::string_view what) const {
    if (status == PMIX_SUCCESS) return absl::OkStatus();
    return absl::UnavailableError(
        absl::StrCat(what, ": PMIx says ", library_.error_string(status), " (", status, ")"));
  }

  absl::Status Put(const std::string& key, std::vector<std::byte>& bytes) {
    pmix_value_t value{};
    value.type = PMIX_BYTE_OBJECT;
    value.data.bo.bytes = reinterpret_cast<char*>(bytes.data());
    value.data.bo.size = bytes.size();
    RETURN_IF_ERROR(Check(library_.put(PMIX_GLOBAL, key.c_str(), &value), "tell the other ranks"));
    return Check(library_.commit(), "tell the other ranks");
  }

  static pmix_info_t True(const char* key) {
    pmix_info_t info{};
    std::strncpy(info.key, key, PMIX_MAX_KEYLEN);
    info.value.type = PMIX_BOOL;
    info.value.data.flag = true;
    return info;
  }

  // PMIx calls back on a thread of its own, perhaps when no caller waits any more.
  absl::Status Begin(const std::shared_ptr<Fence>& fence) {
    fence->collect = True(PMIX_COLLECT_DATA);
    auto* const share = new std::shared_ptr<Fence>(fence);
    const pmix_status_t began = library_.fence(nullptr, 0, &fence->collect, 1, &Done, share);
    if (began == PMIX_SUCCESS) return absl::OkStatus();
    delete share;
    if (began != PMIX_OPERATION_SUCCEEDED) return Check(began, "meet the other ranks");
    fence->done = true;
    return absl::OkStatus();
  }
  static void Done(pmix_status_t status, void* data) {
    const std::unique_ptr<std::shared_ptr<Fence>> share(static_cast<std::shared_ptr<Fence>*>(data));
    (*share)->status = status;
    (*share)->done.store(true, std::memory_order_release);
  }

  absl::StatusOr<std::vector<std::byte>> Get(std::size_t rank, const std::string& key) {
    pmix_proc_t of = self_;
    of.rank = static_cast<pmix_rank_t>(rank);
    pmix_value_t* value = nullptr;
    const pmix_info_t at_once = True(PMIX_IMMEDIATE);  // the fence has brought it here
    RETURN_IF_ERROR(Check(library_.get(&of, key.c_str(), &at_once, 1, &value),
                          absl::StrCat("hear of rank ", rank)));
    std::vector<std::byte> bytes;
    const bool is_bytes = value->type == PMIX_BYTE_OBJECT;
    if (is_bytes) {
      const auto* const begin = reinterpret_cast<const std::byte*>(value->data.bo.bytes);
      bytes.assign(begin, begin + value->data.bo.size);
      std::free(value->data.bo.bytes);
    }
    std::free(value);  // as PMIX_VALUE_RELEASE does
    if (is_bytes) return bytes;
    return absl::InternalError(absl::StrCat("hear of rank ", rank, ": it gave no bytes"));
  }

  const Library library_;
  const pmix_proc_t self_;
  std::uint64_t next_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Ranks>> JoinByPmix(std::size_t rank, std::size_t size) {
  ASSIGN_OR_RETURN(const Library library, OpenLibrary());
  pmix_proc_t self{};
  const pmix_status_t status = library.init(&self, nullptr, 0);
  if (status != PMIX_SUCCESS) {
    return absl::UnavailableError(absl::StrCat("join the launcher's ranks: PMIx says ",
                                               library.error_string(status), " (", status, ")"));
  }
  auto ranks = std::make_unique<PmixRanks>(rank, size, library, self);
  if (self.rank == rank) return ranks;
  return absl::InternalError(absl::StrCat("join the launcher's ranks: PMIx says rank ", self.rank,
                                          ", and the environment ", rank));
}

}  // namespace drydock::apps
