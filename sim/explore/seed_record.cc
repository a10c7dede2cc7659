#include "drydock/sim/explore/seed_record.h"

#include <cstring>
#include <utility>

#include "drydock/coro/check.h"

namespace drydock::sim::explore {
namespace {

void Put(std::string& bytes, std::uint64_t number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

void Put(std::string& bytes, const std::string& text) {
  Put(bytes, text.size());
  bytes.append(text);
}

std::uint64_t TakeNumber(std::string_view& bytes) {
  std::uint64_t number = 0;
  DD_CHECK(bytes.size() >= sizeof(number), "a worker's record is cut short");
  std::memcpy(&number, bytes.data(), sizeof(number));
  bytes.remove_prefix(sizeof(number));
  return number;
}

std::string TakeText(std::string_view& bytes) {
  const std::uint64_t length = TakeNumber(bytes);
  DD_CHECK(length <= bytes.size(), "a worker's record is cut short");
  std::string text(bytes.substr(0, length));
  bytes.remove_prefix(length);
  return text;
}

void Put(std::string& bytes, const fabric::coverage::Report& report) {
  Put(bytes, report.points.size());
  for (const auto& [point, count] : report.points) {
    Put(bytes, static_cast<std::uint64_t>(point.kind));
    Put(bytes, point.name);
    for (const std::uint64_t number : {count.runs, count.held, count.failed}) Put(bytes, number);
  }
  Put(bytes, report.cells.size());
  for (const auto& [cell, count] : report.cells) {
    for (const std::string& word : {cell.operation, cell.outcome, cell.nic}) Put(bytes, word);
    Put(bytes, count);
  }
}

fabric::coverage::Report TakeCoverage(std::string_view& body) {
  fabric::coverage::Report report;
  for (std::uint64_t left = TakeNumber(body); left > 0; --left) {
    fabric::coverage::Point point;
    point.kind = static_cast<fabric::coverage::PointKind>(TakeNumber(body));
    point.name = TakeText(body);
    fabric::coverage::PointCount& count = report.points[std::move(point)];
    count.runs = TakeNumber(body);
    count.held = TakeNumber(body);
    count.failed = TakeNumber(body);
  }
  for (std::uint64_t left = TakeNumber(body); left > 0; --left) {
    fabric::coverage::Cell cell;
    cell.operation = TakeText(body);
    cell.outcome = TakeText(body);
    cell.nic = TakeText(body);
    report.cells[std::move(cell)] = TakeNumber(body);
  }
  return report;
}

SeedResult TakeResult(std::string_view& body) {
  SeedResult result;
  result.seed = TakeNumber(body);
  result.verdict = static_cast<Verdict>(TakeNumber(body));
  result.text = TakeText(body);
  result.check = TakeText(body);
  result.digest.high = TakeNumber(body);
  result.digest.low = TakeNumber(body);
  result.events = TakeNumber(body);
  result.rules.resize(TakeNumber(body));
  for (RuleCount& rule : result.rules) {
    rule.name = TakeText(body);
    rule.eligible = TakeNumber(body);
    rule.fired = TakeNumber(body);
  }
  result.waits = TakeText(body);
  result.coverage = TakeCoverage(body);
  return result;
}

}  // namespace

void AppendRecord(std::string& bytes, const SeedResult& result) {
  std::string body;
  Put(body, result.seed);
  Put(body, static_cast<std::uint64_t>(result.verdict));
  Put(body, result.text);
  Put(body, result.check);
  Put(body, result.digest.high);
  Put(body, result.digest.low);
  Put(body, result.events);
  Put(body, result.rules.size());
  for (const RuleCount& rule : result.rules) {
    Put(body, rule.name);
    Put(body, rule.eligible);
    Put(body, rule.fired);
  }
  Put(body, result.waits);
  Put(body, result.coverage);
  Put(bytes, body);
}

std::optional<SeedResult> TakeRecord(std::string_view& bytes) {
  if (bytes.size() < sizeof(std::uint64_t)) return std::nullopt;
  std::string_view rest = bytes;
  const std::uint64_t length = TakeNumber(rest);
  if (rest.size() < length) return std::nullopt;
  std::string_view body = rest.substr(0, length);
  bytes = rest.substr(length);
  return TakeResult(body);
}

}  // namespace drydock::sim::explore
