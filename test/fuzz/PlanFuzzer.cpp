// SPDX-License-Identifier: Apache-2.0
//
// A CSV of planning problems is read or refused; what is read is planned, the
// plan is valid, and both come back from what is written.
#include "act/Plan/Csv.h"
#include "act/Plan/Solver.h"
#include "act/Plan/Validator.h"
#include <algorithm>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace act::plan;
  auto contents = readCsv({reinterpret_cast<const char *>(data), size}, "fuzz");
  if (!contents || contents->buffers.size() > 200)
    return 0;
  const Problem &problem = *contents;
  SolverOptions options;
  options.nodes = 300;
  auto plan = solve(problem, options);
  if (!plan && std::any_of(problem.buffers.begin(), problem.buffers.end(),
                           [](const Buffer &b) { return b.offset; }))
    return 0; // fixed buffers that share bytes
  if (!plan)
    abort();
  auto verdict = validate(problem, *plan);
  if (!verdict || verdict->highestByte != plan->arenaBytes ||
      verdict->lowerBoundBytes != plan->lowerBoundBytes ||
      plan->provenBytes > plan->arenaBytes)
    abort();
  if (auto again = fit(problem, plan->arenaBytes, options))
    if (!validate(problem, *again))
      abort();
  std::string text = writeCsv(problem, &*plan);
  auto back = readCsv(text, "written");
  if (!back || writeCsv(*back, &*plan) != text)
    abort();
  // Offsets come back as fixed places; a file without buffers has none.
  if (!problem.buffers.empty() && writeCsv(*back) != text)
    abort();
  return 0;
}
