// SPDX-License-Identifier: Apache-2.0
//
// The loops over tiles of scores shared by attention and its gradient.
//
//              key blocks of `columns` ->
//   query     +--------+--------+----+   A block (f, g) starts at row f and
//   blocks    |        |        |    |   column g. If a length is no multiple,
//   of `rows` +--------+--------+----+   the last block is moved back to end at
//             |        |        |    |   the border: all tiles have one static
//             +--------+--------+----+   shape. Its overlap with the block
//             |        |        |    |   before is masked (while summing) or
//             +--------+--------+----+   not stored (results).
//
// Everything is in the dense form: q [b, s, heads, d], k and v [b, s_kv,
// kv_heads, d], statistics [b, heads, s]; a packed batch is b = 1 with
// boundaries. `firstColumn .. endColumn` of a query block (and the reverse)
// leave out blocks in which causality, window or boundaries hide everything.
#ifndef ACT_DIALECTS_ACT_ATTENTIONTILES_H
#define ACT_DIALECTS_ACT_ATTENTIONTILES_H
#include "dialects/act/LinalgBuilder.h"
#include "dialects/act/Philox.h"

namespace act {

/// exp(x - most); 0 if both are -inf.
mlir::Value power(Scalars &s, mlir::Value x, mlir::Value most);

class AttentionTiles {
public:
  /// The op's options; operands are the converted ones.
  struct Options {
    double scale;
    bool causal, topLeft;
    std::optional<int64_t> window;
    std::optional<double> softcap, dropout;
    mlir::Region *score = nullptr;
    mlir::Value mask, boundaries, bias, seed, step, site;
  };

  /// Where a tile of scores is. All are index values.
  struct Tile {
    mlir::Value batch, head;   // query head
    mlir::Value firstRow, row; // block's start, and start as moved back
    mlir::Value firstColumn, column;
    mlir::Value rowLow, rowHigh; // tensors<rows x i32>: a row's sequence
  };

  AttentionTiles(mlir::OpBuilder &b, mlir::Location loc, mlir::Value q,
                 mlir::Value k, mlir::Value v, const Options &options);

  /// [.., heads, d] as [b, s, heads, d], and [.., heads, s] as [b, heads, s].
  mlir::Value dense(mlir::Value tensor);
  mlir::Value denseStatistic(mlir::Value tensor);

  mlir::Value index(int64_t value);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value min(mlir::Value x, mlir::Value y);
  mlir::Value max(mlir::Value x, mlir::Value y);

  mlir::Value kvHead(mlir::Value head);
  /// The start of a block, moved back from the border.
  mlir::Value rowOf(mlir::Value firstRow);
  mlir::Value columnOf(mlir::Value firstColumn);
  /// [count, d] at row `row` of a head of a dense tensor.
  mlir::Value rowsOf(mlir::Value tensor, mlir::Value batch, mlir::Value row,
                     mlir::Value head, int64_t count);
  /// [rows] of a statistic.
  mlir::Value statisticOf(mlir::Value tensor, const Tile &tile);
  /// Fills in rowLow and rowHigh when there are boundaries.
  void setSequences(Tile &tile);

  /// Key blocks that a query block may see, and query blocks that may see a
  /// key block: a lower bound (a multiple of the block's length) and an upper.
  std::pair<mlir::Value, mlir::Value> columnRange(const Tile &tile);
  std::pair<mlir::Value, mlir::Value> rowRange(const Tile &tile);

  /// sum over the last dimension of x [m, k] and y [n, k]: [m, n].
  mlir::Value product(mlir::Value x, mlir::Value y);
  /// acc [m, n] + x [m, k] y [k, n], or x [k, m] when `transposed`.
  mlir::Value accumulate(mlir::Value acc, mlir::Value x, mlir::Value y,
                         bool transposed);
  /// One generic that reads and overwrites `out`; inputs first, then out.
  mlir::Value update(mlir::Value out,
                     llvm::ArrayRef<LinalgBuilder::Input> inputs,
                     LinalgBuilder::Body body);

  /// acc [those of m, n that are `loops`] + x [m, n] summed over the others.
  mlir::Value addOver(mlir::Value acc, mlir::Value x,
                      llvm::ArrayRef<int64_t> loops,
                      llvm::ArrayRef<int64_t> summed);

  /// The inputs of a score other than the product, placed after an op's own
  /// inputs: bias, mask, boundaries.
  llvm::SmallVector<LinalgBuilder::Input> scoreInputs(const Tile &tile);
  /// The score of an element from the raw product, -inf where it is hidden,
  /// and, when `wantSlope`, d score / d raw and d score / d bias. `inputs` are
  /// the body's arguments for scoreInputs. `rowsRepeat`: rows before firstRow
  /// were seen before.
  struct Score {
    mlir::Value value, slope, biasSlope, visible;
  };
  Score score(Scalars &s, const Tile &tile, mlir::Value raw,
              mlir::ValueRange inputs, bool wantSlope, bool rowsRepeat);
  /// Dropout of an element: x times 1 / (1 - p), or 0.
  mlir::Value drop(Scalars &s, const Tile &tile, mlir::Value x);

  /// The same for one element at any position: index values. `others` are
  /// further conditions of the caller for it to be visible.
  struct Position {
    mlir::Value batch, head, query, key;
  };
  Score scoreAt(Scalars &s, const Position &at, mlir::Value raw,
                mlir::ValueRange inputs, bool wantSlope,
                mlir::ValueRange others = {});
  mlir::Value dropAt(Scalars &s, const Position &at, mlir::Value x);
  /// For `count` rows from `first` (an index): the boundaries of the sequence
  /// that each belongs to, tensors<count x i32>, lower and upper.
  mlir::Value rowBounds(mlir::Value first, int64_t count, bool low);

  /// The key aligned with query 0, for causality and windows.
  int64_t shift() const { return options.topLeft ? 0 : kv - s; }
  /// [b, heads, s, s_kv], of 1 where the bias is for all.
  llvm::SmallVector<int64_t> biasShape();
  mlir::Value denseBias();

  /// scf.forall over (batch, heads, blocks of `length`), with `outputs`; the
  /// body gets (batch, head, first) and returns one [block, ...] tile per
  /// output, of which rows before `first` are left out.
  struct Output {
    mlir::Value tensor;
    int64_t blockDim; // the dimension of `tensor` that blocks are along
  };
  llvm::SmallVector<mlir::Value>
  forEachBlock(int64_t batch, int64_t heads, int64_t length, int64_t block,
               llvm::ArrayRef<Output> outputs,
               llvm::function_ref<llvm::SmallVector<mlir::Value>(
                   mlir::Value, mlir::Value, mlir::Value)>
                   body);

  mlir::OpBuilder &b;
  mlir::Location loc;
  LinalgBuilder l;
  Options options;
  mlir::Value q, k, v;
  int64_t batch, s, kv, heads, kvHeads, d, dv;
  int64_t rows, columns;

private:
  mlir::Value sequenceBound(mlir::Value at, bool low);
  std::optional<PhiloxKey> key;
};

/// The options of act.attention or act.attention_grad, whose attributes and
/// operands have the same names.
template <typename Op>
AttentionTiles::Options attentionOptions(Op op, typename Op::Adaptor in) {
  AttentionTiles::Options o;
  o.scale = op.getScale().convertToDouble();
  o.causal = op.getCausal();
  o.topLeft = op.getTopLeft();
  if (op.getWindow())
    o.window = *op.getWindow();
  if (op.getSoftcap())
    o.softcap = op.getSoftcap()->convertToDouble();
  if (op.getDropout() && op.getDropout()->convertToDouble() > 0)
    o.dropout = op.getDropout()->convertToDouble();
  if (op->getNumRegions())
    o.score = &op->getRegion(0);
  o.mask = in.getMask();
  o.boundaries = in.getCuSeqlens();
  o.bias = in.getBias();
  o.seed = in.getSeed();
  o.step = in.getStep();
  o.site = in.getSite();
  return o;
}

} // namespace act
#endif
