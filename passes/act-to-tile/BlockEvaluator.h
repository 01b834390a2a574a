// SPDX-License-Identifier: Apache-2.0
//
// Computes one block of a tensor from its inputs.
//
// A program works along axes: `base` to `base + extent` of some dimension. A
// place in a tensor has one coordinate per dimension. A coordinate is a number
// shared by all elements of the block, an axis along which the block extends,
// or numbers that are computed for each element:
//
//     result [b, i, j]      b = 3 (a number),  i along axis I,  j along axis J
//     weight [j]                               j along axis J
//     mean   [b, i]         b = 3,             i along axis I
//     image  [2 i + k, j]   2 i + k computed along axes I and K
//
// Arguments at computed numbers are gathered, element by element. This is slow,
// and always possible: it is what a block that is no box of its source becomes.
//
// evaluate() follows the op that computes the tensor. An argument is loaded. An
// elementwise op is done on its operands' blocks, at the coordinates that its
// indexing maps give. A reduction sums a block with one more axis, or loops
// over such blocks. So a group's ops are computed where they are used, and no
// intermediate is stored.
//
// Loop-invariant code, also an inner loop, is placed before the loop: a softmax
// becomes a loop for the maximum, one for the sum, and the code that uses both.
// --tile-fuse-loops merges them.
#ifndef ACT_PASSES_ACTTOTILE_BLOCKEVALUATOR_H
#define ACT_PASSES_ACTTOTILE_BLOCKEVALUATOR_H

#include "dialects/tile/Dialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <map>

namespace act::tile {

struct Axis {
  mlir::Value base; // index
  int64_t extent;
};

/// Most elements of a constant that can be used as a lookup table.
constexpr int64_t maxTable = 1024;

/// The register type of an element of `t`: an index is an i64.
mlir::Type registerElement(mlir::Type t);
/// The argument that `tensor` is, seen through reshapes (memory is dense), or
/// null.
mlir::Value argumentBehind(mlir::Value tensor);
/// The two factors of a generic that sums products, as values of its body,
/// without their widening to f32.
std::optional<std::pair<mlir::Value, mlir::Value>>
factorsOf(mlir::linalg::GenericOp op);
/// The loop of a sum of products that is limited to a window, or nothing. The
/// window's two ends are i32 inputs after the factors, from 0 to the loop's
/// end.
std::optional<unsigned> windowOf(mlir::linalg::GenericOp op);
/// The summed loops of `op`, outermost first. The last one, which is taken in
/// blocks, is the longest; for a product with `blocks` along two loops the one
/// that takes the fewest products and gathers.
llvm::SmallVector<unsigned> inOrder(mlir::linalg::GenericOp op,
                                    llvm::ArrayRef<unsigned> loops,
                                    llvm::ArrayRef<unsigned> blocks = {});
/// The inputs of `op` that define what its loops are along: not the ends of a
/// window.
llvm::SmallVector<mlir::OpOperand *> inputsAlong(mlir::linalg::GenericOp op);
/// Whether `tensor` depends on a sum of products.
bool hasProduct(mlir::Value tensor);

struct Coordinate {
  mlir::Value scalar; // index, or null: 0
  int64_t constant = 0;
  int axis = -1;        // -1: a number
  mlir::Value computed; // i64 along these axes, in place of scalar and axis
  llvm::SmallVector<int> along;
  auto key() const {
    return std::tuple((computed ? computed : scalar).getAsOpaquePointer(),
                      constant, axis);
  }
};
using Place = llvm::SmallVector<Coordinate>;
/// The axes of a block at `place`, each once.
llvm::SmallVector<int> axesOf(const Place &place);
/// Whether each axis is all of one coordinate, so that the block is a box.
bool isBox(const Place &place);

/// A block's dimensions are axes, in this order; without axes it is a scalar.
struct BlockValue {
  mlir::Value value;
  llvm::SmallVector<int> axes;
};

class BlockEvaluator {
public:
  /// For a kernel whose body begins with `entry`. Products of f32 use
  /// `precision`; a sum of products goes `productStep` numbers at a time, a
  /// shorter one a multiple of `productUnit`.
  BlockEvaluator(mlir::OpBuilder &builder, mlir::Location loc,
                 mlir::Block &entry, DotPrecision precision,
                 int64_t productStep, int64_t productUnit)
      : b(builder), loc(loc), entry(&entry), precision(precision),
        productStep(productStep), productUnit(productUnit) {}

  int addAxis(mlir::Value base, int64_t extent);
  /// An axis from 0 to `extent` that `loops` do not use yet. Existing ones are
  /// reused: a row that is summed and then read is one block.
  int wholeAxis(int64_t extent, const Place &loops);
  const Axis &axis(int i) const { return axes[i]; }
  /// Sets the memory of an argument or a result.
  void bind(mlir::Value tensor, mlir::Value pointer) {
    pointers[tensor] = pointer;
  }

  /// Memory that programs add to lies in tiles of 8 by 8 numbers, from rows of
  /// `numbers` and the last dimension. A tile holds its even columns before its
  /// odd ones, each row by row. This matches the fragments of a product, so a
  /// warp adds to 128 contiguous bytes instead of half-used 32-byte sectors.
  /// `inFours`: tiles have 16 rows if they divide, and the four numbers that a
  /// thread has of one are adjacent, for targets that add them at once.
  void bindTiles(mlir::Value pointer, int64_t numbers, bool inFours) {
    tiled[pointer] = {numbers, inFours};
  }

  mlir::FailureOr<BlockValue> evaluate(mlir::Value tensor, const Place &place);
  /// Maps a place in a tensor of `shape` to the tensor whose dimensions are
  /// these groups of dimensions. Several axes of a group become one new axis;
  /// all but the first must be whole.
  mlir::FailureOr<Place>
  collapsed(const Place &place,
            llvm::ArrayRef<mlir::ReassociationIndices> groups,
            llvm::ArrayRef<int64_t> shape);
  /// Writes a block of `tensor`, whose memory is at `pointer`.
  mlir::LogicalResult store(BlockValue block, mlir::RankedTensorType type,
                            mlir::Value pointer, const Place &place);
  /// Adds to `memory` the product of `op`'s operand blocks along its summed
  /// loop, for all iterations of the `swept` loops; `loops` has the coordinates
  /// of the others. With `turns`, it waits for the program's turn.
  struct Turns {
    mlir::Value numbers; // pointer to one turn per row of the result; or null
    mlir::Value turn;
  };
  mlir::LogicalResult addInTurns(mlir::linalg::GenericOp op, Place loops,
                                 llvm::ArrayRef<unsigned> swept,
                                 mlir::Value memory, Turns turns);
  /// The addend of `op` at these coordinates of all its loops; zeros beyond a
  /// loop's end.
  mlir::FailureOr<BlockValue> addend(mlir::linalg::GenericOp op,
                                     const Place &loops);
  /// `carried` after body(number, carried) for the numbers from `from` to `to`.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  loop(mlir::Value from, mlir::Value to, mlir::ValueRange carried,
       llvm::function_ref<mlir::FailureOr<llvm::SmallVector<mlir::Value>>(
           mlir::Value, mlir::ValueRange)>
           body);
  /// outer * count + inner.
  mlir::Value counted(mlir::Value outer, int64_t count, mlir::Value inner) {
    return sum(scaled<mlir::arith::MulIOp>(outer, count), inner);
  }
  /// `block` transposed or repeated to have exactly these axes, in order.
  mlir::Value spread(BlockValue block, llvm::ArrayRef<int> onto);

private:
  struct Operands {
    llvm::SmallVector<BlockValue> blocks;
    llvm::SmallVector<int> axes;
  };
  /// A block's position in memory, and its axes there.
  struct Access {
    mlir::Value view;
    llvm::SmallVector<mlir::Value> indices;
    llvm::SmallVector<int64_t> extents;
    llvm::SmallVector<int> axes;
    /// The block's shape in memory; for tiled memory it differs from the axes'.
    llvm::SmallVector<int64_t> shape() const;
  };
  struct Tiles {
    int64_t numbers; // of a row
    bool inFours;
  };
  Access tilesOf(mlir::RankedTensorType type, mlir::Value pointer,
                 const Place &place, Tiles tiles);
  Access accessOf(mlir::RankedTensorType type, mlir::Value pointer,
                  const Place &place, llvm::ArrayRef<int64_t> strides = {});
  mlir::FailureOr<BlockValue> compute(mlir::Value tensor, const Place &place);
  llvm::SmallVector<int64_t> extentsOf(llvm::ArrayRef<int> some) const;
  mlir::Value reshaped(mlir::Value v, llvm::ArrayRef<int64_t> shape);
  mlir::Value turned(mlir::Value v, llvm::SmallVector<int> have,
                     llvm::ArrayRef<int> wanted);
  mlir::Value loadedInOrder(LoadOp load, llvm::ArrayRef<int> have,
                            llvm::ArrayRef<int> wanted);
  /// Without strides memory is dense.
  mlir::FailureOr<BlockValue> load(mlir::RankedTensorType type,
                                   mlir::Value pointer, const Place &place,
                                   llvm::ArrayRef<int64_t> strides = {});
  mlir::FailureOr<BlockValue> generic(mlir::linalg::GenericOp op,
                                      unsigned result, const Place &place);
  /// Sums and maxima over the loops `dims` of `op`; `loops` has the coordinates
  /// of the others.
  mlir::FailureOr<BlockValue> reduce(mlir::linalg::GenericOp op, Place loops,
                                     llvm::ArrayRef<unsigned> dims);
  /// A loop of `dims` with a coordinate already covers only its block.
  mlir::FailureOr<BlockValue> product(mlir::linalg::GenericOp op, Place loops,
                                      llvm::ArrayRef<unsigned> dims);
  /// One loop of a reduction: numbers 0 to `extent`, `step` at a time.
  struct Sweep {
    unsigned dim;
    int64_t extent, step; // one step of 1: a number, else an axis
  };
  /// `acc` after all steps of `sweeps`, outermost first: body(place, acc) is
  /// the next one; null where nothing is carried. One step is no loop.
  mlir::FailureOr<mlir::Value>
  sweep(llvm::ArrayRef<Sweep> sweeps, Place loops, mlir::Value acc,
        llvm::function_ref<mlir::FailureOr<mlir::Value>(const Place &,
                                                        mlir::Value)>
            body);
  /// What the body of the reduction `op` combines with what it has so far.
  mlir::FailureOr<BlockValue> combined(mlir::linalg::GenericOp op,
                                       const Place &loops);
  /// `block` with `neutral` where the axis of `s` is past its extent.
  BlockValue masked(BlockValue block, const Sweep &s, const Place &loops,
                    mlir::Value neutral);
  /// The coordinates of the result that `op` adds to.
  Place placeOfInit(mlir::linalg::GenericOp op, unsigned result,
                    const Place &loops);
  mlir::FailureOr<BlockValue> gather(mlir::tensor::ExtractOp op,
                                     llvm::ArrayRef<BlockValue> indices,
                                     const Place &loops);
  mlir::FailureOr<Operands> operands(mlir::linalg::GenericOp op,
                                     const Place &loops, unsigned count);
  /// The values of a generic's body at `loops`, and their axes: the blocks of
  /// its inputs.
  struct Body {
    llvm::DenseMap<mlir::Value, BlockValue> values;
    llvm::SmallVector<int> axes;
    /// A value of the body, or a number of outside.
    BlockValue of(mlir::Value v, BlockEvaluator &e) const {
      auto it = values.find(v);
      return it != values.end() ? it->second : BlockValue{e.scalarOf(v), {}};
    }
  };
  mlir::FailureOr<Body> bodyOf(mlir::linalg::GenericOp op, const Place &loops);
  /// Adds the results of an op of a generic's body to `values`.
  mlir::LogicalResult bodyOp(mlir::Operation *op,
                             llvm::DenseMap<mlir::Value, BlockValue> &values,
                             const Place &loops);
  llvm::SmallVector<mlir::Value> elementwise(mlir::Operation *op,
                                             llvm::ArrayRef<BlockValue> blocks,
                                             llvm::ArrayRef<int> onto);
  mlir::FailureOr<BlockValue> inserted(mlir::tensor::InsertSliceOp op,
                                       const Place &place);
  mlir::FailureOr<BlockValue> expandedBlock(mlir::tensor::ExpandShapeOp op,
                                            const Place &place);
  /// A value behind a reshape, at the place of each of its elements.
  mlir::FailureOr<BlockValue> reshapedByElement(mlir::Operation *reshape,
                                                const Place &place);
  int mergedAxis(mlir::Value base, int64_t extent, const Place &place);
  mlir::FailureOr<BlockValue> oneOfTwo(mlir::tensor::ExpandShapeOp op,
                                       const Place &place);
  mlir::FailureOr<Place> digitsOf(const Coordinate &along,
                                  llvm::ArrayRef<int64_t> sizes,
                                  const Place &beside,
                                  llvm::SmallVectorImpl<int> &parts);
  mlir::FailureOr<BlockValue> collapsedBlock(mlir::tensor::CollapseShapeOp op,
                                             const Place &place);
  BlockValue table(mlir::DenseElementsAttr values, const Place &place);
  /// The numbers of `values` that `at`, of i64, counts.
  BlockValue pick(mlir::DenseElementsAttr values, BlockValue at);
  mlir::FailureOr<Coordinate> at(mlir::AffineExpr expr, const Place &loops);
  enum class Arithmetic { Add, Mul, Div, Rem };
  /// Of numbers that are not negative, for Div and Rem.
  Coordinate combined(Arithmetic op, const Coordinate &x, const Coordinate &y);
  Coordinate combined(Arithmetic op, const Coordinate &x, int64_t y) {
    return combined(op, x, Coordinate{{}, y, -1, {}, {}});
  }
  /// 0 where an inserted slice is not reached yet, which nobody reads.
  Coordinate notNegative(const Coordinate &c);
  /// The elements of an argument at any place; zero outside of it.
  BlockValue gathered(mlir::RankedTensorType type, mlir::Value pointer,
                      const Place &place);
  mlir::Value viewOf(mlir::RankedTensorType type, mlir::Value pointer,
                     llvm::ArrayRef<int64_t> strides = {});
  /// A number of the function around, made again in the kernel.
  mlir::Value scalarOf(mlir::Value v);
  mlir::Value indexOf(const Coordinate &c);
  BlockValue numbers(const Coordinate &c); // i64, along its axes
  Coordinate computed(BlockValue numbers);
  mlir::Value constant(int64_t v);
  /// Arithmetic on coordinates: at the place where its operands are there, and
  /// once. `factor` is the second operand.
  template <typename Op> mlir::Value scaled(mlir::Value v, int64_t factor);
  mlir::Value sum(mlir::Value x, mlir::Value y);
  mlir::Value once(llvm::StringRef name, mlir::Value x, mlir::Value y,
                   llvm::function_ref<mlir::Value()> make);
  int64_t elementsOf(const Place &loops) const;

  /// How many of the open loops `v` depends on.
  size_t levelOf(mlir::Value v) const;
  size_t levelOf(const Place &place) const;
  /// Does `make` before those loops that are not among the first `level`.
  template <typename Make> auto atLevel(size_t level, Make make);

  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Block *entry;
  DotPrecision precision;
  int64_t productStep, productUnit;
  std::vector<Axis> axes;
  std::map<std::pair<const void *, int64_t>, llvm::SmallVector<int>>
      merged;                         // axes by what they are
  std::vector<mlir::scf::ForOp> nest; // open loops
  llvm::DenseMap<mlir::Value, mlir::Value> pointers, scalars;
  llvm::DenseMap<mlir::Value, Tiles> tiled; // by pointer
  std::map<std::pair<const void *, const void *>, mlir::Value>
      views; // of type and pointer
  using CoordinateKey = std::tuple<const void *, int64_t, int>;
  using Key = std::pair<void *, std::vector<CoordinateKey>>;
  std::map<Key, BlockValue> known;
  std::map<std::tuple<Arithmetic, CoordinateKey, CoordinateKey>, Coordinate>
      knownCoordinates;
  std::map<int64_t, mlir::Value> constants;
  std::map<std::tuple<std::string, const void *, const void *>, mlir::Value>
      arithmetic;
};

template <typename Make> auto BlockEvaluator::atLevel(size_t level, Make make) {
  mlir::OpBuilder::InsertionGuard guard(b);
  std::vector<mlir::scf::ForOp> inner(nest.begin() + level, nest.end());
  if (!inner.empty())
    b.setInsertionPoint(inner.front());
  nest.resize(level);
  auto result = make();
  nest.insert(nest.end(), inner.begin(), inner.end());
  return result;
}

template <typename Op>
mlir::Value BlockEvaluator::scaled(mlir::Value v, int64_t factor) {
  mlir::Value y = constant(factor);
  return once(Op::getOperationName(), v, y,
              [&] { return Op::create(b, loc, v, y).getResult(); });
}

} // namespace act::tile
#endif
