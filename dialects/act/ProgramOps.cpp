// SPDX-License-Identifier: Apache-2.0
//
// Costs of ops about the program: parameters, random sites, recomputation,
// copies to the host and gradients' accumulation. Their rules are in
// ProgramOpsVerify.cpp.
#include "dialects/act/Dialect.h"

using namespace mlir;
using namespace act;

int64_t ParamOp::getFlops() { return 0; }
CostClass ParamOp::getCostClass() { return CostClass::Reference; }
void ParamOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), getName());
}
int64_t SiteOp::getFlops() { return 0; }
CostClass SiteOp::getCostClass() { return CostClass::Reference; }
int64_t KeptOp::getFlops() { return 0; }
CostClass KeptOp::getCostClass() { return CostClass::View; }

int64_t OffloadOp::getFlops() { return 0; }
CostClass OffloadOp::getCostClass() { return CostClass::Effect; }
int64_t FetchOp::getFlops() { return 0; }
CostClass FetchOp::getCostClass() { return CostClass::Effect; }
int64_t AccumulateOp::getFlops() {
  auto type = getValue().getType();
  return type.hasStaticShape() ? type.getNumElements() : 0;
}
CostClass AccumulateOp::getCostClass() { return CostClass::Effect; }
