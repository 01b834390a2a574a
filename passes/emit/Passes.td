// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_EMIT_PASSES_TD
#define ACT_PASSES_EMIT_PASSES_TD
include "mlir/Pass/PassBase.td"

def EmitPass : Pass<"emit", "::mlir::ModuleOp"> {
  let summary = "compiles a copy of the module to an artifact";
  let description = [{
    Completes a copy of the module, plans its memory, makes native code for the
    host and writes it all to one file that `act-run` and `actrt_step_load`
    read. The module itself is left as it is.
  }];
  let options = [
    Option<"file", "file", "std::string", "\"\"", "the artifact to write">,
    Option<"mode", "mode", "std::string", "\"\"",
           "train: the step, and the loss alone as eval; infer: the logits or hidden states; "
           "empty: train when the model returns a loss, else infer">,
    Option<"kernels", "kernels", "std::string", "\"\"",
           "also write the kernels here, as linalg, before they become native code">,
    Option<"cpu", "cpu", "std::string", "\"\"", "an LLVM CPU name; empty: this machine">
  ];
}
#endif
