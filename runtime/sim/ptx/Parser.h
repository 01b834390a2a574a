// SPDX-License-Identifier: Apache-2.0
//
// Parses PTX text into a Module. The parser knows the grammar of PTX 3.0 to
// 9.4, not its instructions: it accepts any dotted word as one. Every error
// names the line and column. Any input yields a module or an error, because
// nesting and sizes are bounded (maximumNesting, maximumVariableBytes,
// maximumRegisters).
#ifndef ACT_RUNTIME_SIM_PTX_PARSER_H
#define ACT_RUNTIME_SIM_PTX_PARSER_H
#include "act/Result.h"
#include "runtime/sim/ptx/Ast.h"
#include <memory>
#include <string_view>

namespace act::runtime::ptx {

constexpr unsigned maximumNesting = 64;
constexpr uint64_t maximumVariableBytes = uint64_t(1) << 32;
constexpr uint32_t maximumRegisters = 1 << 20; // of a function

/// `name` is the name of the text in messages: a path, or "<ptx>".
Result<std::unique_ptr<Module>> parse(std::string_view text,
                                      const std::string &name);

} // namespace act::runtime::ptx
#endif
