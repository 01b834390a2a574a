// SPDX-License-Identifier: Apache-2.0
//
// Kernels are written by hand, so everything that later passes take for granted
// is checked here, with the type and the reason in the message. AssignLayouts
// checks blocks again, since it may run without this pass. checkLayouts is for
// the passes after it.
#include "act/Layout/Blocked.h"
#include "passes/tile/Layouts.h"
#include "passes/tile/Passes.h"
#include "passes/tile/PlaceOf.h"

namespace act::tile {
#define GEN_PASS_DEF_CHECKKERNELSPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

bool isElement(Type type) {
  if (isa<FloatType>(type))
    return type.isF64() || type.isF32() || type.isF16() || type.isBF16() ||
           isa<Float8E4M3FNType, Float8E5M2Type>(type);
  return type.isInteger(1) || type.isInteger(8) || type.isInteger(16) ||
         type.isInteger(32) || type.isInteger(64);
}

using WhyNot = llvm::function_ref<std::string(Type)>;

/// Why a type cannot be a block's in a program of so many warps, or nothing.
std::string isNoBlock(Type type, int64_t warps) {
  if (!isa<TensorType>(type))
    return "";
  auto block = dyn_cast<RankedTensorType>(type);
  if (!block || !block.hasStaticShape() || block.getRank() == 0)
    return "expected a static shape of one dimension or more";
  if (!isElement(block.getElementType()))
    return "expected elements of f64, f32, f16, bf16, f8, i1, i8, i16, i32 or "
           "i64";
  int64_t count = 1;
  for (int64_t extent : block.getShape()) {
    if (extent == 0)
      return "expected one element or more";
    if (extent > mostElements || (count *= extent) > mostElements)
      return "expected at most " + std::to_string(mostElements) + " elements";
  }
  // Lanes and warps share extents by common factors; a layout that leaves a
  // thread more than a register file is rejected.
  if (count > act::layout::Distributed::mostRegisters &&
      !act::layout::blocked(block.getShape().vec(), 1, warps))
    return "expected at most " + std::to_string(mostElementsOfThread) +
           " elements in a thread; extents that powers of 2 divide spread "
           "over more threads";
  return "";
}

/// Why a type, a block's, has no layout, or nothing.
std::string hasNoLayout(Type type) {
  auto block = dyn_cast<RankedTensorType>(type);
  return !block || isa_and_present<LayoutAttr>(block.getEncoding())
             ? ""
             : "expected a layout: --tile-assign-layouts gives blocks one";
}

LogicalResult check(Operation *op, TypeRange types, StringRef what,
                    WhyNot whyNot) {
  for (Type type : types)
    if (std::string reason = whyNot(type); !reason.empty())
      return emitError(placeOf(op))
             << "'" << op->getName() << "' op has " << what
             << " that is a block of type " << type << "; " << reason;
  return success();
}

/// Every type of a value in `kernel`.
LogicalResult checkAll(gpu::GPUFuncOp kernel, WhyNot whyNot) {
  WalkResult walked = kernel.walk([&](Operation *op) -> WalkResult {
    if (failed(check(op, op->getResultTypes(), "a result", whyNot)))
      return WalkResult::interrupt();
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (failed(check(op, block.getArgumentTypes(), "an argument", whyNot)))
          return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

/// Loops must count upwards. Constant steps are checked here, others at run
/// time.
LogicalResult checkSteps(gpu::GPUFuncOp kernel) {
  WalkResult walked = kernel.walk([](scf::ForOp loop) {
    APInt step;
    if (!matchPattern(loop.getStep(), m_ConstantInt(&step)) ||
        (loop.getUnsignedCmp() ? !step.isZero() : step.isStrictlyPositive()))
      return WalkResult::advance();
    loop.emitOpError("has a step of ")
        << step.getSExtValue() << ", expected 1 or more";
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

struct CheckKernels : act::tile::impl::CheckKernelsPassBase<CheckKernels> {
  void runOnOperation() override {
    WalkResult walked =
        getOperation()->walk([&](gpu::GPUFuncOp kernel) -> WalkResult {
          return failure(failed(checkArguments(kernel)) ||
                         failed(checkBlocks(kernel)) ||
                         failed(checkSteps(kernel)));
        });
    if (walked.wasInterrupted())
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace

LogicalResult act::tile::checkBlocks(gpu::GPUFuncOp kernel) {
  int64_t warps = getSchedule(kernel).getWarps();
  return checkAll(kernel, [&](Type type) { return isNoBlock(type, warps); });
}

LogicalResult act::tile::checkLayouts(gpu::GPUFuncOp kernel) {
  return checkAll(kernel, hasNoLayout);
}
