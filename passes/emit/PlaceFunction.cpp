// SPDX-License-Identifier: Apache-2.0
//
// Lifetimes are in launches of the program; `begin` and `end` translate them to
// launches of the artifact.
#include "passes/emit/PlaceFunction.h"
#include "passes/emit/ScratchRing.h"
#include "passes/module/Entries.h"
#include <optional>

using namespace mlir;
using namespace act;

FailureOr<PlacedFunction> act::placeFunction(const std::string &name,
                                             const Program &program,
                                             const StepKernels &kernels,
                                             StepTables &tables, bool onGpu,
                                             Location loc) {
  auto plan = planArena(program, loc);
  if (failed(plan))
    return failure();
  PlacedFunction placed{&program, std::move(*plan), {}, {}};
  artifact::Function &f = placed.function;
  const ArenaPlan &at = placed.plan;
  f.name = name;
  for (const FlatPort &p : program.inputs)
    f.inputs.push_back({p.name, tensorOf(cast<RankedTensorType>(p.type)), ""});
  for (const FlatPort &p : program.outputs)
    f.outputs.push_back(
        {p.name, tensorOf(cast<RankedTensorType>(p.type)), p.updates});
  f.arenaBytes = at.arenaBytes;
  f.hostArenaBytes = at.hostArenaBytes;
  std::optional<ScratchRing> scratch; // on a GPU
  if (onGpu) {
    scratch.emplace(program, at.arenaBytes);
    f.arenaBytes = scratch->arenaBytes();
  }
  // A group may take several launches: its first and its last.
  std::vector<uint32_t> begin, end;
  for (const FlatLaunch &launch : program.launches) {
    begin.push_back(f.launches.size());
    if (launch.copy != Copy::None) {
      artifact::Launch out;
      out.kernel = artifact::copyKernel;
      out.name = launch.name;
      out.args = {tables.place(launch.inputs[0], at, program),
                  tables.place(launch.results[0], at, program)};
      out.args[1].written = true;
      f.launches.push_back(std::move(out));
    } else {
      const auto &parts = kernels.launchesOf(launch, program);
      // Shown in the plan, as it is memory that the step needs, but after what
      // planArena has placed.
      artifact::Operand own;
      if (scratch)
        own = scratch->next(launch);
      if (own.bytes)
        f.plan.push_back({launch.name + ".parts", own.offset, own.bytes,
                          begin.back(),
                          begin.back() + uint32_t(parts.size()) - 1, false});
      for (LaunchOp part : parts) {
        artifact::Launch out;
        out.kernel = kernels.numberOf(part);
        out.name = launch.name;
        for (auto k : part.getOperandsAttr().getAsRange<KernelOperandAttr>()) {
          artifact::Operand o;
          switch (k.getKind()) {
          case KernelMemory::Input:
            o = tables.place(launch.inputs[k.getIndex()], at, program);
            break;
          case KernelMemory::Result:
            o = tables.place(launch.results[k.getIndex()], at, program);
            break;
          case KernelMemory::Workspace:
            o = tables.place(launch.workspaces[k.getIndex()], at, program);
            break;
          case KernelMemory::Scratch:
            o = own;
            break;
          case KernelMemory::Effect:
            o = tables.persistent(
                k.getBuffer(),
                program.parameters[launch.effects[k.getIndex()]]);
            break;
          }
          o.written = k.getWritten();
          out.args.push_back(o);
        }
        f.launches.push_back(std::move(out));
      }
    }
    end.push_back(f.launches.size() - 1);
    placed.layers.resize(f.launches.size(), launch.layer);
  }
  // Only @grad ends between its parts; a step has an update behind them.
  if (program.function == gradName && program.backward)
    f.backward = *program.backward < begin.size() ? begin[*program.backward]
                                                  : f.launches.size();
  for (auto [i, b] : llvm::enumerate(program.buffers)) {
    // Parts of a buffer and results in place have no memory of their own.
    if (b.parent || b.reuses || b.bytes == 0)
      continue;
    f.plan.push_back(
        {(b.layer >= 0 ? "layer." + std::to_string(b.layer) + "/" : "") +
             b.name,
         uint64_t(at.offsets[i]), uint64_t(b.bytes), begin[b.first],
         end[b.last], b.onHost});
  }
  return std::move(placed);
}
