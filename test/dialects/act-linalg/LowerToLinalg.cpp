// SPDX-License-Identifier: Apache-2.0
//
// act-lower-linalg FILE [--sums | --groups | --host=LIBRARY]: prints FILE with
// every act op of its functions replaced by its linalg form; with --sums, by
// the one without loops. The functions' arguments and results lose their
// encodings; everything else stays. run.py compiles what this prints and
// compares values. With --groups, the function's ops are one group, and what is
// printed are the kernels that a GPU has for it, in order; test.operands says
// what is bound to each: input 0 (of the function), result 1, workspace 2 of
// i32[96]. With --host, the functions are compiled as host kernels instead, and
// their names, grids and scratch are printed.
//
// The update ops act on buffers that belong to a parameter. Here they take them
// from the function's first arguments, in the order of getBufferUses(), and
// the function returns the new ones.
#include "dialects/act/Dialect.h"
#include "dialects/act/LinalgBuilder.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "passes/groups-to-host/HostKernels.h"
#include "passes/kernels/FormKernels.h"
#include "passes/kernels/KernelParts.h"
#include "passes/lower-groups/LowerGroup.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace act;

static Type plain(Type type) {
  return isa<RankedTensorType>(type) ? Type(plainTensor(type)) : type;
}

// New values of an effect's buffers, or its results; empty when `op` is none.
// `buffers`: the function's first arguments, one for each use.
static SmallVector<Value> lowerUpdate(OpBuilder &b, Operation *op,
                                      ValueRange operands,
                                      ArrayRef<Value> buffers) {
  auto effect = dyn_cast<ParameterEffectOpInterface>(op);
  if (!effect)
    return {};
  const size_t count = effect.getBufferUses().size();
  SmallVector<RankedTensorType> types;
  for (Value buffer : buffers.take_front(count))
    types.push_back(cast<RankedTensorType>(buffer.getType()));
  SmallVector<Value> next, results;
  effect.lowerEffect(b, types, buffers.take_front(count), operands, next,
                     results);
  next.append(results);
  return next;
}

// Ops keep their operands, so that they know their own types; what an operand
// became is looked up, as passes do.
static LogicalResult lower(func::FuncOp func, bool sums) {
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
    if (failed(sums ? lowerable.lowerToSums(b, operands, results)
                    : lowerable.lowerToLinalg(b, operands, results)))
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

// What a kernel's pointer is bound to.
static std::string nameOf(KernelOperandAttr operand, GroupOp group) {
  std::string text;
  llvm::raw_string_ostream os(text);
  bool scratch = operand.getKind() == KernelMemory::Scratch;
  if (scratch || operand.getKind() == KernelMemory::Workspace) {
    auto type =
        scratch ? scratchType(group, LinalgForm::Sums)
                : cast<RankedTensorType>(*std::next(
                      group.getWorkspaceTypes().begin(), operand.getIndex()));
    os << "workspace " << operand.getIndex() << " of " << type.getElementType()
       << "[" << type.getNumElements() << "]";
  } else if (operand.getKind() == KernelMemory::Input) {
    auto input = cast<BlockArgument>(group.getInputs()[operand.getIndex()]);
    os << "input " << input.getArgNumber();
  } else {
    os << "result " << operand.getIndex();
  }
  if (operand.getWritten())
    os << ", written";
  return text;
}

// Prints the kernels of the one group that the functions' ops are.
static int printGroups(ModuleOp module) {
  if (failed(formKernels(module)))
    return 1;
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
  Builder b(module.getContext());
  WalkResult walked = module.walk([&](GroupOp group) -> WalkResult {
    auto lowered = lowerGroup(group, {}, *kernels, LinalgForm::Sums);
    if (failed(lowered))
      return WalkResult::interrupt();
    for (auto [i, k] : llvm::enumerate(*lowered)) {
      k.function.setName("kernel" + std::to_string(i));
      SmallVector<Attribute> names;
      for (KernelOperandAttr operand : k.operands)
        names.push_back(b.getStringAttr(nameOf(operand, group)));
      k.function->setAttr("test.operands", b.getArrayAttr(names));
    }
    return WalkResult::advance();
  });
  if (walked.wasInterrupted() || failed(verify(*kernels)))
    return 1;
  kernels->print(llvm::outs());
  return 0;
}

// Compiles the functions as host kernels into a shared object and prints
// `symbol grid scratch` for each.
static int emitHostKernels(ModuleOp module, StringRef path) {
  FailureOr<HostCode> code = compileHostKernels(module);
  if (failed(code))
    return 1;
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  if (error) {
    llvm::errs() << path << ": " << error.message() << "\n";
    return 1;
  }
  file.write(reinterpret_cast<const char *>(code->sharedObject.data()),
             code->sharedObject.size());
  for (const HostKernelInfo &kernel : code->kernels)
    llvm::outs() << kernel.symbol << " " << kernel.grid << " "
                 << kernel.scratchBytes << "\n";
  return 0;
}

int main(int argc, char **argv) {
  StringRef option = argc > 2 ? argv[2] : "";
  bool sums = option == "--sums", groups = option == "--groups",
       host = option.consume_front("--host=");
  if (argc < 2 || argc > 3 || (argc == 3 && !sums && !groups && !host)) {
    llvm::errs() << "usage: act-lower-linalg FILE [--sums | --groups | "
                    "--host=LIBRARY]\n";
    return 1;
  }
  DialectRegistry registry;
  registerHostKernelDialects(registry);
  registry.insert<ActDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context
      .loadDialect<ActDialect, affine::AffineDialect, arith::ArithDialect,
                   func::FuncDialect, linalg::LinalgDialect, math::MathDialect,
                   scf::SCFDialect, tensor::TensorDialect>();
  auto module = parseSourceFile<ModuleOp>(argv[1], &context);
  if (!module)
    return 1;
  if (groups)
    return printGroups(*module);
  for (auto func : module->getOps<func::FuncOp>())
    if (failed(lower(func, sums)))
      return 1;
  for (Operation &op : llvm::make_early_inc_range(*module->getBody()))
    if (isa<ParameterOp>(op))
      op.erase();
  if (failed(verify(*module)))
    return 1;
  if (host)
    return emitHostKernels(*module, option);
  module->print(llvm::outs());
  return 0;
}
