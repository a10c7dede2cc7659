// The project has macros of its own, with names that others like as well: Drydock's headers neither
// change them nor need them. Its own macros for errors are in drydock/coro/status_macros.h, which
// no other header includes.

#define RETURN_IF_ERROR(number) (number)
#define ASSIGN_OR_RETURN(number) (number)
#define CO_RETURN_IF_ERROR(number) (number)
#define CO_ASSIGN_OR_RETURN(number) (number)
#define FAULT(number) (number)
#define EVENT(number) (number)

#include "drydock/fabric/async/node.h"
#include "drydock/fabric/async/request_channel.h"
#include "drydock/sim/cluster/two_nodes.h"
#include "drydock/sim/explore/nodes.h"
#include "drydock/testing/harness/seed_test.h"

static_assert(RETURN_IF_ERROR(1) + ASSIGN_OR_RETURN(2) + CO_RETURN_IF_ERROR(3) +
                      CO_ASSIGN_OR_RETURN(4) + FAULT(5) + EVENT(6) ==
                  21,
              "a header of Drydock's changes the project's macros");
