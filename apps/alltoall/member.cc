#include "drydock/apps/alltoall/member.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/apps/common/units.h"
#include "drydock/apps/common/wire.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/async/transfer/descriptor.h"
#include "drydock/fabric/async/transfer/immediate.h"

namespace drydock::apps::alltoall {
namespace {

using fabric::async::transfer::BarrierGroup;
using fabric::async::transfer::BarrierGroupOptions;
using fabric::async::transfer::EngineOptions;
using fabric::async::transfer::MemoryDescriptor;
using fabric::async::transfer::PagesShape;
using fabric::async::transfer::PeerDescriptor;
using fabric::async::transfer::ScatterWrite;
using gpu::gda::kNoExpert;

// Transfer numbers: the barrier's, then three for each of kRoundsApart rounds, after which they
// repeat.
constexpr std::uint32_t kMeeting = 0;
enum : std::uint32_t { kTables, kTokens, kAnswers, kTransfersOfRound };
constexpr std::uint32_t kRoundsApart =
    (fabric::async::transfer::kMostTransfers - 1) / kTransfersOfRound;

// How long a write may have no completion before its NIC is probed, and before the NIC is declared
// dead whatever the probe says. Shorter than a phase, so that another NIC can still write the rows
// of a dead one.
constexpr coro::Duration kMostSilence = std::chrono::seconds(3);
constexpr coro::Duration kMostPatience = std::chrono::seconds(75);

absl::Status Named(absl::string_view what, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(what, ": ", status.message()));
}

// Rows that peers may have under way to one NIC fill half of its completion queue at most: the
// other half is for its own.
std::size_t WindowFor(const MemberOptions& options, std::size_t ranks, const fabric::NicInfo& nic) {
  const std::size_t writers = (ranks - 1) * (options.rail_aligned ? 1 : options.nics);
  if (writers == 0) return options.window;
  const std::size_t room = nic.limits.completion_queue_depth / 2 / writers;
  return std::clamp<std::size_t>(room, 1, options.window);
}

}  // namespace

// ---- Results ----

std::vector<std::byte> RankResult::Serialize() const {
  WireWriter writer;
  for (const std::uint64_t number : {tokens, sent, received, bytes, wrong, reissued, dead_nics,
                                     exchange_ns, barrier_ns, dispatch_ns, combine_ns}) {
    writer.Number(number);
  }
  return writer.Take();
}

absl::StatusOr<RankResult> RankResult::Parse(const std::vector<std::byte>& bytes) {
  WireReader reader(bytes);
  RankResult result;
  for (std::uint64_t* const number :
       {&result.tokens, &result.sent, &result.received, &result.bytes, &result.wrong,
        &result.reissued, &result.dead_nics, &result.exchange_ns, &result.barrier_ns,
        &result.dispatch_ns, &result.combine_ns}) {
    *number = reader.Number<std::uint64_t>();
  }
  if (reader.ok() && reader.remaining() == 0) return result;
  return absl::InvalidArgumentError("a rank's result has another form than alltoall's");
}

// ---- Opening and meeting ----

absl::StatusOr<std::unique_ptr<Member>> Member::Open(coro::EventLoop& loop,
                                                     std::unique_ptr<fabric::Fabric> fabric,
                                                     const Workload& workload, std::size_t rank,
                                                     const MemberOptions& options) {
  const MoeShape& shape = workload.shape;
  if (shape.ranks > kMostRanks) {  // a launcher has its own mind
    return absl::InvalidArgumentError(
        absl::StrCat(shape.ranks, " ranks are more than can meet: ", kMostRanks));
  }
  if (std::uint64_t{shape.ranks} * shape.tokens > fabric::async::transfer::kMostPages) {
    return absl::InvalidArgumentError(absl::StrCat(
        shape.ranks, " ranks of ", shape.tokens,
        " tokens are more rows than can be numbered: ", fabric::async::transfer::kMostPages));
  }
  auto member = std::unique_ptr<Member>(new Member(workload, rank, options));
  // Simulated ranks are all in this process.
  const std::uint64_t bytes = member->layout_.bytes() * (options.all_here ? shape.ranks : 1);
  if (bytes > kMostBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("what peers write to ", options.all_here ? "all ranks" : "a rank", " takes ",
                     FormatBytes(bytes), ", over ", FormatBytes(kMostBytes),
                     ": take fewer machines or tokens, or shorter ones"));
  }
  member->fabric_ = std::move(fabric);
  RETURN_IF_ERROR(member->OpenEngine(loop));
  ASSIGN_OR_RETURN(member->memory_, member->engine_->Allocate(member->layout_.bytes()));
  ASSIGN_OR_RETURN(member->flag_, member->engine_->Allocate(BarrierGroup::kFlagBytes));
  BarrierGroupOptions group;
  group.transfer = kMeeting;
  group.self = rank;
  group.members = shape.ranks;
  member->group_ = std::make_unique<BarrierGroup>(*member->engine_, member->flag_, group);
  return member;
}

absl::Status Member::OpenEngine(coro::EventLoop& loop) {
  const std::span<const fabric::NicInfo> nics = fabric_->nics();
  // EFA's NICs are alike. With other providers, the first NIC is opened several times.
  const bool alike = nics[options_.first_nic].address_format == "FI_ADDR_EFA";
  if (alike && options_.nics > nics.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--nics=", options_.nics, ": the machine has ", nics.size()));
  }
  std::vector<fabric::Domain*> domains;
  for (std::size_t i = 0; i < options_.nics; ++i) {
    const std::size_t nic = alike ? (options_.first_nic + i) % nics.size() : options_.first_nic;
    ASSIGN_OR_RETURN(auto domain, fabric_->OpenDomain(nic));
    domains.push_back(domain.get());
    domains_.push_back(std::move(domain));
  }
  EngineOptions engine;
  engine.same_nic_only = options_.rail_aligned;
  engine.nic.window = WindowFor(options_, workload_.shape.ranks, nics[options_.first_nic]);
  engine.nic.burst = std::min(engine.nic.burst, engine.nic.window);
  engine.nic.operation_timeout = std::min(kMostSilence, options_.timeout / 4);
  engine.nic.completion_timeout = std::min(kMostPatience, options_.timeout / 4 * 3);
  ASSIGN_OR_RETURN(engine_, Engine::Open(loop, domains, engine));
  return absl::OkStatus();
}

// What has to be the same on all ranks, then where this one is.
std::vector<std::byte> Member::Introduction() const {
  WireWriter same;
  const MoeShape& shape = workload_.shape;
  for (const std::uint32_t number :
       {shape.ranks, shape.tokens, shape.top_k, shape.experts_per_rank, shape.words,
        workload_.rounds, static_cast<std::uint32_t>(workload_.routing),
        std::uint32_t{options_.rail_aligned}, std::uint32_t{options_.in_place}}) {
    same.Number(number);
  }
  same.Number(workload_.seed);
  same.Number(static_cast<std::uint64_t>(options_.nics));
  WireWriter writer;
  writer.Part(same.Take());
  writer.Part(engine_->descriptor().Serialize());
  writer.Part(memory_->descriptor().Serialize());
  writer.Part(flag_->descriptor().Serialize());
  return writer.Take();
}

coro::Task<absl::Status> Member::AddPeer(std::size_t rank,
                                         const std::vector<std::byte>& introduction,
                                         const std::vector<std::byte>& mine) {
  WireReader own(mine);
  WireReader reader(introduction);
  const std::span<const std::byte> same = own.Part();
  const std::span<const std::byte> theirs = reader.Part();
  if (!std::equal(same.begin(), same.end(), theirs.begin(), theirs.end())) {
    co_return absl::FailedPreconditionError("it was started with other flags");
  }
  CO_ASSIGN_OR_RETURN(const PeerDescriptor peer, PeerDescriptor::Parse(reader.Part()));
  CO_ASSIGN_OR_RETURN(MemoryDescriptor memory, MemoryDescriptor::Parse(reader.Part()));
  CO_ASSIGN_OR_RETURN(MemoryDescriptor flag, MemoryDescriptor::Parse(reader.Part()));
  if (!reader.ok() || reader.remaining() != 0 || memory.length_bytes != layout_.bytes() ||
      flag.length_bytes != BarrierGroup::kFlagBytes) {
    co_return absl::InvalidArgumentError("its introduction has another form than alltoall's");
  }
  CO_ASSIGN_OR_RETURN(const std::uint32_t number, co_await engine_->Connect(peer));
  CO_ASSIGN_OR_RETURN(windows_[rank], engine_->Import(number, std::move(memory)));
  CO_ASSIGN_OR_RETURN(flags_[rank], engine_->Import(number, std::move(flag)));
  co_return absl::OkStatus();
}

coro::Task<absl::Status> Member::Meet(Ranks& ranks) {
  const coro::Time deadline = coro::After(coro::EventLoop::Current().Now(), options_.timeout);
  std::vector<std::byte> mine = Introduction();
  CO_ASSIGN_OR_RETURN(const Gathered all, co_await ranks.AllGather(std::move(mine), deadline));
  windows_.resize(all.size());
  flags_.resize(all.size());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (rank == rank_) continue;
    const absl::Status known = co_await AddPeer(rank, all[rank], all[rank_]);
    CO_RETURN_IF_ERROR(Named(absl::StrCat("meet rank ", rank), known));
  }
  group_->Connect(flags_);
  // All ranks know each other before the first write: NICs refuse writes of peers that they do not
  // know.
  const absl::StatusOr<Gathered> known = co_await ranks.AllGather({}, deadline);
  co_return known.status();
}

// ---- A round ----

// A phase of a round: has its deadline, and adds its duration to a sum when it ends.
class Member::Phase {
 public:
  Phase(std::uint64_t& sum, coro::Duration timeout)
      : sum_(sum),
        began_(coro::EventLoop::Current().Now()),
        deadline_(coro::After(began_, timeout)) {}
  coro::Time deadline() const { return deadline_; }
  void End() {
    sum_ += static_cast<std::uint64_t>((coro::EventLoop::Current().Now() - began_).count());
  }

 private:
  std::uint64_t& sum_;
  const coro::Time began_;
  const coro::Time deadline_;
};

std::uint32_t Member::TransferOf(std::uint32_t round, std::uint32_t which) {
  return 1 + round % kRoundsApart * kTransfersOfRound + which;
}

coro::Task<absl::Status> Member::Barrier() {
  Phase phase(result_.barrier_ns, options_.timeout);
  const absl::Status met = co_await engine_->Barrier(*group_, phase.deadline());
  phase.End();
  co_return Named("barrier", met);
}

coro::Task<absl::Status> Member::Round(std::uint32_t round) {
  const MoeInput input = InputOf(workload_, static_cast<std::uint32_t>(rank_), round);
  Fill(input);
  CO_ASSIGN_OR_RETURN(const Routes routes, co_await Exchange(round));
  std::unique_ptr<Expectation> tokens, answers;
  const std::uint32_t incoming = routes.incoming(), outgoing = routes.outgoing();
  if (incoming > 0) {
    CO_ASSIGN_OR_RETURN(tokens, engine_->Expect(TransferOf(round, kTokens), incoming));
  }
  if (outgoing > 0) {
    CO_ASSIGN_OR_RETURN(answers, engine_->Expect(TransferOf(round, kAnswers), outgoing));
  }
  CO_RETURN_IF_ERROR(co_await Barrier());
  CO_RETURN_IF_ERROR(co_await Dispatch(TransferOf(round, kTokens), routes, tokens.get()));
  if (options_.in_place) {
    CO_RETURN_IF_ERROR(co_await Barrier());
  }
  Answer(routes);
  CO_RETURN_IF_ERROR(co_await Combine(TransferOf(round, kAnswers), routes, answers.get()));
  CountWrong(input, routes);
  result_.sent += outgoing;
  result_.received += incoming;
  result_.bytes += (std::uint64_t{incoming} + outgoing) * layout_.row();
  co_return absl::OkStatus();
}

coro::Task<absl::StatusOr<Routes>> Member::Exchange(std::uint32_t round) {
  const std::size_t ranks = workload_.shape.ranks;
  const std::uint32_t transfer = TransferOf(round, kTables);
  CO_ASSIGN_OR_RETURN(const auto expected,
                      engine_->Expect(transfer, static_cast<std::uint32_t>(ranks)));
  if (options_.late > coro::Duration::zero()) co_await coro::Sleep(options_.late);
  // From here on every rank expects tables, and no rank's call of the round before is under way.
  CO_RETURN_IF_ERROR(co_await Barrier());
  ForgetAnswers();
  Phase phase(result_.exchange_ns, options_.timeout);
  const absl::Status sent = co_await SendTables(transfer, phase.deadline());
  CO_RETURN_IF_ERROR(Named("exchange of tables", sent));
  const auto others = static_cast<std::uint32_t>(ranks - 1);
  const bool all = co_await expected->Reached(others, phase.deadline());
  if (!all) {
    co_return absl::DeadlineExceededError(
        absl::StrCat("exchange of tables: ", expected->distinct(), " of ", others, " came"));
  }
  phase.End();
  std::vector<std::vector<std::uint32_t>> words(ranks);
  std::vector<std::span<const std::uint32_t>> tables(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    words[rank] = WordsAt(layout_.Table(rank), workload_.shape.choices());
    tables[rank] = words[rank];
  }
  co_return Routes::Read(workload_.shape, rank_, tables);
}

coro::Task<absl::Status> Member::SendTables(std::uint32_t transfer, coro::Time deadline) {
  std::vector<ScatterWrite> writes;
  for (std::size_t rank = 0; rank < windows_.size(); ++rank) {
    if (rank == rank_) continue;
    ScatterWrite& write = writes.emplace_back();
    write.target = windows_[rank];
    write.source_offset = write.target_offset = layout_.Table(rank_);
    write.bytes = static_cast<std::uint32_t>(layout_.table_bytes());
  }
  if (writes.empty()) co_return absl::OkStatus();
  co_return co_await engine_->Scatter(memory_, writes,
                                      {.transfer = transfer,
                                       .first_page = static_cast<std::uint32_t>(rank_),
                                       .deadline = deadline});
}

coro::Task<absl::Status> Member::Dispatch(std::uint32_t transfer, const Routes& routes,
                                          Expectation* expected) {
  Phase phase(result_.dispatch_ns, options_.timeout);
  std::vector<Rows> rows(windows_.size());
  for (std::size_t target = 0; target < rows.size(); ++target) {
    const Routes::Way& way = routes.To(target);
    rows[target] = {&way.tokens, &way.tokens, layout_.Tokens(), layout_.Received(rank_), way.first};
  }
  const absl::Status moved = co_await Move(transfer, rows, expected, phase.deadline());
  phase.End();
  co_return Named("dispatch", moved);
}

coro::Task<absl::Status> Member::Combine(std::uint32_t transfer, const Routes& routes,
                                         Expectation* expected) {
  Phase phase(result_.combine_ns, options_.timeout);
  std::vector<Rows> rows(windows_.size());
  for (std::size_t source = 0; source < rows.size(); ++source) {
    const Routes::Way& way = routes.From(source);
    rows[source] = {&way.tokens, &way.answers, layout_.Computed(source), layout_.Answers(),
                    way.first};
  }
  const absl::Status moved = co_await Move(transfer, rows, expected, phase.deadline());
  phase.End();
  co_return Named("combine", moved);
}

coro::Task<absl::Status> Member::Move(std::uint32_t transfer, const std::vector<Rows>& rows,
                                      Expectation* expected, coro::Time deadline) {
  coro::Scope writes(coro::OnError::kCancel);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const std::size_t peer = (rank_ + i) % rows.size();  // each begins with its neighbour
    if (!rows[peer].from->empty()) writes.Spawn(WriteRows(peer, rows[peer], transfer, deadline));
  }
  const Rows& own = rows[rank_];
  for (std::size_t i = 0; i < own.from->size(); ++i) {
    std::byte* const bytes = memory_->bytes().data();
    std::memcpy(bytes + own.to_offset + (*own.to)[i] * layout_.row(),
                bytes + own.from_offset + (*own.from)[i] * layout_.row(), layout_.row());
  }
  if (expected != nullptr) writes.Spawn(AwaitRows(*expected, deadline));
  co_return co_await writes.Join();
}

coro::Task<absl::Status> Member::AwaitRows(Expectation& expected, coro::Time deadline) {
  const bool all = co_await expected.Reached(deadline);
  if (all) co_return absl::OkStatus();
  co_return absl::DeadlineExceededError(
      absl::StrCat(expected.distinct(), " of ", expected.pages(), " rows came in time"));
}

coro::Task<absl::Status> Member::WriteRows(std::size_t peer, Rows rows, std::uint32_t transfer,
                                           coro::Time deadline) {
  PagesShape shape;
  shape.pages = static_cast<std::uint32_t>(rows.from->size());
  shape.page_bytes = layout_.row();
  shape.from.indices = *rows.from;
  shape.from.offset_bytes = rows.from_offset;
  shape.to.indices = *rows.to;
  shape.to.offset_bytes = rows.to_offset;
  const absl::Status written = co_await engine_->WritePages(
      memory_, windows_[peer], shape,
      {.transfer = transfer, .first_page = rows.first, .deadline = deadline});
  co_return Named(absl::StrCat("rows to rank ", peer), written);
}

// ---- What is computed ----

std::uint32_t Member::WordAt(std::uint64_t offset) const {
  std::uint32_t word;
  std::memcpy(&word, memory_->bytes().data() + offset, sizeof(word));
  return word;
}
void Member::SetWord(std::uint64_t offset, std::uint32_t value) {
  std::memcpy(memory_->bytes().data() + offset, &value, sizeof(value));
}
std::vector<std::uint32_t> Member::WordsAt(std::uint64_t offset, std::size_t count) const {
  std::vector<std::uint32_t> words(count);
  std::memcpy(words.data(), memory_->bytes().data() + offset, count * 4);
  return words;
}
void Member::SetWords(std::uint64_t offset, const std::vector<std::uint32_t>& words) {
  std::memcpy(memory_->bytes().data() + offset, words.data(), words.size() * 4);
}

void Member::Fill(const MoeInput& input) {
  SetWords(layout_.Table(rank_), input.table);
  SetWords(layout_.Table(rank_) + layout_.table_bytes() / 2, input.weights);
  SetWords(layout_.Tokens(), input.tokens);
  for (std::uint32_t choice = 0; choice < input.table.size(); choice += workload_.shape.top_k) {
    if (input.table[choice] != kNoExpert) ++result_.tokens;
  }
}

void Member::ForgetAnswers() {
  std::memset(memory_->bytes().data() + layout_.Answers(), 0xA5, layout_.answer_bytes());
}

void Member::Answer(const Routes& routes) {
  const MoeShape& shape = workload_.shape;
  for (std::size_t source = 0; source < shape.ranks; ++source) {
    const std::vector<std::uint32_t> table = WordsAt(layout_.Table(source), shape.choices());
    const std::vector<std::uint32_t> weights =
        WordsAt(layout_.Table(source) + layout_.table_bytes() / 2, shape.choices());
    for (const std::uint32_t token : routes.From(source).tokens) {
      const std::uint64_t row = token * layout_.row();
      for (std::uint32_t i = 0; i < shape.words; ++i) {
        const std::uint32_t value = WordAt(layout_.Received(source) + row + std::uint64_t{i} * 4);
        std::uint32_t sum = 0;
        for (std::size_t c = std::size_t{token} * shape.top_k;
             c < (std::size_t{token} + 1) * shape.top_k; ++c) {
          if (table[c] == kNoExpert || shape.RankOf(table[c]) != rank_) continue;
          sum += weights[c] * gpu::gda::Expert(table[c], i, value);
        }
        SetWord(layout_.Computed(source) + row + std::uint64_t{i} * 4, sum);
      }
    }
  }
}

void Member::CountWrong(const MoeInput& input, const Routes& routes) {
  const MoeShape& shape = workload_.shape;
  const std::vector<std::uint32_t> expected = gpu::gda::MoeResult(shape, input);
  std::vector<std::uint32_t> result(expected.size());
  for (std::size_t target = 0; target < shape.ranks; ++target) {
    for (const std::uint32_t slot : routes.To(target).answers) {
      const std::size_t first = std::size_t{slot / Routes::Slots(shape)} * shape.words;
      const std::vector<std::uint32_t> answer =
          WordsAt(layout_.Answers() + slot * layout_.row(), shape.words);
      for (std::uint32_t i = 0; i < shape.words; ++i) result[first + i] += answer[i];
    }
  }
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i] != expected[i]) ++result_.wrong;
  }
}

RankResult Member::result() const {
  RankResult result = result_;
  result.reissued = engine_->reissued_pages();
  for (std::size_t nic = 0; nic < engine_->nic_count(); ++nic) {
    if (!engine_->nic_stats(nic).alive) ++result.dead_nics;
  }
  return result;
}

}  // namespace drydock::apps::alltoall
