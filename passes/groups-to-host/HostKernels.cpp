// SPDX-License-Identifier: Apache-2.0
#include "passes/groups-to-host/HostKernels.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/IR/Threading.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Transforms/Passes.h"
#include "passes/groups-to-host/EmitSharedObject.h"
#include "passes/groups-to-host/Passes.h"

using namespace mlir;

namespace {

void addCleanup(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

/// For a module that holds one kernel.
void buildPipeline(OpPassManager &pm) {
  pm.addPass(act::createPrepareHostKernelPass());
  // Whole tensors still: the last moment at which roots and producers show.
  pm.addPass(act::createDistributeHostBlocksPass());
  addCleanup(pm);
  pm.addPass(act::createBufferizeHostKernelPass());
  addCleanup(pm);
  // Memory decides what is shared between iterations, so blocks come after.
  pm.addPass(act::createLowerHostBlockLoopsPass());
  addCleanup(pm);
  pm.addPass(act::createVectorizeHostKernelPass());
  addCleanup(pm);
  pm.addPass(createLoopInvariantCodeMotionPass());
  // After everything that allocates, and before sizes become arithmetic.
  pm.addPass(act::createPlaceHostBuffersPass());
  pm.addPass(act::createExpandHostMathPass());
  addCleanup(pm);
  act::buildHostToLLVMPipeline(pm);
  pm.addPass(act::createWrapHostKernelPass());
}

LogicalResult checkSignature(func::FuncOp func) {
  if (func.isDeclaration() || !func.getBody().hasOneBlock())
    return func.emitOpError("must have a body of one block to be a kernel");
  auto allowed = [](Type type) {
    return type.isF64() || type.isF32() || type.isBF16() || type.isF16() ||
           type.isInteger(1) || type.isInteger(8) || type.isInteger(32) ||
           type.isInteger(64);
  };
  auto check = [&](Type type, StringRef what, unsigned i) -> LogicalResult {
    if (auto tensor = dyn_cast<RankedTensorType>(type)) {
      if (!tensor.hasStaticShape() || !allowed(tensor.getElementType()))
        return func.emitOpError() << what << " " << i << " has type " << type
                                  << ", expected a static shape of f64, f32, "
                                     "bf16, f16, i1, i8, i32 or i64";
      return success();
    }
    if (what == "argument" && (type.isF64() || type.isF32() ||
                               type.isInteger(64) || type.isInteger(32)))
      return success();
    return func.emitOpError()
           << what << " " << i << " has type " << type << ", expected a tensor"
           << (what == "argument" ? " or a scalar" : "");
  };
  for (auto [i, type] : llvm::enumerate(func.getArgumentTypes()))
    if (failed(check(type, "argument", i)))
      return failure();
  for (auto [i, type] : llvm::enumerate(func.getResultTypes()))
    if (failed(check(type, "result", i)))
      return failure();
  return success();
}

/// One nested module per kernel, so that the pass manager and the code
/// generator may work on several at once.
FailureOr<OwningOpRef<ModuleOp>> splitKernels(ModuleOp kernels,
                                              int64_t vectorBits) {
  OpBuilder builder(kernels.getContext());
  OwningOpRef<ModuleOp> outer = ModuleOp::create(kernels.getLoc());
  for (Operation &op : *kernels.getBody()) {
    auto func = dyn_cast<func::FuncOp>(op);
    if (!func)
      return op.emitOpError("is not a func.func: only functions are kernels");
    if (failed(checkSignature(func)))
      return failure();
    builder.setInsertionPointToEnd(outer->getBody());
    auto inner = ModuleOp::create(builder, func.getLoc());
    inner->setAttr("act.vector_bits", builder.getI64IntegerAttr(vectorBits));
    builder.setInsertionPointToStart(inner.getBody());
    auto clone = cast<func::FuncOp>(builder.clone(*func));
    clone.setPublic();
  }
  return outer;
}

} // namespace

void act::buildHostToLLVMPipeline(OpPassManager &pm) {
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  ConvertVectorToLLVMPassOptions vectorOptions;
  vectorOptions.reassociateFPReductions = false;
  vectorOptions.force32BitVectorIndices = true;
  pm.addPass(createConvertVectorToLLVMPass(vectorOptions));
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createConvertMathToLibmPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  ConvertFuncToLLVMPassOptions funcOptions;
  funcOptions.useBarePtrCallConv = true;
  pm.addPass(createConvertFuncToLLVMPass(funcOptions));
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createConvertIndexToLLVMPass());
  addCleanup(pm);
  pm.addPass(createReconcileUnrealizedCastsPass());
}

FailureOr<act::HostCode> act::compileHostKernels(ModuleOp kernels,
                                                 const HostOptions &options) {
  MLIRContext *context = kernels.getContext();
  Location loc = kernels.getLoc();
  auto target = describeTarget(options.cpu, options.features, loc);
  if (failed(target))
    return failure();
  auto split = splitKernels(kernels, target->vectorBits);
  if (failed(split))
    return failure();
  PassManager pm(context);
  (void)applyPassManagerCLOptions(pm); // fails where a tool has none
  buildPipeline(pm.nest<ModuleOp>());
  if (failed(pm.run(**split)))
    return failure();

  SmallVector<ModuleOp> modules((*split)->getOps<ModuleOp>());
  std::vector<std::vector<char>> objects(modules.size());
  auto emit = [&](size_t i) -> LogicalResult {
    auto object = emitObject(modules[i], *target);
    if (succeeded(object))
      objects[i] = std::move(*object);
    return object;
  };
  if (failed(failableParallelForEachN(context, 0, modules.size(), emit)))
    return failure();
  HostCode code;
  code.cpu = target->cpu;
  for (ModuleOp module : modules)
    for (auto func : module.getOps<LLVM::LLVMFuncOp>())
      if (auto grid = func->getAttrOfType<IntegerAttr>(kGridAttr)) {
        auto scratch = func->getAttrOfType<IntegerAttr>(kScratchAttr);
        code.kernels.push_back({func.getName().str(), uint64_t(grid.getInt()),
                                uint64_t(scratch.getInt())});
      }
  auto linked = linkObjects(objects, loc);
  if (failed(linked))
    return failure();
  code.sharedObject = std::move(*linked);
  return code;
}

void act::registerHostKernelDialects(DialectRegistry &registry) {
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerAllToLLVMIRTranslations(registry);
}
