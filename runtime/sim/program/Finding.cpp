// SPDX-License-Identifier: Apache-2.0
//
// Findings as text.
#include "runtime/sim/program/Finding.h"
#include <cstdio>

namespace act::runtime::sim {

const char *nameOf(FindingKind kind) {
  switch (kind) {
  case FindingKind::OutOfBounds:
    return "out-of-bounds";
  case FindingKind::Misaligned:
    return "misaligned";
  case FindingKind::Race:
    return "race";
  case FindingKind::Uninitialised:
    return "uninitialised";
  case FindingKind::DivergentBarrier:
    return "divergent";
  case FindingKind::Deadlock:
    return "deadlock";
  case FindingKind::ReliesOnCtaOrder:
    return "relies-on-cta-order";
  case FindingKind::InvalidOperation:
    return "invalid-operation";
  case FindingKind::AssertFailed:
    return "assert";
  case FindingKind::Leak:
    return "leak";
  case FindingKind::BenignRace:
    return "benign-race";
  case FindingKind::MissingInitFence:
    return "missing-init-fence";
  }
  return "finding";
}

std::string Site::str() const {
  std::string s = spelling + " at line " + std::to_string(ptxLine);
  if (!sourceFile.empty())
    s += " (" + sourceFile + ":" + std::to_string(sourceLine) + ")";
  return s;
}

namespace {

std::string who(const ThreadId &t) {
  char text[160];
  std::snprintf(text, sizeof text, "thread (%u,%u,%u) of CTA (%u,%u,%u)",
                t.thread[0], t.thread[1], t.thread[2], t.cta[0], t.cta[1],
                t.cta[2]);
  return t.agent.empty() ? text : t.agent + " of " + text;
}

} // namespace

std::string Finding::str() const {
  std::string s = std::string(nameOf(kind)) + ": " + kernel + ": " + message +
                  "\n    " + site.str() + ", " + who(thread);
  if (hasAddress) {
    char text[40];
    std::snprintf(text, sizeof text, "0x%llx", (unsigned long long)address);
    s += "\n    address " + std::string(text) +
         (where.empty() ? "" : ": " + where);
  }
  if (hasOther)
    s += "\n    other side: " + otherSite.str() + ", " + who(otherThread) +
         (otherKernel.empty() ? "" : " of kernel " + otherKernel);
  if (count > 1)
    s += "\n    " + std::to_string(count) + " times";
  return s;
}

} // namespace act::runtime::sim
