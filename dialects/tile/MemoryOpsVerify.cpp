// SPDX-License-Identifier: Apache-2.0
//
// What views and accesses require. Sizes and strides that are known at run time
// only are not checked here.
#include "dialects/tile/ShapeCheck.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include <set>

using namespace mlir;
using namespace act::tile;

// A mixed list of numbers and values must have as many values as placeholder
// numbers.
static LogicalResult checkMixed(Operation *op, StringRef name,
                                ArrayRef<int64_t> numbers, ValueRange values) {
  size_t dynamic = llvm::count(numbers, ShapedType::kDynamic);
  if (dynamic == values.size())
    return success();
  return op->emitOpError() << "has " << values.size() << " " << name
                           << " at run time, expected " << dynamic;
}

// Whether dimension i of the op agrees with the type.
static LogicalResult checkAgainstType(Operation *op, StringRef name, size_t i,
                                      int64_t actual, int64_t expected) {
  if (ShapedType::isDynamic(expected) || actual == expected)
    return success();
  auto diag = op->emitOpError() << name << " " << i << " is ";
  if (ShapedType::isDynamic(actual))
    diag << "known at run time";
  else
    diag << actual;
  return diag << ", expected " << expected << " as in the result";
}

// Verifies that
// - pointer and result have one element type;
// - there is one size per dimension, and none contradicts the result's type;
// - the same of strides; where there are none, the result is row-major;
// - the strides of a row-major result follow from static sizes.
LogicalResult ViewOp::verify() {
  ViewType type = getType();
  if (failed(checkElement(*this, "result", type.getElementType(),
                          getPointer().getType().getElementType(),
                          "as in pointer")) ||
      failed(checkMixed(*this, "sizes", getStaticSizes(), getSizes())) ||
      failed(checkMixed(*this, "strides", getStaticStrides(), getStrides())))
    return failure();
  if (int64_t(getStaticSizes().size()) != type.getRank())
    return emitOpError() << "has " << getStaticSizes().size()
                         << " sizes, expected " << type.getRank()
                         << " for the result " << type;
  for (auto [i, size] : llvm::enumerate(getStaticSizes()))
    if (failed(checkAgainstType(*this, "size", i, size, type.getShape()[i])))
      return failure();
    else if (size < 0 && !ShapedType::isDynamic(size))
      return emitOpError() << "size " << i << " is " << size
                           << ", expected 0 or more";
  if (getStaticStrides().empty()) {
    if (type.isRowMajor())
      return success();
    return emitOpError() << "has no strides, expected "
                         << shapeText(type.getStrides()) << " as in the result";
  }
  SmallVector<int64_t> expected = type.getFullStrides();
  if (getStaticStrides().size() != expected.size())
    return emitOpError() << "has " << getStaticStrides().size()
                         << " strides, expected " << expected.size()
                         << " for the result " << type;
  for (auto [i, stride] : llvm::enumerate(getStaticStrides())) {
    if (type.isRowMajor() && ShapedType::isDynamic(expected[i]))
      return emitOpError() << "has strides, expected none for the result "
                           << type
                           << ", whose strides follow from sizes at run time";
    if (failed(checkAgainstType(*this, "stride", i, stride, expected[i])))
      return failure();
  }
  return success();
}

// Verifies that
// - the permutation names each dimension once;
// - the result has the permuted sizes and strides.
LogicalResult TransposedViewOp::verify() {
  ViewType from = getView().getType(), to = getType();
  SmallVector<int64_t> sorted(getPermutation());
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(from.getRank())))
    return emitOpError() << "permutation is " << shapeText(getPermutation())
                         << ", expected each dimension of a view of rank "
                         << from.getRank() << " once";
  SmallVector<int64_t> shape, strides, full = from.getFullStrides();
  for (int64_t p : getPermutation()) {
    shape.push_back(from.getShape()[p]);
    strides.push_back(full[p]);
  }
  ViewType expected = ViewType::get(shape, from.getElementType(), strides);
  if (to != expected)
    return emitOpError() << "result is " << to << ", expected " << expected;
  return success();
}

// Verifies that
// - there is a string for each index, "" or a block size of the kernel;
// - a named index has an extent, equal to the kernel's number for that name.
static LogicalResult checkExtentNames(BlockAccessOpInterface access) {
  Operation *op = access;
  Attribute value = op->getAttr(extentNamesName);
  if (!value)
    return success();
  auto names = dyn_cast<ArrayAttr>(value);
  auto isText = [](Attribute name) { return isa<StringAttr>(name); };
  if (!names || names.size() != access.getExtents().size() ||
      !llvm::all_of(names, isText))
    return op->emitOpError() << extentNamesName << " is " << value
                             << ", expected a string for each index";
  for (auto [i, attribute] : llvm::enumerate(names)) {
    StringRef name = cast<StringAttr>(attribute);
    if (name.empty())
      continue;
    int64_t extent = access.getExtents()[i];
    if (extent == -1 || isa<RankedTensorType>(access.getIndices()[i].getType()))
      return op->emitOpError()
             << "index " << i << " has no extent that could be " << name;
    int64_t size = blockSizeOf(getBlockSizes(op), name);
    if (!size)
      return op->emitOpError()
             << "has an extent " << name << ", which the kernel's "
             << blockSizesName << " do not have";
    if (size != extent)
      return op->emitOpError()
             << "has " << extent << " for " << name << ", expected " << size
             << " as the kernel's " << blockSizesName << " say";
  }
  return success();
}

// Verifies that
// - there are an index and an extent for each dimension of the view;
// - extents are positive, or -1; their names are right;
// - at most one index is a tensor, and its length is the extent there.
static LogicalResult checkAccess(BlockAccessOpInterface access) {
  Operation *op = access;
  std::string fault =
      accessFault(access.getViewType(), TypeRange(access.getIndices()),
                  access.getExtents());
  if (!fault.empty())
    return op->emitOpError(fault);
  return checkExtentNames(access);
}

static LogicalResult checkBlock(BlockAccessOpInterface access, StringRef name,
                                Type type) {
  ViewType view = access.getViewType();
  if (failed(checkShape(access, name, type, access.getBlockShape(),
                        "for a block of a view of shape " +
                            shapeText(view.getShape()))))
    return failure();
  return checkElement(access, name, type, view.getElementType(), "as in view");
}

// Verifies that
// - indices and extents fit the view;
// - the result is a block of them;
// - pad is of the view's element type.
LogicalResult LoadOp::verify() {
  if (failed(checkAccess(*this)) ||
      failed(checkBlock(*this, "result", getType())))
    return failure();
  Type element = getView().getType().getElementType();
  if (getPadAttr() && getPadAttr().getType() != element)
    return emitOpError() << "pad is of type " << getPadAttr().getType()
                         << ", expected " << element << " as in view";
  return success();
}

// Verifies that
// - indices and extents fit the view;
// - the value is a block of them.
LogicalResult StoreOp::verify() {
  if (failed(checkAccess(*this)))
    return failure();
  return checkBlock(*this, "value", getValue().getType());
}

// Verifies that
// - indices and extents fit the view, and the value is a block of them;
// - the hardware can add elements of this type atomically.
LogicalResult AtomicAddOp::verify() {
  if (failed(checkAccess(*this)) ||
      failed(checkBlock(*this, "value", getValue().getType())))
    return failure();
  Type element = getView().getType().getElementType();
  if (!isa<Float64Type, Float32Type, Float16Type, BFloat16Type>(element) &&
      !element.isInteger(32) && !element.isInteger(64))
    return emitOpError()
           << "cannot add elements of type " << element
           << " atomically, expected f64, f32, f16, bf16, i32 or i64";
  return success();
}

/// Whether the block of an access to `view` is one of `shared`, in the slot
/// that `slots` indices select.
template <typename Copy> static LogicalResult checkCopy(Copy op) {
  if (failed(checkAccess(op)))
    return failure();
  SharedType shared = op.getShared().getType();
  SmallVector<int64_t> block = op.getBlockShape();
  size_t slots = op.getSlot().size();
  // A row of numbers is a block of one row.
  if (block.size() == 1 && shared.getRank() == int64_t(slots) + 2)
    block.insert(block.begin(), 1);
  if (slots > shared.getShape().size() ||
      shared.getShape().drop_front(slots) != ArrayRef(block))
    return op.emitOpError()
           << "copies a block of shape " << shapeText(block)
           << " into shared memory of shape " << shapeText(shared.getShape())
           << " by " << slots << " slot indices";
  if (shared.isTransposed())
    return op.emitOpError() << "copies into " << shared
                            << ", expected memory that is not transposed";
  return checkElement(op, "shared", shared.getElementType(),
                      op.getView().getType().getElementType(), "as in view");
}

// Verifies that
// - indices and extents fit the view;
// - the block is one of shared's, with one slot index per additional dimension.
LogicalResult CopyAsyncOp::verify() { return checkCopy(*this); }

// What the copy engine takes (PTX ISA, "Tensor Copy"; CUDA driver API,
// cuTensorMapEncodeTiled). Verifies that
// - the block and the memory are as for a copy_async;
// - the view is an argument, perhaps with its dimensions in another order, of
//   static size and at most five dimensions;
// - the block has one or two dimensions, the last one contiguous, and no index
//   gathers;
// - rows are of whole 16-byte pieces, and begin at multiples of 16 bytes;
// - a box holds a row. With a swizzle, rows are cut into panels of its width;
// - a multicast is of a cluster's programs, whose parts are whole lines of a
//   swizzle: 8 rows.
LogicalResult CopyTensorOp::verify() {
  if (failed(checkCopy(*this)))
    return failure();
  if (std::string fault = tensorMapFault(*this); !fault.empty())
    return emitOpError(fault);
  constexpr int64_t longest = 256; // of a box
  SharedType shared = getShared().getType();
  if (int64_t columns = shared.getShape().back();
      columns > longest &&
      (!shared.getLayout() || !shared.getLayout().getSwizzle()))
    return emitOpError() << "copies rows of " << columns << " elements to "
                         << shared << ", expected at most " << longest
                         << " where there is no swizzle";
  SharedType mbarriers = getMbarriers().getType();
  if (mbarriers.getRank() != 1 || !mbarriers.getElementType().isInteger(64))
    return emitOpError() << "signals mbarriers of type " << mbarriers
                         << ", expected !tile.shared<Nxi64>";
  if (!getMulticast())
    return success();
  const int64_t cluster = clusterOf(*this);
  if (cluster < 2)
    return emitOpError("is a multicast in a kernel whose schedule has no "
                       "cluster");
  ArrayRef<int64_t> shape = getShared().getType().getShape();
  if (shape.size() < 2 || getBlockShape().size() < 2 ||
      !canMulticast(shape[shape.size() - 2], cluster))
    return emitOpError() << "is a multicast of a block of shape "
                         << shapeText(getBlockShape())
                         << ", expected a multiple of " << 8 * cluster
                         << " rows for a cluster of " << cluster;
  return success();
}

// Verifies that
// - the block is of 16-bit elements, of two dimensions and the view's elements;
// - a tensor map can store it;
// - shared memory has two pieces of 16 rows for each warp, of a width that
// divides
//   the block's, in one panel.
LogicalResult StoreTensorOp::verify() {
  if (failed(checkAccess(*this)))
    return failure();
  RankedTensorType block = getValue().getType();
  if (block.getRank() != 2 || block.getElementTypeBitWidth() != 16 ||
      getBlockShape() != SmallVector<int64_t>(block.getShape()) ||
      block.getElementType() != getView().getType().getElementType())
    return emitOpError() << "stores " << block << " as a block of shape "
                         << shapeText(getBlockShape()) << " of "
                         << getView().getType()
                         << ", expected a matrix of 16-bit elements";
  if (std::string fault = tensorMapFault(*this); !fault.empty())
    return emitOpError(fault);
  auto kernel = (*this)->getParentOfType<gpu::GPUFuncOp>();
  int64_t warps = getSchedule(kernel).getWarps();
  SharedType shared = getShared().getType();
  ArrayRef<int64_t> shape = shared.getShape();
  if (shape.size() != 4 || shape[0] != warps || shape[1] != 2 ||
      shape[2] != 16 || block.getDimSize(1) % shape[3] ||
      block.getDimSize(0) % (16 * warps) ||
      shared.getElementType() != block.getElementType() ||
      !shared.getLayout() || shared.getLayout().getPairs() ||
      shared.getLayout().getSwizzle() != 2 * shape[3])
    return emitOpError() << "of " << block << " goes by " << shared
                         << ", expected " << warps
                         << "x2x16 rows of 16, 32 or 64 columns that divide "
                            "the block's, in panels of that width";
  return success();
}

std::string act::tile::memoryRuns(BlockAccessOpInterface access,
                                  MemoryRuns &runs) {
  ViewType view = access.getViewType();
  if (!view.getElementType().isF32())
    return "adds elements that are not f32";
  if (!view.hasStaticShape())
    return "is of a view of dynamic size";
  SmallVector<int64_t> strides = view.getFullStrides();
  constexpr int64_t piece = 4; // elements in 16 bytes
  struct Dimension {
    unsigned ofView, ofBlock;
  };
  SmallVector<Dimension> block;
  for (auto [d, extent] : llvm::enumerate(access.getExtents())) {
    if (isa<RankedTensorType>(access.getIndices()[d].getType()))
      return "gathers rows, which are not contiguous";
    if (ShapedType::isDynamic(strides[d]) || strides[d] < 0)
      return "is of a view with a stride that is not known";
    if (extent >= 0)
      block.push_back({unsigned(d), unsigned(block.size())});
  }
  llvm::stable_sort(block, [&](const Dimension &x, const Dimension &y) {
    return strides[x.ofView] < strides[y.ofView];
  });
  std::set<unsigned> inRun;
  bool isWhole = true;
  for (const Dimension &d : block) {
    const int64_t extent = access.getExtents()[d.ofView];
    runs.order.insert(runs.order.begin(), d.ofBlock);
    isWhole = isWhole && strides[d.ofView] == runs.length &&
              extent == view.getShape()[d.ofView] &&
              isConstantIntValue(access.getIndices()[d.ofView], 0);
    if (isWhole) {
      runs.length *= extent;
      inRun.insert(d.ofView);
    } else if (extent == 1 || runs.dimension < 0) {
      runs.count *= extent;
      runs.dimension = extent == 1 ? runs.dimension : d.ofView;
    } else {
      return "consists of runs of " + std::to_string(runs.length) +
             " elements along several dimensions, expected one";
    }
  }
  if (runs.length % piece)
    return "consists of runs of " + std::to_string(runs.length) +
           " elements, expected a multiple of 16 bytes";
  for (auto [d, stride] : llvm::enumerate(strides))
    if (!inRun.count(d) && view.getShape()[d] > 1 && stride % piece)
      return "is of a view with a stride of " + std::to_string(stride) +
             " elements along dimension " + std::to_string(d) +
             ", expected a multiple of 16 bytes";
  return "";
}

// Verifies that
// - the block consists of runs that are contiguous in memory;
// - a slot has a row for each;
// - one thread executes it.
LogicalResult ReduceBulkOp::verify() {
  if (failed(checkAccess(*this)))
    return failure();
  MemoryRuns runs;
  if (std::string fault = memoryRuns(*this, runs); !fault.empty())
    return emitOpError(fault);
  SharedType shared = getShared().getType();
  const size_t slots = getSlot().size();
  if (slots > shared.getShape().size() ||
      shared.getShape().drop_front(slots) !=
          ArrayRef<int64_t>{runs.count, runs.length} ||
      !shared.getElementType().isF32() || shared.getLayout())
    return emitOpError() << "adds " << shared << " by " << slots
                         << " slot indices to " << runs.count << " runs of "
                         << runs.length
                         << " elements, expected a row of f32 for each, "
                            "without a swizzle";
  auto roles = (*this)->getParentOfType<RolesOp>();
  if ((*this)->getParentOfType<gpu::GPUFuncOp>() &&
      (!roles || !roles.getStore().isAncestor((*this)->getParentRegion())))
    return emitOpError("is for the region of a tile.roles that stores: each "
                       "thread that executes it adds the block");
  return success();
}

std::string act::tile::tensorMapFault(BlockAccessOpInterface access) {
  ViewType view = access.getViewType();
  auto argument = dyn_cast<BlockArgument>(memoryOf(access.getView()));
  if (!argument || !isa<gpu::GPUFuncOp>(argument.getOwner()->getParentOp()))
    return "is of a view that is not a kernel's argument, which a launch "
           "has no map of";
  if (view.getRank() > 5)
    return "is of a view of rank " + std::to_string(view.getRank()) +
           ", expected at most 5";
  if (!view.hasStaticShape())
    return "is of a view of dynamic size";
  SmallVector<int64_t> strides = view.getFullStrides(), block;
  int64_t last = -1;
  for (auto [d, extent] : llvm::enumerate(access.getExtents())) {
    if (extent >= 0) {
      block.push_back(extent);
      last = d;
    }
    if (isa<RankedTensorType>(access.getIndices()[d].getType()))
      return "gathers rows, which a copy by a tensor map does not";
  }
  int64_t bits = view.getElementType().getIntOrFloatBitWidth();
  if (block.empty() || block.size() > 2)
    return "is of a block of rank " + std::to_string(block.size()) +
           ", expected 1 or 2";
  if (bits < 8 || block.back() * bits % 128)
    return "has rows of " + std::to_string(block.back() * bits / 8) +
           " bytes, expected a multiple of 16";
  for (auto [d, stride] : llvm::enumerate(strides)) {
    bool isInner = int64_t(d) == last;
    if (isInner ? stride != 1
                : ShapedType::isDynamic(stride) || stride * bits % 128 ||
                      stride * bits / 8 >= int64_t(1) << 40)
      return "is of a view with a stride of " +
             (ShapedType::isDynamic(stride) ? "?" : std::to_string(stride)) +
             " elements along dimension " + std::to_string(d) + ", expected " +
             (isInner ? "1" : "a multiple of 16 bytes below 2^40");
    if (view.getShape()[d] < 1 || view.getShape()[d] > int64_t(1) << 32)
      return "is of a view of size " + std::to_string(view.getShape()[d]) +
             ", expected 1 to 2^32";
  }
  return "";
}
