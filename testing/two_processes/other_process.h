// A second process that executes a test's calls one by one, with its own objects.
//
//   OtherProcess& other = OtherProcess::Get();
//   other.Begin();                                        // a fresh process
//   Engine* far = other.Call([] { return new Engine; });  // an address over there
//   int revs = other.Call([far] { return far->Revs(); });
//   other.End();
//
// Both are forks of one program, so a call is a lambda: its code is at the same address in both,
// and what it captures and returns are bytes that are copied. What is more than bytes goes through
// shared(): memory that both have at the same address. With DRYDOCK_OTHER_COMPUTER=PID the other one
// lives in the namespaces of that process: network, mounts and host name.

#ifndef DRYDOCK_TESTING_TWO_PROCESSES_OTHER_PROCESS_H_
#define DRYDOCK_TESTING_TWO_PROCESSES_OTHER_PROCESS_H_

#include <sys/types.h>

#include <cstddef>
#include <cstring>
#include <memory_resource>
#include <type_traits>

namespace drydock::two_processes {

// One a program. Not thread-safe. When the other process dies, or this one does, so does its
// partner: with a line that says how.
class OtherProcess {
 public:
  // The first call forks the process that all later ones are made from: REQUIRES: this one has one
  // thread, and has opened nothing that a child may not inherit.
  static OtherProcess& Get();

  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  // A fresh process; shared() is empty again. REQUIRES: none is there.
  void Begin();
  // Ends the process without its exit handlers. REQUIRES: it exists.
  void End();

  // Memory of both, at the same addresses, until End. Only this process allocates. 256 MiB in all.
  std::pmr::memory_resource& shared() { return pool_; }

  // Runs `call` in the other process, and returns its result. REQUIRES: the process is there;
  // `call` and its result are trivially copyable, and at most kMostBytes long.
  template <typename F>
  auto Call(F call) -> std::invoke_result_t<F&> {
    using Result = std::invoke_result_t<F&>;
    static_assert(std::is_trivially_copyable_v<F> && sizeof(F) <= kMostBytes);
    std::memcpy(mailbox_->bytes, &call, sizeof(F));
    if constexpr (std::is_void_v<Result>) {
      mailbox_->run = [](Mailbox& mailbox) { (*reinterpret_cast<F*>(mailbox.bytes))(); };
      RunOverThere();
    } else {
      static_assert(std::is_trivially_copyable_v<Result> && sizeof(Result) <= kMostBytes);
      mailbox_->run = [](Mailbox& mailbox) {
        const Result result = (*reinterpret_cast<F*>(mailbox.bytes))();
        std::memcpy(mailbox.bytes, &result, sizeof(Result));
      };
      RunOverThere();
      alignas(Result) std::byte bytes[sizeof(Result)];
      std::memcpy(bytes, mailbox_->bytes, sizeof(Result));
      return *reinterpret_cast<Result*>(bytes);
    }
  }

 private:
  static constexpr std::size_t kMostBytes = 16384;
  static constexpr std::size_t kSharedBytes = 256 << 20;

  struct Mailbox {
    void (*run)(Mailbox&) = nullptr;  // null: end
    alignas(std::max_align_t) std::byte bytes[kMostBytes];
  };

  OtherProcess();

  // What the process that all others are forks of does; what each of these does.
  [[noreturn]] void ForkProcesses();
  [[noreturn]] void Serve();
  void RunOverThere();

  Mailbox* mailbox_;
  std::byte* arena_;
  std::pmr::monotonic_buffer_resource memory_;
  std::pmr::unsynchronized_pool_resource pool_;  // of up to 2 MiB, used again
  int socket_ = -1;                              // this process's end, or the other's
};

}  // namespace drydock::two_processes

#endif  // DRYDOCK_TESTING_TWO_PROCESSES_OTHER_PROCESS_H_
