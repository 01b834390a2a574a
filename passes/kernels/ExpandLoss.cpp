// SPDX-License-Identifier: Apache-2.0
//
// Writes the fused loss out as a loop, before kernels are formed:
//
//   %l = act.linear_cross_entropy %x, %w, %y reduction sum chunk 1024
//     becomes
//   %xs = act.reshape %x : 4096 tokens to 4 x 1024
//   %l  = act.repeat @loss.chunk count(4) carry(%0) stack(%xs, %ys)
//
// The chunk function is a linear layer and an act.cross_entropy; kernels for
// these exist anyway. The loop's memory is one chunk's logits, as for any
// repeat.
#include "passes/kernels/ExpandLoss.h"
#include "dialects/act/ShapeCheck.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/kernels/Flatten.h"
#include "passes/module/Letters.h"
#include <numeric>

using namespace mlir;

namespace act {
namespace {

RankedTensorType typeOf(Value v) { return cast<RankedTensorType>(v.getType()); }

/// The function of one chunk. Arguments: carried values, shared values, slices.
struct ChunkFunction {
  func::FuncOp func;
  Block *body;
  OpBuilder b;

  ChunkFunction(SymbolTable &symbols, Operation *at, StringRef name,
                TypeRange arguments)
      : b(at->getContext()) {
    func = func::FuncOp::create(
        at->getLoc(), name, FunctionType::get(at->getContext(), arguments, {}));
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

/// The linear layer before the loss.
struct Head {
  Value weight, bias; // bias: or null
};

/// The head inside a chunk function: a parameter is read again there, anything
/// else is a shared argument.
struct OutsideHead {
  Head outside;
  template <typename Op>
  OutsideHead(Op op) : outside{op.getWeight(), op.getBias()} {}

  SmallVector<Value> shared() const {
    SmallVector<Value> list;
    for (Value v : {outside.weight, outside.bias})
      if (v && !v.getDefiningOp<ParamOp>())
        list.push_back(v);
    return list;
  }
  /// `arguments` begins with those of shared().
  Head inside(OpBuilder &b, ValueRange arguments) const {
    auto one = [&](Value v) -> Value {
      if (!v)
        return v;
      if (auto param = v.getDefiningOp<ParamOp>())
        return ParamOp::create(b, v.getLoc(), v.getType(), param.getNameAttr());
      Value argument = arguments.front();
      arguments = arguments.drop_front();
      return argument;
    };
    Value weight = one(outside.weight);
    return {weight, one(outside.bias)};
  }
};

/// The logits of some tokens, capped; `bend` is the tanh of it. They live
/// inside one iteration, so the arena holds those of one chunk.
template <typename Op>
Value chunkLogits(OpBuilder &b, Op op, Value x, const Head &head,
                  Value *bend = nullptr) {
  Location loc = op.getLoc();
  auto names = dimNames(typeOf(x));
  auto type =
      namedTensor({typeOf(x).getDimSize(0), typeOf(head.weight).getDimSize(0)},
                  typeOf(x).getElementType(),
                  {names[0], dimNames(typeOf(head.weight))[0]}, b.getContext());
  Value logits = LinearOp::create(b, loc, type, x, head.weight, head.bias);
  return op.getSoftcap()
             ? softcap(b, loc, logits, op.getSoftcap()->convertToDouble(), bend)
             : logits;
}

/// `chunks` chunks of `chunk` tokens each, then `rest` tokens; and the
/// dimension names of chunk, chunks and rest.
struct Chunking {
  int64_t chunk, chunks, rest;
  std::string rows, count, restRows;
};

/// Every chunk starts at a valid kernel-operand alignment in every tensor of
/// tokens, so that chunks are places and not copies: the number of tokens is a
/// multiple of `step`. Chunks are equal if some size of at least half the
/// wanted one divides the tokens; else the last is smaller.
///
/// Forward and backward of one loss get the same chunks, since both compute
/// them from the same sizes.
template <typename Op> Chunking chunkingOf(Op op) {
  RankedTensorType input = op.getInput().getType(),
                   labels = op.getLabels().getType();
  int64_t tokens = labels.getNumElements(), wanted = op.getChunk();
  int64_t statistic =
      computeType(input.getElementType()).getIntOrFloatBitWidth() / 8;
  int64_t step = 1;
  for (int64_t bytes :
       {statistic, byteSize(input) / tokens, byteSize(labels) / tokens})
    step = std::max(step, arenaAlignment / std::gcd(arenaAlignment, bytes));
  int64_t chunk = std::max(wanted / step * step, step);
  auto module = op->template getParentOfType<ModuleOp>();
  // The memory report states for which numbers of tokens its formulas hold.
  auto note = [&](int64_t rows, int64_t more) {
    module->setAttr(lossRowsAttr,
                    DenseI64ArrayAttr::get(op.getContext(), {rows, more}));
  };
  note(0, std::max(chunk, wanted));
  if (tokens <= std::max(chunk, wanted))
    return {tokens, 1, 0, dimNames(flattenLeading(labels, 0))[0], "1", ""};
  Chunking out{chunk, tokens / chunk, tokens % chunk, "", "", ""};
  for (int64_t c = chunk; 2 * c >= chunk && c > 0; c -= step)
    if (tokens % c == 0) {
      out = {c, tokens / c, 0, "", "", ""};
      break;
    }
  note(out.chunk, out.rest);
  // If the tokens have no letters, formulas show numbers anyway.
  auto letter = [&](StringRef wanted, int64_t size, StringRef meaning) {
    if (!labels.getEncoding())
      return std::to_string(size);
    return newLetter(module, wanted, size, meaning);
  };
  out.rows = letter("c", out.chunk,
                    "rows of logits that the fused loss has at a time");
  out.count = std::to_string(out.chunks);
  if (out.rest) {
    out.count = letter("g", out.chunks,
                       "chunks of the fused loss that have all their rows");
    out.restRows = letter("q", out.rest, "rows of the fused loss's last chunk");
  }
  return out;
}

/// A tensor of tokens split for the loop over chunks, [chunks, chunk, ..], and
/// the rest, [rest, ..]. Both are slices, not copies (Flatten.h, isSlice):
///
///   %flat   = act.reshape %x : 37x4 to 148
///   %p:2    = act.split %flat : 128, 20
///   %chunks = act.reshape %p#0 : 128 to 2x16x4
///   %rest   = act.reshape %p#1 : 20 to 5x4
struct Cut {
  Value chunks, rest;
};
Cut cut(OpBuilder &b, Value value, const Chunking &c, unsigned keep) {
  auto type = typeOf(value);
  SmallVector<int64_t> inner(type.getShape().take_back(keep));
  auto old = dimNames(type);
  auto shaped = [&](Value part, ArrayRef<int64_t> lead,
                    ArrayRef<std::string> leadNames) {
    SmallVector<int64_t> shape(lead);
    SmallVector<std::string> names(leadNames);
    shape.append(inner);
    names.insert(names.end(), old.end() - keep, old.end());
    return reshapeTo(
        b, part,
        namedTensor(shape, type.getElementType(), names, b.getContext()));
  };
  if (!c.rest)
    return {shaped(value, {c.chunks, c.chunk}, {c.count, c.rows}), Value()};
  int64_t row = 1;
  for (int64_t n : inner)
    row *= n;
  auto flat = [&](int64_t rows) {
    return RankedTensorType::get({rows * row}, type.getElementType());
  };
  Value whole = reshapeTo(b, value, flat(c.chunks * c.chunk + c.rest));
  auto parts =
      SplitOp::create(b, value.getLoc(),
                      TypeRange{flat(c.chunks * c.chunk), flat(c.rest)}, whole);
  return {shaped(parts.getResult(0), {c.chunks, c.chunk}, {c.count, c.rows}),
          shaped(parts.getResult(1), {c.rest}, {c.restRows})};
}

/// The results of the loop and of the rest as one tensor.
Value joined(OpBuilder &b, Value chunks, Value rest, RankedTensorType type) {
  if (!rest)
    return reshapeTo(b, chunks, type);
  auto flat = [&](Value v) {
    auto t = typeOf(v);
    return reshapeTo(
        b, v, RankedTensorType::get({t.getNumElements()}, t.getElementType()));
  };
  Value parts[] = {flat(chunks), flat(rest)};
  Value whole = ConcatOp::create(
      b, chunks.getLoc(),
      RankedTensorType::get({type.getNumElements()}, type.getElementType()),
      parts);
  return reshapeTo(b, whole, type);
}

/// A mean over one chunk's labels would weigh chunks alike, whatever number of
/// labels they have. Chunks are summed, and the sum is divided at the end.
template <typename Op> ReductionAttr chunkReduction(Op op) {
  return ReductionAttr::get(
      op.getContext(),
      op.getReduction() == Reduction::None ? Reduction::None : Reduction::Sum);
}

/// The losses of some tokens, each or summed, and their log-sum-exps.
CrossEntropyOp lossOf(OpBuilder &b, LinearCrossEntropyOp op, Value x,
                      const Head &head, Value labels) {
  Value logits = chunkLogits(b, op, x, head);
  auto lossType = op.getLoss().getType();
  auto type = op.getReduction() == Reduction::None
                  ? withElement(typeOf(labels), lossType.getElementType())
                  : RankedTensorType::get({}, lossType.getElementType());
  auto lse =
      withElement(typeOf(labels), computeType(typeOf(x).getElementType()));
  return CrossEntropyOp::create(b, op.getLoc(), type, lse, logits, labels,
                                op.getIgnoreAttr(), chunkReduction(op));
}

/// The loop sums the losses in the order of the chunks; with `reduction none`
/// it stacks them. The rest, if there is one, is written behind the loop.
void expandForward(LinearCrossEntropyOp op, SymbolTable &symbols) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  Chunking c = chunkingOf(op);
  Cut x = cut(b, op.getInput(), c, 1), labels = cut(b, op.getLabels(), c, 0);
  auto lossType = op.getLoss().getType();
  Type sumType = RankedTensorType::get({}, lossType.getElementType());
  bool none = op.getReduction() == Reduction::None;
  OutsideHead head(op);
  SmallVector<Value> shared = head.shared();

  SmallVector<Type> arguments;
  if (!none)
    arguments.push_back(sumType);
  llvm::append_range(arguments, ValueRange(shared).getTypes());
  arguments.append(
      {dropFront(typeOf(x.chunks), 1), dropFront(typeOf(labels.chunks), 1)});
  ChunkFunction f(symbols, op, "loss.chunk", arguments);
  auto slices = f.body->getArguments().take_back(2);
  Head inside = head.inside(f.b, f.body->getArguments().drop_front(!none));
  CrossEntropyOp part = lossOf(f.b, op, slices[0], inside, slices[1]);
  auto stackOf = [&](Value v) { return prepend(typeOf(v), c.chunks, c.count); };
  SmallVector<Value> results, carry;
  SmallVector<Type> types;
  if (none) {
    results.push_back(part.getLoss());
    types.push_back(stackOf(part.getLoss()));
  } else {
    results.push_back(AddOp::create(f.b, loc, sumType, f.body->getArgument(0),
                                    part.getLoss()));
    carry.push_back(
        ConstantOp::create(b, loc, cast<RankedTensorType>(sumType), 0.0));
    types.push_back(sumType);
  }
  if (op.getLse()) {
    results.push_back(part.getLse());
    types.push_back(stackOf(part.getLse()));
  }
  f.finish(results);
  auto run =
      RepeatOp::create(b, loc, types, f.func.getName(), "", c.chunks, 0, false,
                       carry, shared, ValueRange{x.chunks, labels.chunks});
  CrossEntropyOp rest;
  if (c.rest)
    rest = lossOf(b, op, x.rest, head.outside, labels.rest);
  Value loss = run.getResult(0);
  if (none)
    loss = joined(b, loss, rest ? rest.getLoss() : Value(), lossType);
  else if (rest)
    loss = AddOp::create(b, loc, sumType, loss, rest.getLoss());
  if (op.getReduction() == Reduction::Mean) {
    Value count = LabelCountOp::create(b, loc, sumType, op.getLabels(),
                                       op.getIgnoreAttr());
    loss = DivOp::create(b, loc, sumType, loss, count);
  }
  op.getLoss().replaceAllUsesWith(loss);
  if (op.getLse())
    op.getLse().replaceAllUsesWith(joined(b, run.getResult(1),
                                          rest ? rest.getLse() : Value(),
                                          op.getLse().getType()));
  op.erase();
}

/// The gradients of some tokens' part of the loss; null if unused.
struct PartGradient {
  Value input, weight, bias;
};
PartGradient gradientOf(OpBuilder &b, LinearCrossEntropyGradOp op, Value grad,
                        Value x, const Head &head, Value labels, Value lse) {
  Location loc = op.getLoc();
  Value bend, logits = chunkLogits(b, op, x, head, &bend);
  Value dLogits =
      CrossEntropyGradOp::create(b, loc, logits.getType(), grad, logits, labels,
                                 lse, op.getIgnoreAttr(), chunkReduction(op));
  if (bend) { // as the derivatives of the three ops have it
    const double cap = op.getSoftcap()->convertToDouble();
    dLogits = ScaleOp::create(b, loc, dLogits, b.getF64FloatAttr(cap));
    dLogits = TanhGradOp::create(b, loc, dLogits, bend);
    dLogits = ScaleOp::create(b, loc, dLogits, b.getF64FloatAttr(1 / cap));
  }
  PartGradient out;
  if (Value dw = op.getDWeight(); dw && !dw.use_empty())
    out.weight =
        MatmulOp::create(b, loc, dw.getType(), dLogits, x, true, false);
  if (Value db = op.getDBias(); db && !db.use_empty())
    out.bias = sumToType(b, dLogits, typeOf(db));
  out.input =
      MatmulOp::create(b, loc, x.getType(), dLogits, head.weight, false, false);
  return out;
}

/// The gradient of weight or bias, summed over the chunks: directly into the
/// parameter's gradient if that is its only use, else in a carried sum. The
/// former needs no buffer of the size of the weight.
struct Total {
  Value PartGradient::*part;
  Value value; // the op's result; null if unused
  AccumulateOp accumulate;
  Value sum;

  Total(Value v, Value PartGradient::*part) : part(part) {
    if (!v || v.use_empty())
      return;
    value = v;
    if (v.hasOneUse())
      accumulate = dyn_cast<AccumulateOp>(*v.user_begin());
  }
  bool carried() const { return value && !accumulate; }
  /// Adds a part right after it is made; returns the new carried sum, if any.
  Value add(OpBuilder &b, const PartGradient &gradient, Value sum) {
    Value v = gradient.*part;
    if (!value)
      return {};
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfter(v.getDefiningOp());
    if (!accumulate)
      return AddOp::create(b, v.getLoc(), value.getType(), sum, v);
    AccumulateOp::create(b, v.getLoc(), accumulate.getNameAttr(), v);
    return {};
  }
  void finish() {
    if (accumulate)
      accumulate.erase();
    else if (value)
      value.replaceAllUsesWith(sum);
  }
};

// The loop computes a chunk's logits again, as they do not outlive forward, and
// turns them into gradients before the next chunk. The labels are counted again
// here. That costs one pass over the labels, but saves keeping the count from
// forward to backward.
void expandGradient(LinearCrossEntropyGradOp op, SymbolTable &symbols) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  Chunking c = chunkingOf(op);
  Cut x = cut(b, op.getInput(), c, 1), labels = cut(b, op.getLabels(), c, 0),
      lse = cut(b, op.getLse(), c, 0), each;
  Value grad = op.getGrad();
  SmallVector<Value> slices{x.chunks, labels.chunks, lse.chunks};
  bool none = op.getReduction() == Reduction::None;
  if (op.getReduction() == Reduction::Mean) {
    Value count = LabelCountOp::create(b, loc, grad.getType(), op.getLabels(),
                                       op.getIgnoreAttr());
    grad = DivOp::create(b, loc, grad.getType(), grad, count);
  }
  OutsideHead head(op);
  SmallVector<Value> shared = head.shared();
  if (none) {
    each = cut(b, grad, c, 0);
    slices.push_back(each.chunks);
  } else {
    shared.push_back(grad);
  }

  Total totals[] = {{op.getDWeight(), &PartGradient::weight},
                    {op.getDBias(), &PartGradient::bias}};
  SmallVector<Value> carry;
  for (Total &t : totals)
    if (t.carried())
      carry.push_back(ConstantOp::create(b, loc, typeOf(t.value), 0.0));

  SmallVector<Type> arguments(ValueRange(carry).getTypes());
  llvm::append_range(arguments, ValueRange(shared).getTypes());
  for (Value v : slices)
    arguments.push_back(dropFront(typeOf(v), 1));
  ChunkFunction f(symbols, op, "loss.chunk.bwd", arguments);
  auto args = f.body->getArguments();
  auto sliceArgs = args.take_back(slices.size());
  auto sharedArgs = args.drop_front(carry.size()).take_front(shared.size());
  Head inside = head.inside(f.b, sharedArgs);
  Value gradIn = none ? Value(sliceArgs[3]) : Value(sharedArgs.back());
  PartGradient part = gradientOf(f.b, op, gradIn, sliceArgs[0], inside,
                                 sliceArgs[1], sliceArgs[2]);
  SmallVector<Value> results;
  for (Total &t : totals)
    if (Value sum = t.add(f.b, part,
                          t.carried() ? Value(args[results.size()]) : Value()))
      results.push_back(sum);
  results.push_back(part.input);
  f.finish(results);

  SmallVector<Type> types(ValueRange(carry).getTypes());
  types.push_back(x.chunks.getType());
  auto run = RepeatOp::create(b, loc, types, f.func.getName(), "", c.chunks, 0,
                              false, carry, shared, slices);
  unsigned sums = 0;
  for (Total &t : totals)
    if (t.carried())
      t.sum = run.getResult(sums++);
  Value rest;
  if (c.rest) {
    PartGradient last = gradientOf(b, op, none ? each.rest : grad, x.rest,
                                   head.outside, labels.rest, lse.rest);
    rest = last.input;
    for (Total &t : totals)
      t.sum = t.add(b, last, t.sum);
  }
  op.getDInput().replaceAllUsesWith(
      joined(b, run->getResults().back(), rest, op.getDInput().getType()));
  for (Total &t : totals)
    t.finish();
  op.erase();
}

// A kernel over rows computes every token's loss, and a separate small kernel
// adds them up, so the rows can run in parallel.
void expandReduction(CrossEntropyOp op) {
  if (op.getReduction() == Reduction::None)
    return;
  OpBuilder b(op);
  Location loc = op.getLoc();
  auto scalar = op.getLoss().getType();
  auto labels = op.getLabels().getType();
  auto each = CrossEntropyOp::create(
      b, loc, withElement(labels, scalar.getElementType()),
      op.getLse() ? Type(op.getLse().getType()) : Type(), op.getLogits(),
      op.getLabels(), op.getIgnoreAttr(),
      ReductionAttr::get(b.getContext(), Reduction::None));
  Value flat =
      reshapeTo(b, each.getLoss(), flattenLeading(each.getLoss().getType(), 0));
  Value sum = sumToType(b, flat, scalar);
  if (op.getReduction() == Reduction::Mean) {
    Value count = LabelCountOp::create(b, loc, scalar, op.getLabels(),
                                       op.getIgnoreAttr());
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
  Value count = LabelCountOp::create(b, op.getLoc(), op.getGrad().getType(),
                                     op.getLabels(), op.getIgnoreAttr());
  op.getGradMutable().assign(DivOp::create(
      b, op.getLoc(), op.getGrad().getType(), op.getGrad(), count));
  op.setReduction(Reduction::Sum);
}

} // namespace

// All ops are checked before the first is expanded. Reductions are expanded
// last, because the loop makes cross entropies too.
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
  auto check = [](auto op) -> LogicalResult {
    RankedTensorType labels = op.getLabels().getType(),
                     input = op.getInput().getType();
    if (labels.hasStaticShape() && input.hasStaticShape())
      return success();
    return op.emitOpError()
           << "has an input of shape " << shapeText(input)
           << "; kernels of its chunks need numbers: give its letters sizes";
  };
  for (auto op : forward)
    if (failed(check(op)))
      return failure();
  for (auto op : backward)
    if (failed(check(op)))
      return failure();
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
