// SPDX-License-Identifier: Apache-2.0
#include "passes/act/ExpandLoss.h"
#include "dialects/act/Types.h"
#include "passes/act/Flatten.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace act {
namespace {

RankedTensorType typeOf(Value v) { return cast<RankedTensorType>(v.getType()); }

/// `value` with its leading dimensions cut into [chunks, chunk].
Value cut(OpBuilder &b, Value value, int64_t chunks, int64_t chunk, unsigned keep) {
  auto type = typeOf(value);
  SmallVector<int64_t> shape{chunks, chunk};
  SmallVector<std::string> names{std::to_string(chunks), std::to_string(chunk)};
  auto old = dimNames(type);
  for (int64_t i = type.getRank() - keep; i < type.getRank(); ++i) {
    shape.push_back(type.getDimSize(i));
    names.push_back(old[i]);
  }
  return reshapeTo(b, value, namedTensor(shape, type.getElementType(), names, b.getContext()));
}

/// A function of one chunk: carried values, then shared, then slices.
struct ChunkFunction {
  func::FuncOp func;
  Block *body;
  OpBuilder b;

  ChunkFunction(SymbolTable &symbols, Operation *at, StringRef name, TypeRange arguments)
      : b(at->getContext()) {
    func = func::FuncOp::create(at->getLoc(), name,
                                FunctionType::get(at->getContext(), arguments, {}));
    func.setPrivate();
    symbols.insert(func, Block::iterator(at->getParentOfType<func::FuncOp>()));
    body = func.addEntryBlock();
    b.setInsertionPointToEnd(body);
  }
  void finish(ValueRange results) {
    func::ReturnOp::create(b, func.getLoc(), results);
    func.setType(FunctionType::get(func.getContext(), body->getArgumentTypes(),
                                   results.getTypes()));
  }
};

/// The weight inside a chunk function: read again if it is a parameter, else
/// a shared argument.
struct Weight {
  Value outside;
  ParamOp param;
  Weight(Value v) : outside(v), param(v.getDefiningOp<ParamOp>()) {}
  SmallVector<Value> shared() const { return param ? SmallVector<Value>{} : SmallVector<Value>{outside}; }
  Value inside(OpBuilder &b, Value argument) {
    return param ? Value(ParamOp::create(b, outside.getLoc(), outside.getType(), param.getNameAttr()))
                 : argument;
  }
};

Value chunkLogits(OpBuilder &b, Location loc, Value x, Value w) {
  auto names = dimNames(typeOf(x));
  auto type = namedTensor({typeOf(x).getDimSize(0), typeOf(w).getDimSize(0)},
                          typeOf(x).getElementType(),
                          {names[0], dimNames(typeOf(w))[0]}, b.getContext());
  return LinearOp::create(b, loc, type, x, w);
}

/// How many tokens a chunk has: a divisor of all tokens such that every chunk of
/// the tokens' tensors begins where a kernel's operand may. The largest up to the
/// op's `chunk`, or if there is none the smallest above it.
template <typename Op> int64_t tokensPerChunk(Op op) {
  int64_t tokens = op.getLabels().getType().getNumElements();
  int64_t below = 0, above = tokens;
  auto input = op.getInput().getType();
  int64_t compute = computeType(input.getElementType()).getIntOrFloatBitWidth() / 8;
  auto aligned = [&](int64_t chunk) {
    int64_t share = tokens / chunk;
    return chunk * compute % arenaAlignment == 0 &&
           byteSize(input) / share % arenaAlignment == 0 &&
           byteSize(op.getLabels().getType()) / share % arenaAlignment == 0;
  };
  auto consider = [&](int64_t chunk) {
    if (chunk < tokens && !aligned(chunk))
      return;
    if (chunk <= int64_t(op.getChunk()))
      below = std::max(below, chunk);
    else
      above = std::min(above, chunk);
  };
  for (int64_t i = 1; i * i <= tokens; ++i)
    if (tokens % i == 0) {
      consider(i);
      consider(tokens / i);
    }
  return below ? below : above;
}

void expandForward(LinearCrossEntropyOp op, SymbolTable &symbols) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  int64_t chunk = tokensPerChunk(op), chunks = op.getLabels().getType().getNumElements() / chunk;
  Value x = cut(b, op.getInput(), chunks, chunk, 1);
  Value labels = cut(b, op.getLabels(), chunks, chunk, 0);
  auto lossType = op.getLoss().getType();
  Type sumType = RankedTensorType::get({}, lossType.getElementType());
  bool none = op.getReduction() == Reduction::None;
  Weight weight(op.getWeight());

  SmallVector<Type> arguments;
  if (!none)
    arguments.push_back(sumType);
  for (Value v : weight.shared())
    arguments.push_back(v.getType());
  auto xc = dropFront(typeOf(x), 1), lc = dropFront(typeOf(labels), 1);
  arguments.append({xc, lc});
  ChunkFunction f(symbols, op, "loss.chunk", arguments);
  Value in = f.body->getArgument(arguments.size() - 2), lab = f.body->getArgument(arguments.size() - 1);
  Value w = weight.inside(f.b, weight.param ? Value() : f.body->getArgument(!none));
  Value logits = chunkLogits(f.b, loc, in, w);
  Type lseType = withElement(lc, computeType(xc.getElementType()));
  Type partType = none ? Type(withElement(lc, lossType.getElementType())) : sumType;
  auto ce = CrossEntropyOp::create(f.b, loc, partType, lseType, logits, lab, op.getIgnoreAttr(),
                                   ReductionAttr::get(b.getContext(), none ? Reduction::None : Reduction::Sum));
  SmallVector<Value> results, carry;
  SmallVector<Type> types;
  if (none) {
    results.push_back(ce.getLoss());
    types.push_back(prepend(cast<RankedTensorType>(partType), chunks, std::to_string(chunks)));
  } else {
    results.push_back(AddOp::create(f.b, loc, sumType, f.body->getArgument(0), ce.getLoss()));
    carry.push_back(ConstantOp::create(b, loc, cast<RankedTensorType>(sumType), 0.0));
    types.push_back(sumType);
  }
  if (op.getLse()) {
    results.push_back(ce.getLse());
    types.push_back(prepend(cast<RankedTensorType>(lseType), chunks, std::to_string(chunks)));
  }
  f.finish(results);
  auto run = RepeatOp::create(b, loc, types, f.func.getName(), "", chunks, 0, false, carry,
                              weight.shared(), ValueRange{x, labels});
  Value loss = run.getResult(0);
  if (op.getReduction() == Reduction::Mean) {
    Value count = LabelCountOp::create(b, loc, sumType, op.getLabels(), op.getIgnoreAttr());
    loss = DivOp::create(b, loc, sumType, loss, count);
  } else if (none) {
    loss = reshapeTo(b, loss, lossType);
  }
  op.getLoss().replaceAllUsesWith(loss);
  if (op.getLse())
    op.getLse().replaceAllUsesWith(reshapeTo(b, run.getResult(1), op.getLse().getType()));
  op.erase();
}

void expandGradient(LinearCrossEntropyGradOp op, SymbolTable &symbols) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  int64_t chunk = tokensPerChunk(op), chunks = op.getLabels().getType().getNumElements() / chunk;
  Value x = cut(b, op.getInput(), chunks, chunk, 1);
  Value labels = cut(b, op.getLabels(), chunks, chunk, 0);
  Value lse = cut(b, op.getLse(), chunks, chunk, 0);
  Value grad = op.getGrad();
  SmallVector<Value> slices{x, labels, lse};
  bool none = op.getReduction() == Reduction::None;
  if (op.getReduction() == Reduction::Mean) {
    Value count = LabelCountOp::create(b, loc, grad.getType(), op.getLabels(), op.getIgnoreAttr());
    grad = DivOp::create(b, loc, grad.getType(), grad, count);
  }
  Weight weight(op.getWeight());
  SmallVector<Value> shared = weight.shared();
  if (none)
    slices.push_back(cut(b, grad, chunks, chunk, 0));
  else
    shared.push_back(grad);

  // Added straight into the parameter's gradient if that is all it is for.
  AccumulateOp accumulate;
  Value dw = op.getDWeight();
  if (dw && dw.hasOneUse())
    accumulate = dyn_cast<AccumulateOp>(*dw.user_begin());
  SmallVector<Value> carry;
  if (dw && !accumulate)
    carry.push_back(ConstantOp::create(b, loc, typeOf(dw), 0.0));

  SmallVector<Type> arguments(ValueRange(carry).getTypes());
  llvm::append_range(arguments, ValueRange(shared).getTypes());
  for (Value v : slices)
    arguments.push_back(dropFront(typeOf(v), 1));
  ChunkFunction f(symbols, op, "loss.chunk.bwd", arguments);
  auto args = f.body->getArguments();
  auto sliceArgs = args.take_back(slices.size());
  auto sharedArgs = args.drop_front(carry.size()).take_front(shared.size());
  Value w = weight.inside(f.b, weight.param ? Value() : sharedArgs[0]);
  Value gradIn = none ? Value(sliceArgs[3]) : Value(sharedArgs.back());
  Value logits = chunkLogits(f.b, loc, sliceArgs[0], w);
  Value dLogits = CrossEntropyGradOp::create(
      f.b, loc, logits.getType(), gradIn, logits, sliceArgs[1], sliceArgs[2],
      op.getIgnoreAttr(), ReductionAttr::get(b.getContext(), none ? Reduction::None : Reduction::Sum));
  SmallVector<Value> results;
  if (dw) {
    Value part = MatmulOp::create(f.b, loc, dw.getType(), dLogits, sliceArgs[0], true, false);
    if (accumulate)
      AccumulateOp::create(f.b, loc, accumulate.getNameAttr(), part);
    else
      results.push_back(AddOp::create(f.b, loc, dw.getType(), args[0], part));
  }
  results.push_back(MatmulOp::create(f.b, loc, sliceArgs[0].getType(), dLogits, w, false, false));
  f.finish(results);

  SmallVector<Type> types(ValueRange(carry).getTypes());
  types.push_back(x.getType());
  auto run = RepeatOp::create(b, loc, types, f.func.getName(), "", chunks, 0, false, carry,
                              shared, slices);
  op.getDInput().replaceAllUsesWith(reshapeTo(b, run->getResults().back(), op.getInput().getType()));
  if (accumulate)
    accumulate.erase();
  else if (dw)
    dw.replaceAllUsesWith(run.getResult(0));
  op.erase();
}

// The loss of every token is a kernel over rows; adding them up is a small one
// of its own, so that the rows can run in parallel.
void expandReduction(CrossEntropyOp op) {
  if (op.getReduction() == Reduction::None)
    return;
  OpBuilder b(op);
  Location loc = op.getLoc();
  auto scalar = op.getLoss().getType();
  auto labels = op.getLabels().getType();
  auto each = CrossEntropyOp::create(
      b, loc, withElement(labels, scalar.getElementType()),
      op.getLse() ? Type(op.getLse().getType()) : Type(), op.getLogits(), op.getLabels(),
      op.getIgnoreAttr(), ReductionAttr::get(b.getContext(), Reduction::None));
  Value flat = reshapeTo(b, each.getLoss(), flattenLeading(each.getLoss().getType(), 0));
  Value sum = sumToType(b, flat, scalar);
  if (op.getReduction() == Reduction::Mean) {
    Value count = LabelCountOp::create(b, loc, scalar, op.getLabels(), op.getIgnoreAttr());
    sum = DivOp::create(b, loc, scalar, sum, count);
  }
  op.getLoss().replaceAllUsesWith(sum);
  if (op.getLse())
    op.getLse().replaceAllUsesWith(each.getLse());
  op.erase();
}

void expandReduction(CrossEntropyGradOp op) {
  if (op.getReduction() != Reduction::Mean)
    return;
  OpBuilder b(op);
  Value count = LabelCountOp::create(b, op.getLoc(), op.getGrad().getType(), op.getLabels(),
                                     op.getIgnoreAttr());
  op.getGradMutable().assign(
      DivOp::create(b, op.getLoc(), op.getGrad().getType(), op.getGrad(), count));
  op.setReduction(Reduction::Sum);
}

} // namespace

LogicalResult expandFusedLoss(ModuleOp module) {
  SymbolTable symbols(module);
  SmallVector<LinearCrossEntropyOp> forward;
  SmallVector<LinearCrossEntropyGradOp> backward;
  module.walk([&](Operation *op) {
    if (auto f = dyn_cast<LinearCrossEntropyOp>(op))
      forward.push_back(f);
    if (auto g = dyn_cast<LinearCrossEntropyGradOp>(op))
      backward.push_back(g);
  });
  for (auto op : forward)
    if (!op.getLabels().getType().hasStaticShape())
      return op.emitOpError("has dynamic dimensions; its chunks have no static shape");
  for (auto op : forward)
    expandForward(op, symbols);
  for (auto op : backward)
    expandGradient(op, symbols);
  SmallVector<Operation *> losses;
  module.walk([&](Operation *op) {
    if (isa<CrossEntropyOp, CrossEntropyGradOp>(op))
      losses.push_back(op);
  });
  for (Operation *op : losses) {
    if (auto loss = dyn_cast<CrossEntropyOp>(op))
      expandReduction(loss);
    else
      expandReduction(cast<CrossEntropyGradOp>(op));
  }
  return success();
}

} // namespace act
