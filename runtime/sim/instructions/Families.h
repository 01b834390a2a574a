// SPDX-License-Identifier: Apache-2.0
//
// All families of instructions.
#ifndef ACT_RUNTIME_SIM_INSTRUCTIONS_FAMILIES_H
#define ACT_RUNTIME_SIM_INSTRUCTIONS_FAMILIES_H
#include "runtime/sim/decode/Decoder.h"

namespace act::runtime::sim {

/// Decodes program.tree, the whole module.
Status decodeModule(Program &program);

// One per file in instructions/.
void registerControl(Families &); // bra, brx, call, ret, exit, trap, brkpt,
                                  // nanosleep, pragma-likes
void registerMove(Families &);    // mov, cvta, isspacep, selp, slct, set-like
                                  // moves, vectors pack/unpack
void registerStack(Families &);   // alloca, stacksave, stackrestore
void registerInteger(
    Families &); // add ... mad24, sad, abs, neg, min, max, addc, dp4a, bit ops
void registerFloat(Families &);   // f32, f64: add ... fma, div, sqrt, rcp, ex2,
                                  // lg2, sin, cos, tanh, testp, copysign
void registerHalf(Families &);    // f16(x2), bf16(x2); roots shared with Float
                                  // dispatch on the type
void registerConvert(Families &); // cvt, cvt.pack
void registerCompare(Families &); // set, setp, selp, slct
void registerLogic(Families &); // and, or, xor, not, cnot, shl, shr, shf, lop3,
                                // prmt, bfe, bfi ...
void registerWarp(Families &);  // shfl, vote, match, redux, elect, activemask
void registerMemory(
    Families &); // ld, ldu, st, prefetch, applypriority, discard, createpolicy
void registerAtomic(Families &);  // atom, red, fence, membar
void registerBarrier(Families &); // bar, barrier, barrier.cluster
void registerMatrix(Families &);  // ldmatrix, stmatrix, movmatrix
void registerMma(Families &);     // mma
void registerWmma(Families &);    // wmma
void registerWgmma(Families &);   // wgmma
void registerCopy(
    Families &); // cp.async, cp.async.bulk, cp.reduce, st.bulk, prefetch.tensor
void registerTensorMap(Families &); // tensormap.replace, cp_fenceproxy
void registerMbarrier(Families &);  // mbarrier.*
void registerCluster(
    Families &); // mapa, getctarank, setmaxnreg, griddepcontrol

/// Sets flagNearWgmma in a function's code.
void findNearWgmma(FunctionCode &function);

} // namespace act::runtime::sim
#endif
