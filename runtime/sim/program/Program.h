// SPDX-License-Identifier: Apache-2.0
//
// A decoded module: what the machine executes.
//
// A warp's register is stored lane after lane, so that a handler is a loop over
// 32 values that the C++ compiler vectorises. A register's slot is its byte
// offset in the frame, a multiple of 64:
//
//     .pred              4 bytes: bit l is lane l's value      (slot of 64)
//     .b8, .b16 types    uint16_t[32]                          (slot of 64)
//     32-bit types       uint32_t[32]                          (128)
//     64-bit types       uint64_t[32]                          (256)
//     .b128              two uint64_t[32], low half first      (512)
//
// Immediates and constant special registers (%tid.x ...) are slots too, filled
// when a frame is made; handlers do not see the difference. An instruction that
// reads an 8-bit register zero- or sign-extends it by its type.
//
// An Instruction is a handler, operand slots in an order that the handler's
// family defines, and numbers that the family defines. `reads` and `writes`
// list the slots it uses. From them the machine propagates which lanes of a
// register are defined (for instructions that move bits, which bits:
// UndefinedBits.h), and merges lanes at .sync instructions. An instruction
// whose operand matters only sometimes (selp) leaves it out of `reads` and
// calls Context::define() itself.
#ifndef ACT_RUNTIME_SIM_PROGRAM_PROGRAM_H
#define ACT_RUNTIME_SIM_PROGRAM_PROGRAM_H
#include "runtime/sim/program/LaunchRequest.h"
#include "runtime/sim/program/Special.h"
#include "runtime/sim/program/Target.h"
#include "runtime/sim/ptx/Ast.h"
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace act::runtime::sim {

struct Context;

/// A handler's result. Next: continue after this instruction. Jumped: the
/// handler set Context::fragment (control flow). Blocked: no effect; run it
/// again after others have run. Exited: these lanes have ended.
enum class Step : uint8_t { Next, Jumped, Blocked, Exited };

struct Instruction;
using Handler = Step (*)(Context &, const Instruction &);

constexpr uint32_t noSlot = ~uint32_t(0);

struct SlotUse {
  uint32_t slot;
  uint16_t bytes; // per lane: 0 (predicate), 2, 4, 8, 16
  /// For a source: how many of its bytes the instruction uses.
  uint8_t used = 8;
  /// For a source with flagByBits: each of its bits affects the whole result.
  bool selects = false;
  /// For a source with flagStrictReads: a value stored to memory, which may be
  /// undefined. The handler propagates that (Context::put).
  bool passes = false;

  uint64_t usedBits() const {
    return used < 8 ? (uint64_t(1) << 8 * used) - 1 : ~uint64_t(0);
  }
};

struct Instruction {
  Handler run = nullptr;
  const uint32_t *slots = nullptr; // operands, in the family's order
  uint32_t slotCount = 0;
  uint32_t guard = noSlot; // predicate slot
  bool guardNegated = false;
  Class kind = Class::Other;
  uint8_t flags = 0;          // flagStrictReads ...
  uint32_t options = 0;       // the family's
  int64_t immediate = 0;      // the family's (offsets of addresses, mostly)
  const void *data = nullptr; // the family's, owned by the Program
  const SlotUse *reads = nullptr, *writes = nullptr;
  uint16_t readCount = 0, writeCount = 0;
  uint32_t site = 0; // index into Program::sites
};
/// An undefined lane in `reads` is a finding (addresses, operands of barriers),
/// unless the source has SlotUse::passes. Without this flag the result silently
/// becomes undefined.
constexpr uint8_t flagStrictReads = 1;
/// All lanes of the warp that have not exited must execute it together.
constexpr uint8_t flagAligned = 2;
/// The handler defines its results itself (Context::define).
constexpr uint8_t flagDefinesItself = 4;
/// Each bit of its results depends on at most one bit of each source, except
/// for sources that select (SlotUse). The effect of undefined bits is found by
/// running it with other bits in their place.
constexpr uint8_t flagByBits = 16;
/// A bit of its result depends on no higher bit of a source.
constexpr uint8_t flagUpward = 32;
/// It is no wgmma and uses a register that a wgmma of its function uses.
constexpr uint8_t flagNearWgmma = 64;
/// It is in a loop that only polls (PollingLoops.h, CtaOrder.h).
constexpr uint8_t flagLooks = 8;
/// Longer loops do more than poll.
constexpr uint32_t longestPollingLoop = 64; // instructions

/// Where a variable of a function is stored.
struct Placement {
  ptx::Space space = ptx::Space::Local;
  uint64_t offset = 0; // .shared: in the CTA's shared memory; .local and
                       // .param: in the frame's local memory
  uint64_t bytes = 0;
};

/// A function's address as a value: this plus its index, times 16.
constexpr uint64_t functionWindow = uint64_t(0x5ffd) << 32;

/// Rounds up to a multiple of `align`; 0: unchanged.
inline uint64_t alignTo(uint64_t value, uint64_t align) {
  return align ? (value + align - 1) / align * align : value;
}

struct FunctionCode {
  std::string name;
  bool isEntry = false;
  std::vector<Instruction> code;       // ends in an exit that falls off the end
  uint32_t frameBytes = 0;             // registers, constants, specials
  uint32_t registerBytes = 0;          // the registers' share, at the start
  std::vector<uint32_t> registerSlots; // as in the tree's registers
  std::vector<std::byte> image;        // initial bytes of the frame behind them
  /// Special registers to fill in for each frame.
  struct SpecialSlot {
    uint32_t slot;
    Special special;
    uint8_t bytes;
    uint64_t addend;
  };
  std::vector<SpecialSlot> specials;
  /// Per lane, for .local variables and, in device functions, for parameters,
  /// results and .param variables. Placements are offsets into it.
  uint64_t localBytes = 0;
  std::vector<Placement> parameters, results, variables;
  uint64_t dynamicSharedOffset = 0; // where .extern .shared starts
  KernelInfo kernel;                // entries
  struct SharedVariable {
    std::string name;
    uint64_t offset, bytes;
  };
  std::vector<SharedVariable> sharedVariables; // of a kernel, with sizes
  std::vector<std::vector<uint32_t>> branchTargets;
};

class Program {
public:
  std::unique_ptr<ptx::Module> tree;
  Target target;
  std::string name;                      // of the text, for messages
  std::vector<FunctionCode> functions;   // as in tree->functions
  std::vector<ptx::Location> sites;      // of Instruction::site
  std::vector<std::string> spellings;    // likewise
  std::vector<uint8_t> guesses, atomics; // likewise, in bytes (Guesses.h)
  std::vector<void *> variables; // device address of tree->variables[i]; null
                                 // for shared ones
  std::vector<Placement> placements; // of tree->variables[i] (shared ones)
  std::deque<std::vector<uint32_t>> slotPool;
  std::deque<std::vector<SlotUse>> usePool;
  std::deque<std::shared_ptr<void>> dataPool;
  /// Entries of dataPool that instructions of one spelling share.
  std::unordered_map<std::string, const void *> bySpelling;
  Site site(uint32_t index) const;
  /// The name of the register in a slot; empty when there is none.
  std::string registerAt(const FunctionCode &function, uint32_t slot) const;
};

} // namespace act::runtime::sim
#endif
