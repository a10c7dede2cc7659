// What a person, or a script, is told of a transfer.

#ifndef APPS_WRITE_REPORT_H_
#define APPS_WRITE_REPORT_H_

#include <cstdint>

#include "apps/common/session/console.h"
#include "apps/common/session/session.h"
#include "apps/write/client.h"
#include "apps/write/messages.h"

namespace apps::write {

// The client's configuration: what it asks for and where it goes.
void SayRequest(Console& console, const RandomFillMessage& request, std::uint64_t region_bytes);

// The announcements that the console's progress counts.
Work WorkOf(const RandomFillMessage& request);

// The result: a last line, a JSON object, or a row. Returns the exit status: 0 only for right data.
int Report(Console& console, const TransferReport& transfer, const Scene& scene);

}  // namespace apps::write

#endif  // APPS_WRITE_REPORT_H_
