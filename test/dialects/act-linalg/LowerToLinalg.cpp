// SPDX-License-Identifier: Apache-2.0
//
// act-lower-linalg FILE: prints FILE with every act op of its functions
// replaced by its linalg form. The functions' arguments and results lose their
// encodings; everything else stays. run.py compiles what this prints and
// compares values.
//
// The update ops act on buffers that belong to a parameter. Here they take them
// from the function's first arguments, in the order of OptimizerLowering.h, and
// the function returns the new ones.
#include "dialects/act/AttentionLowering.h"
#include "dialects/act/Dialect.h"
#include "dialects/act/LinalgBuilder.h"
#include "dialects/act/OptimizerLowering.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace act;

static Type plain(Type type) {
  return isa<RankedTensorType>(type) ? Type(plainTensor(type)) : type;
}

// New tensors of an update op's buffers; empty when `op` is none.
static SmallVector<Value> lowerUpdate(OpBuilder &b, Operation *op,
                                      Block::BlockArgListType args) {
  SmallVector<Value> buffers(args.begin(), args.end());
  buffers.append(8, Value());
  return TypeSwitch<Operation *, SmallVector<Value>>(op)
      .Case([&](AdamWOp adam) {
        unsigned at = adam.getMaster() ? 3 : 2;
        return lowerAdamW(b, adam, buffers[0], buffers[1],
                          adam.getMaster() ? buffers[2] : Value(), buffers[at],
                          buffers[at + 1], adam.getLr(), adam.getStep(),
                          adam.getClip());
      })
      .Case([&](SgdOp sgd) {
        return lowerSgd(b, sgd, buffers[0], buffers[1],
                        sgd.getMaster() ? buffers[2] : Value(), sgd.getLr(),
                        sgd.getClip());
      })
      .Case([&](AccumulateOp add) {
        return SmallVector<Value>{
            lowerAccumulate(b, op->getLoc(), buffers[0], add.getValue())};
      })
      .Case([&](ZeroGradOp) {
        return SmallVector<Value>{
            lowerZeroGrad(b, op->getLoc(), buffers[0].getType())};
      })
      .Case([&](GradSquareSumOp sum) {
        Value rows = lowerSquareSumOfRows(b, op->getLoc(), buffers[0]);
        return SmallVector<Value>{
            lowerAddToSquareSum(b, op->getLoc(), sum.getSum(), rows)};
      })
      .Default([](Operation *) { return SmallVector<Value>(); });
}

static LogicalResult lower(func::FuncOp func) {
  Block &body = func.getBody().front();
  for (BlockArgument arg : body.getArguments())
    arg.setType(plain(arg.getType()));
  SmallVector<Value> updated;
  for (Operation &op : llvm::make_early_inc_range(body)) {
    if (op.getName().getDialectNamespace() != "act")
      continue;
    OpBuilder b(&op);
    SmallVector<Value> results = lowerUpdate(b, &op, body.getArguments());
    if (!results.empty()) {
      updated = results;
      op.erase();
      continue;
    }
    auto lowerable = dyn_cast<LinalgOpInterface>(&op);
    if (!lowerable)
      return op.emitOpError("has no linalg form");
    if (failed(lowerable.lowerToLinalg(b, op.getOperands(), results)))
      return failure();
    if (results.size() != op.getNumResults())
      return op.emitOpError() << "has " << op.getNumResults()
                              << " results, its linalg form " << results.size();
    for (auto [value, result] : llvm::zip(results, op.getResults())) {
      if (value.getType() != plain(result.getType()))
        return op.emitOpError() << "result of type " << result.getType()
                                << " became " << value.getType();
      result.replaceAllUsesWith(value);
    }
    op.erase();
  }
  Operation *terminator = body.getTerminator();
  if (!updated.empty())
    terminator->setOperands(updated);
  func.setFunctionType(FunctionType::get(func.getContext(),
                                         body.getArgumentTypes(),
                                         terminator->getOperandTypes()));
  return success();
}

int main(int argc, char **argv) {
  if (argc != 2) {
    llvm::errs() << "usage: act-lower-linalg FILE\n";
    return 1;
  }
  DialectRegistry registry;
  registry.insert<ActDialect, affine::AffineDialect, arith::ArithDialect,
                  func::FuncDialect, linalg::LinalgDialect, math::MathDialect,
                  scf::SCFDialect, tensor::TensorDialect>();
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module = parseSourceFile<ModuleOp>(argv[1], &context);
  if (!module)
    return 1;
  for (auto func : module->getOps<func::FuncOp>())
    if (failed(lower(func)))
      return 1;
  for (Operation &op : llvm::make_early_inc_range(*module->getBody()))
    if (isa<ParameterOp>(op))
      op.erase();
  if (failed(verify(*module)))
    return 1;
  module->print(llvm::outs());
  return 0;
}
