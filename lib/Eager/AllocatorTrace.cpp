// SPDX-License-Identifier: Apache-2.0
//
// A run's allocations and frees as a trace of the allocator.
#include "act/Eager/AllocatorTrace.h"

namespace act::eager {

cuda_caching::Trace allocatorTrace(const Run &run) {
  using To = cuda_caching::Event;
  cuda_caching::Trace trace;
  for (const Resident &r : run.resident)
    trace.events.push_back(To::allocate(trace.add(r.bytes)));
  const size_t first = run.resident.size();
  for (const Allocation &a : run.allocations)
    trace.add(a.bytes);
  for (const Event &e : run.events)
    switch (e.kind) {
    case Event::Kind::Born:
      trace.events.push_back(To::allocate(first + e.which));
      break;
    case Event::Kind::Died:
      trace.events.push_back(To::free(first + e.which));
      break;
    case Event::Kind::Product:
      trace.events.push_back(To::product(e.which));
      break;
    case Event::Kind::BiasedProduct:
      trace.events.push_back(To::biased(e.which));
      break;
    case Event::Kind::Mark:
      trace.events.push_back(To::mark(e.which));
      break;
    }
  return trace;
}

} // namespace act::eager
