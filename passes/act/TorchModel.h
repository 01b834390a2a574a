// SPDX-License-Identifier: Apache-2.0
//
// Which Hugging Face model a module's forward function is.
//
// What PyTorch eager does is a matter of the Python that it runs, so view torch
// and --decompose=torch hold for the forward functions of known models only.
// The model's configuration is read off the IR: letters of dimensions, which
// parameters there are, dropouts and windows. That it is this model is then
// checked, op by op: the importer builds the model of that configuration, and
// both have to be the same but for numbers that change no memory (epsilons,
// angles, scales). A forward function that somebody changed is an error, not a
// figure for another program.
#ifndef ACT_PASSES_ACT_TORCHMODEL_H
#define ACT_PASSES_ACT_TORCHMODEL_H
#include "act/Eager/Eager.h"
#include "act/Report/MemoryReport.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/act/AllocatorReplay.h"

namespace act {

/// Letters have to have sizes (bindLetters). Fails with a message that names
/// what view torch does not know.
mlir::FailureOr<eager::Model> torchModel(mlir::ModuleOp module);

/// What `attention=`, `checkpoint=` and the module's policy (`act.remat`) say
/// of `model`, which is the module's.
mlir::FailureOr<eager::Options> torchOptions(mlir::ModuleOp module,
                                             const eager::Model &model,
                                             llvm::StringRef attention,
                                             llvm::StringRef checkpoint);

/// The report of view torch, replayed through an allocator if one is given,
/// with formulas if they are asked for.
mlir::FailureOr<report::MemoryReport>
describeTorch(mlir::ModuleOp module, llvm::StringRef attention,
              llvm::StringRef checkpoint,
              const std::optional<AllocatorChoice> &allocator, bool formulas);

} // namespace act
#endif
