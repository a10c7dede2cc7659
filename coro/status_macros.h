// Early return on an error, for functions and for coroutines that return absl::Status or
// absl::StatusOr.
//
//   RETURN_IF_ERROR(Check(x));                          // in a function
//   ASSIGN_OR_RETURN(auto domain, fabric.OpenDomain(0));
//   CO_RETURN_IF_ERROR(co_await Transfer());            // in a coroutine
//   CO_ASSIGN_OR_RETURN(auto message, co_await Next());
//
// The error is returned as it is. They are statements and not expressions on purpose: GCC 12 fails
// on a `co_await` inside a statement expression. An ASSIGN form is several statements: it stands on
// a line of its own, and is never the whole body of an `if` or a loop. Its target is a declaration,
// or a variable that exists.
//
// Other projects have macros of these names: no header of a package includes this one.

#ifndef DRYDOCK_CORO_STATUS_MACROS_H_
#define DRYDOCK_CORO_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define DD_MACRO_JOIN_(a, b) a##b
#define DD_MACRO_JOIN(a, b) DD_MACRO_JOIN_(a, b)

#define DD_RETURN_IF_ERROR_(how, expression) \
  do {                                       \
    absl::Status dd_status = (expression);   \
    if (!dd_status.ok()) [[unlikely]]        \
      how dd_status;                         \
  } while (false)

#define DD_ASSIGN_OR_RETURN_(how, result, target, expression) \
  auto result = (expression);                                 \
  if (!result.ok()) [[unlikely]]                              \
    how std::move(result).status();                           \
  target = *std::move(result)

#define RETURN_IF_ERROR(expression) DD_RETURN_IF_ERROR_(return, expression)
#define CO_RETURN_IF_ERROR(expression) DD_RETURN_IF_ERROR_(co_return, expression)

#define ASSIGN_OR_RETURN(target, expression) \
  DD_ASSIGN_OR_RETURN_(return, DD_MACRO_JOIN(dd_result_, __LINE__), target, expression)
#define CO_ASSIGN_OR_RETURN(target, expression) \
  DD_ASSIGN_OR_RETURN_(co_return, DD_MACRO_JOIN(dd_result_, __LINE__), target, expression)

#endif  // DRYDOCK_CORO_STATUS_MACROS_H_
