// SPDX-License-Identifier: Apache-2.0
//
// The bytes that a step needs, and for what. The runtime asks before it
// allocates.
#include "act/Artifact/Memory.h"
#include "act/Artifact/Types.h"
#include <algorithm>

using namespace act::artifact;

static uint64_t pages(uint64_t bytes) { return (bytes + 4095) / 4096 * 4096; }

std::string StepMemory::text() const {
  std::string out = std::to_string(total()) + " bytes";
  const char *separator = ": ";
  for (auto [name, bytes] : {std::pair("parameters", parameters),
                             {"gradients", gradients},
                             {"optimizer state", optimizer},
                             {"arena", arena},
                             {"arena on the host", hostArena},
                             {"scratch", scratch},
                             {"inputs and outputs", ports}})
    if (bytes) {
      out += separator + std::string(name) + " " + std::to_string(bytes);
      separator = ", ";
    }
  return out;
}

/// Functions run one after the other, so arenas and scratch are those of the
/// largest.
StepMemory act::artifact::memoryOf(const Step &step, uint64_t threads) {
  StepMemory m;
  for (const Parameter &p : step.parameters)
    m.parameters += *byteSize(p.type);
  for (const State &s : step.states)
    (s.role == Role::Gradient ? m.gradients : m.optimizer) += *byteSize(s.type);
  uint64_t scratch = 0;
  for (const Function &f : step.functions) {
    m.arena = std::max(m.arena, f.arenaBytes);
    m.hostArena = std::max(m.hostArena, f.hostArenaBytes);
    uint64_t ports = 0;
    for (auto *list : {&f.inputs, &f.outputs})
      for (const Port &p : *list)
        ports += *byteSize(p.type);
    m.ports = std::max(m.ports, ports);
  }
  for (const Kernel &k : step.kernels)
    scratch = std::max(scratch, k.scratchBytes);
  // Rounded up to pages, as allocations are.
  m.arena = pages(m.arena);
  m.hostArena = pages(m.hostArena);
  m.scratch = pages(scratch) * threads;
  return m;
}
