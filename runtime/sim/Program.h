// SPDX-License-Identifier: Apache-2.0
//
// A decoded module: what the machine executes.
//
// Registers of a warp stand lane after lane, so that a handler is a loop over
// 32 values that the C++ compiler vectorises. A register's place is a byte
// offset into the frame, a multiple of 64:
//
//     .pred              4 bytes: bit l is lane l's value      (slot of 64)
//     .b8, .b16 types    uint16_t[32]                          (slot of 64)
//     32-bit types       uint32_t[32]                          (128)
//     64-bit types       uint64_t[32]                          (256)
//     .b128              two uint64_t[32], low half first      (512)
//
// Immediates and constant special registers (%tid.x ...) are slots too, filled
// when a frame is made; handlers do not see the difference. An 8-bit register
// holds its value zero- or sign-extended by whoever reads it with a type.
//
// An Instruction is a handler, its operands as slots in an order that the
// handler's family defines, and numbers that the family defines. `reads` and
// `writes` say which slots it uses: the machine propagates from them which
// lanes of a register were ever defined (of what moves bits, which bits:
// UndefinedBits.h), and merges lanes at .sync instructions. An instruction
// whose operand matters only sometimes (selp) leaves it out of `reads` and
// calls Context::define() itself.
#ifndef ACT_RUNTIME_SIM_PROGRAM_H
#define ACT_RUNTIME_SIM_PROGRAM_H
#include "runtime/sim/Counters.h"
#include "runtime/sim/Finding.h"
#include "runtime/sim/Simulator.h"
#include "runtime/sim/Target.h"
#include "runtime/sim/ptx/Ast.h"
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace act::runtime::sim {

struct Context;

/// What a handler says happened. Next: go on behind this instruction. Jumped:
/// the handler set Context::fragment (control flow). Blocked: nothing happened;
/// run it again when others have moved. Exited: these lanes are done.
enum class Step : uint8_t { Next, Jumped, Blocked, Exited };

struct Instruction;
using Handler = Step (*)(Context &, const Instruction &);

constexpr uint32_t noSlot = ~uint32_t(0);

struct SlotUse {
  uint32_t slot;
  uint16_t bytes; // per lane: 0 (predicate), 2, 4, 8, 16
  /// Of a source: the instruction looks at so many of its bytes.
  uint8_t used = 8;
  /// Of a source of flagByBits: each of its bits matters to the whole result.
  bool selects = false;
  /// Of a source of flagStrictReads: a value that goes to memory, and may be
  /// undefined. The handler hands that on (Context::put).
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
/// An undefined lane in `reads` is a finding here (addresses, operands of
/// barriers), unless the source passes (SlotUse); without it the result is
/// undefined, silently.
constexpr uint8_t flagStrictReads = 1;
/// All lanes of the warp that have not exited must execute it together.
constexpr uint8_t flagAligned = 2;
/// The handler defines its results itself (Context::define).
constexpr uint8_t flagDefinesItself = 4;
/// Each bit of its results depends on no more than one bit of each source,
/// apart from those that select (SlotUse): what it makes of undefined bits is
/// found by running it with others in their place.
constexpr uint8_t flagByBits = 16;
/// A bit of its result depends on none that are higher, of its sources.
constexpr uint8_t flagUpward = 32;
/// It stands in a loop that does nothing but look (CtaOrder.h).
constexpr uint8_t flagLooks = 8;

/// A variable of a function, placed.
struct Placement {
  ptx::Space space = ptx::Space::Local;
  uint64_t offset = 0; // .shared: in the CTA's shared memory; .local and
                       // .param: in the frame's local memory
  uint64_t bytes = 0;
};

/// A function's address as a value: this plus its index, times 16.
constexpr uint64_t functionWindow = uint64_t(0x5ffd) << 32;

/// Up to a multiple of `align`; 0 is none.
inline uint64_t alignTo(uint64_t value, uint64_t align) {
  return align ? (value + align - 1) / align * align : value;
}

struct FunctionCode {
  std::string name;
  bool isEntry = false;
  std::vector<Instruction> code; // ends in an exit that falls off the end
  uint32_t frameBytes = 0;       // registers, constants, specials
  uint32_t registerBytes = 0;    // the registers' share, at the start
  std::vector<std::byte> image;  // initial bytes of the frame behind them
  /// Specials to be filled per warp or frame: slot and which.
  struct SpecialSlot {
    uint32_t slot;
    uint16_t special; // decode/Specials.h
    uint8_t bytes;
    uint64_t addend;
  };
  std::vector<SpecialSlot> specials;
  /// Of .local variables and, in device functions, of parameters, results and
  /// .param variables; per lane. Placements are offsets into that.
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
  /// Of dataPool, what instructions of one spelling have in common.
  std::unordered_map<std::string, const void *> bySpelling;
  Site site(uint32_t index) const;
  /// The name of the register in a slot; empty when there is none.
  std::string registerAt(const FunctionCode &function, uint32_t slot) const;
};

} // namespace act::runtime::sim
#endif
