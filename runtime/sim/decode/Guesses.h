// SPDX-License-Identifier: Apache-2.0
//
// Plain loads in front of a compare-and-swap.
//
//     ld.global.u32  %old, [x];              a guess: another thread's atomic
//     may again:                                 come between, and nothing
//     orders it add.bf16x2     %new, %old, %v; atom.cas.b32   %now, [x], %old,
//     %new;  is done when the guess was right
//     ...
//
// To PTX that is a race of the load with every other thread's atomic. But a
// value that came out of the order of things is only compared, and a load as
// wide as the atomics has no half of two values. NVIDIA's headers make atomics
// so that a target lacks, of bf16 below sm_90 for one.
#ifndef ACT_RUNTIME_SIM_DECODE_GUESSES_H
#define ACT_RUNTIME_SIM_DECODE_GUESSES_H
#include "runtime/sim/ptx/Ast.h"
#include <cstdint>
#include <vector>

namespace act::runtime::sim {

/// By instruction of the function: of a plain load whose value an atom.cas of
/// its width compares, the bytes; else 0.
std::vector<uint8_t> guessesOf(const ptx::Function &function);
/// The bytes that an atom or red updates at once; of other instructions 0.
uint8_t atomicBytes(const ptx::Instruction &instruction);

} // namespace act::runtime::sim
#endif
