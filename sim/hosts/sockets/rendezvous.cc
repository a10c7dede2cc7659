#include "drydock/sim/hosts/sockets/rendezvous.h"

#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/sim/hosts/sockets/key.h"

namespace drydock::sim {
namespace {

using namespace std::chrono_literals;

// Connections at the same time: all machines of four full networks, and their programs.
constexpr std::size_t kMostClients = 8 * kMachines;
// Of them, those that have not proven themselves yet: all machines of a network may call at once. A
// newer one displaces the oldest, so that silent ones keep nobody out.
constexpr std::size_t kMostStrangers = kMachines;
// Files of this process that are no connections, with room to spare.
constexpr std::size_t kOtherFiles = 32;
// Clients that have not become machines within this time, and are no programs, are dropped.
constexpr coro::Duration kPatience = 5s;
// A machine that does not acknowledge news within this time has stopped.
constexpr coro::Duration kNewsTime = 1s;
constexpr int kTurnMilliseconds = 20;
// What a client has said is taken as a whole, up to so many pieces: a machine that returns may have
// closed its old connection behind its call, and must not have left by then.
constexpr int kMostPieces = 16;
// News that a machine has not read yet. A machine that has stopped is dropped when there is more.
constexpr std::size_t kMostUnsent = 1 << 20;

template <typename Word>
Word RandomNumber() {
  std::array<std::byte, sizeof(Word)> bytes;
  FillRandomly(bytes);
  Word word = 0;
  std::memcpy(&word, bytes.data(), sizeof(word));
  return word;
}

// More connections than the process may have files would be taken from the socket by nobody.
std::size_t MostClients() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return kMostClients;
  const std::size_t most = std::max<std::size_t>(files.rlim_cur, 2 * kOtherFiles) - kOtherFiles;
  return std::min(kMostClients, most);
}

}  // namespace

struct Rendezvous::Network {
  Network() {
    for (std::size_t i = 0; i < kMachines; ++i) free.insert(static_cast<std::uint8_t>(i));
  }
  const std::uint64_t id = RandomNumber<std::uint64_t>();
  std::uint64_t fingerprint = 0;
  std::string profile;
  std::set<std::uint8_t> free;
  std::uint32_t last_incarnation = RandomNumber<std::uint32_t>() >> 1;
  std::size_t members = 0;
};

struct Rendezvous::Client {
  Client(Socket socket, const Key& key, coro::Time now)
      : stream(std::move(socket), kLongestOfHandshake, kMostUnsent), called(key), since(now) {}

  enum class Stage : std::uint8_t { kHello, kProof, kKnown, kPending, kMember };
  bool is_machine() const { return stage >= Stage::kPending; }
  // The news that it is there, or that it has gone.
  Control News() const {
    Control news;
    news.type = ControlType::kNews;
    news.present = is_machine() ? 1 : 0;
    news.seat = seat;
    news.number = number;
    news.host = host;
    news.address = address;
    return news;
  }

  Stream stream;
  Called called;
  Stage stage = Stage::kHello;
  coro::Time since;  // the stage
  Network* network = nullptr;
  Seat seat;
  std::uint64_t host = 0;
  SocketAddress address;
  std::uint64_t number = 0;  // of the news about it
  std::uint64_t known = 0;   // the last news that it has read
  bool lost = false;
  bool is_program = false;
  bool away = false;  // a machine that is out of reach, and keeps its seat
};

Rendezvous::Rendezvous(Socket listening, const Key& key)
    : listening_(std::move(listening)), key_(key), most_clients_(MostClients()) {}

Rendezvous::~Rendezvous() = default;

bool Rendezvous::is_needed() const {
  return std::any_of(clients_.begin(), clients_.end(), [](const auto& client) {
    return client->is_program || (client->is_machine() && !client->away);
  });
}

void Rendezvous::Turn() {
  std::vector<pollfd> fds{{.fd = listening_.fd(), .events = POLLIN, .revents = 0}};
  for (const auto& client : clients_) {
    const bool more = client->stream.unsent() > 0;
    fds.push_back({.fd = client->away ? -1 : client->stream.fd(),
                   .events = static_cast<short>(more ? POLLIN | POLLOUT : POLLIN),
                   .revents = 0});
  }
  poll(fds.data(), fds.size(), kTurnMilliseconds);
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    if (fds[i + 1].revents != 0) Listen(*clients_[i]);
  }
  if (fds[0].revents != 0) Accept();
  WelcomePending();
  ClearUp();
}

void Rendezvous::Accept() {
  for (int accepted = 0; accepted < kMostAccepted; ++accepted) {
    Socket socket = listening_.Accept();
    if (!socket.valid()) return;
    DropStrangers();
    if (clients_.size() >= most_clients_) continue;
    clients_.push_back(std::make_unique<Client>(std::move(socket), key_, clock_.Now()));
  }
}

// Makes room for one more: clients are in the order in which they came.
void Rendezvous::DropStrangers() {
  const auto is_stranger = [](const auto& client) { return client->stage < Client::Stage::kKnown; };
  const auto strangers =
      static_cast<std::size_t>(std::count_if(clients_.begin(), clients_.end(), is_stranger));
  if (strangers < std::min(kMostStrangers, most_clients_ / 2)) return;
  clients_.erase(std::find_if(clients_.begin(), clients_.end(), is_stranger));
}

void Rendezvous::Listen(Client& client) {
  client.stream.Send();
  bool more = true;
  for (int piece = 0; more && !client.lost && piece < kMostPieces; ++piece) {
    more = client.stream.Receive();
    std::span<const std::byte> message;
    while (!client.lost && client.stream.Next(message)) {
      client.lost = !Handle(client, message);
      client.stream.Release();
    }
  }
  client.lost = client.lost || client.stream.ended() || client.stream.garbage();
}

bool Rendezvous::Handle(Client& client, std::span<const std::byte> message) {
  using Stage = Client::Stage;
  if (client.stage == Stage::kHello) {
    const std::optional<Challenge> challenge = client.called.Greet(message);
    client.stage = Stage::kProof;
    return challenge.has_value() && client.called.hello().purpose == Purpose::kMember &&
           client.stream.Say(*challenge);
  }
  if (client.stage == Stage::kProof) {
    client.stage = Stage::kKnown;
    client.stream.Allow(sizeof(Control));
    return client.called.Believes(message);
  }
  Control control;
  return Read(message, control) && HandleControl(client, control);
}

bool Rendezvous::HandleControl(Client& client, const Control& control) {
  if (control.type == ControlType::kJoin) {
    return client.stage == Client::Stage::kKnown && Join(client, control);
  }
  if (control.type == ControlType::kReturn) {
    return client.stage == Client::Stage::kKnown && Return(client, control);
  }
  if (control.type == ControlType::kProgram) {
    client.is_program = client.stage == Client::Stage::kKnown;
    return client.is_program;
  }
  client.known = std::max(client.known, control.number);
  return control.type == ControlType::kKnown && client.is_machine();
}

bool Rendezvous::Join(Client& client, const Control& control) {
  std::unique_ptr<Network>& network = networks_[control.fabric];
  if (network != nullptr) MakeRoom(*network, control.fingerprint);
  if (network == nullptr || network->members == 0) {
    network = std::make_unique<Network>();
    network->fingerprint = control.fingerprint;
    network->profile = control.Text();
  }
  if (network->fingerprint != control.fingerprint) {
    Refuse(client, absl::StrCat("the machines of the network are of profile ",
                                network->profile.substr(0, 48), ", this one would be of ",
                                control.Text().substr(0, 48)));
    return true;
  }
  if (network->free.empty()) {
    Refuse(client, absl::StrCat("the network has ", kMachines, " machines already"));
    return true;
  }
  client.network = network.get();
  client.seat = {.network = network->id,
                 .incarnation = ++network->last_incarnation,
                 .slot = *network->free.begin()};
  network->free.erase(network->free.begin());
  ++network->members;
  client.host = control.host;
  client.address = client.stream.socket().PeerAddress().WithPort(control.address.port());
  client.stage = Client::Stage::kPending;
  client.since = clock_.Now();
  Introduce(client);
  Tell(*network, client);
  client.known = client.number;
  return true;
}

// The others have not heard that it was away, and do not hear that it is back.
bool Rendezvous::Return(Client& client, const Control& control) {
  const auto network = networks_.find(control.fabric);
  const auto before = std::find_if(clients_.begin(), clients_.end(), [&](const auto& other) {
    return other->stage == Client::Stage::kMember && other->seat == control.seat &&
           network != networks_.end() && other->network == network->second.get();
  });
  if (before == clients_.end()) {
    Refuse(client, "its seat is not kept any more");
    return true;
  }
  Client& old = **before;
  client.network = std::exchange(old.network, nullptr);
  client.seat = old.seat;
  client.host = old.host;
  client.address = old.address;
  client.number = old.number;
  client.known = old.known;
  client.stage = std::exchange(old.stage, Client::Stage::kKnown);
  old.lost = true;
  Introduce(client);
  Welcome(client);
  return true;
}

// All others of its network to it.
void Rendezvous::Introduce(Client& client) {
  for (const auto& other : clients_) {
    if (other->network != client.network || other.get() == &client) continue;
    client.lost = !client.stream.Say(other->News()) || client.lost;
  }
}

void Rendezvous::Refuse(Client& client, absl::string_view why) {
  Control refusal;
  refusal.type = ControlType::kRefused;
  refusal.SetText(why);
  client.stream.Say(refusal);
}

void Rendezvous::Tell(Network& network, Client& about) {
  about.number = ++last_news_;
  for (const auto& other : clients_) {
    if (other->network != &network || other.get() == &about || other->away) continue;
    other->lost = !other->stream.Say(about.News()) || other->lost;
  }
}

// The pending machines that all others know of.
void Rendezvous::WelcomePending() {
  const coro::Time now = clock_.Now();
  for (const auto& client : clients_) {
    if (client->stage != Client::Stage::kPending || client->lost) continue;
    const bool all_know = std::all_of(clients_.begin(), clients_.end(), [&](const auto& other) {
      return other->network != client->network || other->away || other->known >= client->number;
    });
    if (!all_know && now - client->since < kNewsTime) continue;
    client->stage = Client::Stage::kMember;
    Welcome(*client);
  }
}

void Rendezvous::Welcome(Client& client) {
  Control welcome;
  welcome.type = ControlType::kWelcome;
  welcome.seat = client.seat;
  client.lost = !client.stream.Say(welcome) || client.lost;
}

void Rendezvous::Leave(Client& client) {
  Network& network = *std::exchange(client.network, nullptr);
  client.stage = Client::Stage::kKnown;
  Tell(network, client);
  network.free.insert(client.seat.slot);
  --network.members;
}

// Seats that are kept, of machines that do not return then: all of them where nobody else is there
// any more and a machine of another kind comes, and the oldest where no other is free.
void Rendezvous::MakeRoom(Network& network, std::uint64_t fingerprint) {
  std::vector<Client*> away;
  for (const auto& client : clients_) {
    if (client->network == &network && client->away) away.push_back(client.get());
  }
  const bool is_over = away.size() == network.members && network.fingerprint != fingerprint;
  std::ranges::sort(away, {}, &Client::since);
  if (!is_over) away.resize(network.free.empty() ? std::min<std::size_t>(away.size(), 1) : 0);
  for (Client* const client : away) {
    Leave(*client);
    client->lost = true;
  }
}

void Rendezvous::ClearUp() {
  const coro::Time now = clock_.Now();
  for (std::size_t i = 0; i < clients_.size();) {
    Client& client = *clients_[i];
    if (client.lost && client.stage == Client::Stage::kMember && client.stream.cut()) {
      client.lost = false;
      client.away = true;
      client.since = now;
    }
    const bool late =
        client.away ? now - client.since > kSeatIsKept
                    : !client.is_machine() && !client.is_program && now - client.since > kPatience;
    if (!client.lost && !late) {
      ++i;
      continue;
    }
    if (client.is_machine()) Leave(client);
    clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(i));
    i = 0;  // a client that could not be told is lost, too
  }
  std::erase_if(networks_, [](const auto& entry) { return entry.second->members == 0; });
}

}  // namespace drydock::sim
