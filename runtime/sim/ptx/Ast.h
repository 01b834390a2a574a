// SPDX-License-Identifier: Apache-2.0
//
// The syntax tree of a PTX file: names are resolved, instructions not checked.
//
// The parser scopes names: labels and registers declared in nested braces are
// distinct even if their names repeat. After parsing, every name in an operand
// is an index (a register of the function, a variable, an instruction of the
// function), so readers never look up a name.
//
//     .reg .f32 %f<3>;                Function::registers  %f0 %f1 %f2
//                                     (the used ones of a range)
//     @%p1 fma.rn.ftz.f32 %f0, %f1, %f2, 0f3F800000;
//      └ guard  └ root "fma", modifiers "rn" "ftz" "f32"
//                          └ operands: register, register, register, immediate
//
// The tree keeps the words. The decoder (runtime/sim/decode/) knows whether
// `fma` exists, what its modifiers mean, and whether the target has it.
#ifndef ACT_RUNTIME_SIM_PTX_AST_H
#define ACT_RUNTIME_SIM_PTX_AST_H
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace act::runtime::ptx {

/// The types of registers, variables and instructions.
/// Vectors (.v2 ...) are properties of a declaration or of an instruction.
enum class Type : uint8_t {
  None,
  B8,
  B16,
  B32,
  B64,
  B128,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  BF16,
  F32,
  F64,
  F16x2,
  BF16x2,
  E4M3,
  E5M2,
  E4M3x2,
  E5M2x2,
  TF32,
  Pred,
  TexRef,
  SamplerRef,
  SurfRef,
};
/// Bytes of a value; 0 for None, Pred and opaque references (variables of such
/// types hold 8-byte handles).
unsigned bytesOf(Type type);
/// The type spelled `word` (no dot), or None.
Type typeNamed(const std::string &word);
const char *nameOf(Type type);

enum class Space : uint8_t {
  Generic,
  Reg,
  Const,
  Global,
  Local,
  Param,
  Shared
};
const char *nameOf(Space space); // no dot

/// A line of the PTX file and, from the last `.loc`, a line of the source that
/// it was compiled from (file 0: none).
struct Location {
  uint32_t line = 0, column = 0;
  uint32_t file = 0, sourceLine = 0, sourceColumn = 0;
};

struct Register {
  std::string name; // as declared, "%r12"; unique only together with its scope
  Type type = Type::None;
};

/// A variable in a state space: a module's global, a function's parameter, a
/// return value, a local or shared array.
struct Variable {
  std::string name;
  Space space = Space::Global;
  Type type = Type::None;
  uint32_t align = 0;     // bytes; the type's own by default
  uint64_t bytes = 0;     // whole variable; 0 with `isUnsized`
  bool isUnsized = false; // .extern .shared .align 16 .b8 smem[];
  bool isExtern = false, isVisible = false, isWeak = false, isCommon = false;
  uint32_t reg = 0;       // a parameter or result in Space::Reg: its register
  bool isPointer = false; // `.ptr` parameters; pointee space and align follow
  Space pointee = Space::Generic;
  uint32_t pointeeAlign = 0;
  std::vector<uint8_t> initial; // bytes from the start; the rest is zero
  /// An address inside the initialiser. The `width` bytes at `at` are bytes
  /// `byte` and up (little-endian) of the generic or own-space address of
  /// `symbol` plus `addend`; mask forms take one byte. `symbol` is a variable
  /// or function of the module.
  struct Patch {
    uint64_t at = 0;
    std::string symbol;
    int64_t addend = 0;
    bool generic = false;
    uint8_t width = 0, byte = 0;
  };
  std::vector<Patch> patches;
  Location location;
};

/// The meaning of a name that is not a register.
struct Symbol {
  enum Kind : uint8_t {
    ModuleVariable,   // Module::variables[index]
    FunctionVariable, // Function::variables[index] (.local, .shared, .param)
    Parameter,        // Function::parameters[index]
    ReturnValue,      // Function::results[index]
    FunctionName,     // Module::functions[index]
    Label,            // instruction `index` of the function (may be one past)
    BranchTargets,    // Function::branchTargets[index]
    CallTargets,      // Function::callTargets[index]
    Prototype,        // Function::prototypes[index]
  };
  Kind kind = ModuleVariable;
  uint32_t index = 0;
};

struct Operand {
  enum Kind : uint8_t {
    Reg,       // reg
    Special,   // name: "%tid.x", "%laneid", "%clock64", "%envreg3" ...
    Immediate, // bits (integers sign-extended to 64 bits; floats see isFloat)
    SymbolRef, // symbol, plus `offset` bytes: a name used as a value
    Address,   // [base + offset]: base is a register, a symbol or nothing
    Vector,    // {a, b, c, d}: elements
    Sink,      // _
    PredPair,  // p|q: elements[0], elements[1] (the second may be Sink)
    Tensor,    // [map, {c0, c1}] or [map, {c..}, {offsets..}]: elements are
               // an Address (the map) followed by what the commas separate:
               // one or two Vectors; for textures a sampler may stand between
    List,      // (a, b): arguments and results of a call
  };
  Kind kind = Sink;
  bool negated = false; // !p as a source predicate; -x is folded into bits
  bool isFloat = false; // Immediate: bits are those of a double for decimal and
                        // 0d forms; isF32: a 0f form (32 bits)
  bool isF32 = false;
  bool isUnsigned = false; // Immediate: had a U suffix or exceeds s64
  bool hasBase = false;    // Address: base is a register (reg) or symbol
  bool baseIsSymbol = false;
  uint32_t reg = 0; // index into Function::registers
  Symbol symbol;
  uint64_t bits = 0;
  int64_t offset = 0;
  std::string name; // Special: as spelled, with its .x; Reg: the bytes that a
                    // video instruction selects ("b0", "h1"); SymbolRef and
                    // Address: the symbol's, for messages
  std::vector<Operand> elements;
  Location location;
};

struct Instruction {
  std::string root;                   // "fma", "cp", "wgmma"
  std::vector<std::string> modifiers; // "rn", "ftz", "f32"; without dots, in
                                      // order; "shared::cta", "L2::128B" whole
  std::vector<Operand> operands;      // in the order of the text
  int32_t guard = -1;                 // register of the predicate, or -1
  bool guardNegated = false;
  Location location;
  /// "fma.rn.f32"
  std::string spelling() const;
};

struct Performance { // .maxntid and the like; 0: not given
  uint32_t maxThreads[3] = {0, 0, 0}, requiredThreads[3] = {0, 0, 0};
  uint32_t maxRegisters = 0, minCtasPerSm = 0, maxCtasPerSm = 0;
  uint32_t requiredCluster[3] = {0, 0, 0}, maxClusterRank = 0;
  bool explicitCluster = false, noReturn = false, blocksAreClusters = false;
};

struct Function {
  std::string name;
  bool isEntry = false, isExtern = false, isWeak = false, isVisible = false;
  bool hasBody = false;
  int32_t aliasOf = -1; // .alias: the module's function that it names
  std::vector<Variable> results, parameters; // .param or .reg of the header
  Performance performance;
  std::vector<Register> registers;
  std::vector<Variable> variables; // declared in the body
  std::vector<Instruction> instructions;
  std::vector<std::vector<uint32_t>> branchTargets; // .branchtargets lists
  std::vector<std::vector<uint32_t>> callTargets;   // function indices
  struct Signature {
    std::vector<Variable> results, parameters;
    bool noReturn = false;
  };
  std::vector<Signature> prototypes; // .callprototype
  struct LabelName {
    std::string name;
    uint32_t instruction;
  };
  std::vector<LabelName> labels; // for messages
  Location location;
};

struct Module {
  uint32_t versionMajor = 0, versionMinor = 0;
  std::string target;                     // "sm_90a"
  uint32_t sm = 0;                        // 90
  char suffix = 0;                        // 'a', 'f' or 0
  std::vector<std::string> targetOptions; // "debug", "texmode_unified"
  unsigned addressSize = 64;
  std::vector<std::string> files; // .file numbers to paths; [0] is empty
  std::vector<Variable> variables;
  std::vector<Function> functions;
  const Function *find(const std::string &name) const;
  /// Resolves an alias; any other function is itself.
  uint32_t meantBy(uint32_t function) const {
    int32_t other = functions[function].aliasOf;
    return other < 0 ? function : uint32_t(other);
  }
};

} // namespace act::runtime::ptx
#endif
