// SPDX-License-Identifier: Apache-2.0
//
// What a check found: one sentence, with every place that it refers to.
#ifndef ACT_RUNTIME_SIM_PROGRAM_FINDING_H
#define ACT_RUNTIME_SIM_PROGRAM_FINDING_H
#include <cstdint>
#include <string>
#include <vector>

namespace act::runtime::sim {

enum class FindingKind : uint8_t {
  OutOfBounds,
  Misaligned,
  Race,
  Uninitialised,
  DivergentBarrier, // and any .aligned instruction without its whole warp
  Deadlock,
  ReliesOnCtaOrder,
  InvalidOperation, // mbarrier misuse, bad descriptor, trap, wrong state
  AssertFailed,
  Leak,
  // The kinds from here on are reported but are no reason to fail.
  BenignRace,
  MissingInitFence,
};
const char *nameOf(FindingKind kind); // "race", "out-of-bounds", ...
/// Whether kernels that do it are known to work anyway.
constexpr bool isTolerated(FindingKind kind) {
  return kind >= FindingKind::BenignRace;
}

/// The place of an instruction: its line in the PTX and in the source.
struct Site {
  uint32_t ptxLine = 0;
  std::string sourceFile; // empty: no .loc
  uint32_t sourceLine = 0;
  std::string spelling; // "st.shared.b32"
  /// "st.shared.b32 at line 12 (kernel.cu:7)"
  std::string str() const;
};

struct ThreadId {
  uint32_t cta[3] = {0, 0, 0}, thread[3] = {0, 0, 0};
  std::string agent; // empty: the thread itself; else "its cp.async" ...
};

struct Finding {
  FindingKind kind;
  std::string kernel;
  std::string message; // "reads 4 bytes that another thread writes"
  Site site;
  ThreadId thread;
  bool hasAddress = false;
  uint64_t address = 0; // as the kernel sees it, generic or of its space
  std::string where; // "shared memory + 0x40", "8 bytes after 'x' (4096 bytes)"
  bool hasOther = false; // races: the other side
  Site otherSite;
  ThreadId otherThread;
  std::string otherKernel; // empty: the same launch's
  uint64_t count = 1;      // times that the same pair of places was found
  /// The text to print: one or a few lines.
  std::string str() const;
};

} // namespace act::runtime::sim
#endif
