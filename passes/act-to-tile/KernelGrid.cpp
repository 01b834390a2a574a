// SPDX-License-Identifier: Apache-2.0
//
// Chooses blocks, warps and steps from shapes and from the ops behind the
// results. Any choice computes the same function, up to the order of sums; the
// constants decide speed, registers and shared memory.
#include "passes/act-to-tile/KernelGrid.h"
#include "dialects/act/Dialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/act-to-tile/BlockEvaluator.h"
#include "passes/act-to-tile/FoldTransposes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace act::tile;

namespace {

/// Elements of a block without products.
constexpr int64_t blockElements = 4096;
/// Threads of four warps. If a block lacks 8 numbers (16 bytes of bf16) per
/// thread, some threads may hold copies, which are loaded too.
constexpr int64_t threads = 4 * 32;
/// The longest row that a program holds whole.
constexpr int64_t wholeRow = 16384;

ArrayRef<int64_t> shapeOf(Value v) {
  return cast<RankedTensorType>(v.getType()).getShape();
}

/// For each dimension of a value, the root's dimension that it is, or -1.
using Dims = SmallVector<int>;

/// The dimensions of an operand of `op`, given those of its loops.
Dims throughMap(AffineMap map, ArrayRef<int> loops) {
  Dims out;
  for (AffineExpr e : map.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(e);
    out.push_back(dim ? loops[dim.getPosition()] : -1);
  }
  return out;
}

/// The root's dimension of each loop of `op`, given those of a result.
Dims loopsOf(linalg::GenericOp op, unsigned result, ArrayRef<int> dims) {
  Dims loops(op.getNumLoops(), -1);
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(result));
  for (auto [e, d] : llvm::zip(map.getResults(), dims))
    if (auto dim = dyn_cast<AffineDimExpr>(e))
      loops[dim.getPosition()] = d;
  return loops;
}

/// A dimension that collapses several at its reader: the root's dimension of
/// the first one, and the total length of the others.
struct Digits {
  int outer = -1; // -1: none
  int64_t width = 1;
};

/// Visits the generics that compute a value, nearest first, with the root's
/// dimension of each of their loops. visit() returns whether to go on to the
/// operands. `digits` is keyed by the root's dimensions that collapse several.
///
/// For a root [s, h] that is a product plus a residual:
///
///   add      loops (s, h)       dims (0, 1)
///   product  loops (s, h, k)    dims (0, 1, -1)
void visitBehind(Value v, const Dims &dims, llvm::DenseMap<Value, Dims> &seen,
                 function_ref<bool(linalg::GenericOp, const Dims &)> visit,
                 llvm::DenseMap<int, Digits> *digits = nullptr) {
  if (!seen.insert({v, dims}).second)
    return;
  Operation *op = v.getDefiningOp();
  if (!op)
    return;
  if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
    Dims loops = loopsOf(generic, cast<OpResult>(v).getResultNumber(), dims);
    if (!visit(generic, loops))
      return;
    for (OpOperand *input : inputsAlong(generic))
      if (isa<RankedTensorType>(input->get().getType()))
        visitBehind(input->get(),
                    throughMap(generic.getMatchingIndexingMap(input), loops),
                    seen, visit, digits);
    return;
  }
  // Where several dimensions become one, the innermost longer than one stands
  // for it.
  Dims moved;
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    for (const ReassociationIndices &group : expand.getReassociationIndices()) {
      int d = dims[group.back()];
      Digits own;
      for (int64_t i : group) {
        int64_t size = expand.getResultType().getDimSize(i);
        if (size == 1)
          continue;
        d = dims[i];
        if (own.outer < 0 && own.width == 1 && d >= 0)
          own.outer = d;
        else
          own.width *= size;
      }
      if (digits && own.width > 1 && d >= 0)
        (*digits)[d] = own;
      moved.push_back(d);
    }
    return visitBehind(expand.getSrc(), moved, seen, visit, digits);
  }
  // A slice of a dimension is along none of the root's.
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
      slice && slice.getSourceType().getRank() == int64_t(dims.size())) {
    moved = dims;
    for (auto [d, part, whole] : llvm::zip(moved, slice.getType().getShape(),
                                           slice.getSourceType().getShape()))
      if (part != whole)
        d = -1;
    return visitBehind(slice.getSource(), moved, seen, visit, digits);
  }
  auto collapse = dyn_cast<tensor::CollapseShapeOp>(op);
  if (!collapse)
    return;
  moved.assign(collapse.getSrcType().getRank(), -1);
  for (auto [d, group] : llvm::zip(dims, collapse.getReassociationIndices())) {
    SmallVector<int64_t> wide;
    for (int64_t i : group)
      if (collapse.getSrcType().getDimSize(i) > 1)
        wide.push_back(i);
    if (wide.size() <= 1)
      moved[wide.empty() ? group.back() : wide[0]] = d;
  }
  visitBehind(collapse.getSrc(), moved, seen, visit, digits);
}

Dims identity(Value root) {
  return llvm::to_vector(llvm::seq<int>(0, shapeOf(root).size()));
}

struct ProductShape {
  int rows = -1, columns = -1; // dimensions of the root; -1: summed over
  bool computed = false;       // an operand depends on another product
  bool isWide = false;         // both operands have 32-bit elements
  Dims along;                  // its dimensions among the root's
  Digits digits;               // of its columns
};

/// The first product behind `root` that has both rows and columns in it; else
/// one that lacks one or both (-1: summed over).
std::optional<ProductShape> anyProductBehind(Value root) {
  std::optional<ProductShape> found, partial;
  llvm::DenseMap<Value, Dims> seen;
  llvm::DenseMap<int, Digits> digits;
  visitBehind(
      root, identity(root), seen,
      [&](linalg::GenericOp op, const Dims &loops) {
        if (found)
          return false;
        auto factors = factorsOf(op);
        if (!factors)
          return true;
        ProductShape p;
        p.along = loops;
        int *of[2] = {&p.rows, &p.columns};
        SmallVector<int64_t> ranges = op.getStaticLoopRanges();
        for (int i : {0, 1}) {
          int64_t longest = 0;
          AffineMap own = op.getIndexingMapsArray()[i],
                    other = op.getIndexingMapsArray()[1 - i];
          for (AffineExpr e : own.getResults()) {
            auto dim = dyn_cast<AffineDimExpr>(e);
            if (!dim || llvm::is_contained(other.getResults(), e) ||
                ranges[dim.getPosition()] <= longest)
              continue;
            longest = ranges[dim.getPosition()];
            *of[i] = loops[dim.getPosition()];
          }
          p.computed |= hasProduct(op.getDpsInputs()[i]);
        }
        p.isWide = llvm::all_of(inputsAlong(op), [](OpOperand *input) {
          return getElementTypeOrSelf(input->get().getType()).isF32();
        });
        if (p.rows < 0 || p.columns < 0) {
          if (!partial)
            partial = p;
          return true;
        }
        p.digits = digits.lookup(p.columns);
        found = p;
        return false;
      },
      &digits);
  return found ? found : partial;
}

std::optional<ProductShape> productBehind(Value root) {
  auto p = anyProductBehind(root);
  return p && p->rows >= 0 && p->columns >= 0 ? p : std::nullopt;
}

/// Direction of the nearest reduction behind `root`: along the last dimension,
/// whose elements all need its result, or across it.
enum class RowSums { None, Along, Beside };
RowSums rowSums(Value root) {
  RowSums found = RowSums::None;
  llvm::DenseMap<Value, Dims> seen;
  int last = shapeOf(root).size() - 1;
  visitBehind(root, identity(root), seen,
              [&](linalg::GenericOp op, const Dims &loops) {
                if (found == RowSums::None && op.getNumReductionLoops() > 0)
                  found = llvm::is_contained(loops, last) ? RowSums::Beside
                                                          : RowSums::Along;
                return found == RowSums::None;
              });
  return found;
}

/// A block's extent: at most `most`, and no larger than the dimension rounded
/// up.
int64_t block(int64_t size, int64_t most, int64_t unit) {
  return std::min<int64_t>(most, llvm::alignTo(size, unit));
}

/// Smaller blocks and fewer stages, for kernels that exceed shared memory.
/// `rows` is the dimension with blocks, or -1.
void tighten(KernelGrid &grid, int rows, int64_t tightness) {
  struct Choice {
    int64_t rows, step, stages, warps;
  };
  static constexpr Choice choices[tightest] = {{128, 64, 1, 8}, {64, 64, 1, 4},
                                               {64, 32, 1, 4},  {32, 32, 1, 4},
                                               {32, 16, 1, 2},  {16, 16, 1, 1}};
  if (tightness == 0)
    return;
  const Choice &c = choices[tightness - 1];
  if (rows >= 0)
    grid.blocks[rows] = std::min(grid.blocks[rows], c.rows);
  grid.step = std::min(grid.step, c.step);
  grid.stages = c.stages;
  grid.warps = std::min(grid.warps, c.warps);
}

/// Whether the warps can share a product evenly, in multiples of 16 rows and 8
/// columns.
bool canShare(int64_t rows, int64_t columns, int64_t warps) {
  for (int64_t m = warps; m >= 1; m /= 2)
    if (rows % (16 * m) == 0 && columns % (8 * warps / m) == 0)
      return true;
  return false;
}

/// Whether the op draws random numbers by Philox.
bool drawsNumbers(linalg::GenericOp op) {
  return !op.getBody()->getOps<arith::MulUIExtendedOp>().empty();
}

/// Takes fewer columns per step, more warps or fewer rows if a thread would
/// hold more values than its 255 registers allow.
///
/// - The results' products count and, block by block, the products that they
///   depend on. A product added to memory needs its values once.
/// - Wide operands are held in registers too.
/// - Random numbers take most of the instructions, and a thread works on
///   several at once. Kernels that draw them are faster with fewer rows, which
///   costs loads, than with too few registers or with columns that exist only
///   because warps share a product.
/// - A windowed sum needs two bounds per row; a bias or a mask is one more
///   block.
///
/// The limits are what ptxas has room for.
void fitRegisters(KernelGrid &grid, const ProductShape &p, ValueRange results,
                  ValueRange summed) {
  llvm::SmallPtrSet<Operation *, 8> products;
  int64_t kept = 0;
  bool draws = false, windowed = false;
  // Tensors as large as the products, read in addition.
  llvm::SmallPtrSet<Value, 2> read;
  auto addRead = [&](linalg::GenericOp op) {
    auto shape = shapeOf(op.getResult(0)).take_back(2);
    for (Value input : op.getDpsInputs())
      if (auto type = dyn_cast<RankedTensorType>(input.getType()))
        if (Value argument = argumentBehind(input);
            argument && type.getShape().take_back(2) == shape)
          read.insert(argument);
  };
  for (Value v : results) {
    Value u = unshaped(v);
    llvm::DenseMap<Value, Dims> seen;
    visitBehind(u, identity(u), seen, [&](linalg::GenericOp op, const Dims &) {
      if (factorsOf(op))
        products.insert(op);
      else if (anyProductBehind(op.getResult(0)))
        addRead(op);
      draws |= drawsNumbers(op);
      windowed |= windowOf(op).has_value();
      return true;
    });
    auto own = anyProductBehind(u);
    kept += own && own->computed;
  }
  const int64_t mostDrawn = 32;
  int64_t most = p.isWide ? 100 : draws ? 150 : 165;
  int64_t inner = int64_t(products.size()) - kept;
  int64_t columns = grid.blocks[p.columns];
  const int64_t warps = grid.warps, step = grid.step;
  const int64_t rows = grid.blocks[p.rows];
  auto choose = [&](int64_t r, int64_t fewest, bool unpadded) {
    for (int64_t w = fewest; w <= std::max<int64_t>(warps, 8); w *= 2)
      for (int64_t s : {step, std::max<int64_t>(step / 2, 16)}) {
        if (unpadded && !summed.empty() && !canShare(s, columns, w))
          continue;
        int64_t made = r * inner * s, drawn = draws ? made : 0,
                adds = columns * int64_t(summed.size()) * s;
        int64_t all = r * (kept * columns + int64_t(read.size()) * s) +
                      std::max(made, adds) + adds / 4 + drawn;
        if (canShare(r, columns, w) && canShare(r, s, w) &&
            all <= most * 32 * w && drawn <= mostDrawn * 32 * w) {
          grid.blocks[p.rows] = r;
          grid.warps = w;
          grid.step = s;
          return true;
        }
      }
    return false;
  };
  if (windowed) {
    const int64_t otherwise = std::exchange(most, p.isWide ? 60 : 110);
    if (choose(rows, warps, true))
      return;
    most = std::min<int64_t>(otherwise, 150);
  }
  if (choose(rows, warps, true))
    return;
  bool padded = choose(rows, warps, false);
  bool fewer = draws || windowed || p.isWide || !read.empty();
  if (rows > 64 && padded && choose(64, std::min<int64_t>(warps, 4), true))
    return;
  if (padded || (rows > 64 && fewer && choose(64, warps, false)))
    return;
  // Nothing fits: minimise the excess.
  for (int64_t w = 8; w > warps; w /= 2)
    if (canShare(rows, columns, w) && canShare(rows, step, w)) {
      grid.warps = w;
      return;
    }
}

/// The root's elements combine several parts of the product's rows: rows of
/// whole heads. A program then takes one part after the other.
bool planParts(KernelGrid &grid, const ProductShape &p) {
  ArrayRef<int64_t> shape = shapeOf(grid.root);
  int64_t own = shape[p.columns], width = p.digits.width;
  if (width == own || width % own || width % 16)
    return false;
  int outer = p.digits.outer;
  for (int d = 0; d < int(shape.size()); ++d)
    if (shape[d] == width / own && !llvm::is_contained(p.along, d))
      grid.inTurn = d;
  if (grid.inTurn < 0)
    return false;
  int64_t heads = outer < 0 ? 1 : shape[outer], others = heads * width;
  for (int d = 0; d < int(shape.size()); ++d)
    if (d != p.rows && d != p.columns && d != outer && d != grid.inTurn)
      others *= shape[d];
  int64_t rows = shape[p.rows];
  bool large = llvm::divideCeil(rows, 128) * others >= 64 * 128;
  int64_t most = large ? 128 : 64;
  grid.blocks[p.columns] = own;
  if (outer >= 0)
    grid.blocks[outer] = std::clamp<int64_t>(most / width, 1, heads);
  int64_t columns = width * (outer < 0 ? 1 : grid.blocks[outer]);
  grid.blocks[p.rows] = block(rows, columns <= 128 ? most : 64, 64);
  grid.warps = large ? 8 : 4;
  return true;
}

/// Whether little follows a product: at most one more tensor of its size is
/// read or stored, and only sums and scalings are computed, none on its
/// operands. Then 4 warps have registers for blocks of 128 x 128, 128 per
/// thread. Each warp loads half of the blocks for a quarter of the result, and
/// two programs share a multiprocessor: one computes while the other waits. On
/// an H200 this is 1.35 times as fast as 8 warps.
bool isNearlyPlain(Value root, ValueRange results) {
  llvm::SmallPtrSet<Value, 4> others;
  bool computes = false;
  int64_t size = cast<RankedTensorType>(root.getType()).getNumElements();
  for (Value v : results) {
    Value u = unshaped(v);
    llvm::DenseMap<Value, Dims> seen;
    visitBehind(u, identity(u), seen, [&](linalg::GenericOp op, const Dims &) {
      if (factorsOf(op)) {
        computes |= !llvm::all_of(op.getDpsInputs(), argumentBehind);
        return false;
      }
      computes |=
          drawsNumbers(op) || llvm::any_of(*op.getBody(), [](Operation &o) {
            return isa_and_present<math::MathDialect>(o.getDialect());
          });
      for (Value input : op.getDpsInputs())
        if (auto type = dyn_cast<RankedTensorType>(input.getType());
            type && type.getNumElements() == size)
          if (Value argument = argumentBehind(input))
            others.insert(argument);
      return true;
    });
  }
  return !computes && others.size() + results.size() <= 2;
}

/// Blocks of a product's rows and columns. Three cases:
///
/// - rows of whole heads, one part after the other (planParts);
/// - a product with a computed operand, such as attention: all columns in one
///   program, or the operand would be computed once per block of columns;
/// - any other: square blocks, of 64 if 128 would give too few programs to fill
///   the card.
void planProduct(KernelGrid &grid, const ProductShape &p, ValueRange results,
                 ValueRange summed, int64_t tightness) {
  if (!p.computed && planParts(grid, p)) {
    tighten(grid, p.rows, tightness);
    return;
  }
  ArrayRef<int64_t> shape = shapeOf(grid.root);
  int64_t rows = shape[p.rows], columns = shape[p.columns];
  if (p.computed && columns <= 512) {
    // The operands' cost is paid once per row.
    int64_t width = llvm::alignTo(columns, 16);
    grid.blocks[p.columns] = width;
    grid.blocks[p.rows] = block(rows, width <= 128 ? 128 : 64, 64);
    grid.warps = width <= 64 || grid.blocks[p.rows] <= 64 ? 4 : 8;
    tighten(grid, p.rows, tightness);
    fitRegisters(grid, p, results, summed);
    return;
  }
  int64_t others = 1;
  for (size_t d = 0; d < shape.size(); ++d)
    if (int(d) != p.rows && int(d) != p.columns)
      others *= shape[d];
  bool large =
      others * llvm::divideCeil(rows, 128) * llvm::divideCeil(columns, 128) >=
      64;
  int64_t most = large ? 128 : 64;
  grid.blocks[p.rows] = block(rows, most, 64);
  grid.blocks[p.columns] = block(columns, most, 16);
  grid.warps =
      large && (p.isWide || !isNearlyPlain(grid.root, results)) ? 8 : 4;
  // 128 concurrent programs in one row read blocks of 1 row and 128 columns; in
  // 8 rows they read those of 8 and 16, a fifth as much.
  constexpr int64_t together = 8, atOnce = 128;
  if (p.columns == int(shape.size()) - 1 && grid.programs() > atOnce)
    grid.rowsTogether = together;
  tighten(grid, p.rows, tightness);
}

/// Whether a block of `v` with these extents splits into blocks. Where one
/// dimension collapses several, it must take a single one, or be whole after
/// the first.
bool isMadeOfBlocks(Value v, ArrayRef<int64_t> extents) {
  if (argumentBehind(v))
    return true;
  auto isWide = [](RankedTensorType t, int64_t d) {
    return t.getDimSize(d) > 1;
  };
  Operation *op = v.getDefiningOp();
  if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
    if (llvm::any_of(*generic.getBody(), llvm::IsaPred<tensor::ExtractOp>))
      return false;
    SmallVector<int64_t> loops(generic.getNumLoops(), 1);
    AffineMap map = generic.getMatchingIndexingMap(
        generic.getDpsInitOperand(cast<OpResult>(v).getResultNumber()));
    for (auto [e, n] : llvm::zip(map.getResults(), extents))
      if (auto dim = dyn_cast<AffineDimExpr>(e))
        loops[dim.getPosition()] = n;
    return llvm::all_of(generic.getDpsInputOperands(), [&](OpOperand *input) {
      if (!isa<RankedTensorType>(input->get().getType()))
        return true;
      SmallVector<int64_t> own;
      SmallVector<unsigned> order;
      for (AffineExpr e : generic.getMatchingIndexingMap(input).getResults()) {
        auto dim = dyn_cast<AffineDimExpr>(e);
        own.push_back(dim ? loops[dim.getPosition()] : 1);
        if (own.back() > 1)
          order.push_back(dim.getPosition());
      }
      // Only loads can be transposed in more than two dimensions.
      return argumentBehind(input->get()) ||
             ((order.size() <= 2 || llvm::is_sorted(order)) &&
              isMadeOfBlocks(input->get(), own));
    });
  }
  SmallVector<int64_t> moved;
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    for (const ReassociationIndices &group : expand.getReassociationIndices()) {
      int64_t n = 1;
      for (int64_t d : group) {
        if (isWide(expand.getResultType(), d) && n > 1)
          return false;
        n = std::max(n, extents[d]);
      }
      moved.push_back(n);
    }
    return isMadeOfBlocks(expand.getSrc(), moved);
  }
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    RankedTensorType from = collapse.getSrcType();
    for (auto [n, group] :
         llvm::zip(extents, collapse.getReassociationIndices())) {
      int64_t all = 1;
      for (int64_t i : group)
        all *= from.getDimSize(i);
      int64_t rest = std::min(n, all);
      SmallVector<int64_t> own(group.size(), 1);
      for (size_t i = group.size(); i-- > 0;) {
        own[i] = std::min(rest, from.getDimSize(group[i]));
        if (rest % own[i] || (i && own[i] < from.getDimSize(group[i]) && n > 1))
          return false;
        rest /= own[i];
      }
      moved.append(own);
    }
    return isMadeOfBlocks(collapse.getSrc(), moved);
  }
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return slice.getSourceType().getRank() == int64_t(extents.size()) &&
           isMadeOfBlocks(slice.getSource(), extents);
  return isa<linalg::FillOp, arith::ConstantOp, tensor::EmptyOp>(op);
}

/// Adds rows before the block's last dimension, as many as there is room for.
/// If a block takes all of them, earlier dimensions follow, so that short heads
/// do not make tiny programs.
void addRows(KernelGrid &grid, RowSums sums) {
  ArrayRef<int64_t> shape = shapeOf(grid.root);
  int64_t inner = grid.blocks.back();
  for (size_t last = shape.size() - 1, d = last; d-- > 0;) {
    int64_t rows = 1;
    while (rows * 2 <= shape[d] &&
           (rows * 2 * inner <= blockElements ||
            (rows * inner % (8 * threads) && rows * inner <= blockElements)))
      rows *= 2;
    if (d + 1 < last) {
      if (sums != RowSums::None || grid.blocks[d + 1] < shape[d + 1])
        return;
      if (shape[d] * inner <= blockElements && shape[d] * inner % threads == 0)
        rows = shape[d];
      grid.blocks[d] = rows;
      if (rows > 1 && !isMadeOfBlocks(grid.root, grid.blocks)) {
        grid.blocks[d] = 1;
        return;
      }
    }
    grid.blocks[d] = rows;
    inner *= rows;
  }
}

/// Blocks of a kernel in which `parts` programs loop over rows. Twice as many
/// rows give few programs more parallel work, but there are never fewer blocks
/// than programs, and no thread gets copies.
void planRows(KernelGrid &grid, int64_t parts) {
  size_t last = grid.blocks.size() - 1;
  if (last == 0)
    return;
  int64_t &rows = grid.blocks[last - 1], width = grid.blocks[last];
  auto shared = [&](int64_t n, int64_t warps) {
    return n * width % (8 * 32 * warps) == 0;
  };
  if (width > 2 * blockElements) {
    grid.warps = 16;
    return;
  }
  if (rows * 2 * width <= 2 * blockElements && shared(rows * 2, 8) &&
      rows * 2 <= shapeOf(grid.root)[last - 1])
    rows *= 2;
  while (rows > 1 && rows * width > blockElements / 2 &&
         grid.programs() < parts && shared(rows / 2, 4))
    rows /= 2;
  if (shared(rows, 8))
    grid.warps = 8;
}

} // namespace

int64_t KernelGrid::blocksOf(size_t dim) const {
  return llvm::divideCeil(shapeOf(root)[dim], blocks[dim]);
}

int64_t KernelGrid::countOf(size_t dim) const {
  if (int(dim) == inTurn || (goesOverColumns && dim + 1 == blocks.size()))
    return 1;
  return blocksOf(dim);
}

int64_t KernelGrid::programs() const {
  int64_t n = 1;
  for (size_t d = 0; d < blocks.size(); ++d)
    n *= countOf(d);
  return n;
}

int64_t KernelGrid::columnsOfProduct(int64_t rows, int64_t columns) const {
  int64_t n = llvm::alignTo(columns, 16);
  while (rows % 16 == 0 && !canShare(rows, n, warps))
    n += 16;
  return n;
}

Value act::tile::unshaped(Value v) {
  while (Operation *op = v.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      break;
    v = op->getOperand(0);
  }
  return v;
}

SmallVector<int> act::tile::loopsAlong(linalg::GenericOp op,
                                       const KernelGrid &grid) {
  llvm::DenseMap<Value, Dims> ofRoot;
  visitBehind(grid.root, identity(grid.root), ofRoot,
              [](linalg::GenericOp, const Dims &) { return true; });
  Dims loops(op.getNumLoops(), -1);
  for (OpOperand *input : inputsAlong(op))
    if (auto it = ofRoot.find(input->get()); it != ofRoot.end())
      for (auto [e, d] :
           llvm::zip(op.getMatchingIndexingMap(input).getResults(), it->second))
        if (auto dim = dyn_cast<AffineDimExpr>(e); dim && d >= 0)
          loops[dim.getPosition()] = d;
  return loops;
}

int64_t act::tile::rowExtent(int64_t width) {
  if (width < 64)
    return width;
  for (int64_t unit = 8 * threads; unit > 1; unit /= 2)
    if (int64_t extent = llvm::alignTo(width, unit); extent * 16 <= width * 17)
      return extent;
  return width;
}

// A product behind the root decides, if there is one. Otherwise rows decide: a
// program has whole rows where rows are summed, as far as registers allow, and
// else blocks of about `blockElements`.
KernelGrid act::tile::planGrid(ValueRange results, ValueRange summed,
                               int64_t tightness, int64_t parts) {
  KernelGrid grid;
  // The largest; on a tie the one with most dimensions, from which those of the
  // others follow.
  auto size = [](Value v) {
    auto type = cast<RankedTensorType>(v.getType());
    return std::pair(type.getNumElements(), type.getRank());
  };
  for (Value v : results) {
    Value u = unshaped(v);
    if (!grid.root || size(u) > size(grid.root))
      grid.root = u;
  }
  ArrayRef<int64_t> shape = shapeOf(grid.root);
  grid.blocks.assign(shape.size(), 1);
  if (auto p = anyProductBehind(grid.root)) {
    // The same number of bytes and registers for every type.
    if (p->isWide)
      grid.step /= 2;
    if (p->rows >= 0 && p->columns >= 0) {
      planProduct(grid, *p, results, summed, tightness);
      return grid;
    }
    // For a summed product: the sides that remain, or none.
    const int side = std::max(p->rows, p->columns);
    if (side >= 0)
      grid.blocks[side] = block(shape[side], 64, 16);
    tighten(grid, side, tightness);
    return grid;
  }
  if (shape.empty())
    return grid;
  size_t last = shape.size() - 1;
  RowSums sums = rowSums(grid.root);
  bool whole = shape[last] <= wholeRow && sums == RowSums::Along;
  if (sums == RowSums::Along && !whole && !parts && summed.empty()) {
    grid.goesOverColumns = true;
    grid.blocks[last] = blockElements;
    grid.warps = 8;
    return grid;
  }
  int64_t most = sums == RowSums::Beside ? 16 : 1024;
  grid.blocks[last] =
      whole || shape[last] <= most ? rowExtent(shape[last]) : most;
  if (last > 0 && sums != RowSums::Beside)
    addRows(grid, sums);
  if (grid.blocks[last] > 2 * blockElements)
    grid.warps = 8;
  if (parts)
    planRows(grid, parts);
  return grid;
}

// Joined kernels must have the same number of warps
// (passes/emit/JoinLaunches.h), and launches are joined before kernels exist.
// So the grid is planned here by the same function as later.
FailureOr<KernelKind> act::tile::kindOf(func::FuncOp function) {
  // Look at the form that it is converted in; without reshapes that is
  // `function` itself.
  OwningOpRef<func::FuncOp> copy;
  if (function
          .walk([](Operation *op) {
            return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op)
                       ? WalkResult::interrupt()
                       : WalkResult::advance();
          })
          .wasInterrupted()) {
    copy = function.clone();
    function = *copy;
    if (failed(foldTransposes(function)))
      return failure();
  }
  SmallVector<Value> results(
      function.getBody().front().getTerminator()->getOperands());
  // As for the kernel, results with parts do not shape the grid.
  int64_t parts = 0;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (act::ArgumentRoleAttr role = act::roleOf(function, i);
        role && role.getKind() == act::ArgumentRoleKind::Parts) {
      parts = shapeOf(function.getArgument(i))[0];
      results[role.getResult()] = Value();
    }
  llvm::erase(results, Value());
  KernelKind kind;
  kind.warps = planGrid(results, {}, 0, parts).warps;
  function.walk(
      [&](linalg::GenericOp op) { kind.products += !!factorsOf(op); });
  return kind;
}

FailureOr<SmallVector<int>> act::tile::dimensionsOf(Value v,
                                                    const KernelGrid &grid) {
  ArrayRef<int64_t> shape = shapeOf(v), root = shapeOf(grid.root);
  auto all = [](linalg::GenericOp, const Dims &) { return true; };
  // Match dimensions through common operands. If both results read a tensor,
  // the dimensions along which they read it count the same.
  llvm::DenseMap<Value, Dims> ofRoot, ofValue;
  visitBehind(grid.root, identity(grid.root), ofRoot, all);
  visitBehind(v, identity(v), ofValue, all);
  Dims best;
  size_t matched = 0;
  for (auto &[tensor, own] : ofValue) {
    auto it = ofRoot.find(tensor);
    if (it == ofRoot.end())
      continue;
    Dims dims(shape.size(), -1);
    size_t n = 0;
    for (auto [o, r] : llvm::zip(own, it->second))
      if (o >= 0 && r >= 0 && dims[o] < 0 && shape[o] == root[r] &&
          !llvm::is_contained(dims, r)) {
        dims[o] = r;
        ++n;
      }
    if (best.empty() || n > matched) {
      best = dims;
      matched = n;
    }
  }
  // Match dimensions by size, in order. It finds more where the results have no
  // operand in common, or where a reshape hides what is along what.
  Dims bySize(shape.size(), -1);
  size_t next = 0, n = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    for (size_t r = next; r < root.size(); ++r)
      if (shape[d] == root[r]) {
        bySize[d] = r;
        next = r + 1;
        ++n;
        break;
      }
  if (n > matched)
    best = bySize;
  best.resize(shape.size(), -1);
  // A product's rows must be along the grid: there are many.
  if (auto p = productBehind(v); p && v != grid.root && best[p->rows] < 0)
    return failure();
  int64_t whole = 1;
  for (auto [d, size] : llvm::zip(best, shape))
    if (d < 0)
      whole *= size;
  if (whole > wholeRow)
    return failure();
  return best;
}
