// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_FUSE_PASSES_TD
#define ACT_PASSES_FUSE_PASSES_TD
include "mlir/Pass/PassBase.td"

def FuseAttentionPass : Pass<"fuse-attention", "::mlir::ModuleOp"> {
  let summary = "finds attention and the head's loss in primitives and fuses them";
  let description = [{
    Rewrites softmax(Q K^T) V to `act.attention`, however it is written:

    - the scale before or after the product, or as a division;
    - masks by `act.select` or by addition: causal, windowed, packed, over keys,
      or over queries and keys, marking what to see or what to hide;
    - a cast to f32 around the softmax;
    - keys and values expanded to the query's heads;
    - commuted operands, and transposes in any place;
    - dropout of the probabilities.

    The pass leaves alone a softmax along another axis, probabilities with other
    uses, and a mask after the softmax.

    Remarks on standard error say what prevents each fusion, and where, and how
    many attentions were fused. They also point out attention in ops of other
    dialects (linalg, tosa; stablehlo, torch and others with
    `--allow-unregistered-dialect`), but only act ops are fused. If everything
    found is fused, there are no remarks unless `remarks=all`.

    A linear layer, with its bias, whose only use is `act.cross_entropy` becomes
    `act.linear_cross_entropy`. The logits are then never whole in memory.

    The result may differ in the last bits because the order of summation changes.
    The model must not be differentiated yet: a backward pass reads the
    probabilities that fusion removes.

    Before:
    ```mlir
    %0 = act.matmul %arg0, %arg1 transpose_rhs : (tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<2x8x8xf32>
    %1 = act.scale %0 by 2.500000e-01 : tensor<2x8x8xf32>
    %2 = act.softmax %1 axis 2 : tensor<2x8x8xf32>
    %3 = act.matmul %2, %arg2 : (tensor<2x8x8xf32>, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
    ```
    After `--fuse-attention`:
    ```mlir
    %0 = act.reshape %arg0 : tensor<2x8x16xf32> -> tensor<2x8x1x16xf32>
    %1 = act.reshape %arg1 : tensor<2x8x16xf32> -> tensor<2x8x1x16xf32>
    %2 = act.reshape %arg2 : tensor<2x8x16xf32> -> tensor<2x8x1x16xf32>
    %result = act.attention %0, %1, %2 scale 2.500000e-01 : ...
    %3 = act.reshape %result : tensor<2x8x1x16xf32> -> tensor<2x8x16xf32>
    ```
  }];
  let options = [
    Option<"chunk", "chunk", "int64_t", "1024",
           "tokens whose logits exist at once in the fused loss">,
    Option<"remarks", "remarks", "std::string", "\"missed\"",
           "missed: what is left alone and why, and when nothing is found; all: also what is fused; none">
  ];
}
#endif
