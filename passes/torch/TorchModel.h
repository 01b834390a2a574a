// SPDX-License-Identifier: Apache-2.0
//
// Finds which Hugging Face model a module's forward function is.
//
// What PyTorch eager does depends on the Python code that it runs, so view
// torch and --decompose=torch apply only to known models. The model's
// configuration comes from the IR: dimension letters, parameters, dropouts and
// windows. It is then checked op by op: the importer builds the model of that
// configuration, and both must be equal except for numbers that do not affect
// memory (epsilons, angles, scales). A modified forward function is an error,
// instead of a report for a different program.
#ifndef ACT_PASSES_TORCH_TORCHMODEL_H
#define ACT_PASSES_TORCH_TORCHMODEL_H
#include "act/Eager/Eager.h"
#include "act/Report/MemoryReport.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/memory/AllocatorReplay.h"

namespace act {

/// Letters must have sizes (bindLetters). Fails with a message that names what
/// view torch does not support.
mlir::FailureOr<eager::Model> torchModel(mlir::ModuleOp module);

/// The eager options for `model`, the module's model, from `attention=`,
/// `checkpoint=` and the module's policy (`act.remat`).
mlir::FailureOr<eager::Options> torchOptions(mlir::ModuleOp module,
                                             const eager::Model &model,
                                             llvm::StringRef attention,
                                             llvm::StringRef checkpoint);

/// The report of view torch, replayed through `allocator` if one is given, and
/// with formulas if `formulas` is set.
mlir::FailureOr<report::MemoryReport>
describeTorch(mlir::ModuleOp module, llvm::StringRef attention,
              llvm::StringRef checkpoint,
              const std::optional<AllocatorChoice> &allocator, bool formulas);

/// The report of a log that act.torch_memory of the Python package wrote
/// (act/Eager/StepLog.h), of any module.
mlir::FailureOr<report::MemoryReport>
describeTorchLog(mlir::Location loc, llvm::StringRef path,
                 const std::optional<AllocatorChoice> &allocator);

} // namespace act
#endif
