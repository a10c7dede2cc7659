#include "drydock/apps/batch/wire_messages.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/apps/common/wire.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/async/transfer/immediate.h"
#include "drydock/fabric/printable.h"

namespace drydock::apps::batch {
namespace {

constexpr std::uint32_t kMagic = 0x31544244;  // "DBT1"
constexpr std::size_t kMostGpus = 64;
constexpr std::size_t kMostText = 4096;
constexpr std::size_t kMostWindow = 32768;
constexpr std::uint64_t kMostPages = std::uint64_t{1} << 32;

absl::Status Malformed(const char* what) {
  return absl::InvalidArgumentError(absl::StrCat("a message of the other side has ", what));
}

// Writes text for a person on the other side, cut to what the reader accepts.
void WriteText(WireWriter& writer, absl::string_view text) {
  writer.Part(text.substr(0, kMostText));
}
std::string ReadText(WireReader& reader) { return fabric::Printable(reader.Text(), kMostText); }

template <typename T>
void WriteList(WireWriter& writer, const std::vector<T>& list) {
  writer.Number(static_cast<std::uint32_t>(list.size()));
  for (const T& item : list) writer.Part(item.Serialize());
}
template <typename T>
absl::Status ReadList(WireReader& reader, std::vector<T>& list) {
  const auto count = reader.Number<std::uint32_t>();
  if (count > kMostGpus) return Malformed("more GPUs than any machine");
  for (std::uint32_t i = 0; i < count && reader.ok(); ++i) {
    ASSIGN_OR_RETURN(list.emplace_back(), T::Parse(reader.Part()));
  }
  return absl::OkStatus();
}

absl::Status CheckEnd(const WireReader& reader) {
  if (!reader.ok()) return Malformed("less than it says");
  if (reader.remaining() > 0) return Malformed("more than it says");
  return absl::OkStatus();
}

// What a receiver would have to find room for.
absl::Status CheckLoad(const Load& load) {
  if (load.gpus == 0 || load.gpus > kMostGpus || load.nics_per_gpu == 0 ||
      load.nics_per_gpu > fabric::async::transfer::kMostNics) {
    return Malformed("a number of GPUs or NICs that cannot be");
  }
  if (load.page_bytes == 0 || load.page_bytes > (1u << 30) || load.burst == 0 || load.burst > 64 ||
      load.window == 0 || load.window > kMostWindow || load.pages == 0) {
    return Malformed("pages that cannot be");
  }
  // The receiver has a bit for each.
  if (load.pages > kMostPages / load.nics()) return Malformed("more pages than anybody counts");
  if (PagesOfTransfer(load) > fabric::async::transfer::kMostPages) {
    return Malformed("more pages than can be numbered");
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::byte> Hello::Serialize() const {
  WireWriter writer;
  writer.Number(kMagic);
  writer.Number(static_cast<std::uint32_t>(load.gpus));
  writer.Number(static_cast<std::uint32_t>(load.nics_per_gpu));
  writer.Number(load.page_bytes);
  writer.Number(load.pages);
  writer.Number(static_cast<std::uint32_t>(load.window));
  writer.Number(static_cast<std::uint32_t>(load.burst));
  writer.Number(static_cast<std::uint8_t>(load.warm_up ? 1 : 0));
  writer.Number(seed);
  WriteList(writer, engines);
  return writer.Take();
}

absl::StatusOr<Hello> Hello::Parse(std::span<const std::byte> bytes) {
  WireReader reader(bytes);
  if (reader.Number<std::uint32_t>() != kMagic) return Malformed("another form than batch's");
  Hello hello;
  hello.load.gpus = reader.Number<std::uint32_t>();
  hello.load.nics_per_gpu = reader.Number<std::uint32_t>();
  hello.load.page_bytes = reader.Number<std::uint64_t>();
  hello.load.pages = reader.Number<std::uint64_t>();
  hello.load.window = reader.Number<std::uint32_t>();
  hello.load.burst = reader.Number<std::uint32_t>();
  hello.load.warm_up = reader.Number<std::uint8_t>() != 0;
  hello.seed = reader.Number<std::uint64_t>();
  RETURN_IF_ERROR(ReadList(reader, hello.engines));
  RETURN_IF_ERROR(CheckEnd(reader));
  RETURN_IF_ERROR(CheckLoad(hello.load));
  if (hello.engines.size() != hello.load.gpus) return Malformed("engines for other GPUs");
  return hello;
}

std::vector<std::byte> Ready::Serialize() const {
  WireWriter writer;
  WriteText(writer, refusal);
  WriteList(writer, engines);
  WriteList(writer, memories);
  return writer.Take();
}

absl::StatusOr<Ready> Ready::Parse(std::span<const std::byte> bytes) {
  WireReader reader(bytes);
  Ready ready;
  ready.refusal = ReadText(reader);
  RETURN_IF_ERROR(ReadList(reader, ready.engines));
  RETURN_IF_ERROR(ReadList(reader, ready.memories));
  RETURN_IF_ERROR(CheckEnd(reader));
  if (ready.engines.size() != ready.memories.size()) return Malformed("memory for other GPUs");
  return ready;
}

std::vector<std::byte> Verdict::Serialize() const {
  WireWriter writer;
  writer.Number(static_cast<std::uint8_t>(correct ? 1 : 0));
  writer.Number(duplicates);
  WriteText(writer, error);
  return writer.Take();
}

absl::StatusOr<Verdict> Verdict::Parse(std::span<const std::byte> bytes) {
  WireReader reader(bytes);
  Verdict verdict;
  verdict.correct = reader.Number<std::uint8_t>() == 1;
  verdict.duplicates = reader.Number<std::uint64_t>();
  verdict.error = ReadText(reader);
  RETURN_IF_ERROR(CheckEnd(reader));
  return verdict;
}

}  // namespace drydock::apps::batch
