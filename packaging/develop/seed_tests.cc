// What the tests of testing/harness need beside libdrydock.a: compiled into a project's test, with
// the project's own GoogleTest. The tests include "testing/harness/seed_test.h", or another one.

#include "testing/harness/body_scenario.cc"
#include "testing/harness/endless_body.cc"
#include "testing/harness/order_test.cc"
#include "testing/harness/seed_test.cc"
#include "testing/harness/sweep_test.cc"
