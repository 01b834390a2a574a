// SPDX-License-Identifier: Apache-2.0
//
// Plain loads before a compare-and-swap loop.
//
//     ld.global.u32  %old, [x];              a guess: not ordered with other
//     again:                                 threads' atomics
//     add.bf16x2     %new, %old, %v;
//     atom.cas.b32   %now, [x], %old, %new;  stores only if the guess was right
//     ...
//
// In PTX the load races with every other thread's atomic. That is harmless: a
// stale value only fails the comparison, and a load as wide as the atomics
// cannot tear. NVIDIA's headers build atomics that a target lacks this way, for
// example bf16 below sm_90.
#ifndef ACT_RUNTIME_SIM_DECODE_GUESSES_H
#define ACT_RUNTIME_SIM_DECODE_GUESSES_H
#include "runtime/sim/ptx/Ast.h"
#include <cstdint>
#include <vector>

namespace act::runtime::sim {

/// Per instruction of the function: the bytes of a plain load whose value an
/// atom.cas of the same width compares, else 0.
std::vector<uint8_t> guessesOf(const ptx::Function &function);
/// The bytes that an atom or red updates at once; 0 for other instructions.
uint8_t atomicBytes(const ptx::Instruction &instruction);

} // namespace act::runtime::sim
#endif
