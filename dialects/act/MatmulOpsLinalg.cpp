// SPDX-License-Identifier: Apache-2.0
// Contractions: one generic that accumulates in f32 (f64 for f64), with the
// transposes in its maps, then one that rounds (and adds the bias).
#include "act/Nf4/Nf4.h"
#include "dialects/act/LinalgBuilder.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace act;

// sum over k of lhs[lhsLoops] * rhs[rhsLoops], in the computation type.
static Value contract(LinalgBuilder &l, ArrayRef<int64_t> ranges,
                      ArrayRef<int64_t> reduced, LinalgBuilder::Input lhs,
                      LinalgBuilder::Input rhs) {
  return l.sum(ranges, reduced, {lhs, rhs},
               [](Scalars &s, ValueRange x) { return s.mul(x[0], x[1]); });
}

// lhs [..., m, k] (or [..., k, m]) times a matrix that all of lhs shares; the
// result, in the computation type, has lhs's leading dimensions collapsed into
// the rows when lhs is not transposed.
static Value timesMatrix(LinalgBuilder &l, Value lhs, Value rhs, bool rhsIsNK) {
  ArrayRef<int64_t> shape = shapeOf(lhs);
  int64_t k = shape.back(), m = 1, n = shapeOf(rhs)[rhsIsNK ? 0 : 1];
  for (int64_t size : shape.drop_back())
    m *= size;
  SmallVector<int64_t> rhsLoops =
      rhsIsNK ? SmallVector<int64_t>{1, 2} : SmallVector<int64_t>{2, 1};
  return contract(l, {m, n, k}, {2}, l.at(l.reshape(lhs, {m, k}), {0, 2}),
                  l.at(rhs, rhsLoops));
}

LogicalResult MatmulOp::lowerToLinalg(OpBuilder &b, ValueRange operands,
                                      SmallVectorImpl<Value> &results) {
  Value lhs = operands[0], rhs = operands[1];
  auto type = plainTensor(getResult().getType());
  LinalgBuilder l(b, getLoc(), {lhs.getType(), rhs.getType(), type});
  int64_t rank = shapeOf(lhs).size(), rhsRank = shapeOf(rhs).size();
  Value product;
  if (rhsRank == 2 && !getTransposeLhs()) {
    product = timesMatrix(l, lhs, rhs, getTransposeRhs());
  } else {
    // Loops: the leading dimensions, m, n, k.
    int64_t lead = rank - 2, m = lead, n = lead + 1, k = lead + 2;
    SmallVector<int64_t> ranges(type.getShape());
    ranges.push_back(shapeOf(lhs)[getTransposeLhs() ? rank - 2 : rank - 1]);
    SmallVector<int64_t> left, right;
    for (int64_t i = 0; i < lead; ++i) {
      left.push_back(i);
      if (rhsRank > 2)
        right.push_back(i);
    }
    left.append({getTransposeLhs() ? k : m, getTransposeLhs() ? m : k});
    right.append({getTransposeRhs() ? n : k, getTransposeRhs() ? k : n});
    product = contract(l, ranges, {k}, l.at(lhs, left), l.at(rhs, right));
  }
  product = l.rounded(product, type.getElementType());
  results.push_back(l.reshape(product, type.getShape()));
  return success();
}

// absmax of every block, f32, from the bytes behind the codes.
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

// The same from 8 bits each, behind which is an f32 for each group and the
// mean. Those are read as bytes where they lie: a block's group is no loop.
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

// Loops of the result: (block, byte of the block, nibble). A last block that is
// not full makes whole blocks of what is there, and cuts the rest off. With
// `inRows`, blocks are counted per row, which must be whole ones: then a part
// of the result is seen to need a part of the bytes.
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
        // The product is one of f32 values, whatever it is rounded to.
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

// With LoRA the steps round as act.linear's decomposition does: the base
// product, the low-rank one, the one of the low-rank result, its multiple, and
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
  Value product = timesMatrix(l, input, weight, !op.getInOut());
  SmallVector<int64_t> rows(shapeOf(product));
  Value out;
  if (in.getBias())
    out = l.map(rows, {l.whole(product), l.at(in.getBias(), {1})}, element,
                [](Scalars &s, ValueRange x) { return s.add(x[0], x[1]); });
  else
    out = l.rounded(product, element);
  if (in.getLoraA()) {
    Value low =
        l.rounded(timesMatrix(l, input, in.getLoraA(), true), elementOf(input));
    Value up = l.rounded(timesMatrix(l, low, in.getLoraB(), true), element);
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
