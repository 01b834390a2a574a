// SPDX-License-Identifier: Apache-2.0
//
// The table of all families, with which a module is decoded.
#include "runtime/sim/instructions/Families.h"

namespace act::runtime::sim {

namespace {

/// Handlers by the instruction's root. Roots that name unrelated operations by
/// type ("add" of integers and of floats) have one entry for each class:
/// "add/int", "add/float", "add/half".
const Families &families() {
  static const Families all = [] {
    Families f;
    registerControl(f);
    registerMove(f);
    registerInteger(f);
    registerFloat(f);
    registerHalf(f);
    registerConvert(f);
    registerCompare(f);
    registerLogic(f);
    registerWarp(f);
    registerMemory(f);
    registerAtomic(f);
    registerBarrier(f);
    registerMatrix(f);
    registerMma(f);
    registerWmma(f);
    registerWgmma(f);
    registerMbarrier(f);
    registerCopy(f);
    registerTensorMap(f);
    registerCluster(f);
    registerStack(f);
    return f;
  }();
  return all;
}

} // namespace

Status decodeModule(Program &program) {
  if (Status s = Decoder::decode(program, families()); !s)
    return s;
  for (FunctionCode &function : program.functions)
    findNearWgmma(function);
  return ok();
}

} // namespace act::runtime::sim
