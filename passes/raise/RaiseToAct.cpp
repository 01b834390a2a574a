// SPDX-License-Identifier: Apache-2.0
//
// --raise-to-act. First everything is brought to one form: tosa to linalg,
// named ops to generic ones, bodies of several ops to one op each, equal ops
// merged. Then softmaxes are found, which are made of several ops, and at last
// each op that is an act op by itself. What is left is put together again.
#include "dialects/act/AttrNames.h"
#include "dialects/act/Types.h"
#include "mlir/Conversion/TosaToArith/TosaToArith.h"
#include "mlir/Conversion/TosaToLinalg/TosaToLinalg.h"
#include "mlir/Conversion/TosaToTensor/TosaToTensor.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"
#include "passes/raise/ActForm.h"
#include "passes/raise/ComposedOps.h"
#include "passes/raise/NormalForm.h"
#include "passes/raise/Passes.h"
#include "passes/raise/SingleOps.h"
#include "passes/raise/StableHlo.h"
#include "passes/raise/TorchDialect.h"
#include "llvm/ADT/MapVector.h"

namespace act {
#define GEN_PASS_DEF_RAISETOACTPASS
#include "passes/raise/Passes.h.inc"
} // namespace act

using namespace mlir;
using namespace act;

namespace {

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
      if (failed(lowerStableHlo(function)) ||
          failed(lowerTorchDialect(function)))
        return signalPassFailure();
    }
    if (failed(makeForward()))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && failed(raise(function, before[function])))
        return signalPassFailure();
    if (failed(makeParameters()))
      signalPassFailure();
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

  /// From the last op to the first. A larger match erases its parts, so they
  /// are not tried.
  static void replaceLargest(func::FuncOp function,
                             function_ref<Value(Operation *, Maker &)> made) {
    OpBuilder b(function.getContext());
    for (Operation &op : llvm::make_early_inc_range(
             llvm::reverse(function.getBody().front()))) {
      if (isOpTriviallyDead(&op)) {
        op.erase();
        continue;
      }
      Maker make{b, op.getLoc()};
      b.setInsertionPoint(&op);
      if (Value v = made(&op, make)) {
        op.getResult(0).replaceAllUsesWith(v);
        op.erase();
      }
    }
    eraseUnread(function);
  }

  LogicalResult raise(func::FuncOp function, const Counts &before) {
    if (hasTosa(function)) {
      joinTosaConcats(function);
      OpPassManager pm(func::FuncOp::getOperationName());
      addLowering(pm);
      if (failed(runPipeline(pm, function)))
        return failure();
    }
    if (failed(bringToOneForm(function)))
      return failure();
    replaceLargest(function, lossFor);
    replaceLargest(function, maskFor);
    replaceEach(function, layerNormFor);
    replaceEach(function, composedFor);
    replaceLargest(function, bareNormFor);
    // Broadcasts, transposes and reshapes last: most are part of what reads
    // them. Constants then are those that act ops read.
    replaceEach(function, [](Operation *op, Maker &make) {
      auto form = elementwiseOf(op);
      return isa<linalg::LinalgOp>(op) && !(form && !form->scalar)
                 ? actValueFor(op, make)
                 : Value();
    });
    replaceEach(function, [](Operation *op, Maker &make) {
      return isa<arith::ConstantOp>(op) ? Value() : actValueFor(op, make);
    });
    mergeEqualOps(function);
    replaceEach(function, linearFor);
    replaceEach(function, actFormOf);
    mergeEqualOps(function);
    replaceEach(function, [](Operation *op, Maker &make) {
      const bool isForAct =
          isa<arith::ConstantOp>(op) &&
          isa<RankedTensorType>(op->getResult(0).getType()) &&
          llvm::any_of(op->getUsers(), [](Operation *user) {
            return isa_and_present<ActDialect>(user->getDialect());
          });
      return isForAct ? actValueFor(op, make) : Value();
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

  /// The arguments' numbers in `parameters`, in order.
  FailureOr<SmallVector<unsigned>> numbersOf(func::FuncOp function) {
    SmallVector<unsigned> numbers;
    SmallVector<StringRef> parts;
    StringRef(parameters).split(parts, ',', -1, /*KeepEmpty=*/false);
    for (StringRef part : parts) {
      auto [first, last] = part.trim().split('-');
      unsigned from = 0, to = 0;
      if (first.getAsInteger(10, from) ||
          (part.contains('-') ? last.getAsInteger(10, to) : (to = from, false)))
        return function.emitError("raise-to-act: '")
               << part << "' is no argument's number";
      if (from > to || to >= function.getNumArguments())
        return function.emitError("raise-to-act: '")
               << part << "' is not among the arguments 0 to "
               << int64_t(function.getNumArguments()) - 1;
      for (unsigned i = from; i <= to; ++i)
        numbers.push_back(i);
    }
    llvm::sort(numbers);
    numbers.erase(llvm::unique(numbers), numbers.end());
    return numbers;
  }

  /// Ones for weights of norms, zeros for biases.
  static InitKind initOf(BlockArgument argument) {
    for (OpOperand &use : argument.getUses()) {
      Operation *user = use.getOwner();
      if (isa<RmsNormOp, LayerNormOp>(user) && use.getOperandNumber() == 1)
        return InitKind::Ones;
      if ((isa<LayerNormOp>(user) && use.getOperandNumber() == 2) ||
          (isa<LinearOp>(user) && cast<LinearOp>(user).getBias() == argument))
        return InitKind::Zeros;
    }
    return InitKind::Normal;
  }

  LogicalResult makeParameters() {
    if (parameters.empty())
      return success();
    ModuleOp module = getOperation();
    auto function = module.lookupSymbol<func::FuncOp>("forward");
    if (!function || function.isExternal())
      return module.emitError("raise-to-act: parameters are arguments of "
                              "@forward, and there is none");
    auto numbers = numbersOf(function);
    if (failed(numbers))
      return failure();
    llvm::BitVector erased(function.getNumArguments());
    SymbolTable symbols(module);
    OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
    for (unsigned i : *numbers) {
      BlockArgument argument = function.getArgument(i);
      if (!isActType(argument.getType()) ||
          !isa<FloatType>(typeOf(argument).getElementType()))
        return function.emitError("raise-to-act: argument ")
               << i << " is " << argument.getType()
               << "; a parameter is a tensor of floats";
      auto own = function.getArgAttrOfType<StringAttr>(i, nameAttr);
      std::string name = own ? own.str() : "arg" + std::to_string(i);
      auto parameter = ParameterOp::create(
          top, argument.getLoc(), top.getStringAttr(name),
          top.getStringAttr(name), TypeAttr::get(argument.getType()),
          IntegerAttr(), InitKindAttr::get(&getContext(), initOf(argument)),
          top.getF64FloatAttr(initOf(argument) == InitKind::Normal ? 0.02 : 0),
          UnitAttr(), ArrayAttr());
      symbols.insert(parameter); // renames it if another symbol has the name
      OpBuilder b = OpBuilder::atBlockBegin(&function.getBody().front());
      argument.replaceAllUsesWith(ParamOp::create(
          b, argument.getLoc(), argument.getType(), parameter.getSymName()));
      erased.set(i);
    }
    return function.eraseArguments(erased);
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
