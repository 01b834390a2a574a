// SPDX-License-Identifier: Apache-2.0
//
// Hands the root buffers of a flattened program to lib/Plan and takes offsets
// back. The two arenas, of the device and of the host, are two problems. The
// search is not here.
#include "act/Plan/Solver.h"
#include "act/Plan/Validator.h"
#include "passes/kernels/FormKernels.h"
#include "passes/memory/ArenaPlan.h"
#include "passes/memory/Passes.h"
#include "passes/module/Entries.h"
#include "llvm/Support/MathExtras.h"

namespace act {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "passes/memory/Passes.h.inc"
} // namespace act

using namespace mlir;
using namespace act;

/// Offsets of the root buffers of one arena, and its size and lower bound.
static FailureOr<plan::Plan> planRoots(const Program &program, bool onHost,
                                       Location loc,
                                       std::vector<int64_t> &offsets) {
  plan::Problem problem;
  std::vector<unsigned> owner; // problem's buffer -> program's
  for (unsigned i = 0; i < program.buffers.size(); ++i) {
    const FlatBuffer &b = program.buffers[i];
    if (b.parent || b.reuses || b.bytes == 0 || b.onHost != onHost)
      continue;
    // Padded, so that no other buffer uses the bytes up to the next multiple.
    problem.buffers.push_back(
        {b.name, int64_t(llvm::alignTo(b.bytes, arenaAlignment)),
         int64_t(b.first), int64_t(b.last) + 1, arenaAlignment});
    owner.push_back(i);
  }
  // The validator is simple where the solver is clever, so it checks every
  // plan.
  auto solved = plan::solve(problem);
  if (!solved)
    return emitError(loc) << solved.error().str();
  if (auto verdict = plan::validate(problem, *solved); !verdict)
    return emitError(loc) << "the memory plan is wrong: "
                          << verdict.error().str();
  for (unsigned k = 0; k < owner.size(); ++k)
    offsets[owner[k]] = solved->offsets[k];
  return std::move(*solved);
}

FailureOr<ArenaPlan> act::planArena(const Program &program, Location loc) {
  ArenaPlan result;
  result.offsets.assign(program.buffers.size(), -1);
  auto solved = planRoots(program, false, loc, result.offsets);
  if (failed(solved))
    return failure();
  result.arenaBytes = solved->arenaBytes;
  result.lowerBoundBytes = solved->lowerBoundBytes;
  if (llvm::any_of(program.buffers,
                   [](const FlatBuffer &b) { return b.onHost; })) {
    auto host = planRoots(program, true, loc, result.offsets);
    if (failed(host))
      return failure();
    result.hostArenaBytes = host->arenaBytes;
  }
  // A nested buffer's offset is the sum of the offsets up to its root.
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

/// Attaches the plan as an attribute, for people and tests. The artifact has
/// its offsets from planArena, not from here.
struct PlanMemory : act::impl::PlanMemoryPassBase<PlanMemory> {
  using PlanMemoryPassBase::PlanMemoryPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(formKernels(module)))
      return signalPassFailure();
    std::string name =
        function.empty() ? mainFunction(module) : function.getValue();
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
          (buffer.layer >= 0 ? "layer." + std::to_string(buffer.layer) + "/"
                             : "") +
          buffer.name;
      NamedAttrList about;
      about.set("name", b.getStringAttr(name));
      about.set("offset", b.getI64IntegerAttr(plan->offsets[i]));
      about.set("bytes", b.getI64IntegerAttr(buffer.bytes));
      about.set("first", b.getI64IntegerAttr(buffer.first));
      about.set("last", b.getI64IntegerAttr(buffer.last));
      if (buffer.onHost)
        about.set("host", b.getUnitAttr());
      buffers.push_back(about.getDictionary(&getContext()));
    }
    NamedAttrList attribute;
    attribute.set("function", b.getStringAttr(name));
    attribute.set("arena_bytes", b.getI64IntegerAttr(plan->arenaBytes));
    attribute.set("lower_bound_bytes",
                  b.getI64IntegerAttr(plan->lowerBoundBytes));
    if (plan->hostArenaBytes)
      attribute.set("host_arena_bytes",
                    b.getI64IntegerAttr(plan->hostArenaBytes));
    attribute.set("buffers", b.getArrayAttr(buffers));
    module->setAttr("act.plan", attribute.getDictionary(&getContext()));
  }
};

} // namespace
