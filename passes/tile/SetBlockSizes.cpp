// SPDX-License-Identifier: Apache-2.0
//
// Changes a kernel's sizes by unification: dimensions that ops tie together
// form a class, and a class with a name gets the name's size.
//
//     %a = tile.load %x[%i : M = 128, %k : K = 64]
//     %d = tile.dot %a, %b, %acc
//
// puts dimension 0 of %a, %acc and %d into the class M. The file changes types,
// constants and extents, not arithmetic: a kernel that multiplies by 128
// instead of `tile.block_size M` keeps doing so.
#include "passes/tile/SetBlockSizes.h"
#include "dialects/tile/Dialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include "passes/tile/Passes.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include <set>

namespace act::tile {
#define GEN_PASS_DEF_SETBLOCKSIZESPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act;
using namespace act::tile;

namespace {

RankedTensorType blockOf(Value v) {
  return dyn_cast<RankedTensorType>(v.getType());
}

/// The block or number that an access reads or writes: a load's result, or the
/// first operand of a store or an atomic addition.
Value blockOfAccess(Operation *access) {
  return isa<LoadOp>(access) ? access->getResult(0) : access->getOperand(0);
}

/// Gives a kernel's blocks other extents. Each dimension of each block is a
/// node; ops that equate dimensions merge nodes into classes. A named class
/// gets that name's size.
class Resizer {
public:
  Resizer(gpu::GPUFuncOp kernel, const BlockSizes &sizes)
      : kernel(kernel), sizes(sizes) {}

  LogicalResult run() {
    separate();
    WalkResult walked = kernel.walk([&](Operation *op) -> WalkResult {
      if (op == kernel)
        return WalkResult::advance();
      return relate(op);
    });
    if (walked.wasInterrupted() || failed(chooseSizes()))
      return failure();
    resize();
    return success();
  }

private:
  /// An extent with a name, and one that must stay as it is. `op` is for
  /// messages.
  struct Named {
    Operation *op;
    unsigned node;
    StringAttr name;
  };
  struct Fixed {
    Operation *op;
    unsigned node;
  };

  unsigned node(Value block, int64_t dim) {
    auto [it, isNew] = nodes.try_emplace({block, dim}, ends.size());
    if (isNew) {
      ends.push_back({block, dim});
      classes.grow(ends.size());
    }
    return it->second;
  }
  void same(Value a, int64_t i, Value b, int64_t j) {
    classes.join(node(a, i), node(b, j));
  }
  /// All blocks among `values` have one shape.
  void sameShape(ValueRange values) {
    Value first;
    for (Value v : values)
      if (RankedTensorType type = blockOf(v)) {
        if (first)
          for (int64_t d = 0; d < type.getRank(); ++d)
            same(first, d, v, d);
        else
          first = v;
      }
  }
  void sameShape(Operation *op) {
    SmallVector<Value> values(op->getOperands());
    llvm::append_range(values, op->getResults());
    sameShape(values);
  }
  void sameShapes(ValueRange a, ValueRange b) {
    for (auto [x, y] : llvm::zip(a, b))
      sameShape({x, y});
  }
  void fix(Operation *op, Value block, int64_t dim) {
    fixed.push_back({op, node(block, dim)});
  }
  void fixAll(Operation *op) {
    auto all = [&](Value v) {
      if (RankedTensorType type = blockOf(v))
        for (int64_t d = 0; d < type.getRank(); ++d)
          fix(op, v, d);
    };
    llvm::for_each(op->getOperands(), all);
    llvm::for_each(op->getResults(), all);
  }

  void separate();
  LogicalResult relate(Operation *op);
  void relateAccess(BlockAccessOpInterface access);
  void relateReshape(tile::ReshapeOp op);
  /// `both` has one more dimension, of size two.
  void relateHalf(Operation *op, Value half, Value both) {
    int64_t rank = blockOf(half).getRank();
    for (int64_t d = 0; d < rank; ++d)
      same(half, d, both, d);
    fix(op, both, rank);
  }
  LogicalResult chooseSizes();
  void resize();

  gpu::GPUFuncOp kernel;
  const BlockSizes &sizes;
  DenseMap<std::pair<Value, int64_t>, unsigned> nodes;
  std::vector<std::pair<Value, int64_t>> ends;
  llvm::IntEqClasses classes;
  std::vector<Named> named;
  std::vector<Fixed> fixed;
  DenseMap<unsigned, int64_t> sizeOfClass;
};

/// Clones a value of any length for each reader, so that the readers' lengths
/// stay independent. CSE may have merged the zeros of an M x N and of an N x K
/// block of equal size; as one value they would force M, N and K to be equal.
void Resizer::separate() {
  kernel.walk([](Operation *op) {
    if (!isa<arith::ConstantOp, IotaOp, tensor::SplatOp>(op) ||
        !blockOf(op->getResult(0)))
      return;
    OpBuilder b(op);
    for (OpOperand &use : llvm::make_early_inc_range(op->getUses()))
      if (!op->hasOneUse())
        use.set(b.clone(*op)->getResult(0));
  });
}

/// An extent with a name gets that name's size, one without must stay. A block
/// of indices has its own extent, and its length decides.
void Resizer::relateAccess(BlockAccessOpInterface access) {
  Operation *op = access;
  Value block = blockOfAccess(op);
  if (!blockOf(block))
    return;
  auto names = op->getAttrOfType<ArrayAttr>(extentNamesName);
  int64_t dim = 0;
  for (auto [i, extent] : llvm::enumerate(access.getExtents())) {
    if (extent == -1)
      continue;
    if (Value index = access.getIndices()[i]; blockOf(index))
      same(block, dim, index, 0);
    else if (auto name = names ? cast<StringAttr>(names[i]) : StringAttr();
             name && !name.empty())
      named.push_back({op, node(block, dim), name});
    else
      fix(op, block, dim);
    ++dim;
  }
}

/// Dimensions that a reshape keeps are equated; those that it splits or merges
/// must not change.
void Resizer::relateReshape(tile::ReshapeOp op) {
  Value from = op.getInput(), to = op.getResult();
  ArrayRef<int64_t> a = blockOf(from).getShape(), b = blockOf(to).getShape();
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    // An extra dimension of one element. Without this case it would join the
    // dimension next to it, which could then not change.
    bool isOne = i < a.size() && a[i] == 1, isOther = j < b.size() && b[j] == 1;
    if (isOne != isOther) {
      isOne ? fix(op, from, i++) : fix(op, to, j++);
      continue;
    }
    size_t iBegin = i, jBegin = j;
    int64_t x = a[i++], y = b[j++];
    while (x != y)
      if (x < y)
        x *= a[i++];
      else
        y *= b[j++];
    if (i - iBegin == 1 && j - jBegin == 1) {
      same(from, iBegin, to, jBegin);
      continue;
    }
    for (; iBegin < i; ++iBegin)
      fix(op, from, iBegin);
    for (; jBegin < j; ++jBegin)
      fix(op, to, jBegin);
  }
}

/// Equates dimensions of the op's operands and results. The list must cover
/// every op that blocks go through: a dimension that is not equated keeps its
/// size, and the kernel no longer verifies.
LogicalResult Resizer::relate(Operation *op) {
  for (Value v : op->getResults())
    if (RankedTensorType block = blockOf(v); block && block.getEncoding())
      return op->emitOpError("has a block with a layout; set block sizes "
                             "before layouts are assigned");
  TypeSwitch<Operation *>(op)
      .Case<LoadOp, StoreOp, AtomicAddOp>([&](auto o) { relateAccess(o); })
      // Their length follows from their readers.
      .Case<IotaOp, tensor::SplatOp, AssertOp>([](auto) {})
      .Case([&](arith::ConstantOp o) {
        if (!isa<SplatElementsAttr>(o.getValue()))
          fixAll(o);
      })
      .Case([&](TransOp o) {
        int64_t last = blockOf(o.getResult()).getRank() - 1;
        for (int64_t d = 0; d < last - 1; ++d)
          same(o.getInput(), d, o.getResult(), d);
        same(o.getInput(), last, o.getResult(), last - 1);
        same(o.getInput(), last - 1, o.getResult(), last);
      })
      .Case([&](ExpandDimsOp o) {
        int64_t rank = blockOf(o.getResult()).getRank(), axis = o.getAxis();
        for (int64_t d = 0; d < rank; ++d)
          if (d != axis)
            same(o.getInput(), d - (d > axis), o.getResult(), d);
        fix(o, o.getResult(), axis);
      })
      .Case([&](BroadcastOp o) {
        // A dimension that is repeated takes any length.
        RankedTensorType from = blockOf(o.getInput());
        for (int64_t d = 0; d < from.getRank(); ++d)
          if (from.getDimSize(d) == blockOf(o.getResult()).getDimSize(d))
            same(o.getInput(), d, o.getResult(), d);
      })
      .Case([&](tile::ReshapeOp o) { relateReshape(o); })
      .Case([&](ReduceOp o) {
        sameShape(o.getInputs());
        for (auto [input, result] : llvm::zip(o.getInputs(), o.getResults()))
          if (RankedTensorType type = blockOf(result))
            for (int64_t d = 0; d < type.getRank(); ++d)
              same(input, d + (d >= int64_t(o.getAxis())), result, d);
      })
      .Case([&](JoinOp o) {
        sameShape(o.getOperands());
        relateHalf(o, o.getLhs(), o.getResult());
      })
      .Case([&](tile::SplitOp o) {
        sameShape(o.getResults());
        relateHalf(o, o.getLhs(), o.getInput());
      })
      // M, K and N of a product.
      .Case([&](DotOp o) {
        same(o.getA(), 0, o.getAcc(), 0);
        same(o.getA(), 1, o.getB(), 0);
        same(o.getB(), 1, o.getAcc(), 1);
        for (Value end : o.getWithin())
          same(end, 0, o.getAcc(), 0);
        sameShape({o.getAcc(), o.getResult()});
      })
      // Initial, carried, yielded and resulting values of control flow.
      .Case([&](RegionBranchOpInterface o) {
        RegionBranchSuccessorMapping passed;
        o.getSuccessorOperandInputMapping(passed);
        for (auto &[from, values] : passed)
          for (Value to : values)
            sameShape({from->get(), to});
      })
      // Handled with the enclosing op.
      .Case<RegionBranchTerminatorOpInterface, tile::YieldOp>([](auto) {})
      .Case<ScanOp, PhiloxOp, PrintOp>([&](auto o) { sameShape(o); })
      .Default([&](Operation *o) {
        // Of an unknown op nothing may change.
        if (OpTrait::hasElementwiseMappableTraits(o))
          sameShape(o);
        else
          fixAll(o);
      });
  return success();
}

/// Fails if a class has two sizes, or has a dimension that must stay as it is.
/// The message names the op at which the conflict shows.
LogicalResult Resizer::chooseSizes() {
  DenseMap<unsigned, StringAttr> nameOfClass;
  for (const Named &n : named) {
    auto given = sizes.find(n.name.str());
    int64_t size = given == sizes.end()
                       ? blockSizeOf(getBlockSizes(kernel), n.name)
                       : given->second;
    unsigned leader = classes.findLeader(n.node);
    auto [other, isNew] = nameOfClass.try_emplace(leader, n.name);
    auto [known, first] = sizeOfClass.try_emplace(leader, size);
    if (!first && known->second != size)
      return n.op->emitOpError()
             << "has an extent " << n.name.getValue() << " that becomes "
             << size << ", but elsewhere in the kernel the same extent is "
             << other->second.getValue() << ", which becomes " << known->second;
  }
  for (const Fixed &f : fixed) {
    auto size = sizeOfClass.find(classes.findLeader(f.node));
    if (size == sizeOfClass.end())
      continue;
    auto [block, dim] = ends[f.node];
    int64_t own = blockOf(block).getDimSize(dim);
    if (size->second != own)
      return f.op->emitOpError()
             << "has an extent of " << own << ", which cannot become "
             << size->second << " as " << nameOfClass[size->first].getValue()
             << " is to be";
  }
  return success();
}

/// Sets types by class, then the attributes that repeat a type's extents.
void Resizer::resize() {
  for (unsigned n = 0; n < ends.size(); ++n) {
    auto [block, dim] = ends[n];
    auto size = sizeOfClass.find(classes.findLeader(n));
    if (size == sizeOfClass.end())
      continue;
    SmallVector<int64_t> shape(blockOf(block).getShape());
    shape[dim] = size->second;
    block.setType(blockOf(block).clone(shape));
  }
  kernel.walk([&](Operation *op) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
      if (splat && splat.getType() != constant.getType())
        constant.setValueAttr(
            splat.resizeSplat(cast<ShapedType>(constant.getType())));
    } else if (auto iota = dyn_cast<IotaOp>(op)) {
      iota.setEnd(iota.getStart() + blockOf(iota.getResult()).getDimSize(0));
    } else if (isa<LoadOp, StoreOp, AtomicAddOp>(op)) {
      SmallVector<int64_t> extents(
          cast<BlockAccessOpInterface>(op).getExtents());
      int64_t dim = 0;
      for (int64_t &extent : extents)
        if (extent != -1)
          extent = blockOf(blockOfAccess(op)).getDimSize(dim++);
      op->setAttr("extents", DenseI64ArrayAttr::get(op->getContext(), extents));
    }
  });
}

/// Replaces names by numbers. Later passes see no `tile.block_size` and no
/// symbolic grid, also if no size changes.
void dropNames(gpu::GPUFuncOp kernel, DictionaryAttr sizes) {
  OpBuilder b(kernel.getContext());
  if (auto grid = kernel->getAttrOfType<GridAttr>(gridName))
    kernel->setAttr(gridName, b.getDenseI64ArrayAttr(grid.resolve(sizes)));
  kernel->removeAttr(blockSizesName);
  kernel.walk([&](Operation *op) {
    op->removeAttr(extentNamesName);
    auto size = dyn_cast<BlockSizeOp>(op);
    if (!size)
      return;
    b.setInsertionPoint(op);
    size.replaceAllUsesWith(
        arith::ConstantIndexOp::create(b, op->getLoc(),
                                       blockSizeOf(sizes, size.getName()))
            .getResult());
    op->erase();
  });
}

struct SetBlockSizes : act::tile::impl::SetBlockSizesPassBase<SetBlockSizes> {
  using SetBlockSizesPassBase::SetBlockSizesPassBase;

  void runOnOperation() override {
    BlockSizes given;
    if (Status read = parseBlockSizes(llvm::join(sizes, ","), given); !read) {
      emitError(getOperation()->getLoc(), read.error().str());
      return signalPassFailure();
    }
    std::set<std::string> known;
    // A module may have several kernels with different names. Each takes the
    // sizes that it knows; a size that none knows is an error.
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      BlockSizes own;
      if (DictionaryAttr names = getBlockSizes(kernel))
        for (auto &[name, size] : given)
          if (names.contains(name)) {
            own[name] = size;
            known.insert(name);
          }
      if (failed(setBlockSizes(kernel, own)))
        return signalPassFailure();
    }
    for (auto &[name, size] : given)
      if (!known.count(name)) {
        emitError(getOperation()->getLoc(), "no kernel has a block size ")
            << name;
        return signalPassFailure();
      }
  }
};

} // namespace

Status tile::parseBlockSizes(StringRef text, BlockSizes &sizes) {
  SmallVector<StringRef> parts;
  text.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    auto [name, number] = part.split('=');
    int64_t size = 0;
    if (name.empty() || number.getAsInteger(10, size) || size < 1 ||
        size > mostElements)
      return Error{"expected a block size as NAME=NUMBER, of 1 to " +
                       std::to_string(mostElements) + ", found '" + part.str() +
                       "'",
                   ""};
    auto [given, isNew] = sizes.emplace(name.str(), size);
    if (!isNew)
      return Error{"the block size " + name.str() + " is given twice, as " +
                       std::to_string(given->second) + " and as " +
                       std::to_string(size),
                   ""};
  }
  return ok();
}

LogicalResult tile::setBlockSizes(gpu::GPUFuncOp kernel,
                                  const BlockSizes &sizes) {
  DictionaryAttr own = getBlockSizes(kernel);
  if (!own && sizes.empty())
    return success();
  Builder b(kernel.getContext());
  NamedAttrList all(own);
  bool changed = false;
  for (auto &[name, size] : sizes) {
    int64_t old = blockSizeOf(own, name);
    if (!old) {
      auto error = kernel.emitOpError("has no block size ") << name;
      if (own && !own.empty())
        error << ", expected one of "
              << llvm::join(llvm::map_range(own,
                                            [](NamedAttribute size) {
                                              return size.getName().str();
                                            }),
                            ", ");
      return error;
    }
    changed |= size != old;
    all.set(name, b.getI64IntegerAttr(size));
  }
  // Types are consistent with the kernel's own sizes, so only other sizes need
  // the analysis.
  if (changed && failed(Resizer(kernel, sizes).run()))
    return failure();
  dropNames(kernel, all.getDictionary(kernel.getContext()));
  return changed ? verify(kernel) : success();
}
