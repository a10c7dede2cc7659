#include "drydock/testing/harness/endless_body.h"

#include <cstdlib>
#include <iostream>
#include <utility>

namespace drydock::harness {

EndlessBody::EndlessBody(Words words)
    : before_(sim::explore::SetEndProcess(
          [words = std::move(words)](const sim::explore::SeedResult& result) {
            std::cout << words(result) << "\n" << result.waits << std::flush;
            std::_Exit(1);
          })) {}

EndlessBody::~EndlessBody() { sim::explore::SetEndProcess(std::move(before_)); }

}  // namespace drydock::harness
