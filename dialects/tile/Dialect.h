// SPDX-License-Identifier: Apache-2.0
//
// The tile dialect: the one header its users include.
#ifndef ACT_DIALECTS_TILE_DIALECT_H
#define ACT_DIALECTS_TILE_DIALECT_H
#include "act/Layout/Distributed.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

#include "dialects/tile/Dialect.h.inc"
#include "dialects/tile/Enums.h.inc"

namespace act::tile {

/// The memory of loads and stores, for side-effect analyses.
struct GlobalMemory : mlir::SideEffects::Resource::Base<GlobalMemory> {
  llvm::StringRef getName() override { return "GlobalMemory"; }
};
struct SharedMemory : mlir::SideEffects::Resource::Base<SharedMemory> {
  llvm::StringRef getName() override { return "SharedMemory"; }
};

/// All blocks of the op have one layout.
template <typename Op>
class OneLayout : public mlir::OpTrait::TraitBase<Op, OneLayout> {};

/// The strides of a dense tensor whose last dimension is contiguous; kDynamic
/// to the left of a dynamic size.
llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape);

} // namespace act::tile

#define GET_ATTRDEF_CLASSES
#include "dialects/tile/Attrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/tile/Types.h.inc"

#include "dialects/tile/Interfaces.h.inc"
#define GET_OP_CLASSES
#include "dialects/tile/Ops.h.inc"

namespace act::tile {

/// The most programs that a launch takes along x, y and z.
inline constexpr int64_t mostPrograms[] = {2'147'483'647, 65'535, 65'535};

/// The names of a kernel's attributes.
inline constexpr llvm::StringLiteral scheduleName = "tile.schedule";
inline constexpr llvm::StringLiteral gridName = "tile.grid";
inline constexpr llvm::StringLiteral blockSizesName = "tile.block_sizes";
/// Bits of an index in the kernel's code, 32 or 64; 64 if absent.
inline constexpr llvm::StringLiteral indexBitsName = "tile.index_bits";
/// The shared memory that a generated kernel was planned for, as an estimate.
inline constexpr llvm::StringLiteral plannedBytesName = "tile.planned_bytes";
/// Lets programs that take turns in a loop start at different places of it
/// (tile-shift-turns).
inline constexpr llvm::StringLiteral shiftTurnsName = "tile.shift_turns";
/// How many of these programs wait for each other. A card must run them all.
inline constexpr llvm::StringLiteral atOnceName = "tile.at_once";
/// Of an exponential of x - row: the constant k of x = s k whose product is
/// rounded together with the base's logarithm (tile-choose-rounding).
inline constexpr llvm::StringLiteral exponentScaleName = "tile.exponent_scale";
/// What a launch passes behind the arguments: a list of TensorMapAttr.
inline constexpr llvm::StringLiteral tensorMapsName = "tile.tensor_maps";
/// On an access: the names of its extents, "" for unnamed ones.
inline constexpr llvm::StringLiteral extentNamesName = "tile.extent_names";
/// Flags of an exponential that `tile-simplify-math` may approximate.
inline constexpr mlir::arith::FastMathFlags approximate =
    mlir::arith::FastMathFlags::reassoc | mlir::arith::FastMathFlags::contract |
    mlir::arith::FastMathFlags::afn;
bool mayApproximate(mlir::Operation *op);

/// The index width that the kernel's attributes give.
unsigned indexBits(mlir::Operation *kernel);

/// Why the copy engine cannot copy the block that an op accesses, by a tensor
/// map of its view; empty if it can. The view must also be an argument.
std::string tensorMapFault(BlockAccessOpInterface access);

/// A block as runs of elements that are contiguous in memory: `count` of them,
/// along the view's dimension `dimension` (-1: there is one), each `length`
/// elements long. `order` has the block's dimensions as they lie in memory,
/// the outermost first.
struct MemoryRuns {
  int64_t count = 1, dimension = -1, length = 1;
  llvm::SmallVector<unsigned> order;
};
/// The runs of the block that an op accesses, or why it does not consist of
/// runs that the copy engine can add to memory: of f32, in whole 16-byte
/// pieces. Runs cover whole dimensions, so none is partly outside the view.
std::string memoryRuns(BlockAccessOpInterface access, MemoryRuns &runs);

/// Whether an operand or result of the op is a block, perhaps a pending one.
bool touchesBlocks(mlir::Operation *op);

/// Whether all blocks of the op, operands and results, have one layout: in an
/// elementwise op of any dialect, and in a scan.
bool hasOneLayout(mlir::Operation *op);

/// The kernel argument that a view refers to.
mlir::Value memoryOf(mlir::Value view);

/// The schedule of a kernel (a gpu.func), or the default one.
ScheduleAttr getSchedule(mlir::Operation *kernel);

/// Whether it is a `barrier` of all threads. The op may be null.
bool isWholeBarrier(mlir::Operation *op);

/// The programs of a cluster of the kernel around `op`; 1 where it has none.
int64_t clusterOf(mlir::Operation *op);

/// Whether a cluster's programs can copy so many rows together: parts of whole
/// lines of a swizzle.
constexpr bool canMulticast(int64_t rows, int64_t cluster) {
  return rows % (8 * cluster) == 0;
}

/// Whether a launch can pass the kernel's arguments; reports those it cannot.
/// For a kernel without attributes of this dialect, a pass is the first to
/// check.
mlir::LogicalResult checkArguments(mlir::Operation *kernel);

/// The most elements of a block, also Triton's limit. With 32 warps a thread
/// holds 1024 of them.
inline constexpr int64_t mostElements = int64_t(1) << 20;

/// The named block sizes of the kernel around `op`, or of `op` itself; null
/// where it has none.
mlir::DictionaryAttr getBlockSizes(mlir::Operation *op);

/// The size of that name; 0 where there is none.
int64_t blockSizeOf(mlir::DictionaryAttr sizes, llvm::StringRef name);

/// The grid of the kernel around `op`, or of `op` itself; empty when it is
/// given at the launch, or follows from block sizes.
llvm::ArrayRef<int64_t> getGrid(mlir::Operation *op);

/// Whether elements of blocks, views and shared memory may have this type.
bool isElementType(mlir::Type type);

/// The type of a block of `view`: a tensor without encoding, or the element
/// type when no extent is a block dimension.
mlir::Type blockType(ViewType view, llvm::ArrayRef<int64_t> extents);

/// `type` without a dimension; the element type when it was the only one; the
/// same when there is no such dimension.
mlir::Type dropAxis(mlir::RankedTensorType type, int64_t axis);

} // namespace act::tile
#endif
