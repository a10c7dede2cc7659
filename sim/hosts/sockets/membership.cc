#include "drydock/sim/hosts/sockets/membership.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/sim/hosts/sockets/call.h"
#include "drydock/sim/random.h"

namespace drydock::sim {
namespace {

using namespace std::chrono_literals;

// The others have a second to hear of us.
constexpr coro::Duration kWelcomeTime = 10s;

}  // namespace

// The kernel, the folder of shared memory, of which a file system may have several, and the user
// and user namespace that open its files.
std::uint64_t HostNumber(const char* folder) {
  std::uint64_t number = Combine(geteuid(), 0);
  std::string kernel;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), kernel);
  for (const char letter : kernel) number = Combine(number, static_cast<unsigned char>(letter));
  struct stat status;
  if (stat(folder, &status) == 0) number = Combine(Combine(number, status.st_dev), status.st_ino);
  if (stat("/proc/self/ns/user", &status) == 0) number = Combine(number, status.st_ino);
  return number;
}

absl::StatusOr<std::unique_ptr<Membership>> Membership::Join(Stream stream, std::uint64_t fabric,
                                                             const NetworkTerms& terms,
                                                             std::uint64_t host,
                                                             std::uint16_t port) {
  std::unique_ptr<Membership> membership(new Membership(std::move(stream), host));
  Stream& rendezvous = membership->stream_;
  // The rendezvous is to be the first to notice that the network is cut: it keeps our seat then.
  rendezvous.socket().BePatient();
  Control join;
  join.type = ControlType::kJoin;
  join.fabric = fabric;
  join.fingerprint = terms.fingerprint;
  join.host = host;
  join.address = join.address.WithPort(port);
  join.SetText(terms.profile);
  rendezvous.Say(join);
  std::span<const std::byte> message;
  while (Await(rendezvous, message, kWelcomeTime)) {
    Control control;
    if (!Read(message, control)) break;
    rendezvous.Release();
    if (control.type == ControlType::kRefused) {
      return absl::FailedPreconditionError(control.Text());
    }
    if (control.type == ControlType::kNews) membership->Take(control);
    if (control.type != ControlType::kWelcome) continue;
    membership->seat_ = control.seat;
    membership->Listen();  // no socket event announces messages that came with the welcome
    return membership;
  }
  return absl::UnavailableError("the rendezvous has stopped answering");
}

void Membership::Take(const Control& news) {
  Member& member = members_[news.seat.slot];
  heard_of_[news.seat.slot] = true;
  ++epoch_;
  member.present = news.present != 0;
  member.incarnation = news.seat.incarnation;
  member.host = news.host;
  member.address = news.address;
  Control known;
  known.type = ControlType::kKnown;
  known.number = news.number;
  stream_.Say(known);
}

bool Membership::Listen() {
  stream_.Receive();
  stream_.Send();
  std::span<const std::byte> message;
  while (stream_.Next(message)) {
    Control control;
    if (!Read(message, control)) return false;
    stream_.Release();
    if (control.type == ControlType::kNews) Take(control);
    if (control.type == ControlType::kWelcome) ForgetUnheardOf();
    if (control.type == ControlType::kRefused) return false;
  }
  return !stream_.ended() && !stream_.garbage();
}

void Membership::Resume(Stream stream) {
  stream_ = std::move(stream);
  stream_.socket().BePatient();
  heard_of_.fill(false);
}

void Membership::ForgetUnheardOf() {
  for (std::size_t slot = 0; slot < members_.size(); ++slot) {
    if (!heard_of_[slot]) members_[slot].present = false;
  }
  ++epoch_;
}

}  // namespace drydock::sim
