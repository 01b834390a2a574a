// SPDX-License-Identifier: Apache-2.0
//
// Builds @update and @step around @grad. This file decides what runs once per
// parameter, per micro-batch and per step; the arithmetic of the optimizers is
// in the lowering of their ops. How the losses of micro-batches become the loss
// of one batch is StepLoss.h's subject.
#include "passes/step/WriteStep.h"
#include "act/Artifact/Step.h"
#include "dialects/act/AttrNames.h"
#include "dialects/act/Types.h"
#include "passes/autodiff/Autodiff.h"
#include "passes/module/Entries.h"
#include "passes/step/Passes.h"
#include "passes/step/StepLoss.h"

namespace act {
#define GEN_PASS_DEF_WRITESTEPPASS
#include "passes/step/Passes.h.inc"
} // namespace act

using namespace mlir;
using namespace act;

namespace {

/// An input of @step: the factor of its loss.
constexpr StringLiteral lossScaleName = "loss_scale";

/// Writes one step. Options are checked first, so the other functions may rely
/// on them. @grad changes too: gradients may get another type, and with
/// micro-batches its loss becomes the micro-batch's share of the step's.
class StepWriter {
public:
  StepWriter(ModuleOp module, const StepOptions &options)
      : module(module), symbols(module), options(options),
        b(module.getContext()) {}
  LogicalResult run();

private:
  /// Emits `one` for every trained parameter; per-layer parameters are in a
  /// repeat of a function `name`. `carry` is threaded through all of them;
  /// `shared` is passed to each.
  void forEachParameter(
      OpBuilder &at, StringRef name, SmallVectorImpl<Value> &carry,
      ValueRange shared,
      function_ref<SmallVector<Value>(OpBuilder &, ParameterOp,
                                      ValueRange carry, ValueRange shared)>
          one);
  LogicalResult check();
  LogicalResult setGradientTypes();
  void setStateTypes();
  /// The defaults of the optimizers' papers and of torch.optim.
  double beta2() const {
    return options.beta2.value_or(options.optimizer == "lion" ? 0.99 : 0.999);
  }
  double weightDecay() const {
    return options.weightDecay.value_or(
        StringRef(options.optimizer).starts_with("adamw") ? 0.01 : 0);
  }
  void updateOne(OpBuilder &at, ParameterOp p, ValueRange shared,
                 Value coefficient);
  void scaleLoss(func::FuncOp grad, double share);
  func::FuncOp writeUpdate();
  LogicalResult writeStep(func::FuncOp update);
  Value runMicroBatches(OpBuilder &at, func::FuncOp step, func::FuncOp grad,
                        const StepLoss &loss);
  func::FuncOp function(StringRef name, TypeRange arguments,
                        ArrayRef<StringRef> names);

  ModuleOp module;
  SymbolTable symbols;
  StepOptions options;
  OpBuilder b;
  SmallVector<ParameterOp> trained;
};

LogicalResult StepWriter::check() {
  if (!llvm::is_contained(artifact::optimizers, options.optimizer))
    return emitError(module.getLoc())
           << "unknown optimizer '" << options.optimizer << "': expected "
           << artifact::optimizerNames();
  if (options.master != "f32" && options.master != "none")
    return emitError(module.getLoc())
           << "unknown master type '" << options.master
           << "': expected f32 or none";
  if (!llvm::is_contained({"", "f32", "bf16", "f16"}, options.gradDtype))
    return emitError(module.getLoc())
           << "unknown grad-dtype '" << options.gradDtype
           << "': expected f32, bf16 or f16";
  if (!llvm::is_contained({"", "f32", "bf16"}, options.stateDtype))
    return emitError(module.getLoc())
           << "unknown state-dtype '" << options.stateDtype
           << "': expected f32 or bf16";
  if (options.decayOn != "all" && options.decayOn != "matrices")
    return emitError(module.getLoc()) << "unknown decay-on '" << options.decayOn
                                      << "': expected all or matrices";
  if (options.microBatches < 1 || options.microBatches > 4096)
    return emitError(module.getLoc())
           << "micro-batches must be from 1 to 4096, got "
           << options.microBatches;
  if (options.lossAverage != "labels" && options.lossAverage != "micro-batches")
    return emitError(module.getLoc())
           << "unknown loss-average '" << options.lossAverage
           << "': expected labels or micro-batches";
  // Negated comparisons, so that NaN is an error as well.
  if (!(options.clip >= 0))
    return emitError(module.getLoc())
           << "clip must not be negative, got " << options.clip;
  for (auto [name, beta] : {std::pair("beta1", options.beta1),
                            {"beta2", beta2()},
                            {"momentum", options.momentum}})
    if (!(beta >= 0 && beta < 1))
      return emitError(module.getLoc())
             << name << " must be at least 0 and below 1, got " << beta;
  if (!(options.eps > 0))
    return emitError(module.getLoc())
           << "eps must be positive, got " << options.eps;
  if (!(weightDecay() >= 0))
    return emitError(module.getLoc())
           << "weight-decay must not be negative, got " << weightDecay();
  if (options.momentum != 0 && options.optimizer != "sgd")
    return emitError(module.getLoc())
           << "momentum is sgd's, and the optimizer is " << options.optimizer;
  return success();
}

/// Appends an entry function without results. @step gets its result type once
/// the loss is known.
func::FuncOp StepWriter::function(StringRef name, TypeRange arguments,
                                  ArrayRef<StringRef> names) {
  auto f = func::FuncOp::create(
      module.getLoc(), name,
      FunctionType::get(module.getContext(), arguments, {}));
  module.push_back(f);
  f.addEntryBlock();
  for (auto [i, n] : llvm::enumerate(names))
    f.setArgAttr(i, nameAttr, b.getStringAttr(n));
  return f;
}

void StepWriter::forEachParameter(
    OpBuilder &at, StringRef name, SmallVectorImpl<Value> &carry,
    ValueRange shared,
    function_ref<SmallVector<Value>(OpBuilder &, ParameterOp, ValueRange,
                                    ValueRange)>
        one) {
  Location loc = module.getLoc();
  // Parameters of the same number of layers share a repeat, so the step's IR
  // does not grow with the depth. Those outside layers (key 0) come first:
  //
  //   act.sgd @embed lr(%lr)
  //   act.repeat @layer.update count(L = 2) shared(%lr, %step)
  std::map<int64_t, SmallVector<ParameterOp>> byLayers;
  for (ParameterOp p : trained)
    byLayers[p.getLayers().value_or(0)].push_back(p);
  for (auto &[layers, list] : byLayers) {
    if (!layers) {
      for (ParameterOp p : list) {
        auto next = one(at, p, carry, shared);
        carry.assign(next.begin(), next.end());
      }
      continue;
    }
    std::string fname = name.str();
    SmallVector<Type> arguments(ValueRange(carry).getTypes());
    llvm::append_range(arguments, shared.getTypes());
    func::FuncOp f = func::FuncOp::create(
        loc, fname, FunctionType::get(module.getContext(), arguments, {}));
    f.setPrivate();
    symbols.insert(f);
    Block *body = f.addEntryBlock();
    OpBuilder inner = OpBuilder::atBlockEnd(body);
    SmallVector<Value> c(body->getArguments().take_front(carry.size()));
    SmallVector<Value> s(body->getArguments().drop_front(carry.size()));
    for (ParameterOp p : list)
      c = one(inner, p, c, s);
    func::ReturnOp::create(inner, loc, c);
    f.setType(FunctionType::get(module.getContext(), arguments,
                                ValueRange(c).getTypes()));
    // Printed modules have a callee above its callers.
    if (auto user = at.getInsertionBlock()->getParentOp())
      f->moveBefore(user);
    auto run =
        RepeatOp::create(at, loc, ValueRange(carry).getTypes(), f.getName(),
                         "L", layers, 0, false, carry, shared, ValueRange());
    carry.assign(run.getResults().begin(), run.getResults().end());
  }
}

// Gives every accumulated gradient the type of its buffer. Every act value is
// rounded to its type, so a cast behind a bf16 product would widen a number
// that is already rounded. A product or sum that only feeds the accumulation
// therefore gets the wider type itself:
//
//   %d = act.matmul ... -> tensor<4x4xbf16>     act.accumulate @w, %d
//   %d = act.matmul ... -> tensor<4x4xf32>      with grad-dtype=f32
//
// Other producers keep their type and are followed by a cast.
LogicalResult StepWriter::setGradientTypes() {
  if (options.gradDtype.empty())
    return success();
  Type element = options.gradDtype == "f32"    ? Type(b.getF32Type())
                 : options.gradDtype == "bf16" ? Type(b.getBF16Type())
                                               : Type(b.getF16Type());
  for (ParameterOp p : trained) {
    Type own = cast<RankedTensorType>(p.getType()).getElementType();
    if (element != own &&
        element.getIntOrFloatBitWidth() <= own.getIntOrFloatBitWidth())
      return p.emitError() << "grad-dtype '" << options.gradDtype
                           << "' does not hold gradients of " << own
                           << " parameters: expected " << own
                           << " or a wider type";
    p->setAttr(gradientTypeAttr, TypeAttr::get(element));
  }
  module.walk([&](AccumulateOp op) {
    auto type = op.getValue().getType();
    if (type.getElementType() == element)
      return;
    auto wide = withElement(type, element);
    Operation *def = op.getValue().getDefiningOp();
    OpBuilder at(op);
    if (isa_and_nonnull<MatmulOp, SumToOp, NormWeightGradOp>(def) &&
        op.getValue().hasOneUse())
      def->getResult(0).setType(wide);
    else
      op.getValueMutable().assign(
          CastOp::create(at, op.getLoc(), wide, op.getValue()));
  });
  return success();
}

void StepWriter::setStateTypes() {
  if (options.stateDtype != "bf16")
    return;
  for (ParameterOp p : trained)
    if (cast<RankedTensorType>(p.getType()).getElementTypeBitWidth() <= 32)
      p->setAttr(stateTypeAttr, TypeAttr::get(b.getBF16Type()));
}

// The update of one parameter; `shared` are lr and step.
void StepWriter::updateOne(OpBuilder &at, ParameterOp p, ValueRange shared,
                           Value coefficient) {
  Location loc = module.getLoc();
  auto symbol = FlatSymbolRefAttr::get(p.getSymNameAttr());
  auto type = cast<RankedTensorType>(p.getType());
  UnitAttr master =
      options.master == "f32" && type.getElementTypeBitWidth() == 16
          ? b.getUnitAttr()
          : UnitAttr();
  // Norms and biases are vectors.
  bool decays = options.decayOn == "all" || type.getRank() > 1;
  FloatAttr decay = b.getF64FloatAttr(decays ? weightDecay() : 0);
  auto betas = b.getDenseF64ArrayAttr({options.beta1, beta2()});
  auto unlessZero = [](FloatAttr a) {
    return a.getValueAsDouble() == 0 ? FloatAttr() : a;
  };
  auto adam = [&](auto *op) {
    std::remove_pointer_t<decltype(op)>::create(
        at, loc, symbol, shared[0], shared[1], coefficient, betas,
        b.getF64FloatAttr(options.eps), decay, master);
  };
  // As bitsandbytes, which leaves small tensors in f32.
  const int64_t elements = elementCount(type);
  const bool inBlocks = elements >= 4096 && elements % dynamicBlock == 0 &&
                        type.getElementTypeBitWidth() <= 32;
  if (options.optimizer == "adamw8bit" && inBlocks)
    adam(static_cast<AdamW8bitOp *>(nullptr));
  else if (StringRef(options.optimizer).starts_with("adamw"))
    adam(static_cast<AdamWOp *>(nullptr));
  else if (options.optimizer == "lion")
    LionOp::create(at, loc, symbol, shared[0], coefficient, betas, decay,
                   master);
  else
    SgdOp::create(at, loc, symbol, shared[0], coefficient,
                  unlessZero(b.getF64FloatAttr(options.momentum)),
                  unlessZero(decay), master);
}

// @update reads only buffers that outlive @grad: parameters, gradients and
// optimizer state. With clipping it goes over the gradients twice, because the
// coefficient depends on all of them:
//
//   %sum  = act.repeat @layer.square_sum ... carry(%0)
//   %coef = act.clip %sum
//   act.repeat @layer.update ... shared(%lr, %step, %coef)
//
// With loss-scale it takes the scale; with grad-norm it returns the norm.
func::FuncOp StepWriter::writeUpdate() {
  Location loc = module.getLoc();
  auto scalar = RankedTensorType::get({}, b.getF32Type());
  SmallVector<Type> arguments{b.getF32Type(), b.getI64Type()};
  SmallVector<StringRef> names{"lr", "step"};
  if (options.lossScale) {
    arguments.push_back(scalar);
    names.push_back(lossScaleName);
  }
  auto f = function(updateName, arguments, names);
  Block *body = &f.getBody().front();
  OpBuilder at = OpBuilder::atBlockEnd(body);
  SmallVector<Value> shared(body->getArguments().take_front(2)), results;
  Value scale = options.lossScale ? body->getArgument(2) : Value();
  const bool factor = options.clip > 0 || options.lossScale;
  if (factor || options.gradNorm) {
    SmallVector<Value> sum{ConstantOp::create(at, loc, scalar, 0.0)};
    forEachParameter(
        at, "layer.square_sum", sum, {},
        [&](OpBuilder &i, ParameterOp p, ValueRange carry, ValueRange) {
          return SmallVector<Value>{GradSquareSumOp::create(
              i, loc, FlatSymbolRefAttr::get(p.getSymNameAttr()), carry[0])};
        });
    if (options.gradNorm)
      results.push_back(
          GradNormOp::create(at, loc, sum[0].getType(), sum[0], scale));
    if (factor)
      shared.push_back(ClipOp::create(
          at, loc, sum[0].getType(), sum[0], scale,
          options.clip > 0 ? b.getF64FloatAttr(options.clip) : FloatAttr()));
  }
  SmallVector<Value> none;
  forEachParameter(
      at, "layer.update", none, shared,
      [&](OpBuilder &i, ParameterOp p, ValueRange, ValueRange args) {
        updateOne(i, p, args, factor ? args[2] : Value());
        return SmallVector<Value>{};
      });
  func::ReturnOp::create(at, loc, results);
  f.setType(FunctionType::get(module.getContext(), arguments,
                              ValueRange(results).getTypes()));
  return f;
}

// The gradient of the loss is the weight of a micro-batch's loss. Scaling the
// seed scales every gradient at no cost. A scale that is chosen while the step
// runs is @grad's last argument.
void StepWriter::scaleLoss(func::FuncOp grad, double share) {
  Value scale;
  if (options.lossScale) {
    unsigned last = grad.getNumArguments();
    (void)grad.insertArgument(last, RankedTensorType::get({}, b.getF32Type()),
                              {}, module.getLoc());
    grad.setArgAttr(last, nameAttr, b.getStringAttr(lossScaleName));
    scale = grad.getArgument(last);
  }
  SmallVector<ConstantOp> seeds;
  grad.walk([&](ConstantOp c) {
    if (c->hasAttr(lossScaleAttr))
      seeds.push_back(c);
  });
  for (ConstantOp c : seeds) {
    auto type = cast<RankedTensorType>(c.getType());
    if (!scale) {
      c.setValueAttr(DenseElementsAttr::get(
          type, FloatAttr::get(type.getElementType(), share)));
      continue;
    }
    OpBuilder at(c);
    Value seed = scale;
    if (share != 1)
      seed = ScaleOp::create(at, c.getLoc(), seed, b.getF64FloatAttr(share));
    c.replaceAllUsesWith(castTo(at, seed, type));
    c.erase();
  }
}

// Runs @grad once per micro-batch and returns the weighted sum of the losses.
// Gradients are not carried: act.accumulate adds to buffers that outlive a
// call. The repeat passes tensors in slices and everything else whole, so it
// cannot call @grad, whose arguments are in the model's order. @grad.micro
// stands between the two:
//
//   func @grad.micro(%sum, %step_labels, %x, %labels)
//     %l = call @grad(%x, %labels, %step_labels)
//     return %sum + %l
//   act.repeat @grad.micro count(4) micro_batches
//       carry(%0) shared(%step_labels) stack(%xs, %all_labels)
Value StepWriter::runMicroBatches(OpBuilder &at, func::FuncOp step,
                                  func::FuncOp grad, const StepLoss &loss) {
  Location loc = module.getLoc();
  Block *body = &step.getBody().front();
  unsigned inputs =
      grad.getNumArguments() - loss.counts.size() - options.lossScale;
  SmallVector<Value> shared, stacked;
  // Argument numbers of @grad, in the order of @grad.micro(loss, shared.., a
  // slice of each tensor..).
  SmallVector<unsigned> sharedAt, slicedAt;
  for (unsigned i = 0; i < inputs; ++i) {
    bool tensor = isa<RankedTensorType>(grad.getArgumentTypes()[i]);
    (tensor ? stacked : shared).push_back(body->getArgument(i));
    (tensor ? slicedAt : sharedAt).push_back(i);
  }
  // @grad divides by the labels of the step, so they are counted over all
  // micro-batches before the first one runs.
  for (auto [i, c] : llvm::enumerate(loss.counts)) {
    Value labels = LabelCountOp::create(at, loc, c.type,
                                        body->getArgument(c.labels), c.ignore);
    // `share` weighs every micro-batch's loss below. What is divided by the
    // labels of the step needs no such weight, so the divisor takes it back.
    if (loss.share != 1)
      labels = ScaleOp::create(at, loc, labels, b.getF64FloatAttr(loss.share));
    shared.push_back(labels);
    sharedAt.push_back(inputs + i);
  }
  if (options.lossScale) {
    shared.push_back(body->getArgument(inputs));
    sharedAt.push_back(grad.getNumArguments() - 1);
  }

  auto lossType = cast<RankedTensorType>(grad.getResultTypes()[0]);
  SmallVector<Type> types{lossType};
  SmallVector<unsigned> order(sharedAt);
  llvm::append_range(order, slicedAt);
  for (unsigned i : order)
    types.push_back(grad.getArgumentTypes()[i]);
  auto micro = func::FuncOp::create(
      loc, "grad.micro",
      FunctionType::get(module.getContext(), types, {lossType}));
  micro.setPrivate();
  symbols.insert(micro, Block::iterator(step));
  Block *inner = micro.addEntryBlock();
  OpBuilder i = OpBuilder::atBlockEnd(inner);
  SmallVector<Value> operands(grad.getNumArguments());
  for (auto [k, a] : llvm::enumerate(order))
    operands[a] = inner->getArgument(1 + k);
  Value part = func::CallOp::create(i, loc, grad, operands).getResult(0);
  if (loss.share != 1)
    part = ScaleOp::create(i, loc, part, b.getF64FloatAttr(loss.share));
  Value sum = AddOp::create(i, loc, lossType, inner->getArgument(0), part);
  func::ReturnOp::create(i, loc, sum);

  Value zero = ConstantOp::create(at, loc, lossType, 0.0);
  return RepeatOp::create(at, loc, TypeRange{lossType}, micro.getName(), "",
                          options.microBatches, 0, false, ValueRange{zero},
                          shared, stacked, /*micro_batches=*/true)
      .getResult(0);
}

// Writes @step. Gradients are zeroed at its start and not after the update, so
// the caller can read them when the step is done.
LogicalResult StepWriter::writeStep(func::FuncOp update) {
  Location loc = module.getLoc();
  auto grad = symbols.lookup<func::FuncOp>(gradName);
  int64_t n = options.microBatches;
  // Arguments: @grad's (with several micro-batches, tensors get a leading
  // dimension), then the loss's scale, lr, and step unless @grad takes it
  // already: dropout draws its numbers from the step.
  SmallVector<Type> arguments;
  SmallVector<StringRef> names;
  unsigned inputs = grad.getNumArguments();
  int stepArgument = -1;
  for (auto [i, type] : llvm::enumerate(grad.getArgumentTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    arguments.push_back(
        tensor && n > 1 ? Type(prepend(tensor, n, std::to_string(n))) : type);
    auto name = grad.getArgAttrOfType<StringAttr>(i, nameAttr);
    names.push_back(name ? name.getValue() : StringRef());
    if (names.back() == "step")
      stepArgument = i;
  }
  if (options.lossScale) {
    arguments.push_back(RankedTensorType::get({}, b.getF32Type()));
    names.push_back(lossScaleName);
  }
  const unsigned rate = arguments.size();
  arguments.push_back(b.getF32Type());
  names.push_back("lr");
  if (stepArgument < 0) {
    arguments.push_back(b.getI64Type());
    names.push_back("step");
  }
  StepLoss stepLoss{1.0 / n, {}}; // the mean over micro-batches
  if (n > 1 && options.lossAverage == "labels") {
    auto written = writeStepLoss(grad, n);
    if (failed(written))
      return failure();
    stepLoss = *written;
  }
  scaleLoss(grad, stepLoss.share);

  auto f = function(stepName, arguments, {});
  for (auto [i, name] : llvm::enumerate(names))
    if (!name.empty())
      f.setArgAttr(i, nameAttr, b.getStringAttr(name));
  Block *body = &f.getBody().front();
  Value stepNumber = stepArgument < 0 ? Value(body->getArguments().back())
                                      : Value(body->getArgument(stepArgument));
  Value lr = body->getArgument(rate);
  // lr, and in front of it the scale.
  SmallVector<Value> gradOperands(body->getArguments().take_front(rate));
  OpBuilder at = OpBuilder::atBlockEnd(body);
  SmallVector<Value> none;
  forEachParameter(at, "layer.zero_grad", none, {},
                   [&](OpBuilder &i, ParameterOp p, ValueRange, ValueRange) {
                     ZeroGradOp::create(
                         i, loc, FlatSymbolRefAttr::get(p.getSymNameAttr()));
                     return SmallVector<Value>{};
                   });
  Value loss =
      n == 1 ? func::CallOp::create(at, loc, grad, gradOperands).getResult(0)
             : runMicroBatches(at, f, grad, stepLoss);
  PhaseOp::create(at, loc, "update");
  SmallVector<Value> updateOperands{lr, stepNumber};
  if (options.lossScale)
    updateOperands.push_back(body->getArgument(inputs));
  auto updated = func::CallOp::create(at, loc, update, updateOperands);
  SmallVector<Value> results{loss};
  llvm::append_range(results, updated.getResults());
  func::ReturnOp::create(at, loc, results);
  f.setType(FunctionType::get(module.getContext(), arguments,
                              ValueRange(results).getTypes()));
  f.setResultAttr(0, nameAttr, b.getStringAttr("loss"));
  if (options.gradNorm)
    f.setResultAttr(1, nameAttr, b.getStringAttr("grad_norm"));
  return success();
}

LogicalResult StepWriter::run() {
  if (failed(check()) || failed(checkEntries(module)))
    return failure();
  if (!symbols.lookup(gradName))
    return emitError(
        module.getLoc(),
        "the module has no @grad; differentiate it first (--autodiff)");
  if (isDifferentiableFunction(module))
    return emitError(module.getLoc(),
                     "the module is a differentiable function and has no "
                     "training step: what calls it has the loss and updates "
                     "the parameters");
  if (kernelsFormed(module))
    return emitError(
        module.getLoc(),
        "the module has kernels but no @step; write the optimizer before "
        "kernels are formed: --optimizer=adamw --form-kernels");
  if (symbols.lookup(stepName) || symbols.lookup(updateName))
    return emitError(module.getLoc(),
                     "the module already has a @step or an @update");
  for (auto p : module.getOps<ParameterOp>())
    if (!p.getFrozen() &&
        isa<FloatType>(cast<RankedTensorType>(p.getType()).getElementType()))
      trained.push_back(p);
  if (failed(setGradientTypes()))
    return failure();
  setStateTypes();
  module->setAttr(optimizerAttr, b.getStringAttr(options.optimizer));
  module->setAttr(microBatchesAttr, b.getI64IntegerAttr(options.microBatches));
  module->setAttr(lossAverageAttr, b.getStringAttr(options.lossAverage));
  return writeStep(writeUpdate());
}

struct WriteStep : act::impl::WriteStepPassBase<WriteStep> {
  using WriteStepPassBase::WriteStepPassBase;
  void runOnOperation() override {
    StepOptions o;
    o.optimizer = optimizer;
    o.master = master;
    o.gradDtype = gradDtype;
    o.microBatches = microBatches;
    o.lossAverage = lossAverage;
    o.clip = clip;
    o.stateDtype = stateDtype;
    o.decayOn = decayOn;
    o.lossScale = lossScale;
    o.gradNorm = gradNorm;
    o.beta1 = beta1;
    o.eps = eps;
    o.momentum = momentum;
    if (beta2.hasValue())
      o.beta2 = beta2;
    if (weightDecay.hasValue())
      o.weightDecay = weightDecay;
    if (!getOperation().lookupSymbol(gradName) &&
        failed(differentiate(getOperation())))
      return signalPassFailure();
    if (failed(writeStep(getOperation(), o)))
      signalPassFailure();
  }
};

} // namespace

LogicalResult act::writeStep(ModuleOp module, const StepOptions &options) {
  return StepWriter(module, options).run();
}
