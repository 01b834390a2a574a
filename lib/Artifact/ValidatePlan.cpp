// SPDX-License-Identifier: Apache-2.0
//
// The plan of a function: buffers inside the arena, and no two alive at the
// same time in one place. The compiler checked it too, but the runtime trusts
// only what it reads.
#include "lib/Artifact/ValidatePlan.h"
#include "act/Artifact/Format.h"
#include <algorithm>
#include <map>

using namespace act;
using namespace act::artifact;

static std::string place(const Buffer &b) {
  return "buffer '" + b.name + "' at [" + std::to_string(b.offset) + ", " +
         std::to_string(b.offset + b.bytes) + ")";
}

static Status validateRange(const Function &f, const Buffer &b) {
  auto fail = [&](const std::string &what) -> Status {
    return Error{"function '" + f.name + "': buffer '" + b.name + "' " + what,
                 ""};
  };
  uint64_t arena = b.onHost ? f.hostArenaBytes : f.arenaBytes;
  if (b.bytes > arena || b.offset > arena - b.bytes)
    return fail("takes " + std::to_string(b.bytes) + " bytes at offset " +
                std::to_string(b.offset) + " of an arena of " +
                std::to_string(arena) + (b.onHost ? " on the host" : ""));
  if (b.offset % arenaAlignment != 0)
    return fail("has offset " + std::to_string(b.offset) +
                ", which is not a multiple of 64");
  if (b.first > b.last || b.last >= f.launches.size())
    return fail("lives from launch " + std::to_string(b.first) + " to " +
                std::to_string(b.last) + " of " +
                std::to_string(f.launches.size()));
  return ok();
}

// A sweep over the launches: buffers enter a map ordered by offset when they
// are born and leave after they die. The buffers in the map are disjoint, so a
// new one can overlap only its two neighbours.
static Status validateArena(const Function &f, bool onHost) {
  std::vector<uint32_t> births;
  for (uint32_t i = 0; i < f.plan.size(); ++i) {
    if (auto s = validateRange(f, f.plan[i]); !s)
      return s;
    if (f.plan[i].bytes > 0 && f.plan[i].onHost == onHost)
      births.push_back(i);
  }
  std::vector<uint32_t> deaths = births;
  std::sort(births.begin(), births.end(), [&](uint32_t a, uint32_t b) {
    return f.plan[a].first < f.plan[b].first;
  });
  std::sort(deaths.begin(), deaths.end(), [&](uint32_t a, uint32_t b) {
    return f.plan[a].last < f.plan[b].last;
  });
  std::map<uint64_t, const Buffer *> alive;
  auto dead = deaths.begin();
  for (uint32_t i : births) {
    const Buffer &b = f.plan[i];
    for (; dead != deaths.end() && f.plan[*dead].last < b.first; ++dead)
      alive.erase(f.plan[*dead].offset);
    auto next = alive.lower_bound(b.offset);
    const Buffer *clash = nullptr;
    if (next != alive.end() && next->first < b.offset + b.bytes)
      clash = next->second;
    if (next != alive.begin()) {
      const Buffer *previous = std::prev(next)->second;
      if (previous->offset + previous->bytes > b.offset)
        clash = previous;
    }
    if (clash)
      return Error{"function '" + f.name + "': " + place(b) + " overlaps " +
                       place(*clash) + " while both are alive at launch " +
                       std::to_string(b.first),
                   ""};
    alive.emplace(b.offset, &b);
  }
  return ok();
}

Status artifact::validatePlan(const Function &f) {
  if (auto s = validateArena(f, false); !s)
    return s;
  return validateArena(f, true);
}
