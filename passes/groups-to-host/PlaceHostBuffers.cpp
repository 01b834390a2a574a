// SPDX-License-Identifier: Apache-2.0
//
// Kernels allocate nothing, so each allocation gets a fixed offset in the
// thread's scratch, or is on the stack if it is small. An allocation in a loop
// has one place for all iterations. A dynamic size, as of a tile at the edge,
// takes the room of its constant upper bound.
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "passes/groups-to-host/HostKernelForm.h"
#include "passes/groups-to-host/Passes.h"

namespace act {
#define GEN_PASS_DEF_PLACEHOSTBUFFERSPASS
#include "passes/groups-to-host/Passes.h.inc"
} // namespace act

using namespace mlir;

namespace {

constexpr int64_t kAlignment = 64, kStackEach = 256, kStackTotal = 4096;

FailureOr<int64_t> boundOfSize(memref::AllocOp alloc, Value size) {
  auto bound = ValueBoundsConstraintSet::computeConstantBound(
      presburger::BoundType::UB, ValueBoundsConstraintSet::Variable(size),
      /*stopCondition=*/nullptr, /*closedUB=*/true);
  if (failed(bound))
    return alloc->emitOpError("in a kernel has no constant bound on its size");
  return *bound;
}

bool hasBlockNumber(func::FuncOp func) {
  return func.getNumArguments() && func.getArgumentTypes().back().isInteger(64);
}

struct PlaceHostBuffers
    : act::impl::PlaceHostBuffersPassBase<PlaceHostBuffers> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (failed(act::checkMemoryKernel(func)) || failed(place(func)))
        return signalPassFailure();
  }

  LogicalResult place(func::FuncOp func) {
    SmallVector<memref::AllocOp> allocs;
    SmallVector<Operation *> dead;
    func.walk([&](Operation *op) {
      if (auto alloc = dyn_cast<memref::AllocOp>(op))
        allocs.push_back(alloc);
      if (isa<memref::DeallocOp>(op))
        dead.push_back(op);
    });
    for (Operation *op : dead)
      op->erase();
    OpBuilder builder(func.getContext());
    Block &entry = func.getBody().front();
    Location loc = func.getLoc();
    auto bytes = MemRefType::get({ShapedType::kDynamic}, builder.getI8Type());
    int64_t offset = 0, stack = 0;
    SmallVector<std::pair<Value, int64_t>> views; // base placeholder, offset
    Value scratch;
    for (memref::AllocOp alloc : allocs) {
      // Offsets are not reused: every buffer keeps its own.
      MemRefType type = alloc.getType();
      if (!type.getLayout().isIdentity() ||
          !type.getElementType().isIntOrFloat())
        return alloc->emitOpError("in a kernel is not contiguous");
      SmallVector<int64_t> shape(type.getShape());
      unsigned dynamic = 0;
      for (int64_t &size : shape)
        if (ShapedType::isDynamic(size)) {
          auto bound = boundOfSize(alloc, alloc.getDynamicSizes()[dynamic++]);
          if (failed(bound))
            return failure();
          size = *bound;
        }
      int64_t count = 1;
      for (int64_t size : shape)
        count *= size;
      int64_t size = count * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
      if (alloc->use_empty()) {
        alloc.erase();
        continue;
      }
      auto flat = MemRefType::get({count}, type.getElementType());
      auto whole = MemRefType::get(shape, type.getElementType());
      builder.setInsertionPointToStart(&entry);
      Value base;
      if (size <= kStackEach && stack + size <= kStackTotal) {
        stack += size;
        base = memref::AllocaOp::create(
            builder, loc, type.hasStaticShape() ? whole : flat, ValueRange{},
            builder.getI64IntegerAttr(kAlignment));
      } else {
        // Before the block's number, which is the last argument.
        if (!hasBlockNumber(func))
          return func.emitOpError("has no number of the block as its last "
                                  "argument, before which the scratch goes");
        if (!scratch)
          scratch =
              entry.insertArgument(entry.getNumArguments() - 1, bytes, loc);
        Value at = arith::ConstantIndexOp::create(builder, loc, offset);
        base = memref::ViewOp::create(builder, loc,
                                      type.hasStaticShape() ? whole : flat,
                                      scratch, at, ValueRange{});
        offset += llvm::alignTo(size, kAlignment);
      }
      if (!type.hasStaticShape())
        base = sized(builder, alloc, base);
      alloc.replaceAllUsesWith(base);
      alloc.erase();
    }
    if (scratch) {
      // The size is known only now; a static type keeps the pointer bare.
      auto type = MemRefType::get({offset}, builder.getI8Type());
      scratch.setType(type);
      if (auto attrs = func.getArgAttrsAttr()) {
        SmallVector<Attribute> extended(attrs.begin(), attrs.end());
        extended.push_back(DictionaryAttr::get(func.getContext()));
        func.setArgAttrsAttr(builder.getArrayAttr(extended));
      }
      func.setFunctionType(
          FunctionType::get(func.getContext(), entry.getArgumentTypes(), {}));
    }
    func->setAttr(act::kScratchAttr, builder.getI64IntegerAttr(offset));
    return success();
  }

  /// A contiguous buffer of the wanted sizes at the start of `base`.
  Value sized(OpBuilder &builder, memref::AllocOp alloc, Value base) {
    builder.setInsertionPoint(alloc);
    Location loc = alloc.getLoc();
    MemRefType type = alloc.getType();
    SmallVector<OpFoldResult> sizes, strides(type.getRank());
    unsigned dynamic = 0;
    for (int64_t size : type.getShape())
      if (ShapedType::isDynamic(size))
        sizes.push_back(alloc.getDynamicSizes()[dynamic++]);
      else
        sizes.push_back(builder.getIndexAttr(size));
    OpFoldResult stride = builder.getIndexAttr(1);
    for (int64_t i = type.getRank() - 1; i >= 0; --i) {
      strides[i] = stride;
      AffineExpr product =
          builder.getAffineSymbolExpr(0) * builder.getAffineSymbolExpr(1);
      stride = affine::makeComposedFoldedAffineApply(builder, loc, product,
                                                     {stride, sizes[i]});
    }
    Value view = memref::ReinterpretCastOp::create(
        builder, loc, base, builder.getIndexAttr(0), sizes, strides);
    return memref::CastOp::create(builder, loc, type, view);
  }
};

} // namespace
