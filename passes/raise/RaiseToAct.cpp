// SPDX-License-Identifier: Apache-2.0
//
// --raise-to-act. First everything is brought to one form: tosa to linalg,
// named ops to generic ones, bodies of several ops to one op each, equal ops
// merged. Then softmaxes are found, which are made of several ops, and at last
// each op that is an act op by itself. What is left is put together again.
#include "dialects/act/Types.h"
#include "mlir/Conversion/TosaToArith/TosaToArith.h"
#include "mlir/Conversion/TosaToLinalg/TosaToLinalg.h"
#include "mlir/Conversion/TosaToTensor/TosaToTensor.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"
#include "passes/raise/LinalgForm.h"
#include "passes/raise/NormForm.h"
#include "passes/raise/Passes.h"
#include "passes/raise/SoftmaxForm.h"
#include "passes/raise/StableHlo.h"
#include "llvm/ADT/MapVector.h"

namespace act {
#define GEN_PASS_DEF_RAISETOACTPASS
#include "passes/raise/Passes.h.inc"
} // namespace act

using namespace mlir;
using namespace act;

namespace {

/// Whether act has tensors of this type, and no letters would be needed.
bool isActType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || tensor.getEncoding())
    return false;
  Type e = tensor.getElementType();
  return isa<Float64Type, Float32Type, BFloat16Type, Float16Type>(e) ||
         e.isInteger(1) || e.isInteger(32) || e.isInteger(64);
}

/// Makes act ops at one place.
struct Maker {
  OpBuilder &b;
  Location loc;

  RankedTensorType shaped(RankedTensorType like, ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, like.getElementType());
  }
  Value reshaped(Value v, ArrayRef<int64_t> shape) {
    if (typeOf(v).getShape() == shape)
      return v;
    return ReshapeOp::create(b, loc, shaped(typeOf(v), shape), v);
  }
  Value transposed(Value v, ArrayRef<int64_t> permutation) {
    if (llvm::equal(permutation,
                    llvm::seq<int64_t>(0, int64_t(permutation.size()))))
      return v;
    return TransposeOp::create(b, loc, v, permutation);
  }
  Value expanded(Value v, ArrayRef<int64_t> shape) {
    if (typeOf(v).getShape() == shape)
      return v;
    if (typeOf(v).getRank() == 0)
      v = reshaped(v, SmallVector<int64_t>(shape.size(), 1));
    return ExpandOp::create(b, loc, shaped(typeOf(v), shape), v);
  }
  Value constant(Type element, double number) {
    return act::ConstantOp::create(b, loc, RankedTensorType::get({}, element),
                                   number);
  }
  /// What is read, with the dimensions in the order `order`; others have size 1
  /// and disappear.
  Value inOrder(const Read &read, ArrayRef<unsigned> order) {
    SmallVector<unsigned> present = read.present();
    SmallVector<int64_t> shape, permutation;
    for (auto [size, d] : llvm::zip(typeOf(read.value).getShape(), read.dims))
      if (d)
        shape.push_back(size);
    for (unsigned d : order)
      permutation.push_back(llvm::find(present, d) - present.begin());
    return transposed(reshaped(read.value, shape), permutation);
  }
  /// What is read, with all dimensions of the iterations; those that it lacks
  /// have size 1.
  Value aligned(const Read &read, unsigned rank) {
    SmallVector<unsigned> order = read.present();
    llvm::sort(order);
    Value v = inOrder(read, order);
    SmallVector<int64_t> shape(rank, 1);
    for (auto [size, d] : llvm::zip(typeOf(v).getShape(), order))
      shape[d] = size;
    return reshaped(v, shape);
  }
};

/// Of operands that have all dimensions, or none.
SmallVector<int64_t> broadcastShape(ArrayRef<Value> operands) {
  SmallVector<int64_t> shape;
  for (Value v : operands) {
    ArrayRef<int64_t> own = typeOf(v).getShape();
    shape.resize(std::max(shape.size(), own.size()), 1);
    for (size_t i = 0; i < own.size(); ++i)
      shape[i] = std::max(shape[i], own[i]);
  }
  return shape;
}

/// act.matmul for a product. Null if it has several dimensions to sum over, or
/// none.
Value productOf(linalg::GenericOp op, Maker &make) {
  if (!linalg::isaContractionOpInterface(op) || !op.hasPureTensorSemantics() ||
      filledWith(op.getDpsInits()[0]) != 0.0)
    return {};
  auto dims = linalg::inferContractionDims(op);
  if (failed(dims) || dims->k.size() != 1)
    return {};
  auto maps = op.getIndexingMapsArray();
  SmallVector<Read> reads;
  for (unsigned i : {0u, 1u}) {
    Read read{op.getInputs()[i], {}};
    for (AffineExpr e : maps[i].getResults()) {
      auto d = dyn_cast<AffineDimExpr>(e);
      if (!d)
        return {};
      read.dims.push_back(d.getPosition());
    }
    reads.push_back(read);
  }
  Type element = typeOf(reads[0].value).getElementType(),
       sum = typeOf(op.getResult(0)).getElementType();
  if (element != typeOf(reads[1].value).getElementType() ||
      !isa<FloatType>(element) ||
      (sum != element &&
       !(sum.isF32() && element.getIntOrFloatBitWidth() == 16)))
    return {};
  auto sizeOf = [&](unsigned d) {
    for (const Read &read : reads)
      for (auto [size, own] :
           llvm::zip(typeOf(read.value).getShape(), read.dims))
        if (own == d)
          return size;
    return int64_t(1);
  };
  auto product = [&](ArrayRef<unsigned> all) {
    int64_t n = 1;
    for (unsigned d : all)
      n *= sizeOf(d);
    return n;
  };
  const auto &batch = dims->batch, &m = dims->m, &n = dims->n;
  // Operands as they are, or with the last two dimensions swapped.
  auto operand = [&](const Read &read, ArrayRef<unsigned> first,
                     ArrayRef<unsigned> second, bool &swapped) {
    SmallVector<unsigned> order(batch.begin(), batch.end()), other(order);
    llvm::append_range(order, first);
    llvm::append_range(order, second);
    llvm::append_range(other, second);
    llvm::append_range(other, first);
    swapped = read.present() == other && order != other;
    Value v = make.inOrder(read, swapped ? other : order);
    SmallVector<int64_t> shape;
    for (unsigned d : batch)
      shape.push_back(sizeOf(d));
    shape.push_back(product(swapped ? second : first));
    shape.push_back(product(swapped ? first : second));
    return make.reshaped(v, shape);
  };
  bool lhsSwapped, rhsSwapped;
  Value lhs = operand(reads[0], m, dims->k, lhsSwapped),
        rhs = operand(reads[1], dims->k, n, rhsSwapped);
  SmallVector<int64_t> shape;
  SmallVector<unsigned> order(batch.begin(), batch.end());
  for (unsigned d : batch)
    shape.push_back(sizeOf(d));
  SmallVector<int64_t> merged(shape);
  merged.append({product(m), product(n)});
  llvm::append_range(order, m);
  llvm::append_range(order, n);
  for (unsigned d : ArrayRef(order).drop_front(batch.size()))
    shape.push_back(sizeOf(d));
  Value v =
      MatmulOp::create(make.b, make.loc, RankedTensorType::get(merged, sum),
                       lhs, rhs, lhsSwapped, rhsSwapped);
  v = make.reshaped(v, shape);
  SmallVector<int64_t> permutation;
  for (AffineExpr e : maps[2].getResults()) {
    auto d = dyn_cast<AffineDimExpr>(e);
    if (!d)
      return {};
    permutation.push_back(llvm::find(order, d.getPosition()) - order.begin());
  }
  return make.transposed(v, permutation);
}

/// The number that the op has for numbers that are known; null if they are not.
Value foldedAt(const Elementwise &form, Maker &make) {
  SmallVector<Attribute> operands;
  for (auto [input, v] :
       llvm::zip_equal(form.inputs, form.scalar->getOperands())) {
    auto number = numberIn(input);
    if (!number || !isa<FloatType>(v.getType()))
      return {};
    operands.push_back(make.b.getFloatAttr(v.getType(), *number));
  }
  SmallVector<OpFoldResult> results;
  if (failed(form.scalar->fold(operands, results)) || results.size() != 1)
    return {};
  auto number =
      dyn_cast_if_present<FloatAttr>(dyn_cast<Attribute>(results.front()));
  return number ? make.constant(number.getType(), number.getValueAsDouble())
                : Value();
}

/// The act op for one scalar op; null if there is none.
Value elementwiseAt(linalg::GenericOp op, const Elementwise &form,
                    Maker &make) {
  const unsigned rank = op.getNumLoops();
  auto type = typeOf(op.getResult(0));
  Type element = type.getElementType();
  auto value = [&](const Elementwise::Input &input, Type own) -> Value {
    auto number = numberIn(input);
    if (number && isa<FloatType>(own))
      return make.constant(own, *number);
    return input.read ? make.aligned(lookThrough(*input.read), rank) : Value();
  };
  auto finish = [&](Value v) {
    return v ? make.expanded(v, type.getShape()) : v;
  };
  if (!form.scalar)
    return finish(value(form.inputs[0], element));
  if (Value folded = foldedAt(form, make))
    return finish(folded);
  auto binary = [&](auto tag) -> Value {
    using Op = decltype(tag);
    if (numberIn(form.inputs[0]) && numberIn(form.inputs[1]))
      return {};
    Value a = value(form.inputs[0], element),
          b = value(form.inputs[1], element);
    if (!a || !b)
      return {};
    return Op::create(make.b, make.loc,
                      RankedTensorType::get(broadcastShape({a, b}), element), a,
                      b);
  };
  auto scaled = [&](const Elementwise::Input &input, double factor) -> Value {
    Value v = value(input, element);
    return ScaleOp::create(make.b, make.loc, v.getType(), v,
                           make.b.getF64FloatAttr(factor));
  };
  return finish(
      llvm::TypeSwitch<Operation *, Value>(form.scalar)
          .Case<arith::AddFOp>([&](auto) { return binary(act::AddOp()); })
          .Case<arith::SubFOp>([&](auto) { return binary(act::SubOp()); })
          .Case<arith::DivFOp>([&](auto) { return binary(act::DivOp()); })
          .Case<arith::MulFOp>([&](auto) {
            for (unsigned i : {0u, 1u})
              if (auto factor = numberIn(form.inputs[i]);
                  factor && !numberIn(form.inputs[1 - i]) &&
                  std::isfinite(*factor))
                return scaled(form.inputs[1 - i], *factor);
            return binary(act::MulOp());
          })
          .Case<arith::NegFOp>([&](auto) {
            return numberIn(form.inputs[0]) ? Value()
                                            : scaled(form.inputs[0], -1);
          })
          .Case<math::TanhOp>([&](auto) -> Value {
            Value v = value(form.inputs[0], element);
            return v ? TanhOp::create(make.b, make.loc, v.getType(), v)
                           .getResult()
                     : v;
          })
          .Case<arith::ExtFOp, arith::TruncFOp>([&](auto) -> Value {
            if (!form.inputs[0].read)
              return {};
            Value v = make.aligned(*form.inputs[0].read, rank);
            return CastOp::create(
                make.b, make.loc,
                RankedTensorType::get(typeOf(v).getShape(), element), v);
          })
          .Case<arith::SelectOp>([&](auto) -> Value {
            if (!isa<FloatType>(element) || !form.inputs[0].read)
              return {};
            Value c = value(form.inputs[0], make.b.getI1Type()),
                  a = value(form.inputs[1], element),
                  b = value(form.inputs[2], element);
            if (!a || !b)
              return {};
            return act::SelectOp::create(
                make.b, make.loc,
                RankedTensorType::get(broadcastShape({c, a, b}), element), c, a,
                b);
          })
          .Case<arith::AndIOp>([&](auto) -> Value {
            if (!element.isInteger(1) || !form.inputs[0].read ||
                !form.inputs[1].read)
              return {};
            return binary(act::AndOp());
          })
          .Default([](Operation *) { return Value(); }));
}

/// A part along the last dimension.
Value partOf(tensor::ExtractSliceOp slice, Maker &make) {
  auto from = slice.getSourceType(), to = slice.getType();
  if (from.getRank() == 0 || from.getRank() != to.getRank() ||
      from.getShape().drop_back() != to.getShape().drop_back() ||
      !slice.hasUnitStride() ||
      llvm::any_of(slice.getStaticOffsets(), ShapedType::isDynamic))
    return {};
  const int64_t offset = slice.getStaticOffsets().back(),
                size = to.getShape().back(),
                rest = from.getShape().back() - offset - size;
  SmallVector<Type> types;
  for (int64_t n : {offset, size, rest}) {
    SmallVector<int64_t> shape(to.getShape());
    shape.back() = n;
    if (n)
      types.push_back(make.shaped(to, shape));
  }
  auto parts =
      SplitOp::create(make.b, make.loc, TypeRange(types), slice.getSource());
  return parts->getResult(offset ? 1 : 0);
}

/// The act value for a result of an op that needs no others; null if there is
/// none.
Value raised(Operation *op, Maker &make) {
  if (op->getNumResults() != 1 || !isActType(op->getResult(0).getType()) ||
      !llvm::all_of(op->getOperands(), [](Value v) {
        return !isa<TensorType>(v.getType()) || isActType(v.getType());
      }))
    return {};
  auto type = typeOf(op->getResult(0));
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return act::ConstantOp::create(make.b, make.loc, type,
                                   cast<ElementsAttr>(constant.getValue()));
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    return make.reshaped(op->getOperand(0), type.getShape());
  if (auto concat = dyn_cast<tensor::ConcatOp>(op))
    return int64_t(concat.getDim()) == type.getRank() - 1
               ? act::ConcatOp::create(make.b, make.loc, type,
                                       concat.getInputs())
                     .getResult()
               : Value();
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return partOf(slice, make);
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic)
    return {};
  if (Value v = productOf(generic, make))
    return v;
  if (auto form = elementwiseOf(op))
    return elementwiseAt(generic, *form, make);
  if (auto sum = reductionOf(op); sum && sum->kind == ReductionForm::Sum &&
                                  isa<FloatType>(type.getElementType())) {
    SmallVector<int64_t> shape(typeOf(sum->input).getShape());
    for (unsigned d : sum->along)
      shape[d] = 1;
    Value v =
        SumToOp::create(make.b, make.loc, make.shaped(type, shape), sum->input);
    return make.reshaped(v, type.getShape());
  }
  return {};
}

Value layerNorm(Operation *op, Maker &make) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  auto match = generic ? layerNormAt(generic) : std::nullopt;
  if (!match || !isActType(match->input.getType()))
    return {};
  const unsigned last = generic.getNumLoops() - 1;
  return LayerNormOp::create(make.b, make.loc, match->input.getType(), Type(),
                             Type(), match->input,
                             make.inOrder(match->weight, last),
                             make.inOrder(match->bias, last),
                             make.b.getF64FloatAttr(match->eps))
      .getResult();
}

/// What is made of several ops, at the last of them. A softmax that is one op
/// is here, too, as others are made of it.
Value composed(Operation *op, Maker &make) {
  if (auto softmax = dyn_cast<linalg::SoftmaxOp>(op))
    return softmax.hasPureTensorSemantics() &&
                   isActType(softmax.getResult()[0].getType())
               ? act::SoftmaxOp::create(
                     make.b, make.loc, softmax.getInput().getType(),
                     softmax.getInput(), softmax.getDimension())
                     .getResult()
               : Value();
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || op->getNumResults() != 1 ||
      !isActType(op->getResult(0).getType()))
    return {};
  if (Value x = siluAt(generic))
    return SiluOp::create(make.b, make.loc, x.getType(), x);
  if (Value x = geluAt(generic))
    return GeluOp::create(make.b, make.loc, x.getType(), x);
  if (auto norm = rmsNormAt(generic))
    return RmsNormOp::create(
               make.b, make.loc, norm->input.getType(), Type(), norm->input,
               make.inOrder(norm->weight, generic.getNumLoops() - 1),
               make.b.getF64FloatAttr(norm->eps))
        .getResult();
  if (Value p = guardedSoftmaxAt(generic))
    return p;
  auto match = softmaxAt(generic);
  if (!match)
    return {};
  if (!match->isSafe)
    op->emitRemark("raise-to-act: the softmax did not subtract the maximum of "
                   "its rows; act.softmax does");
  return act::SoftmaxOp::create(make.b, make.loc, match->input.getType(),
                                match->input, int64_t(match->axis));
}

/// Removes what nobody reads any more, readers first.
void eraseUnread(func::FuncOp function) {
  IRRewriter b(function.getContext());
  function.walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
    if (isOpTriviallyDead(op))
      b.eraseOp(op);
  });
}

using Counts = llvm::MapVector<StringRef, int64_t>;

/// The function's act ops, by name.
Counts actOpsOf(func::FuncOp function) {
  Counts counts;
  function.walk([&](Operation *op) {
    if (isa_and_present<ActDialect>(op->getDialect()))
      ++counts[op->getName().getStringRef()];
  });
  return counts;
}

struct RaiseToAct : act::impl::RaiseToActPassBase<RaiseToAct> {
  using RaiseToActPassBase::RaiseToActPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    RaiseToActPassBase::getDependentDialects(registry);
    OpPassManager pm(func::FuncOp::getOperationName());
    addLowering(pm);
    pm.getDependentDialects(registry);
  }

  static void addLowering(OpPassManager &pm) {
    pm.addPass(tosa::createTosaToLinalgNamed());
    pm.addPass(tosa::createTosaToLinalg());
    pm.addPass(createTosaToArithPass());
    pm.addPass(createTosaToTensorPass());
    pm.addPass(createCanonicalizerPass());
  }

  void runOnOperation() override {
    // Bodies of unknown ops are gone before functions are inlined.
    llvm::DenseMap<Operation *, Counts> before;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      before[function] = actOpsOf(function);
      if (failed(lowerStableHlo(function)))
        return signalPassFailure();
    }
    if (failed(makeForward()))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && failed(raise(function, before[function])))
        return signalPassFailure();
  }

  /// JAX calls the program main, and has functions that it calls. A model is
  /// @forward, alone.
  LogicalResult makeForward() {
    ModuleOp module = getOperation();
    auto main = module.lookupSymbol<func::FuncOp>("main");
    if (!main || module.lookupSymbol("forward"))
      return success();
    if (failed(SymbolTable::replaceAllSymbolUses(
            main, StringAttr::get(&getContext(), "forward"), module)))
      return failure();
    main.setSymName("forward");
    OpPassManager pm(ModuleOp::getOperationName());
    pm.addPass(createInlinerPass());
    pm.addPass(createSymbolDCEPass());
    return runPipeline(pm, module);
  }

  /// Constants that are cast to a narrower type, which upstream folds only if
  /// they fit.
  static void roundConstants(func::FuncOp function) {
    IRRewriter b(function.getContext());
    function.walk([&](arith::TruncFOp op) {
      FloatAttr wide;
      auto type = dyn_cast<FloatType>(op.getType());
      if (!type || !matchPattern(op.getIn(), m_Constant(&wide)))
        return;
      bool loses;
      llvm::APFloat value = wide.getValue();
      value.convert(type.getFloatSemantics(),
                    llvm::APFloat::rmNearestTiesToEven, &loses);
      b.setInsertionPoint(op);
      b.replaceOpWithNewOp<arith::ConstantOp>(op, FloatAttr::get(type, value));
    });
  }

  LogicalResult bringToOneForm(func::FuncOp function) {
    const bool hasTosa =
        function
            .walk([](Operation *op) {
              return isa_and_present<tosa::TosaDialect>(op->getDialect())
                         ? WalkResult::interrupt()
                         : WalkResult::advance();
            })
            .wasInterrupted();
    if (hasTosa) {
      OpPassManager pm(func::FuncOp::getOperationName());
      addLowering(pm);
      if (failed(runPipeline(pm, function)))
        return failure();
    }
    IRRewriter b(function.getContext());
    SmallVector<linalg::LinalgOp> named;
    function.walk([&](linalg::LinalgOp op) {
      if (!isa<linalg::GenericOp, linalg::FillOp>(op) &&
          op.hasPureTensorSemantics())
        named.push_back(op);
    });
    for (linalg::LinalgOp op : named) {
      b.setInsertionPoint(op);
      (void)linalg::generalizeNamedOp(b, op); // else it stays
    }
    roundConstants(function);
    function.walk([&](arith::ConstantOp op) {
      if (auto generic = op->getParentOfType<linalg::GenericOp>())
        op->moveBefore(generic);
    });
    RewritePatternSet patterns(function.getContext());
    linalg::populateDecomposeLinalgOpsPattern(patterns);
    if (failed(applyPatternsGreedily(function, std::move(patterns))))
      return failure();
    DominanceInfo dominance(function);
    eliminateCommonSubExpressions(b, dominance, function);
    return success();
  }

  LogicalResult raise(func::FuncOp function, const Counts &before) {
    if (failed(bringToOneForm(function)))
      return failure();
    // A layer norm has an RMS norm in it.
    replaceEach(function, layerNorm);
    replaceEach(function, composed);
    // Broadcasts, transposes and reshapes last: most are part of what reads
    // them. Constants then are those that act ops read.
    replaceEach(function, [](Operation *op, Maker &make) {
      auto form = elementwiseOf(op);
      return isa<linalg::LinalgOp>(op) && !(form && !form->scalar)
                 ? raised(op, make)
                 : Value();
    });
    replaceEach(function, [](Operation *op, Maker &make) {
      return isa<arith::ConstantOp>(op) ? Value() : raised(op, make);
    });
    replaceEach(function, [](Operation *op, Maker &make) {
      const bool isForAct =
          isa<arith::ConstantOp>(op) &&
          isa<RankedTensorType>(op->getResult(0).getType()) &&
          llvm::any_of(op->getUsers(), [](Operation *user) {
            return isa_and_present<ActDialect>(user->getDialect());
          });
      return isForAct ? raised(op, make) : Value();
    });
    if (failed(putTogether(function)))
      return failure();
    return report(function, before);
  }

  /// Replaces the function's ops by the values that `made` has for them, in
  /// order, and removes what nobody reads any more.
  static void replaceEach(func::FuncOp function,
                          function_ref<Value(Operation *, Maker &)> made) {
    OpBuilder b(function.getContext());
    for (Operation &op :
         llvm::make_early_inc_range(function.getBody().getOps())) {
      Maker make{b, op.getLoc()};
      b.setInsertionPoint(&op);
      if (Value v = made(&op, make))
        op.getResult(0).replaceAllUsesWith(v);
    }
    eraseUnread(function);
  }

  /// Bodies that were taken apart in vain.
  LogicalResult putTogether(func::FuncOp function) {
    RewritePatternSet patterns(function.getContext());
    linalg::populateElementwiseOpsFusionPatterns(
        patterns,
        [](OpOperand *operand) { return operand->get().hasOneUse(); });
    return applyPatternsGreedily(function, std::move(patterns));
  }

  LogicalResult report(func::FuncOp function, const Counts &before) {
    Counts counts = actOpsOf(function);
    for (auto &[name, n] : before)
      counts[name] -= n;
    counts.remove_if([](const auto &count) { return count.second <= 0; });
    SmallVector<Operation *> left;
    function.walk([&](Operation *op) {
      if (op->getParentOp() == function && op->getNumResults() &&
          llvm::any_of(op->getResultTypes(), llvm::IsaPred<TensorType>) &&
          !isa_and_present<ActDialect, func::FuncDialect>(op->getDialect()) &&
          !isa<arith::ConstantOp, tensor::EmptyOp, linalg::FillOp>(op))
        left.push_back(op);
    });
    if (counts.empty() && left.empty())
      return success();
    std::string text;
    llvm::raw_string_ostream os(text);
    for (auto &[name, n] : counts)
      os << (text.empty() ? "" : ", ") << n << " " << name;
    function.emitRemark("raise-to-act: ")
        << (text.empty() ? "found nothing" : "found " + text) << "; "
        << int64_t(left.size()) << " ops are left";
    for (Operation *op : left)
      op->emitRemark("raise-to-act: '")
          << op->getName() << "' is left as it is: no act op computes it";
    return success();
  }
};

} // namespace
