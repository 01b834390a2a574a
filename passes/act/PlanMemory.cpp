// SPDX-License-Identifier: Apache-2.0
#include "act/Plan/Solver.h"
#include "act/Plan/Validator.h"
#include "passes/act/ArenaPlan.h"
#include "passes/act/Complete.h"
#include "passes/act/FormKernels.h"
#include "passes/act/Passes.h"
#include "llvm/Support/MathExtras.h"

namespace act {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "passes/act/Passes.h.inc"
} // namespace act

using namespace mlir;
using namespace act;

FailureOr<ArenaPlan> act::planArena(const Program &program, Location loc) {
  plan::Problem problem;
  std::vector<unsigned> owner; // problem's buffer -> program's
  for (unsigned i = 0; i < program.buffers.size(); ++i) {
    const FlatBuffer &b = program.buffers[i];
    if (b.parent || b.reuses || b.bytes == 0)
      continue;
    // Padded: what is behind a buffer's end belongs to nobody else.
    problem.buffers.push_back({b.name, int64_t(llvm::alignTo(b.bytes, arenaAlignment)),
                               int64_t(b.first), int64_t(b.last) + 1, arenaAlignment});
    owner.push_back(i);
  }
  auto solved = plan::solve(problem);
  if (!solved)
    return emitError(loc) << solved.error().str();
  if (auto verdict = plan::validate(problem, *solved); !verdict)
    return emitError(loc) << "the memory plan is wrong: " << verdict.error().str();
  ArenaPlan result;
  result.arenaBytes = solved->arenaBytes;
  result.lowerBoundBytes = solved->lowerBoundBytes;
  result.offsets.assign(program.buffers.size(), -1);
  for (unsigned k = 0; k < owner.size(); ++k)
    result.offsets[owner[k]] = solved->offsets[k];
  // Children after parents: offsets add up along the way to the root.
  for (unsigned i = 0; i < program.buffers.size(); ++i) {
    int64_t offset = 0;
    unsigned b = i;
    while (program.buffers[b].parent || program.buffers[b].reuses) {
      if (program.buffers[b].parent) {
        offset += program.buffers[b].parentOffset;
        b = *program.buffers[b].parent;
      } else {
        b = *program.buffers[b].reuses;
      }
    }
    if (result.offsets[b] >= 0 && b != i)
      result.offsets[i] = result.offsets[b] + offset;
  }
  return result;
}

namespace {

struct PlanMemory : act::impl::PlanMemoryPassBase<PlanMemory> {
  using PlanMemoryPassBase::PlanMemoryPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(formKernels(module)))
      return signalPassFailure();
    std::string name = function.empty() ? mainFunction(module) : function.getValue();
    auto program = flatten(module, name);
    if (failed(program))
      return signalPassFailure();
    auto plan = planArena(*program, module.getLoc());
    if (failed(plan))
      return signalPassFailure();
    Builder b(&getContext());
    SmallVector<Attribute> buffers;
    for (auto [i, buffer] : llvm::enumerate(program->buffers)) {
      if (buffer.parent || buffer.reuses || buffer.bytes == 0)
        continue;
      std::string name =
          (buffer.layer >= 0 ? "layer." + std::to_string(buffer.layer) + "/" : "") + buffer.name;
      buffers.push_back(b.getDictionaryAttr(
          {b.getNamedAttr("name", b.getStringAttr(name)),
           b.getNamedAttr("offset", b.getI64IntegerAttr(plan->offsets[i])),
           b.getNamedAttr("bytes", b.getI64IntegerAttr(buffer.bytes)),
           b.getNamedAttr("first", b.getI64IntegerAttr(buffer.first)),
           b.getNamedAttr("last", b.getI64IntegerAttr(buffer.last))}));
    }
    module->setAttr(
        "act.plan",
        b.getDictionaryAttr({b.getNamedAttr("function", b.getStringAttr(name)),
                             b.getNamedAttr("arena_bytes", b.getI64IntegerAttr(plan->arenaBytes)),
                             b.getNamedAttr("lower_bound_bytes", b.getI64IntegerAttr(plan->lowerBoundBytes)),
                             b.getNamedAttr("buffers", b.getArrayAttr(buffers))}));
  }
};

} // namespace
