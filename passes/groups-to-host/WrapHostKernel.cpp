// SPDX-License-Identifier: Apache-2.0
//
// The exported function of a kernel:
//
//     void name(void *const *args, int64_t block) {
//       name.body(args[0], args[1], *args[2], .., block);
//     }
//
// Tensors are passed as pointers, a scalar as a pointer to its slot. The body
// is inlined. It is a function of its own because only arguments can be marked
// as not overlapping.
#include "passes/groups-to-host/Passes.h"

namespace act {
#define GEN_PASS_DEF_WRAPHOSTKERNELPASS
#include "passes/groups-to-host/Passes.h.inc"
} // namespace act

using namespace mlir;

namespace {

/// Marks pointers that no other argument aliases. Read-only arguments of one
/// kernel may overlap each other, which LLVM's noalias allows.
void markPointers(LLVM::LLVMFuncOp body) {
  auto unit = UnitAttr::get(body.getContext());
  for (unsigned i = 0; i < body.getNumArguments(); ++i)
    if (isa<LLVM::LLVMPointerType>(body.getArgument(i).getType())) {
      body.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), unit);
      body.setArgAttr(i, LLVM::LLVMDialect::getNoUndefAttrName(), unit);
    }
}

struct WrapHostKernel : act::impl::WrapHostKernelPassBase<WrapHostKernel> {
  using WrapHostKernelPassBase::WrapHostKernelPassBase;
  void runOnOperation() override {
    SmallVector<LLVM::LLVMFuncOp> kernels;
    for (auto func : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (func->hasAttr(act::kGridAttr))
        kernels.push_back(func);
    for (LLVM::LLVMFuncOp kernel : kernels) {
      if (failed(check(kernel)))
        return signalPassFailure();
      wrap(kernel);
    }
  }

  LogicalResult check(LLVM::LLVMFuncOp kernel) {
    auto types = kernel.getArgumentTypes();
    if (kernel.isExternal() || types.empty() || !types.back().isInteger(64))
      return kernel.emitOpError("is no kernel: expected a body, and the number "
                                "of the block as the last argument");
    if (!kernel->hasAttr(act::kScratchAttr))
      return kernel.emitOpError() << "has no '" << act::kScratchAttr
                                  << "', which host-place-buffers sets";
    return success();
  }

  void wrap(LLVM::LLVMFuncOp body) {
    OpBuilder builder(body);
    Location loc = body.getLoc();
    std::string name = body.getName().str();
    body.setName(name + ".body");
    body.setLinkage(LLVM::Linkage::Internal);
    body.setAlwaysInline(true);
    if (!mayAlias)
      markPointers(body);
    auto pointer = LLVM::LLVMPointerType::get(&getContext());
    Type i64 = builder.getI64Type();
    auto type = LLVM::LLVMFunctionType::get(
        LLVM::LLVMVoidType::get(&getContext()), {pointer, i64});
    auto outer = LLVM::LLVMFuncOp::create(builder, loc, name, type);
    for (StringRef attr : {act::kGridAttr, act::kScratchAttr}) {
      outer->setAttr(attr, body->getAttr(attr));
      body->removeAttr(attr);
    }
    Block *entry = outer.addEntryBlock(builder);
    builder.setInsertionPointToStart(entry);
    SmallVector<Value> args;
    unsigned count = body.getNumArguments();
    for (unsigned i = 0; i + 1 < count; ++i) {
      Value slot = LLVM::GEPOp::create(builder, loc, pointer, pointer,
                                       entry->getArgument(0),
                                       ArrayRef<LLVM::GEPArg>{int32_t(i)});
      Value value = LLVM::LoadOp::create(builder, loc, pointer, slot);
      Type wanted = body.getArgument(i).getType();
      if (wanted != pointer)
        value = LLVM::LoadOp::create(builder, loc, wanted, value);
      args.push_back(value);
    }
    args.push_back(entry->getArgument(1));
    LLVM::CallOp::create(builder, loc, body, args);
    LLVM::ReturnOp::create(builder, loc, ValueRange{});
  }
};

} // namespace
