#include "drydock/fabric/async/transfer/peer_introductions.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/fabric/address.h"

namespace drydock::fabric::async::transfer {
namespace {

// Senders that begin with different NICs of a receiver: anything that differs between them.
std::uint64_t SpreadOf(const Address& address) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::uint8_t byte : address.bytes()) hash = (hash ^ byte) * 0x100000001b3;
  return hash ^ hash >> 32;
}

}  // namespace

// A call's turn to make a peer known; ends with it, or when its coroutine is destroyed.
class PeerIntroductions::Turn {
 public:
  explicit Turn(PeerIntroductions& owner) : owner_(owner) { owner_.connecting_ = true; }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    owner_.connecting_ = false;
    owner_.changed_.NotifyAll();
  }

 private:
  PeerIntroductions& owner_;
};

coro::Task<absl::StatusOr<std::uint32_t>> PeerIntroductions::Connect(PeerDescriptor peer) {
  if (peer.nics.empty() || peer.nics.size() > kMostNics) {
    co_return absl::InvalidArgumentError(
        absl::StrCat("connect to peer: a descriptor of ", peer.nics.size(), " NICs"));
  }
  // One after the other: NICs know one new peer at a time, also of a call that was destroyed.
  while (connecting_ || unanswered_ > 0) co_await changed_.Wait();
  const Turn turn(*this);
  AskNics(peer);
  while (unanswered_ > 0) co_await changed_.Wait();
  co_return AddPeer();
}

void PeerIntroductions::AskNics(const PeerDescriptor& peer) {
  introductions_.assign(rails_.size(), {});
  unanswered_ = rails_.size();
  for (std::size_t i = 0; i < rails_.size(); ++i) {
    Introduction& introduction = introductions_[i];
    introduction.peer = static_cast<std::uint32_t>(balance_.peer_count());
    introduction.addresses = peer.nics;
    introduction.inserted.assign(peer.nics.size(), false);
    for (std::size_t remote = 0; remote < peer.nics.size(); ++remote) {
      if (same_nic_only_ && remote != i) introduction.addresses[remote] = Address();
    }
    rails_[i]->Tell({.kind = Command::Kind::kIntroduce, .introduction = &introduction});
  }
}

absl::StatusOr<std::uint32_t> PeerIntroductions::AddPeer() {
  std::vector<std::vector<bool>> reachable;
  absl::Status failure = absl::InvalidArgumentError("connect to peer: no NIC of it is in reach");
  bool any = false;
  for (const Introduction& introduction : introductions_) {
    reachable.push_back(introduction.inserted);
    any |= std::count(introduction.inserted.begin(), introduction.inserted.end(), true) > 0;
    if (!introduction.status.ok()) failure = introduction.status;
  }
  if (!any) return failure;
  return balance_.AddPeer(reachable, SpreadOf(rails_.front()->address()));
}

absl::StatusOr<RemoteRef> PeerIntroductions::Import(std::uint32_t peer,
                                                    MemoryDescriptor descriptor) const {
  if (peer >= balance_.peer_count()) {
    return absl::InvalidArgumentError(absl::StrCat("import memory: there is no peer ", peer));
  }
  const std::size_t nics = balance_.remote_count(peer);
  if (descriptor.nics.size() != nics || descriptor.length_bytes == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("import memory of peer ", peer, ": ", descriptor.length_bytes, " bytes with ",
                     descriptor.nics.size(), " keys, and the peer has ", nics, " NICs"));
  }
  return RemoteRef(std::make_shared<const RemoteMemory>(peer, std::move(descriptor)));
}

}  // namespace drydock::fabric::async::transfer
