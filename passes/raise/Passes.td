// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_RAISE_PASSES_TD
#define ACT_PASSES_RAISE_PASSES_TD
include "mlir/Pass/PassBase.td"

def RaiseToActPass : Pass<"raise-to-act", "::mlir::ModuleOp"> {
  let summary = "finds act ops in linalg, tensor and tosa";
  let description = [{
    Programs that others' importers write become act where patterns match. Tosa is
    lowered to linalg first, by upstream's passes. So is StableHLO, which MLIR 22
    does not have: ops of that name in generic form, with
    `--allow-unregistered-dialect`. One of them that is not known is an error. In
    linalg, named ops and generic ones are the same: bodies of several ops are taken
    apart.

    A module with @main and no @forward gets that name for it, and the functions that
    it calls become part of it.

    - Products, with batches and transposed operands: `act.matmul`; with a weight that
      is an argument, and perhaps a bias: `act.linear`. A convolution whose windows do
      not overlap, as in patch embeddings, is a product.
    - Softmax, as an op or in parts, with the maximum subtracted or without, and with
      a division or a reciprocal: `act.softmax`. A comparison of counted places that
      lets a query see the keys before it: `act.causal_mask`.
    - Norms along the last dimension, in parts, with statistics in the same type or a
      wider one: `act.rms_norm`, `act.layer_norm`.
    - x * sigmoid(x): `act.silu`; x * (1 + erf(..)) / 2 and x * (1 + tanh(..)) / 2:
      `act.gelu`, `act.gelu_new`; the first two times another tensor: `act.swiglu`,
      `act.geglu`.
    - Rotary embeddings of halves: `act.rope`, with tables as they are written.
    - Cross entropy, from log-probabilities that are picked by label or multiplied by
      one-hot rows, with an ignored label, and as sums and means: `act.cross_entropy`.
    - Elements at indices that are data: `act.embedding` of the table's rows. Assertions
      on indices are dropped: an index outside is the nearest one.
    - Sums, differences, products, quotients, squares, tanh, casts, choices; sums along
      dimensions; parts (with strides), pads and concatenations; transposes,
      broadcasts, reshapes, constants.

    What matches nothing stays as it is. It is grouped, planned and compiled like an
    act op, and `--autodiff` derives its gradient or names it. A remark for each
    function says how much was raised, and one for each op what was not.

    Shapes are static. The result may differ in the last bits: a product is summed
    in f32, and a softmax that did not subtract the maximum does.

    Before:
    ```mlir
    %1 = linalg.softmax dimension(1) ins(%arg0 : tensor<4x8xf32>) outs(%0 : tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    After `--raise-to-act`:
    ```mlir
    %0 = act.softmax %arg0 axis 1 : tensor<4x8xf32>
    ```
  }];
  let options = [
    Option<"parameters", "parameters", "std::string", "\"\"",
           "arguments of @forward that are trained, by number: 3,5-12. Each becomes an act.parameter with "
           "the argument's name">,
  ];
  let dependentDialects = ["::act::ActDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"];
}
#endif
