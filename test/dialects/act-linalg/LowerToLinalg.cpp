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
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace act;

static Type plain(Type type) {
  return isa<RankedTensorType>(type) ? Type(plainTensor(type)) : type;
}

// New values of an update op's buffers; empty when `op` is none.
static SmallVector<Value> lowerUpdate(OpBuilder &b, Operation *op,
                                      ValueRange operands,
                                      SmallVector<Value> buffers) {
  Location loc = op->getLoc();
  auto operand = [&](unsigned i) {
    return i < operands.size() ? operands[i] : Value();
  };
  return TypeSwitch<Operation *, SmallVector<Value>>(op)
      .Case([&](AdamWOp adam) {
        unsigned at = adam.getMaster() ? 3 : 2;
        Value master = adam.getMaster() ? buffers[2] : Value();
        return lowerAdamW(b, adam, buffers[0], buffers[1], master, buffers[at],
                          buffers[at + 1], operand(0), operand(1), operand(2));
      })
      .Case([&](SgdOp sgd) {
        Value master = sgd.getMaster() ? buffers[2] : Value();
        return lowerSgd(b, sgd, buffers[0], buffers[1], master, operand(0),
                        operand(1));
      })
      .Case([&](AccumulateOp) {
        return SmallVector<Value>{
            lowerAccumulate(b, loc, buffers[0], operand(0))};
      })
      .Case([&](ZeroGradOp) {
        return SmallVector<Value>{lowerZeroGrad(b, loc, buffers[0].getType())};
      })
      .Case([&](GradSquareSumOp) {
        Value rows = lowerSquareSumOfRows(b, loc, buffers[0]);
        return SmallVector<Value>{
            lowerAddToSquareSum(b, loc, operand(0), rows)};
      })
      .Default([](Operation *) { return SmallVector<Value>(); });
}

// Ops keep their operands, so that they know their own types; what an operand
// became is looked up, as passes do.
static LogicalResult lower(func::FuncOp func) {
  Block &body = func.getBody().front();
  IRMapping converted;
  unsigned count = body.getNumArguments();
  for (unsigned i = 0; i < count; ++i) {
    BlockArgument arg = body.getArgument(i);
    converted.map(arg, body.addArgument(plain(arg.getType()), arg.getLoc()));
  }
  auto lookUp = [&](ValueRange values) {
    SmallVector<Value> out;
    for (Value value : values)
      out.push_back(value ? converted.lookupOrDefault(value) : value);
    return out;
  };
  SmallVector<Operation *> ops;
  for (Operation &op : body)
    if (op.getName().getDialectNamespace() == "act")
      ops.push_back(&op);
  SmallVector<Value> updated;
  for (Operation *op : ops) {
    OpBuilder b(op);
    SmallVector<Value> operands = lookUp(op->getOperands()), results;
    SmallVector<Value> buffers =
        lookUp(ValueRange(body.getArguments().take_front(count)));
    updated = lowerUpdate(b, op, operands, buffers);
    if (!updated.empty())
      continue;
    auto lowerable = dyn_cast<LinalgOpInterface>(op);
    if (!lowerable)
      return op->emitOpError("has no linalg form");
    if (failed(lowerable.lowerToLinalg(b, operands, results)))
      return failure();
    if (results.size() != op->getNumResults())
      return op->emitOpError()
             << "has " << op->getNumResults() << " results, its linalg form "
             << results.size();
    for (auto [value, result] : llvm::zip(results, op->getResults())) {
      if (value.getType() != plain(result.getType()))
        return op->emitOpError() << "result of type " << result.getType()
                                 << " became " << value.getType();
      converted.map(result, value);
    }
  }
  Operation *terminator = body.getTerminator();
  terminator->setOperands(updated.empty() ? lookUp(terminator->getOperands())
                                          : updated);
  for (Operation *op : llvm::reverse(ops))
    op->erase();
  body.eraseArguments(0, count);
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
