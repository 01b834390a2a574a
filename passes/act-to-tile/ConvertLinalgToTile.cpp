// SPDX-License-Identifier: Apache-2.0
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/act-to-tile/BlockEvaluator.h"
#include "passes/act-to-tile/Passes.h"

namespace act::tile {
#define GEN_PASS_DEF_CONVERTLINALGTOTILEPASS
#include "passes/act-to-tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

/// A result that only gives another shape to what is computed is stored in that
/// shape: memory is dense.
Value unshaped(Value v) {
  while (Operation *op = v.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      break;
    v = op->getOperand(0);
  }
  return v;
}

bool hasProduct(Value v, llvm::SmallPtrSetImpl<Operation *> &seen) {
  Operation *op = v.getDefiningOp();
  if (!op || !seen.insert(op).second)
    return false;
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    if (generic.getNumReductionLoops() == 1 && generic.getNumDpsInputs() == 2 &&
        generic.getNumParallelLoops() == 2) {
      Value sum = generic.getBody()->getTerminator()->getOperand(0);
      if (auto add = sum.getDefiningOp<arith::AddFOp>())
        if (add.getLhs().getDefiningOp<arith::MulFOp>() ||
            add.getRhs().getDefiningOp<arith::MulFOp>())
          return true;
    }
  return llvm::any_of(op->getOperands(), [&](Value o) {
    return isa<RankedTensorType>(o.getType()) && hasProduct(o, seen);
  });
}

struct ConvertLinalgToTile
    : act::tile::impl::ConvertLinalgToTilePassBase<ConvertLinalgToTile> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    OpBuilder b(&getContext());
    b.setInsertionPointToEnd(module.getBody());
    SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
    auto kernels = gpu::GPUModuleOp::create(b, module.getLoc(), "kernels");
    for (func::FuncOp f : functions) {
      b.setInsertionPointToEnd(kernels.getBody());
      if (failed(convert(f, b)))
        return signalPassFailure();
      f.erase();
    }
  }

  LogicalResult convert(func::FuncOp f, OpBuilder &b);
};

/// Extents of a block of `shape`: rows and columns for a product, else whole
/// rows, as many as make about 4096 elements.
SmallVector<int64_t> blockOf(ArrayRef<int64_t> shape, bool product) {
  SmallVector<int64_t> extents(shape.size(), -1);
  size_t rank = shape.size();
  if (rank == 0)
    return extents;
  int64_t columns = shape[rank - 1];
  auto fits = [](int64_t n, int64_t most, int64_t unit) {
    return std::min<int64_t>(most, llvm::alignTo(n, unit));
  };
  if (product && rank >= 2) {
    extents[rank - 2] = fits(shape[rank - 2], 64, 64);
    extents[rank - 1] = fits(columns, 64, 16);
    return extents;
  }
  extents[rank - 1] = std::min<int64_t>(columns, 1024);
  if (rank >= 2) {
    int64_t rows = 1;
    while (rows * 2 * extents[rank - 1] <= 4096 && rows * 2 <= shape[rank - 2])
      rows *= 2;
    extents[rank - 2] = rows;
  }
  return extents;
}

LogicalResult ConvertLinalgToTile::convert(func::FuncOp f, OpBuilder &b) {
  Location loc = f.getLoc();
  auto results = f.getBody().front().getTerminator()->getOperands();
  // Pointers for tensors, results behind arguments; what is replaced in place
  // is an argument already.
  SmallVector<Type> types;
  llvm::DenseMap<unsigned, unsigned> inPlace;
  for (unsigned i = 0; i < f.getNumArguments(); ++i) {
    Type t = f.getArgumentTypes()[i];
    auto tensor = dyn_cast<RankedTensorType>(t);
    types.push_back(
        tensor ? Type(PtrType::get(&getContext(), tensor.getElementType()))
               : t);
    if (auto r = f.getArgAttrOfType<IntegerAttr>(i, "act.inplace"))
      inPlace[r.getInt()] = i;
  }
  SmallVector<unsigned> where;
  for (auto [r, v] : llvm::enumerate(results)) {
    if (auto it = inPlace.find(r); it != inPlace.end()) {
      where.push_back(it->second);
      continue;
    }
    where.push_back(types.size());
    types.push_back(PtrType::get(
        &getContext(), cast<RankedTensorType>(v.getType()).getElementType()));
  }
  auto kernel = gpu::GPUFuncOp::create(
      b, loc, f.getName(), FunctionType::get(&getContext(), types, {}));
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  Block &entry = kernel.getBody().front();
  b.setInsertionPointToStart(&entry);

  // The largest result says the grid.
  Value root;
  for (Value v : results) {
    Value u = unshaped(v);
    if (!root || cast<RankedTensorType>(u.getType()).getNumElements() >
                     cast<RankedTensorType>(root.getType()).getNumElements())
      root = u;
  }
  ArrayRef<int64_t> shape = cast<RankedTensorType>(root.getType()).getShape();
  llvm::SmallPtrSet<Operation *, 16> seen;
  bool product = hasProduct(root, seen);
  SmallVector<int64_t> extents = blockOf(shape, product);

  BlockEvaluator blocks(b, loc);
  for (auto [from, to] : llvm::zip(f.getArguments(), entry.getArguments()))
    if (isa<RankedTensorType>(from.getType()))
      blocks.bind(from, to);
    else
      from.replaceAllUsesWith(to);

  // One number counts all programs; the last dimension fastest.
  Value rest = ProgramIdOp::create(b, loc, GridAxis::X);
  int64_t programs = 1;
  Place place(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    int64_t count =
        extents[d] < 0 ? shape[d] : llvm::divideCeil(shape[d], extents[d]);
    programs *= count;
    Value number;
    if (count > 1) {
      Value n = arith::ConstantIndexOp::create(b, loc, count);
      number = d ? Value(arith::RemUIOp::create(b, loc, rest, n)) : rest;
      if (d)
        rest = arith::DivUIOp::create(b, loc, rest, n);
    }
    if (extents[d] < 0) {
      place[d].scalar = number;
      continue;
    }
    Value base = number
                     ? Value(arith::MulIOp::create(
                           b, loc, number,
                           arith::ConstantIndexOp::create(b, loc, extents[d])))
                     : Value(arith::ConstantIndexOp::create(b, loc, 0));
    place[d].axis = blocks.addAxis(base, extents[d]);
  }
  for (auto [v, argument] : llvm::zip(results, where)) {
    Value u = unshaped(v);
    auto type = cast<RankedTensorType>(u.getType());
    Place at;
    if (type.getShape() == shape)
      at = place;
    else if (type.getRank() < int64_t(shape.size()) &&
             type.getShape() == shape.take_front(type.getRank()) &&
             llvm::all_of(llvm::zip(shape, extents), [&,
                                                      d = 0](auto p) mutable {
               return d++ < type.getRank() || std::get<1>(p) >= std::get<0>(p);
             }))
      at = Place(place.begin(),
                 place.begin() + type.getRank()); // statistics of whole rows
    else
      return f.emitError() << "has results of unlike shapes: " << type
                           << " beside " << root.getType();
    auto block = blocks.evaluate(u, at);
    if (failed(block) ||
        failed(blocks.store(*block, type, entry.getArgument(argument), at)))
      return failure();
  }
  gpu::ReturnOp::create(b, loc);
  kernel->setAttr(scheduleName, ScheduleAttr::get(&getContext(), 4, 2));
  kernel->setAttr(gridName, b.getDenseI64ArrayAttr({programs, 1, 1}));
  return success();
}

} // namespace
