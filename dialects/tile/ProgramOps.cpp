// SPDX-License-Identifier: Apache-2.0
// The kernel's attributes, and the ops that depend on the grid.
#include "dialects/tile/ShapeCheck.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace act::tile;

ScheduleAttr act::tile::getSchedule(Operation *kernel) {
  if (auto schedule = kernel->getAttrOfType<ScheduleAttr>(scheduleName))
    return schedule;
  return ScheduleAttr::get(kernel->getContext(), 4, 2);
}

int64_t act::tile::clusterOf(Operation *op) {
  auto kernel = op->getParentOfType<gpu::GPUFuncOp>();
  return kernel ? getSchedule(kernel).getCluster() : 1;
}

ArrayRef<int64_t> act::tile::getGrid(Operation *op) {
  if (!isa<gpu::GPUFuncOp>(op))
    op = op->getParentOfType<gpu::GPUFuncOp>();
  auto grid =
      op ? op->getAttrOfType<DenseI64ArrayAttr>(gridName) : DenseI64ArrayAttr();
  return grid ? grid.asArrayRef() : ArrayRef<int64_t>();
}

DictionaryAttr act::tile::getBlockSizes(Operation *op) {
  if (!isa<gpu::GPUFuncOp>(op))
    op = op->getParentOfType<gpu::GPUFuncOp>();
  return op ? op->getAttrOfType<DictionaryAttr>(blockSizesName)
            : DictionaryAttr();
}

int64_t act::tile::blockSizeOf(DictionaryAttr sizes, StringRef name) {
  auto size = sizes ? sizes.getAs<IntegerAttr>(name) : IntegerAttr();
  return size ? size.getInt() : 0;
}

// The range of the grid's length, as far as the kernel gives it.
static ConstantIntRanges programs(Operation *op, GridAxis axis) {
  ArrayRef<int64_t> grid = getGrid(op);
  int64_t most = grid.empty() ? mostPrograms[int(axis)] : grid[int(axis)];
  int64_t least = grid.empty() ? 1 : most;
  return ConstantIntRanges::fromUnsigned(APInt(64, least), APInt(64, most));
}

void ProgramIdOp::inferResultRanges(ArrayRef<ConstantIntRanges>,
                                    SetIntRangeFn set) {
  APInt last = programs(*this, getAxis()).umax() - 1;
  set(getResult(), ConstantIntRanges::fromUnsigned(APInt(64, 0), last));
}

// Verifies that
// - the grid in which a given number counts is known.
LogicalResult ProgramIdOp::verify() {
  if (!getNumber() || !(*this)->getParentOfType<gpu::GPUFuncOp>() ||
      !getGrid(*this).empty())
    return success();
  return emitOpError() << "is of a number, but the kernel has no " << gridName
                       << " in which it counts";
}

void NumProgramsOp::inferResultRanges(ArrayRef<ConstantIntRanges>,
                                      SetIntRangeFn set) {
  set(getResult(), programs(*this, getAxis()));
}

// Verifies that
// - the kernel has a block size of that name.
LogicalResult BlockSizeOp::verify() {
  if (blockSizeOf(getBlockSizes(*this), getName()))
    return success();
  return emitOpError() << "is of " << getName() << ", which the kernel's "
                       << blockSizesName << " do not have";
}

// Verifies that
// - the bits have the shape of the indices.
LogicalResult PhiloxOp::verify() {
  return checkShape(*this, "result", getType(), shapeOf(getIndex().getType()),
                    "as in index");
}

// Verifies that
// - the format has one {} per value;
// - blocks have one shape.
LogicalResult PrintOp::verify() {
  size_t places = getFormat().count("{}");
  if (places != getValues().size())
    return emitOpError() << "format has " << places << " places for "
                         << getValues().size() << " values";
  ArrayRef<int64_t> shape;
  for (Value value : getValues()) {
    ArrayRef<int64_t> own = shapeOf(value.getType());
    if (!shape.empty() && !own.empty() && own != shape)
      return emitOpError() << "prints blocks of shapes " << shapeText(shape)
                           << " and " << shapeText(own) << " together";
    if (!own.empty())
      shape = own;
  }
  return success();
}

// A printed line has the elements of one thread. A print must not change the
// kernel around it, so it suggests nothing.
bool PrintOp::operandsDecide() { return true; }
bool PrintOp::takesSuggestion(OpOperand &) { return false; }

// A kernel or its lowered form: lowering keeps the attributes.
static LogicalResult verifyPlace(Operation *op, StringRef name) {
  auto kernel = dyn_cast<gpu::GPUFuncOp>(op);
  if ((kernel && kernel.isKernel()) ||
      op->getName().getDialectNamespace() == "llvm")
    return success();
  return op->emitOpError() << "has " << name
                           << ", expected it on a gpu.func that is a kernel";
}

LogicalResult act::tile::checkArguments(Operation *kernel) {
  ArrayRef<Type> types = cast<gpu::GPUFuncOp>(kernel).getArgumentTypes();
  for (auto [i, type] : llvm::enumerate(types)) {
    auto view = dyn_cast<ViewType>(type);
    // Lowering turns views into LLVM pointers.
    if (view ? view.isPlain()
             : isa<PtrType>(type) || type.isIntOrIndexOrFloat() ||
                   type.getDialect().getNamespace() == "llvm")
      continue;
    return kernel->emitOpError()
           << "argument " << i << " is of type " << type
           << ", expected a view of static size without strides, a pointer, "
              "an integer, a float or an index";
  }
  return success();
}

static LogicalResult verifyWarps(gpu::GPUFuncOp kernel, int64_t warps) {
  WalkResult walk = kernel.walk([&](Operation *op) {
    for (Type type : op->getResultTypes()) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      auto layout = tensor ? dyn_cast_or_null<LayoutAttr>(tensor.getEncoding())
                           : LayoutAttr();
      if (!layout || layout.getNumWarps() == warps)
        continue;
      op->emitOpError() << "has a block spread over " << layout.getNumWarps()
                        << " warps in a kernel of " << warps;
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// Programs of a cluster are next to each other along x. Of a persistent
/// kernel's, all are numbered along x. A grid that follows from block sizes is
/// checked once these are set.
static LogicalResult verifyClusters(Operation *op, ScheduleAttr schedule) {
  auto numbers = op->getAttrOfType<DenseI64ArrayAttr>(gridName);
  if (!numbers || numbers.size() != 3)
    return success();
  ArrayRef<int64_t> grid = numbers.asArrayRef();
  const int64_t programs =
      schedule.getPersistent() ? llvm::product_of(grid) : grid[0];
  if (programs % schedule.getCluster() == 0)
    return success();
  return op->emitOpError() << "has clusters of " << schedule.getCluster()
                           << " programs in its schedule, and " << programs
                           << (schedule.getPersistent() ? " in its grid"
                                                        : " along x")
                           << ", expected a multiple";
}

// Verifies that
// - it is on a kernel, and is a schedule;
// - with a raster, the grid is known and is whole rows;
// - programs are whole clusters;
// - a launch can pass the kernel's arguments;
// - blocks in the kernel are spread over as many warps as the schedule has.
static LogicalResult verifySchedule(Operation *op, Attribute value) {
  if (failed(verifyPlace(op, scheduleName)))
    return failure();
  auto schedule = dyn_cast<ScheduleAttr>(value);
  if (!schedule)
    return op->emitOpError()
           << scheduleName << " is " << value << ", expected a #tile.schedule";
  auto kernel = dyn_cast<gpu::GPUFuncOp>(op);
  if (!kernel)
    return success();
  ArrayRef<int64_t> raster = schedule.getRaster(), grid = getGrid(op);
  // Rows are checked once block sizes are set.
  if (kernel->getAttrOfType<GridAttr>(gridName))
    raster = {};
  if (!raster.empty() && grid.size() != 3)
    return op->emitOpError()
           << "has a raster in its schedule and no " << gridName
           << ", which says how many rows there are";
  if (!raster.empty() && grid[0] * grid[1] % raster[1])
    return op->emitOpError()
           << "has rows of " << raster[1]
           << " programs in its schedule's raster, and a grid of " << grid[0]
           << "x" << grid[1];
  if (failed(verifyClusters(op, schedule)))
    return failure();
  return failure(failed(checkArguments(kernel)) ||
                 failed(verifyWarps(kernel, schedule.getWarps())));
}

// Verifies that
// - it is on a kernel, and is three numbers that a launch can take, or becomes
//   such numbers with the kernel's block sizes.
static LogicalResult verifyGrid(Operation *op, Attribute value) {
  if (failed(verifyPlace(op, gridName)))
    return failure();
  SmallVector<int64_t> grid;
  if (auto numbers = dyn_cast<DenseI64ArrayAttr>(value))
    grid = SmallVector<int64_t>(numbers.asArrayRef());
  else if (auto blocks = dyn_cast<GridAttr>(value)) {
    for (StringAttr name : blocks.getNames())
      if (!name.empty() && !blockSizeOf(getBlockSizes(op), name))
        return op->emitOpError()
               << gridName << " has blocks of " << name.getValue() << ", which "
               << blockSizesName << " do not have";
    grid = blocks.resolve(getBlockSizes(op));
  }
  if (grid.size() != 3)
    return op->emitOpError()
           << gridName << " is " << value << ", expected array<i64: x, y, z>";
  for (int i = 0; i < 3; ++i)
    if (grid[i] < 1 || grid[i] > mostPrograms[i])
      return op->emitOpError()
             << gridName << " is " << grid[i] << " along "
             << "xyz"[i] << ", expected 1 to " << mostPrograms[i];
  return success();
}

// Verifies that
// - it is on a kernel, and is names, each with a number of elements that a
//   block may have.
static LogicalResult verifyBlockSizes(Operation *op, Attribute value) {
  if (failed(verifyPlace(op, blockSizesName)))
    return failure();
  auto sizes = dyn_cast<DictionaryAttr>(value);
  if (!sizes)
    return op->emitOpError() << blockSizesName << " is " << value
                             << ", expected {NAME = number, ..}";
  for (NamedAttribute size : sizes) {
    auto number = dyn_cast<IntegerAttr>(size.getValue());
    if (!number || !number.getType().isSignlessInteger(64) ||
        number.getInt() < 1 || number.getInt() > mostElements)
      return op->emitOpError()
             << "block size " << size.getName().getValue() << " is "
             << size.getValue() << ", expected 1 to " << mostElements;
  }
  return success();
}

unsigned act::tile::indexBits(Operation *kernel) {
  auto bits = kernel->getAttrOfType<IntegerAttr>(indexBitsName);
  return bits ? bits.getInt() : 64;
}

// Verifies that
// - it is on a kernel, and is 32 or 64;
// - with 32, no argument is an index, which a launch passes as 64 bits.
static LogicalResult verifyIndexBits(Operation *op, Attribute value) {
  if (failed(verifyPlace(op, indexBitsName)))
    return failure();
  auto bits = dyn_cast<IntegerAttr>(value);
  if (!bits || (bits.getValue() != 32 && bits.getValue() != 64))
    return op->emitOpError()
           << indexBitsName << " is " << value << ", expected 32 or 64";
  auto kernel = dyn_cast<gpu::GPUFuncOp>(op);
  if (kernel && bits.getInt() == 32 &&
      llvm::any_of(kernel.getArgumentTypes(), llvm::IsaPred<IndexType>))
    return op->emitOpError()
           << "has an argument of type index, but " << indexBitsName << " = 32";
  return success();
}

// Reject misspelt kernel attributes, which would be ignored silently.
LogicalResult TileDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name == scheduleName)
    return verifySchedule(op, attribute.getValue());
  if (name == gridName)
    return verifyGrid(op, attribute.getValue());
  if (name == blockSizesName)
    return verifyBlockSizes(op, attribute.getValue());
  if (name == tensorMapsName) {
    auto maps = dyn_cast<ArrayAttr>(attribute.getValue());
    if (maps && llvm::all_of(maps, llvm::IsaPred<TensorMapAttr>))
      return success();
    return op->emitOpError() << "has " << name << " = " << attribute.getValue()
                             << ", expected a list of #tile.tensor_map";
  }
  if (name == indexBitsName)
    return verifyIndexBits(op, attribute.getValue());
  if (name == extentNamesName && !isa<LoadOp, StoreOp, AtomicAddOp>(op))
    return op->emitOpError()
           << "has " << name
           << ", expected it on a load, a store or an atomic_add";
  if (name == exponentScaleName) {
    auto scale = dyn_cast<FloatAttr>(attribute.getValue());
    if (scale && scale.getType().isF64() && isa<math::ExpOp, math::Exp2Op>(op))
      return success();
    return op->emitOpError() << "has " << name << " = " << attribute.getValue()
                             << ", expected an f64 on an exponential";
  }
  if (name == atOnceName) {
    auto programs = dyn_cast<IntegerAttr>(attribute.getValue());
    if (isa<gpu::GPUFuncOp>(op) && programs && programs.getInt() >= 1)
      return success();
    return op->emitOpError() << "has " << name << " = " << attribute.getValue()
                             << ", expected 1 or more programs of a kernel";
  }
  static constexpr StringLiteral others[] = {
      "tile.ops",           "tile.shapes",       "tile.useful_flops",
      "tile.least_bytes",   "tile.shared_bytes", "tile.block_bytes",
      "tile.growing_bytes", plannedBytesName,    shiftTurnsName};
  if (!isa<gpu::GPUFuncOp>(op) || llvm::is_contained(others, name))
    return success();
  return op->emitOpError() << "has an attribute " << name
                           << " that is unknown to the tile dialect";
}
