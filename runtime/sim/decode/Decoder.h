// SPDX-License-Identifier: Apache-2.0
//
// Decodes the words of an instruction into its handler.
//
// Instructions are grouped into families, one file each
// (instructions/XFamily.cpp). A family registers its roots and decodes them:
//
//     // fma{.rnd}{.ftz}{.sat}.type
//     static void decodeFma(Decoder &d) {
//       Rounding r = d.rounding(Rounding::None);
//       bool ftz = d.take("ftz");
//       Type t = d.type({Type::F32, Type::F64});
//       if (t == Type::BF16) d.require(80, 70);    // sm, PTX version x 10
//       d.begin(&map<Fma, float, float, float, float>, Class::Float);
//       d.result(0, t); d.source(1, t); d.source(2, t); d.source(3, t);
//     }
//     void registerFloat(Families &f) { f["fma"] = decodeFma; }
//
// A family takes modifiers one by one. A modifier or operand left over when
// decode returns is an error that names it. Errors do not throw: the decoder
// keeps the first, and later calls are safe and do nothing.
#ifndef ACT_RUNTIME_SIM_DECODE_DECODER_H
#define ACT_RUNTIME_SIM_DECODE_DECODER_H
#include "act/Result.h"
#include "runtime/sim/arithmetic/Numerics.h"
#include "runtime/sim/decode/Specials.h"
#include "runtime/sim/program/Program.h"
#include "runtime/sim/program/Scope.h"
#include <initializer_list>
#include <map>
#include <string>
#include <unordered_map>

namespace act::runtime::sim {

struct FrameLayout;
class Decoder;
using Decode = void (*)(Decoder &);
/// Keyed by root. Where several families share a root, the key adds the class
/// of the instruction's types: "add/int", "add/float" (f32, f64), "add/half"
/// (f16, bf16 and their pairs). The plain root is looked up first.
using Families = std::unordered_map<std::string, Decode>;

/// An address operand: base slot of `bytes` 4 or 8, plus offset. A symbol base
/// is a slot too. It holds a variable's address, the address of the kernel's
/// parameter block (Param) or of the function's own memory (Local: .local
/// variables, a device function's parameters, .param variables of calls).
struct AddressOperand {
  uint32_t slot = noSlot;
  uint8_t bytes = 8;
  int64_t offset = 0;
  /// The space of a symbol base; Generic when the base is a register.
  ptx::Space space = ptx::Space::Generic;
  /// Of a symbol base: its kind, and whether it was declared .param (`space`
  /// may be Local then).
  ptx::Symbol::Kind symbol = ptx::Symbol::FunctionName;
  bool isParameter = false;
  bool isNumber = false; // neither register nor symbol
};

class Decoder {
public:
  // ---- the instruction
  const ptx::Instruction &tree() const { return *instruction; }
  const ptx::Function &function() const { return *owner; }
  const ptx::Module &module() const { return *program->tree; }
  const Target &target() const { return program->target; }
  Program &out() { return *program; }
  FunctionCode &code() { return *functionCode; }

  // ---- modifiers, in any order, each consumed
  bool take(const char *word); // true when it was there
  bool peek(const char *word) const;
  /// If both are present, `first` must precede `second`. Both are prefixes:
  /// "shared" matches shared::cta.
  void checkOrder(const char *first, const char *second);
  /// The index of the first of these that is present, else -1; with `needed`,
  /// none is an error.
  int oneOf(std::initializer_list<const char *> words, bool needed = false);
  /// The next unconsumed modifier that is a type. It must be in `allowed`
  /// unless that is empty.
  ptx::Type type(std::initializer_list<ptx::Type> allowed = {});
  /// All remaining type modifiers, in order (mma: d, a, b, c).
  std::vector<ptx::Type> types();
  /// .rn .rz ...; `byDefault` when absent.
  Rounding rounding(Rounding byDefault);
  /// Consumes the next modifier of any kind; "" when none is left.
  std::string nextWord();
  /// .cta .cluster .gpu .sys
  Scope scope(Scope byDefault);
  /// .v2 .v4 .v8 → 2, 4, 8; else 1
  unsigned vector();
  ptx::Space
  space(); // .global, .shared{::cta,::cluster}, ... consumed; Generic
  bool tookClusterSpace() const {
    return clusterSpace;
  } // space() saw ::cluster

  // ---- requirements on target and version, reported as ptxas does
  void require(uint32_t sm, uint32_t ptx10);
  void requireSuffix(uint32_t sm, char suffix, uint32_t ptx10); // sm_90a only

  // ---- building
  void begin(Handler handler, Class kind, uint8_t flags = 0);
  /// Appends operand `index` to slots and returns its slot. Immediates become
  /// constant slots as wide as `type`. `wide`: the register may be wider than
  /// the type (ld, st, cvt).
  uint32_t source(size_t index, ptx::Type type, bool wide = false);
  uint32_t result(size_t index, ptx::Type type, bool wide = false);
  /// The same for an operand that is not at the top level (vector elements).
  uint32_t source(const ptx::Operand &operand, ptx::Type type,
                  bool wide = false);
  uint32_t result(const ptx::Operand &operand, ptx::Type type,
                  bool wide = false);
  /// A slot that no instruction of the program names (the result for _).
  uint32_t scratch(unsigned bytes);
  /// A constant in all lanes.
  uint32_t constant(uint64_t bits, unsigned bytes);
  uint32_t sourcePredicate(size_t index, bool *negated);
  uint32_t resultPredicate(const ptx::Operand &operand);
  AddressOperand address(size_t index);
  AddressOperand address(const ptx::Operand &operand);
  /// Appends a base slot (or noSlot) to slots. The family keeps the rest of the
  /// address itself.
  void pushSlot(uint32_t slot);
  void reads(uint32_t slot, unsigned bytes);
  void writes(uint32_t slot, unsigned bytes);
  /// Forgets the reads so far; the family then declares those that matter to
  /// definedness.
  void dropReads();
  /// The sources from `first` on go to memory (SlotUse::passes).
  void passes(size_t first);
  size_t readCount() const { return readUses.size(); }
  /// Sets flagByBits; the sources from `first` on select (SlotUse::selects).
  void byBits(size_t first = ~size_t(0));
  /// The unmodified operand; marks it as used.
  const ptx::Operand &operand(size_t index);
  /// The `count` elements of a vector operand, or a scalar operand itself.
  /// A vector of sinks alone is an error.
  std::vector<const ptx::Operand *> elements(size_t index, unsigned count);
  size_t operandCount() const { return instruction->operands.size(); }
  /// The operand as an integer constant; an error if it is none.
  int64_t immediate(size_t index);
  bool isImmediate(size_t index) const;
  bool isSink(size_t index) const;
  unsigned registerBytes(const ptx::Operand &operand) const; // 0: predicate
  /// A register's declared type. Its lane may be wider: 8 bits are held in 16.
  ptx::Type declared(const ptx::Operand &reg) const {
    return owner->registers[reg.reg].type;
  }
  /// Stores the family's data for the lifetime of the program.
  template <typename T> const T *keep(T value) {
    auto p = std::make_shared<T>(std::move(value));
    const T *raw = p.get();
    program->dataPool.push_back(std::move(p));
    return raw;
  }
  /// Data shared by all instructions with this spelling; `make` is called for
  /// the first.
  template <typename T, typename Make> const T *shared(Make make) {
    const void *&data = program->bySpelling[instruction->spelling()];
    if (!data)
      data = keep<T>(make());
    return static_cast<const T *>(data);
  }
  Instruction &current() { return decoded; }

  void fail(const std::string &message);
  bool failed() const { return hasFailed; }

  /// Decodes program.tree, the whole module.
  static Status decode(Program &program, const Families &families);

private:
  friend struct ProgramDecoder;
  const ptx::Instruction *instruction = nullptr;
  const ptx::Function *owner = nullptr;
  Program *program = nullptr;
  FunctionCode *functionCode = nullptr;
  Instruction decoded;
  std::vector<bool> used;         // modifiers
  std::vector<bool> usedOperands; // at the top level
  std::vector<uint32_t> slots;
  std::vector<SlotUse> readUses, writeUses;
  bool clusterSpace = false;
  bool hasFailed = false;
  Error error;
  FrameLayout *layout = nullptr; // of the function being decoded
  uint32_t special(Special which, unsigned bytes, uint64_t addend);
  /// A special register as a value of `type`.
  uint32_t specialSlot(const ptx::Operand &operand, ptx::Type type, bool wide);
  /// The slot of a symbol as a value of `bytes`; sets the space it lies in.
  uint32_t symbolSlot(const ptx::Operand &operand, unsigned bytes,
                      ptx::Space &space);
  /// The width of a register used as `type`; an error if it does not fit.
  unsigned checkedBytes(const ptx::Register &r, ptx::Type type, bool wide);
  uint32_t immediateSlot(const ptx::Operand &operand, ptx::Type type);
  void finish(); // reports leftover modifiers and operands
};

} // namespace act::runtime::sim
#endif
