#include "drydock/apps/common/ranks/local_ranks.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/wait_list.h"

namespace drydock::apps {
namespace {

// The state that the ranks share.
struct Table {
  struct Meeting {
    Gathered given;
    std::size_t count = 0;
    std::size_t left = 0;  // ranks that have taken it
  };
  std::map<std::uint64_t, Meeting> meetings;  // by number
  coro::WaitList changed{"the other ranks"};
};

class LocalRanks final : public Ranks {
 public:
  LocalRanks(std::size_t rank, std::size_t size, std::shared_ptr<Table> table)
      : Ranks(rank, size), table_(std::move(table)) {}

  coro::Task<absl::StatusOr<Gathered>> Gather(std::vector<std::byte> mine,
                                              coro::Time deadline) override {
    const std::uint64_t number = next_++;
    Table::Meeting& meeting = table_->meetings[number];
    meeting.given.resize(size());
    meeting.given[rank()] = std::move(mine);
    if (++meeting.count == size()) table_->changed.NotifyAll();
    bool in_time = true;
    while (meeting.count < size() && in_time) in_time = co_await table_->changed.Wait(deadline);
    if (meeting.count < size()) {
      co_return absl::DeadlineExceededError(
          absl::StrCat("meet the other ranks: ", meeting.count, " of ", size(), " came in time"));
    }
    Gathered all = meeting.given;
    if (++meeting.left == size()) table_->meetings.erase(number);
    co_return all;
  }

 private:
  const std::shared_ptr<Table> table_;
  std::uint64_t next_ = 0;
};

}  // namespace

std::vector<std::unique_ptr<Ranks>> MakeLocalRanks(std::size_t size) {
  const auto table = std::make_shared<Table>();
  std::vector<std::unique_ptr<Ranks>> ranks;
  for (std::size_t i = 0; i < size; ++i) {
    ranks.push_back(std::make_unique<LocalRanks>(i, size, table));
  }
  return ranks;
}

}  // namespace drydock::apps
