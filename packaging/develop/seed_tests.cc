// What the tests of testing/harness need beside libdrydock.a: compiled into a project's test, with
// the project's own GoogleTest. The tests include "drydock/testing/harness/seed_test.h", or another one.

#include "drydock/testing/harness/body_scenario.cc"
#include "drydock/testing/harness/endless_body.cc"
#include "drydock/testing/harness/order_test.cc"
#include "drydock/testing/harness/seed_test.cc"
#include "drydock/testing/harness/sweep_test.cc"
