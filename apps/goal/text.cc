#include "drydock/apps/goal/text.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/printable.h"

namespace drydock::apps::goal {
namespace {

using Word = absl::string_view;

// ---- Reading ----

// Words, line by line; comments are none.
class Words {
 public:
  explicit Words(absl::string_view text) : rest_(text) {}

  // The words of the next line that has some; empty: there is none.
  const std::vector<Word>& NextLine() {
    words_.clear();
    while (words_.empty() && !rest_.empty()) {
      ++line_;
      const std::size_t end = rest_.find('\n');
      Split(rest_.substr(0, end));
      rest_.remove_prefix(end == absl::string_view::npos ? rest_.size() : end + 1);
      if (too_many_) rest_ = {};
    }
    return words_;
  }
  std::size_t line() const { return std::max<std::size_t>(line_, 1); }  // of a file of none, too
  bool in_comment() const { return in_comment_; }
  // A line has more than kMostWordsOfLine: nothing comes after it.
  bool too_many() const { return too_many_; }

 private:
  static bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r'; }
  static bool IsMark(char c) { return c == '{' || c == '}' || c == ':'; }

  void Split(absl::string_view line) {
    AddWords(line);
    too_many_ = words_.size() > kMostWordsOfLine;
    if (too_many_) words_.clear();
  }

  void AddWords(absl::string_view line) {
    for (std::size_t i = 0; i < line.size();) {
      if (words_.size() > kMostWordsOfLine) return;
      const absl::string_view here = line.substr(i);
      if (in_comment_) {
        in_comment_ = here.substr(0, 2) != "*/";
        i += in_comment_ ? 1 : 2;
      } else if (here.substr(0, 2) == "//") {
        return;
      } else if (here.substr(0, 2) == "/*") {
        in_comment_ = true;
        i += 2;
      } else if (IsSpace(line[i])) {
        ++i;
      } else if (IsMark(line[i])) {
        words_.push_back(line.substr(i++, 1));
      } else {
        std::size_t end = i;
        while (end < line.size() && !IsSpace(line[end]) && !IsMark(line[end]) &&
               line.substr(end, 2) != "//" && line.substr(end, 2) != "/*") {
          ++end;
        }
        words_.push_back(line.substr(i, end - i));
        i = end;
      }
    }
  }

  absl::string_view rest_;
  std::vector<Word> words_;
  std::size_t line_ = 0;
  bool in_comment_ = false;
  bool too_many_ = false;
};

bool IsLabel(Word word) {
  if (word.empty() || std::isalpha(static_cast<unsigned char>(word[0])) == 0) return false;
  for (const char c : word) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') return false;
  }
  return true;
}

// What a person reads of a word that a file made.
std::string Quoted(Word word) {
  constexpr std::size_t kMost = 40;
  return absl::StrCat("'", fabric::Printable(word, kMost), word.size() > kMost ? "...'" : "'");
}

class Reader {
 public:
  Reader(absl::string_view text, const GoalLimits& limits) : words_(text), limits_(limits) {}

  absl::StatusOr<Schedule> Read() {
    const absl::Status read = ReadAll();
    if (words_.too_many()) {
      return Wrong(absl::StrCat("there are more than ", kMostWordsOfLine, " words"));
    }
    RETURN_IF_ERROR(read);
    return std::move(*builder_).Build();
  }

 private:
  absl::Status ReadAll() {
    RETURN_IF_ERROR(ReadRankCount());
    while (!Next().empty()) RETURN_IF_ERROR(ReadRank());
    return words_.in_comment() ? Wrong("a comment has no end") : absl::OkStatus();
  }

  struct Label {
    OpIndex op;
    std::size_t line;
  };
  struct Wait {
    Word op;
    Word other;
    bool begins;
    std::size_t line;
  };

  absl::Status WrongIn(std::size_t line, absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("line ", line, ": ", what));
  }
  absl::Status Wrong(absl::string_view what) const { return WrongIn(words_.line(), what); }

  // Goes on to the words of the next line, where all of this one's were read.
  const std::vector<Word>& Next() {
    if (at_ == line_.size()) {
      line_ = words_.NextLine();
      at_ = 0;
    }
    return line_;
  }
  // The next word of this line; empty: there is none.
  Word Peek(std::size_t ahead = 0) const {
    return at_ + ahead < line_.size() ? line_[at_ + ahead] : Word();
  }
  Word Take() { return at_ < line_.size() ? line_[at_++] : Word(); }
  bool TakeIf(Word word) {
    if (Peek() != word) return false;
    ++at_;
    return true;
  }
  absl::Status Expect(Word word) {
    if (TakeIf(word)) return absl::OkStatus();
    const Word found = Peek();
    return Wrong(absl::StrCat("expected '", word, "', found ",
                              found.empty() ? "the end of the line" : Quoted(found)));
  }

  absl::StatusOr<std::uint64_t> TakeNumber(Word what, std::uint64_t most) {
    const Word word = Take();
    std::uint64_t number = 0;
    const bool digits = word.find_first_not_of("0123456789") == Word::npos;
    if (word.empty() || !digits || !absl::SimpleAtoi(word, &number) || number > most) {
      return Wrong(absl::StrCat(what, " is ", word.empty() ? "missing" : Quoted(word),
                                ", not a number up to ", most));
    }
    return number;
  }

  absl::Status ReadRankCount() {
    if (Next().empty()) return Wrong("expected 'num_ranks', found the end of the file");
    RETURN_IF_ERROR(Expect("num_ranks"));
    ASSIGN_OR_RETURN(const std::uint64_t ranks, TakeNumber("the number of ranks", kMostRanks));
    if (ranks == 0) return Wrong("there is no rank");
    builder_.emplace(static_cast<std::uint32_t>(ranks));
    begun_.resize(ranks);
    return absl::OkStatus();
  }

  absl::Status ReadRank() {
    RETURN_IF_ERROR(Expect("rank"));
    ASSIGN_OR_RETURN(const std::uint64_t rank, TakeNumber("a rank", builder_->ranks() - 1));
    if (begun_[rank]) return Wrong(absl::StrCat("rank ", rank, " is there twice"));
    begun_[rank] = true;
    if (Next().empty()) return Wrong("expected '{', found the end of the file");
    RETURN_IF_ERROR(Expect("{"));
    builder_->BeginRank(static_cast<std::uint32_t>(rank));
    first_ = static_cast<OpIndex>(builder_->size());
    labels_.clear();
    lines_.clear();
    waits_.clear();
    while (true) {
      if (Next().empty()) return Wrong(absl::StrCat("rank ", rank, " has no '}'"));
      if (TakeIf("}")) return EndRank();
      RETURN_IF_ERROR(ReadLine());
    }
  }

  absl::Status ReadLine() {
    const Word next = Peek(1);
    if (next == "requires" || next == "irequires") return ReadWait();
    std::optional<Word> label;
    if (next == ":") {
      label = Take();
      if (!IsLabel(*label)) return Wrong(absl::StrCat(Quoted(*label), " is no label"));
      Take();
    }
    ASSIGN_OR_RETURN(const Op op, ReadOp());
    if (builder_->size() == limits_.operations) {
      return Wrong(absl::StrCat("there are more than ", limits_.operations, " operations"));
    }
    const OpIndex index = builder_->Add(op);
    lines_.push_back(words_.line());
    if (!label.has_value() || labels_.try_emplace(*label, Label{index, words_.line()}).second) {
      return absl::OkStatus();
    }
    return Wrong(
        absl::StrCat("label ", Quoted(*label), " is that of line ", labels_[*label].line, ", too"));
  }

  absl::Status ReadWait() {
    Wait wait{.op = Take(), .begins = false, .line = words_.line()};
    wait.begins = Take() == "irequires";
    wait.other = Take();
    for (const Word label : {wait.op, wait.other}) {
      if (!IsLabel(label)) return Wrong(absl::StrCat(Quoted(label), " is no label"));
    }
    if (++waits_of_file_ > limits_.waits) {
      return Wrong(absl::StrCat("there are more than ", limits_.waits, " waits"));
    }
    waits_.push_back(wait);
    return EndOfLine();
  }

  // A rank may end on the line of its last operation.
  absl::Status EndOfLine() const {
    const Word rest = Peek();
    if (rest.empty() || rest == "}") return absl::OkStatus();
    return Wrong(absl::StrCat(Quoted(rest), " is too much"));
  }

  absl::StatusOr<Op> ReadOp() {
    const Word kind = Take();
    Op op;
    if (kind == "calc") {
      ASSIGN_OR_RETURN(op.amount, TakeNumber("the time", kMostNanoseconds));
    } else if (kind == "send" || kind == "recv") {
      op.kind = kind == "send" ? Kind::kSend : Kind::kReceive;
      RETURN_IF_ERROR(ReadMessage(op));
    } else {
      return Wrong(absl::StrCat("expected 'calc', 'send', 'recv' or '}', found ", Quoted(kind)));
    }
    while (true) {
      const Word attribute = Peek();
      const bool message = op.kind != Kind::kCalc;
      if (message && attribute == "tag") {
        RETURN_IF_ERROR(ReadTag(op));
      } else if (attribute == "cpu") {
        Take();
        ASSIGN_OR_RETURN(op.cpu, TakeNumber("a CPU", UINT8_MAX));
      } else if (message && attribute == "nic") {
        Take();
        ASSIGN_OR_RETURN(op.nic, TakeNumber("a NIC", UINT8_MAX));
      } else {
        break;
      }
    }
    RETURN_IF_ERROR(EndOfLine());
    return op;
  }

  // "4096b to 1", "4096b from -1".
  absl::Status ReadMessage(Op& op) {
    Word& size = line_[at_ < line_.size() ? at_ : at_ - 1];
    if (Peek().empty() || !absl::ConsumeSuffix(&size, "b")) {
      return Wrong(absl::StrCat("expected a size like 4096b, found ",
                                Peek().empty() ? "the end of the line" : Quoted(Peek())));
    }
    ASSIGN_OR_RETURN(op.amount, TakeNumber("the size", kMostMessage));
    RETURN_IF_ERROR(Expect(op.kind == Kind::kSend ? "to" : "from"));
    if (op.kind == Kind::kReceive && TakeIf("-1")) {
      op.peer = kAnySource;
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const std::uint64_t peer, TakeNumber("a rank", builder_->ranks() - 1));
    op.peer = static_cast<std::uint32_t>(peer);
    return absl::OkStatus();
  }

  absl::Status ReadTag(Op& op) {
    Take();
    if (op.kind == Kind::kReceive && TakeIf("-1")) {
      op.tag = kAnyTag;
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const std::uint64_t tag, TakeNumber("a tag", kAnyTag - 1));
    op.tag = static_cast<std::uint32_t>(tag);
    return absl::OkStatus();
  }

  absl::Status EndRank() {
    for (const Wait& wait : waits_) {
      for (const Word label : {wait.op, wait.other}) {
        if (labels_.contains(label)) continue;
        return WrongIn(wait.line,
                       absl::StrCat("nothing of this rank has the label ", Quoted(label)));
      }
      builder_->Require(labels_[wait.op].op, labels_[wait.other].op, wait.begins);
    }
    if (const std::optional<OpIndex> cycle = builder_->EndRank()) {
      return WrongIn(lines_[*cycle - first_], "this operation waits for itself, by way of others");
    }
    return absl::OkStatus();
  }

  static constexpr std::uint64_t kMostNanoseconds = std::uint64_t{1} << 60;
  static constexpr std::uint64_t kMostMessage = std::uint64_t{1} << 40;

  Words words_;
  const GoalLimits limits_;
  std::vector<Word> line_;
  std::size_t at_ = 0;
  std::optional<ScheduleBuilder> builder_;
  std::vector<bool> begun_;  // by rank
  std::size_t waits_of_file_ = 0;
  // Of the open rank:
  OpIndex first_ = 0;
  absl::flat_hash_map<Word, Label> labels_;
  std::vector<std::size_t> lines_;  // by operation
  std::vector<Wait> waits_;
};

// ---- Writing ----

void WriteMessage(const Op& op, std::string& out) {
  const bool send = op.kind == Kind::kSend;
  absl::StrAppend(&out, send ? "send " : "recv ", op.amount, send ? "b to " : "b from ");
  op.peer == kAnySource ? absl::StrAppend(&out, "-1") : absl::StrAppend(&out, op.peer);
  absl::StrAppend(&out, " tag ");
  op.tag == kAnyTag ? absl::StrAppend(&out, "-1") : absl::StrAppend(&out, op.tag);
  absl::StrAppend(&out, " cpu ", op.cpu, " nic ", op.nic);
}

}  // namespace

absl::StatusOr<Schedule> ReadGoal(absl::string_view text, const GoalLimits& limits) {
  return Reader(text, limits).Read();
}

void WriteGoal(const Schedule& schedule, std::ostream& out) {
  out << "num_ranks " << schedule.ranks() << "\n";
  std::string line;
  for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
    const auto [begin, end] = schedule.OpsOf(rank);
    if (begin == end) continue;
    out << "\nrank " << rank << " {\n";
    for (OpIndex i = begin; i < end; ++i) {
      const Op& op = schedule.ops()[i];
      line = absl::StrCat("l", i - begin + 1, ": ");
      if (op.kind == Kind::kCalc) {
        absl::StrAppend(&line, "calc ", op.amount, " cpu ", op.cpu);
      } else {
        WriteMessage(op, line);
      }
      out << line << "\n";
    }
    for (OpIndex i = begin; i < end; ++i) {
      for (const Edge& edge : schedule.Followers(i)) {
        out << "l" << edge.after - begin + 1 << (edge.begins ? " irequires l" : " requires l")
            << i - begin + 1 << "\n";
      }
    }
    out << "}\n";
  }
}

}  // namespace drydock::apps::goal
