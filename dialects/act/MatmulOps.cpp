// SPDX-License-Identifier: Apache-2.0
// Costs and gradients of the contractions.
#include "dialects/act/Flops.h"
#include "dialects/act/Types.h"

using namespace mlir;
using namespace act;

static RankedTensorType typeOf(Value v) {
  return cast<RankedTensorType>(v.getType());
}

int64_t MatmulOp::getFlops() {
  auto lhs = getLhs().getType();
  int64_t k = lhs.getShape()[lhs.getRank() - (getTransposeLhs() ? 2 : 1)];
  return flopsProduct({2, k, elementCount(getResult().getType())});
}
CostClass MatmulOp::getCostClass() { return CostClass::Gemm; }
bool MatmulOp::takesEpilogue() { return true; }
bool MatmulOp::takesAccumulation() { return true; }
bool MatmulOp::takesPrologue(unsigned) { return true; }

int64_t LinearOp::getFlops() {
  int64_t n = elementCount(getInput().getType()),
          out = elementCount(getResult().getType());
  int64_t flops = flopsProduct({2, n, getResult().getType().getShape().back()});
  if (getBias())
    flops = flopsSum({flops, out});
  if (getLoraA()) {
    int64_t r = getLoraA().getType().getDimSize(0);
    flops = flopsSum({flops, flopsProduct({2, n, r}), flopsProduct({2, out, r}),
                      flopsProduct({2, out})});
  }
  return n ? flops : 0;
}
CostClass LinearOp::getCostClass() { return CostClass::Gemm; }
bool LinearOp::takesEpilogue() { return true; }
// With an adapter (LoRA) two products read the input.
bool LinearOp::takesPrologue(unsigned operand) {
  return operand == 0 && !getLoraA();
}

int64_t DequantizeOp::getFlops() { return elementCount(getResult().getType()); }
CostClass DequantizeOp::getCostClass() { return CostClass::Cheap; }

// `matrix` with its last two dimensions swapped.
static Value transposed(OpBuilder &b, Value matrix) {
  SmallVector<int64_t> permutation =
      llvm::to_vector(llvm::seq<int64_t>(0, typeOf(matrix).getRank()));
  std::swap(permutation.end()[-1], permutation.end()[-2]);
  return TransposeOp::create(b, matrix.getLoc(), matrix, permutation);
}

// lhs and rhs with their transposes undone are [.., m, k] and [.., k, n]:
// dL = dY R^T,  dR = L^T dY.
// No operand needs a separate transpose, except a transposed lhs whose rhs is
// shared: its matrices cannot be joined into one.
LogicalResult MatmulOp::buildGradient(OpBuilder &b, ValueRange dy,
                                      ArrayRef<bool> needed,
                                      SmallVectorImpl<Value> &dx) {
  Value lhs = getLhs(), rhs = getRhs(), grad = dy[0];
  bool tl = getTransposeLhs(), tr = getTransposeRhs();
  bool shared = typeOf(rhs).getRank() < typeOf(lhs).getRank();
  bool turn = tl && shared;
  if (turn) {
    lhs = transposed(b, lhs);
    tl = false;
  }
  if (needed[0]) {
    // not transposed: dL = dY R^T ; transposed: dL = R dY^T
    dx[0] =
        tl ? MatmulOp::create(b, getLoc(), lhs.getType(), rhs, grad, tr, true)
           : MatmulOp::create(b, getLoc(), lhs.getType(), grad, rhs, false,
                              !tr);
    if (turn)
      dx[0] = transposed(b, dx[0]);
  }
  if (needed[1]) {
    if (shared) {
      lhs = reshapeTo(b, lhs, flattenLeading(typeOf(lhs), 1));
      grad = reshapeTo(b, grad, flattenLeading(typeOf(grad), 1));
    }
    if (!tr)
      dx[1] =
          MatmulOp::create(b, getLoc(), rhs.getType(), lhs, grad, !tl, false);
    else
      dx[1] = MatmulOp::create(b, getLoc(), rhs.getType(), grad, lhs, true, tl);
  }
  return success();
}

// The gradient of a bias: the sum over all but the last dimension.
static Value biasGradient(OpBuilder &b, Value grad, RankedTensorType bias) {
  return sumToType(b, reshapeTo(b, grad, flattenLeading(typeOf(grad), 1)),
                   bias);
}

LogicalResult LinearOp::buildGradient(OpBuilder &b, ValueRange dy,
                                      ArrayRef<bool> needed,
                                      SmallVectorImpl<Value> &dx) {
  if (getLoraA())
    return emitOpError(
        "with lora must be decomposed before it is differentiated");
  Value x = getInput(), w = getWeight(), grad = dy[0];
  // The weight's gradient first: it may be the last reader of x, whose memory
  // is then free for x's gradient.
  if (needed[1]) {
    Value flatX = reshapeTo(b, x, flattenLeading(typeOf(x), 1));
    Value flatDy = reshapeTo(b, grad, flattenLeading(typeOf(grad), 1));
    dx[1] = getInOut() ? MatmulOp::create(b, getLoc(), w.getType(), flatX,
                                          flatDy, true, false)
                       : MatmulOp::create(b, getLoc(), w.getType(), flatDy,
                                          flatX, true, false);
  }
  if (needed[0]) {
    // Uses the weight transposed. A quantised weight is dequantised as it is
    // read, as in the forward product: a matmul would need it in memory.
    if (isa<NF4Type>(typeOf(w).getElementType())) {
      dx[0] = LinearOp::create(b, getLoc(), typeOf(x), grad, w, Value(),
                               Value(), Value(), FloatAttr(),
                               getInOut() ? UnitAttr() : b.getUnitAttr());
    } else {
      // A single token has no row dimension yet.
      bool vector = typeOf(x).getRank() == 1;
      auto rows = [&](Value v) {
        return vector ? reshapeTo(b, v, flattenLeading(typeOf(v), 1)) : v;
      };
      auto type = vector ? flattenLeading(typeOf(x), 1) : typeOf(x);
      Value product =
          MatmulOp::create(b, getLoc(), type, rows(grad), w, false, getInOut());
      dx[0] = reshapeTo(b, product, typeOf(x));
    }
  }
  if (getBias() && needed[2])
    dx[2] = biasGradient(b, grad, getBias().getType());
  return success();
}

LogicalResult LinearOp::decompose(OpBuilder &b,
                                  SmallVectorImpl<Value> &results) {
  if (!getLoraA())
    return failure();
  auto loc = getLoc();
  Value base = LinearOp::create(b, loc, getResult().getType(), getInput(),
                                getWeight(), getBias(), Value(), Value(),
                                FloatAttr(), getInOutAttr());
  auto names = dimNames(getInput().getType());
  SmallVector<int64_t> shape(getInput().getType().getShape());
  shape.back() = getLoraA().getType().getDimSize(0);
  names.back() = dimNames(getLoraA().getType())[0];
  auto lowType = namedTensor(shape, getInput().getType().getElementType(),
                             names, getContext());
  Value low = LinearOp::create(b, loc, lowType, getInput(), getLoraA());
  Value up = LinearOp::create(b, loc, getResult().getType(), low, getLoraB());
  Value scaled = ScaleOp::create(b, loc, up, getLoraScaleAttr());
  results.push_back(AddOp::create(b, loc, getResult().getType(), base, scaled));
  return success();
}
