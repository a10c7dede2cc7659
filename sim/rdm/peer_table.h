// The peers of one endpoint.

#ifndef DRYDOCK_SIM_RDM_PEER_TABLE_H_
#define DRYDOCK_SIM_RDM_PEER_TABLE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "drydock/fabric/address.h"
#include "drydock/sim/rdm/address_book.h"
#include "drydock/sim/rdm/peer.h"
#include "drydock/sim/rdm/settings.h"

namespace drydock::sim::rdm {

// Peers are made when they are first spoken to or heard of, and stay as long as the endpoint. Not
// thread-safe. The book and the settings outlive it.
class PeerTable {
 public:
  PeerTable(std::shared_ptr<AddressBook> book, const Settings& settings, fabric::Address own)
      : book_(std::move(book)), settings_(settings), own_(own) {}
  ~PeerTable() {
    peers_.clear();
    book_->Collect();
  }

  AddressBook& book() { return *book_; }

  // The peer of this handle of the program; null when there is none.
  Peer* Find(fabric::Peer handle) {
    std::shared_ptr<AddressEntry> entry = book_->Find(handle);
    return entry == nullptr ? nullptr : &Of(std::move(entry));
  }

  // Peers that the program never inserted.
  std::size_t strangers() const {
    return static_cast<std::size_t>(
        std::count_if(peers_.begin(), peers_.end(),
                      [](const auto& item) { return !item.second->entry->inserted; }));
  }

  // Calls `visit` for every peer, in the order in which their addresses became known.
  void ForEach(const std::function<void(Peer&)>& visit) {
    for (const auto& [number, peer] : peers_) visit(*peer);
  }

  Peer& Of(std::shared_ptr<AddressEntry> entry) {
    const std::uint64_t number = entry->number;
    auto found = peers_.find(number);
    if (found == peers_.end()) {
      const std::uint64_t seed =
          static_cast<std::uint64_t>(ConnidOf(own_)) << 32 | ConnidOf(entry->address);
      found =
          peers_.emplace(number, std::make_unique<Peer>(std::move(entry), settings_, seed)).first;
    }
    return *found->second;
  }

 private:
  std::shared_ptr<AddressBook> book_;
  const Settings& settings_;
  const fabric::Address own_;
  std::map<std::uint64_t, std::unique_ptr<Peer>> peers_;  // by the number of their address
};

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_PEER_TABLE_H_
