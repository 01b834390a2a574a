// SPDX-License-Identifier: Apache-2.0
// Contractions: one generic that accumulates in f32 (f64 for f64), with the
// transposes in its maps, then one that rounds (and adds the bias). For GPUs, a
// product of few blocks is split into parts.
#include "act/Nf4/Nf4.h"
#include "dialects/act/KernelForm.h"
#include "dialects/act/LinalgBuilder.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace act;

namespace {

/// sum over k, the last of the loops, of lhs[left] * rhs[right].
struct Product {
  Value lhs, rhs;
  SmallVector<int64_t> ranges, left, right;

  int64_t k() const { return ranges.size() - 1; }
  void cut(LinalgBuilder &l, int64_t parts);
  Value sum(LinalgBuilder &l) const;
};

} // namespace

// Splits dimension `dim` of `v` in two, the first with `parts`. A collapsed
// value is collapsed anew, so that a transpose behind it still sees its parts.
static Value cutDimension(LinalgBuilder &l, Value v, int64_t dim,
                          int64_t parts) {
  SmallVector<int64_t> shape(shapeOf(v));
  int64_t rest = shape[dim] / parts;
  shape[dim] = parts;
  shape.insert(shape.begin() + dim + 1, rest);
  Value source = v;
  SmallVector<ReassociationIndices> groups;
  while (auto collapse = source.getDefiningOp<tensor::CollapseShapeOp>()) {
    SmallVector<ReassociationIndices> own = collapse.getReassociationIndices();
    if (!groups.empty())
      own = *composeReassociationIndices(own, groups, l.b.getContext());
    groups = own;
    source = collapse.getSrc();
  }
  if (groups.empty() || isa<BlockArgument>(source))
    return l.reshape(v, shape);
  SmallVector<int64_t> wide(shapeOf(source));
  int64_t first =
      *llvm::find_if(groups[dim], [&](int64_t d) { return wide[d] > 1; });
  SmallVector<ReassociationIndices> expanded(wide.size());
  for (int64_t d = 0, at = 0, n = wide.size(); d < n; ++d)
    for (int64_t i = 0; i < (d == first ? 2 : 1); ++i)
      expanded[d].push_back(at++);
  wide[first] /= parts;
  wide.insert(wide.begin() + first, parts);
  auto type = RankedTensorType::get(wide, elementOf(v));
  source = tensor::ExpandShapeOp::create(l.b, l.loc, type, source, expanded);
  return l.reshape(source, shape);
}

// Loop k becomes a first loop over the parts and a last one over the rest.
void Product::cut(LinalgBuilder &l, int64_t parts) {
  int64_t rest = ranges.back() / parts, last = k();
  auto cutOperand = [&](Value &v, SmallVector<int64_t> &loops) {
    v = cutDimension(l, v, llvm::find(loops, last) - loops.begin(), parts);
    SmallVector<int64_t> moved;
    for (int64_t loop : loops) {
      if (loop == last)
        moved.push_back(0);
      moved.push_back(loop + 1);
    }
    loops = moved;
  };
  cutOperand(lhs, left);
  cutOperand(rhs, right);
  ranges.back() = rest;
  ranges.insert(ranges.begin(), parts);
}

// In the computation type.
Value Product::sum(LinalgBuilder &l) const {
  return l.sum(ranges, {k()}, {l.at(lhs, left), l.at(rhs, right)},
               [](Scalars &s, ValueRange x) { return s.mul(x[0], x[1]); });
}

// lhs [..., m, k] (or [..., k, m]) times one matrix for all of lhs; the result
// has lhs's leading dimensions collapsed into the rows.
static Product timesMatrix(LinalgBuilder &l, Value lhs, Value rhs,
                           bool rhsIsNK) {
  ArrayRef<int64_t> shape = shapeOf(lhs);
  int64_t k = shape.back(), m = 1, n = shapeOf(rhs)[rhsIsNK ? 0 : 1];
  for (int64_t size : shape.drop_back())
    m *= size;
  SmallVector<int64_t> right{1, 2};
  if (!rhsIsNK)
    right = {2, 1};
  return {l.reshape(lhs, {m, k}), rhs, {m, n, k}, {0, 2}, right};
}

static Product productOf(LinalgBuilder &l, MatmulOp op, Value lhs, Value rhs) {
  int64_t rank = shapeOf(lhs).size(), rhsRank = shapeOf(rhs).size();
  if (rhsRank == 2 && !op.getTransposeLhs())
    return timesMatrix(l, lhs, rhs, op.getTransposeRhs());
  // Loops: the leading dimensions, m, n, k.
  int64_t lead = rank - 2, m = lead, n = lead + 1, k = lead + 2;
  Product p{lhs, rhs, {}, {}, {}};
  llvm::append_range(p.ranges, op.getResult().getType().getShape());
  p.ranges.push_back(shapeOf(lhs)[op.getTransposeLhs() ? rank - 2 : rank - 1]);
  for (int64_t i = 0; i < lead; ++i) {
    p.left.push_back(i);
    if (rhsRank > 2)
      p.right.push_back(i);
  }
  p.left.append({op.getTransposeLhs() ? k : m, op.getTransposeLhs() ? m : k});
  p.right.append({op.getTransposeRhs() ? n : k, op.getTransposeRhs() ? k : n});
  return p;
}

LogicalResult MatmulOp::lowerToLinalg(OpBuilder &b, ValueRange operands,
                                      SmallVectorImpl<Value> &results) {
  auto type = plainTensor(getResult().getType());
  LinalgBuilder l(b, getLoc(),
                  {operands[0].getType(), operands[1].getType(), type});
  Value product = productOf(l, *this, operands[0], operands[1]).sum(l);
  product = l.rounded(product, type.getElementType());
  results.push_back(l.reshape(product, type.getShape()));
  return success();
}

// Into how many parts dimension `dim` of `v` can be cut. A reordered view can
// only be cut along the first of the dimensions that were merged.
static int64_t cutsOf(Value v, int64_t dim) {
  ArrayRef<int64_t> shape = shapeOf(v);
  Value source = v;
  while (auto reshape = source.getDefiningOp<ReshapeOp>())
    source = reshape.getInput();
  if (!source.getDefiningOp<TransposeOp>() || source == v)
    return shape[dim];
  int64_t before = 1, at = 1;
  for (int64_t size : shape.take_front(dim))
    before *= size;
  for (int64_t size : shapeOf(source)) {
    if (at == before && size > 1)
      return size;
    at *= size;
  }
  return 1;
}

/// Split-K for products that are too small for a GPU: the number of parts into
/// which the sum of `op` is cut; 1 if it is not. It depends on the op's sizes
/// and the views that it reads, not on its users: the same product has the same
/// bits, whatever is kept or fused.
static int64_t partsOfProduct(Operation *op) {
  // Blocks of 64x64 keep about as many SMs busy as there are. The shortest part
  // is long enough that most of its memory traffic is operands.
  constexpr int64_t block = 64, fewBlocks = 32, busy = 128, shortest = 512,
                    most = 16;
  int64_t others = 1, dims[2]; // of k
  bool shared = true;
  if (auto linear = dyn_cast<LinearOp>(op)) {
    if (linear.getLoraA() ||
        isa<NF4Type>(linear.getWeight().getType().getElementType()))
      return 1;
    dims[0] = linear.getInput().getType().getRank() - 1;
    dims[1] = linear.getInOut() ? 0 : 1;
  } else if (auto matmul = dyn_cast<MatmulOp>(op)) {
    dims[0] = matmul.getLhs().getType().getRank() -
              (matmul.getTransposeLhs() ? 2 : 1);
    dims[1] = matmul.getRhs().getType().getRank() -
              (matmul.getTransposeRhs() ? 1 : 2);
    shared =
        matmul.getRhs().getType().getRank() == 2 && !matmul.getTransposeLhs();
  } else {
    return 1;
  }
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  int64_t k = shapeOf(op->getOperand(0))[dims[0]];
  if (!type.hasStaticShape() || ShapedType::isDynamic(k) ||
      type.getRank() < 2 || type.getNumElements() == 0)
    return 1;
  int64_t columns = type.getShape().back(), rows = type.getShape().end()[-2];
  for (int64_t size : type.getShape().drop_back(2))
    (shared ? rows : others) *= size;
  int64_t blocks =
      others * llvm::divideCeil(rows, block) * llvm::divideCeil(columns, block);
  auto canBeCut = [&](int64_t n) {
    return k % (n * block) == 0 &&
           cutsOf(op->getOperand(0), dims[0]) % n == 0 &&
           cutsOf(op->getOperand(1), dims[1]) % n == 0;
  };
  int64_t parts = 1;
  while (blocks <= fewBlocks && parts < most && 2 * parts * blocks <= busy &&
         k / (2 * parts) >= shortest && canBeCut(2 * parts))
    parts *= 2;
  return parts;
}

/// [parts, result's dimensions] in the computation type.
static RankedTensorType partsOfProductType(Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  int64_t parts = partsOfProduct(op);
  return prepend(withElement(type, computeType(type.getElementType())), parts,
                 std::to_string(parts));
}

/// The sum over k is cut, so each part is a product over a range of k, kept in
/// the computation type.
static Value partsOf(OpBuilder &b, Operation *op, ValueRange operands) {
  LinalgBuilder l(b, op->getLoc(), operands.getTypes());
  auto linear = dyn_cast<LinearOp>(op);
  Product p = linear
                  ? timesMatrix(l, operands[0], operands[1], !linear.getInOut())
                  : productOf(l, cast<MatmulOp>(op), operands[0], operands[1]);
  p.cut(l, partsOfProduct(op));
  return l.reshape(p.sum(l), partsOfProductType(op).getShape());
}

/// The result of `op` from its `parts`, in order; of `operands` only a bias is
/// read.
static Value productOfParts(OpBuilder &b, Operation *op, ValueRange operands,
                            Value parts) {
  auto type = plainTensor(op->getResult(0).getType());
  LinalgBuilder l(b, op->getLoc(), {parts.getType()});
  SmallVector<LinalgBuilder::Input> inputs;
  for (int64_t i = 0, n = shapeOf(parts)[0]; i < n; ++i)
    inputs.push_back(
        l.whole(l.reshape(l.slice(parts, 0, i, 1), type.getShape())));
  auto linear = dyn_cast<LinearOp>(op);
  if (linear && linear.getBias())
    inputs.push_back(l.at(LinearOp::Adaptor(operands, linear).getBias(),
                          {type.getRank() - 1}));
  return l.map(type.getShape(), inputs, type.getElementType(),
               [](Scalars &s, ValueRange x) {
                 Value sum = x[0];
                 for (Value next : x.drop_front())
                   sum = s.add(sum, next);
                 return sum;
               });
}

// The first kernel stores the parts, the last one adds them up and goes on with
// what follows. The host has no use for it.
static SmallVector<KernelStage> productStages(Operation *op, LinalgForm form) {
  if (form == LinalgForm::Tiles || partsOfProduct(op) == 1)
    return {};
  return {{KernelStage::Main}, {KernelStage::Last}};
}

static LogicalResult lowerProductStage(StageBuilder &stage, Operation *op,
                                       unsigned number) {
  SmallVector<Value> operands = stage.operands(op);
  if (number == 0)
    stage.writeScratch(partsOf(stage.b, op, operands));
  else
    stage.set(op->getResult(0),
              productOfParts(stage.b, op, operands, stage.readScratch()));
  return success();
}

static RankedTensorType productScratch(Operation *op, LinalgForm form) {
  return productStages(op, form).empty() ? RankedTensorType()
                                         : plainTensor(partsOfProductType(op));
}

#define PRODUCT_STAGES(OP)                                                     \
  SmallVector<KernelStage> OP::getStages(LinalgForm form) {                    \
    return productStages(*this, form);                                         \
  }                                                                            \
  LogicalResult OP::lowerStage(StageBuilder &stage, unsigned number) {         \
    return lowerProductStage(stage, *this, number);                            \
  }                                                                            \
  RankedTensorType OP::getScratchType(LinalgForm form) {                       \
    return productScratch(*this, form);                                        \
  }
PRODUCT_STAGES(MatmulOp)
PRODUCT_STAGES(LinearOp)

// absmax of every block, f32, from the bytes after the codes.
static Value absmax(LinalgBuilder &l, Value bytes, int64_t offset,
                    ArrayRef<int64_t> blocks) {
  SmallVector<int64_t> ranges(blocks);
  ranges.push_back(4);
  Value tail = l.reshape(
      l.slice(bytes, 0, offset, ShapedType::getNumElements(ranges)), ranges);
  int64_t last = blocks.size();
  OpBuilder &b = l.b;
  return l.reduce(
      ranges, {last}, {l.whole(tail)}, b.getI32IntegerAttr(0),
      [&](Scalars &s, ValueRange x) -> Value {
        Value byte = arith::ExtUIOp::create(s.b, s.loc, s.b.getI32Type(), x[0]);
        Value shift = arith::MulIOp::create(
            s.b, s.loc,
            arith::IndexCastOp::create(s.b, s.loc, s.b.getI32Type(),
                                       s.loop(last)),
            s.i32(8));
        return arith::OrIOp::create(
            s.b, s.loc, x[1], arith::ShLIOp::create(s.b, s.loc, byte, shift));
      },
      b.getI32Type());
}

// The same from 8-bit codes, followed by an f32 for each group and the mean.
// Those are read bytewise in place: a block's group is not a loop.
static Value nestedAbsmax(LinalgBuilder &l, Value bytes, const nf4::Layout &at,
                          ArrayRef<int64_t> blocks) {
  std::array<float, 256> levels = nf4::scaleLevels();
  Value table = arith::ConstantOp::create(
      l.b, l.loc,
      DenseElementsAttr::get(RankedTensorType::get({256}, l.b.getF32Type()),
                             ArrayRef<float>(levels)));
  int64_t count = ShapedType::getNumElements(blocks);
  Value codes = l.reshape(l.slice(bytes, 0, at.scales, count), blocks);
  return l.map(
      blocks, {l.whole(codes)}, l.b.getI32Type(),
      [&](Scalars &s, ValueRange x) -> Value {
        OpBuilder &b = s.b;
        auto number = [&](Value at) {
          Value bits = s.i32(0);
          for (int64_t i = 0; i < 4; ++i) {
            Value byte = tensor::ExtractOp::create(
                b, s.loc, bytes,
                ValueRange(arith::AddIOp::create(b, s.loc, at, s.index(i))));
            byte = arith::ExtUIOp::create(b, s.loc, b.getI32Type(), byte);
            byte = arith::ShLIOp::create(b, s.loc, byte, s.i32(8 * i));
            bits = arith::OrIOp::create(b, s.loc, bits, byte);
          }
          return arith::BitcastOp::create(b, s.loc, b.getF32Type(), bits);
        };
        Value block = s.index(0);
        for (auto [i, size] : llvm::enumerate(blocks)) {
          block = arith::MulIOp::create(b, s.loc, block, s.index(size));
          block = arith::AddIOp::create(b, s.loc, block, s.loop(i));
        }
        Value group =
            arith::DivUIOp::create(b, s.loc, block, s.index(nf4::scaleBlock));
        group = arith::MulIOp::create(b, s.loc, group, s.index(4));
        group = arith::AddIOp::create(b, s.loc, group, s.index(at.groups));
        Value code =
            arith::IndexCastUIOp::create(b, s.loc, b.getIndexType(), x[0]);
        Value level =
            tensor::ExtractOp::create(b, s.loc, table, ValueRange(code));
        Value scale = arith::MulFOp::create(b, s.loc, level, number(group));
        scale =
            arith::AddFOp::create(b, s.loc, scale, number(s.index(at.mean)));
        return arith::BitcastOp::create(b, s.loc, b.getI32Type(), scale);
      });
}

// Loops of the result: (block, byte of the block, nibble). For a partial last
// block, whole blocks are computed and the excess is cut off. With `inRows`,
// blocks are counted per row, which must hold whole blocks: then part of the
// result visibly needs only part of the bytes.
static Value dequantize(LinalgBuilder &l, Value bytes, NF4Type nf4,
                        ArrayRef<int64_t> shape, Type element,
                        bool inRows = false) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  int64_t block = nf4.getBlock(), blocks = llvm::divideCeil(count, block);
  nf4::Layout layout(count, block, nf4.getNested());
  int64_t packed = layout.scales;
  SmallVector<int64_t> lead{blocks};
  if (inRows && shape.back() % block == 0) {
    lead.assign(shape.begin(), shape.end());
    lead.back() /= block;
  }
  Value scales = nf4.getNested() ? nestedAbsmax(l, bytes, layout, lead)
                                 : absmax(l, bytes, packed, lead);
  Value table = arith::ConstantOp::create(
      l.b, l.loc,
      DenseElementsAttr::get(RankedTensorType::get({16}, l.b.getF32Type()),
                             ArrayRef<float>(nf4::levels, 16)));
  int64_t half = block / 2, wanted = blocks * half;
  bool ragged = count % block != 0;
  SmallVector<int64_t> loops(lead), ofBytes(lead);
  loops.append({half, 2});
  ofBytes.push_back(half);
  int64_t rank = loops.size();
  auto leading = [](int64_t n) {
    return llvm::to_vector(llvm::seq<int64_t>(0, n));
  };
  SmallVector<LinalgBuilder::Input> inputs{l.at(scales, leading(rank - 2))};
  if (!ragged)
    inputs.push_back(l.at(l.reshape(l.slice(bytes, 0, 0, wanted), ofBytes),
                          leading(rank - 1)));
  Value out =
      l.map(loops, inputs, element, [&](Scalars &s, ValueRange x) -> Value {
        Value byte;
        if (ragged) {
          Value at = arith::AddIOp::create(
              s.b, s.loc,
              arith::MulIOp::create(s.b, s.loc, s.loop(0), s.index(half)),
              s.loop(1));
          at = arith::MinUIOp::create(s.b, s.loc, at, s.index(packed - 1));
          byte = tensor::ExtractOp::create(s.b, s.loc, bytes, at);
        } else {
          byte = x[1];
        }
        byte = arith::ExtUIOp::create(s.b, s.loc, s.b.getI32Type(), byte);
        Value high = arith::ShRUIOp::create(s.b, s.loc, byte, s.i32(4));
        Value low = arith::AndIOp::create(s.b, s.loc, byte, s.i32(15));
        Value first = arith::CmpIOp::create(
            s.b, s.loc, arith::CmpIPredicate::eq, s.loop(rank - 1), s.index(0));
        Value code = arith::IndexCastUIOp::create(
            s.b, s.loc, s.b.getIndexType(), s.select(first, high, low));
        Value value = tensor::ExtractOp::create(s.b, s.loc, table, code);
        Value scale =
            arith::BitcastOp::create(s.b, s.loc, s.b.getF32Type(), x[0]);
        // An f32 product, whatever it is rounded to afterwards.
        Value product = arith::MulFOp::create(s.b, s.loc, value, scale);
        return convertFloat(s.b, s.loc, product, s.compute);
      });
  if (ragged)
    out = l.slice(l.reshape(out, {blocks * block}), 0, 0, count);
  else if (lead.size() == 1)
    out = l.reshape(out, {count});
  return l.reshape(out, shape);
}

static Value lowerDequantize(DequantizeOp op, OpBuilder &b, Value bytes,
                             bool inRows) {
  auto type = plainTensor(op.getResult().getType());
  LinalgBuilder l(b, op.getLoc(), {type});
  auto nf4 = cast<NF4Type>(op.getInput().getType().getElementType());
  return dequantize(l, bytes, nf4, type.getShape(), type.getElementType(),
                    inRows);
}

LogicalResult DequantizeOp::lowerToLinalg(OpBuilder &b, ValueRange operands,
                                          SmallVectorImpl<Value> &results) {
  results.push_back(lowerDequantize(*this, b, operands[0], false));
  return success();
}

LogicalResult DequantizeOp::lowerToSums(OpBuilder &b, ValueRange operands,
                                        SmallVectorImpl<Value> &results) {
  results.push_back(lowerDequantize(*this, b, operands[0], true));
  return success();
}

// With LoRA every step rounds as in act.linear's decomposition: the base
// product, the low-rank product, the product of its result, its multiple and
// the sum are each values of the result's type.
static Value lowerLinear(LinearOp op, OpBuilder &b, LinearOp::Adaptor in,
                         bool inRows) {
  auto type = plainTensor(op.getResult().getType());
  Type element = type.getElementType();
  Value input = in.getInput(), weight = in.getWeight();
  SmallVector<Type> types{input.getType(), type};
  auto nf4 = dyn_cast<NF4Type>(op.getWeight().getType().getElementType());
  if (!nf4)
    types.push_back(weight.getType());
  LinalgBuilder l(b, op.getLoc(), TypeRange(types));
  if (nf4)
    weight = dequantize(l, weight, nf4, op.getWeight().getType().getShape(),
                        elementOf(input), inRows);
  Value product = timesMatrix(l, input, weight, !op.getInOut()).sum(l);
  SmallVector<int64_t> rows(shapeOf(product));
  Value out;
  if (in.getBias())
    out = l.map(rows, {l.whole(product), l.at(in.getBias(), {1})}, element,
                [](Scalars &s, ValueRange x) { return s.add(x[0], x[1]); });
  else
    out = l.rounded(product, element);
  if (in.getLoraA()) {
    Value low = l.rounded(timesMatrix(l, input, in.getLoraA(), true).sum(l),
                          elementOf(input));
    Value up =
        l.rounded(timesMatrix(l, low, in.getLoraB(), true).sum(l), element);
    double scale = op.getLoraScale()->convertToDouble();
    out = l.map(rows, {l.whole(out), l.whole(up)}, element,
                [&](Scalars &s, ValueRange x) {
                  Value scaled = s.rounded(s.mul(s.f(scale), x[1]), element);
                  return s.add(x[0], scaled);
                });
  }
  return l.reshape(out, type.getShape());
}

LogicalResult LinearOp::lowerToLinalg(OpBuilder &b, ValueRange operands,
                                      SmallVectorImpl<Value> &results) {
  results.push_back(lowerLinear(*this, b, Adaptor(operands, *this), false));
  return success();
}

LogicalResult LinearOp::lowerToSums(OpBuilder &b, ValueRange operands,
                                    SmallVectorImpl<Value> &results) {
  results.push_back(lowerLinear(*this, b, Adaptor(operands, *this), true));
  return success();
}
