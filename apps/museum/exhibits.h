// All exhibits, in the order of the table.

#ifndef DRYDOCK_APPS_MUSEUM_EXHIBITS_H_
#define DRYDOCK_APPS_MUSEUM_EXHIBITS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/apps/museum/exhibit.h"

namespace drydock::museum {

// Each in the folder of its name.
const Exhibit& AgainNeverReads();
const Exhibit& OwnCredits();
const Exhibit& OneBadPeer();
const Exhibit& QueueOverrun();
const Exhibit& FailureNeverTold();
const Exhibit& NullContext();
const Exhibit& ErrData();
const Exhibit& ParkedWindow();
const Exhibit& OffsetZero();
const Exhibit& SlotsOfNumbers();
const Exhibit& TwoRegistrations();
const Exhibit& SequenceWraps();
const Exhibit& ImmediateBits();
const Exhibit& InjectNeverCounts();
const Exhibit& FlagOvertakes();
const Exhibit& LastImmediate();
const Exhibit& HeuristicCount();
const Exhibit& AckOvertakesCompletion();
const Exhibit& FreedTwice();
const Exhibit& StaleConnection();
const Exhibit& CloseBeforeAck();
const Exhibit& BothDrain();
const Exhibit& PeerRemovedInUse();
const Exhibit& NumberWithoutLock();
const Exhibit& TwoThreadsPost();
const Exhibit& BatchLeftOpen();
const Exhibit& BatchOfRails();
const Exhibit& SignalsCoalesced();
const Exhibit& MixedVersions();
const Exhibit& PayloadNotFenced();
const Exhibit& NoContext();

// All of these. Static storage.
std::vector<const Exhibit*> Exhibits();

// kInvalidArgument lists the names that exist.
absl::StatusOr<const Exhibit*> FindExhibit(const std::string& name);

// The scenario of one twin. Static storage.
const TwinScenario& ScenarioOf(const Exhibit& exhibit, Twin twin);

// By its name ("museum-offset-zero-repaired"); null: there is none. Static storage.
const TwinScenario* FindTwin(const std::string& scenario);

}  // namespace drydock::museum

#endif  // DRYDOCK_APPS_MUSEUM_EXHIBITS_H_
