// SPDX-License-Identifier: Apache-2.0
//
// Name lookup: a stack of scopes, one per open brace of a function body, above
// the function's parameters, above the module.
//
//     .reg .b32 %r<100>;     a range: one entry, whatever the count
//     add.s32 %r7, ...       %r7 becomes a register of the function here
//
// So a declaration costs memory only for the registers used. Labels may be used
// before they are declared: such uses wait in their scope until it closes, then
// in the enclosing one (`Pending`).
#ifndef ACT_RUNTIME_SIM_PTX_NAMES_H
#define ACT_RUNTIME_SIM_PTX_NAMES_H
#include "runtime/sim/ptx/Ast.h"
#include <string_view>
#include <unordered_map>

namespace act::runtime::ptx {

/// The meaning of a name: a register, a vector of registers, or a symbol.
struct Meaning {
  bool isRegister = false;
  Type type = Type::None;
  uint8_t width = 1;  // registers of a vector
  uint32_t first = 0; // index of the (first) register
  Symbol symbol;
  uint32_t line = 0; // of the declaration
};

/// A use of a name before its declaration. Either `operand` or `target` gets
/// the index.
struct Pending {
  std::string_view name;
  Location location;
  Operand *operand = nullptr; // gets a symbol of any late kind
  uint32_t *target = nullptr; // gets the instruction of a label
};

class Scope {
public:
  /// The line of a conflicting declaration, or 0.
  uint32_t declare(std::string_view name, const Meaning &meaning);
  uint32_t declareRange(std::string_view prefix, uint32_t count,
                        const Meaning &meaning);
  /// Null if this scope does not declare it. Adds a register of a range to
  /// `registers` on first use.
  const Meaning *find(std::string_view name, std::vector<Register> &registers);

  /// As `find`, but ignores ranges.
  const Meaning *findExact(std::string_view name) const;

  std::vector<Pending> pending;

private:
  struct Range {
    uint32_t count;
    Meaning meaning;
  };
  struct Numbered {
    uint32_t least, line;
  };
  std::unordered_map<std::string_view, Meaning> names;
  std::unordered_map<std::string_view, Range> ranges;
  /// For "%r12": the prefixes "%r1" and "%r", each with the least number that
  /// follows it, so that a range declared later finds the conflict without a
  /// search.
  std::unordered_map<std::string_view, Numbered> numbered;

  void noteNumbers(std::string_view name, bool firstOfRange, uint32_t line);
};

/// Adds the registers of one name: one, or with `width` > 1 "v.x", "v.y", ...
uint32_t addRegisters(std::vector<Register> &registers, std::string_view name,
                      Type type, unsigned width);

} // namespace act::runtime::ptx
#endif
