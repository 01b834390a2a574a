// SPDX-License-Identifier: Apache-2.0
//
// Which instruction of tensor cores each dot becomes. Lowering goes by what
// stands on the op. A wgmma holds its sum, and operands in registers, as
// mma.sync does in four warps along the rows (act/Layout/Mma.h), so layouts are
// the same.
#include "act/Layout/Mma.h"
#include "act/Layout/Shared.h"
#include "dialects/tile/Float8.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/tile/DotWarps.h"
#include "passes/tile/KnownTarget.h"
#include "passes/tile/Passes.h"

namespace act::tile {
#define GEN_PASS_DEF_SELECTINSTRUCTIONSPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

/// As f16, which represents every f8 number.
Value widened(OpBuilder &b, Value v) {
  if (auto trans = v.getDefiningOp<TransOp>()) // keeps the transpose free
    return TransOp::create(b, v.getLoc(), widened(b, trans.getOperand()));
  auto type = cast<RankedTensorType>(v.getType()).clone(b.getF16Type());
  return arith::ExtFOp::create(b, v.getLoc(), type, v);
}

/// The mma.sync for `dot`; null where its k has none, which the assignment of
/// layouts reports.
InstructionAttr mmaSync(DotOp dot) {
  MLIRContext *context = dot.getContext();
  Type element = getElementTypeOrSelf(dot.getA().getType());
  if (dot.isInParts())
    element = BFloat16Type::get(context);
  int64_t k = act::layout::mmaDepth(element.getIntOrFloatBitWidth(),
                                    dot.getA().getType().getDimSize(1));
  if (k == 0)
    return {};
  int64_t m = element.isF64() ? 8 : 16;
  if (element.isF32())
    element = FloatTF32Type::get(context);
  return InstructionAttr::get(context, InstructionKind::MmaSync, m, 8, k,
                              element, dot.getParts());
}

/// Whether b's columns, which lie along k, are contiguous in memory.
bool isStoredByColumns(DotOp dot) {
  return dot.getB().getDefiningOp<TransOp>();
}

/// Columns that an instruction of a warp group takes together: 8, or where b is
/// stored by rows of k whole panels of them.
int64_t panelOf(DotOp dot) {
  if (isStoredByColumns(dot))
    return 8;
  RankedTensorType b = dot.getB().getType();
  int64_t bytes = b.getElementTypeBitWidth() / 8;
  return act::layout::Shared::evenWidth(b.getDimSize(1) * bytes) / bytes;
}

/// What a warp group needs of a product, where `dot` does not have it.
std::string needsOfGroups(DotOp dot, int64_t groups) {
  constexpr int64_t depth = 16;
  Type element = getElementTypeOrSelf(dot.getA().getType());
  ArrayRef<int64_t> acc = dot.getType().getShape();
  if (!isa<BFloat16Type, Float16Type>(element) ||
      !dot.getType().getElementType().isF32())
    return "operands of bf16 or f16, and a sum of f32";
  if (!dot.getWithin().empty())
    return "all of k, not a part of it for each row";
  if (dot.getA().getType().getDimSize(1) % depth)
    return "a k that 16 divides";
  auto [m, n] = groupsOf(acc, groups);
  if (!m)
    return "64 rows or a multiple for each group, or 8 columns or a multiple "
           "side by side";
  const int64_t panel = panelOf(dot);
  if (!isStoredByColumns(dot) && (panel < 16 || acc[1] / n % panel))
    return "columns that " + std::to_string(std::max<int64_t>(panel, 16)) +
           " divides for each group, or a tile.trans as b";
  return "";
}

/// The wgmma for `dot` in a program of so many groups, which has what they
/// need: 64 rows at a time, of 16-bit elements.
InstructionAttr wgmma(DotOp dot, int64_t groups) {
  constexpr int64_t mostColumns = 256, depth = 16;
  ArrayRef<int64_t> acc = dot.getType().getShape();
  const int64_t columns = acc[1] / groupsOf(acc, groups).second;
  // The fewest instructions that are equally wide.
  int64_t parts = llvm::divideCeil(columns, mostColumns);
  while (columns % (panelOf(dot) * parts))
    ++parts;
  return InstructionAttr::get(dot.getContext(), InstructionKind::Wgmma,
                              ScheduleAttr::groupRows, columns / parts, depth,
                              getElementTypeOrSelf(dot.getA().getType()),
                              /*parts=*/1);
}

/// What is said of a schedule that has groups in vain.
WalkResult checkGroups(gpu::GPUFuncOp kernel, const act::Target &gpu) {
  ScheduleAttr schedule = getSchedule(kernel);
  if (!kernel.isKernel() || !schedule.getInGroups())
    return WalkResult::advance();
  if (!gpu.features.wgmma && schedule.getCopyRegisters())
    return kernel.emitOpError("has registers for each role, which ")
           << gpu.name << " cannot move from one warp to another";
  if (!isByHand(kernel))
    return WalkResult::advance();
  if (!gpu.features.wgmma)
    kernel.emitWarning("has groups of warps, but ")
        << gpu.name << " has no products of groups: each warp multiplies alone";
  else if (!kernel.walk([](DotOp) { return WalkResult::interrupt(); })
                .wasInterrupted())
    kernel.emitWarning("has groups of warps, but no products for them");
  return WalkResult::advance();
}

struct SelectInstructions
    : act::tile::impl::SelectInstructionsPassBase<SelectInstructions> {
  using SelectInstructionsPassBase::SelectInstructionsPassBase;

  void runOnOperation() override {
    auto gpu = knownTarget(target, &getContext());
    if (failed(gpu))
      return signalPassFailure();
    const bool hasFloat8 = (*gpu)->features.float8Products;
    const bool hasWgmma = (*gpu)->features.wgmma;
    WalkResult walked = getOperation().walk([&](DotOp dot) {
      auto kernel = dot->getParentOfType<gpu::GPUFuncOp>();
      bool isF8 = isFloat8(getElementTypeOrSelf(dot.getA().getType()));
      if (dot.getInstruction()) { // chosen by hand
        if (isWgmma(dot) ? hasWgmma : !isF8 || hasFloat8)
          return WalkResult::advance();
        dot.emitOpError() << "becomes " << dot.getInstructionAttr()
                          << ", which " << target << " does not have";
        return WalkResult::interrupt();
      }
      if (isF8 && (!hasFloat8 || dot.getA().getType().getDimSize(1) % 32)) {
        OpBuilder b(dot);
        dot.getAMutable().set(widened(b, dot.getA()));
        dot.getBMutable().set(widened(b, dot.getB()));
      }
      if (hasWgmma && kernel && getSchedule(kernel).getInGroups()) {
        int64_t groups =
            getSchedule(kernel).getWarps() / ScheduleAttr::groupWarps;
        std::string needs = needsOfGroups(dot, groups);
        if (needs.empty()) {
          dot.setInstructionAttr(wgmma(dot, groups));
          return WalkResult::advance();
        }
        if (isByHand(kernel))
          dot.emitWarning()
              << "is a product of single warps: groups of warps need " << needs;
      }
      dot.setInstructionAttr(mmaSync(dot));
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return signalPassFailure();
    walked = getOperation().walk(
        [&](gpu::GPUFuncOp kernel) { return checkGroups(kernel, **gpu); });
    if (walked.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
