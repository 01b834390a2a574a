// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect --fuse-attention=remarks=all

// RUN: act-opt %S/fuse-attention-heads.mlir --fuse-attention -o /dev/null 2>&1 | count 0

// What was found, what was not and why: on standard error, of whatever dialects. Where
// all that was found is fused nothing is said, unless it is asked for.

// expected-remark @below {{fuse-attention: fused 2 attentions}}
module {
  func.func @two(%q: tensor<4x8x16xf32>, %k: tensor<4x8x16xf32>, %v: tensor<4x8x16xf32>) -> tensor<4x8x16xf32> {
    %s = act.matmul %q, %k transpose_rhs : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x8xf32>
    %p = act.softmax %s axis 2 : tensor<4x8x8xf32>
    %o = act.matmul %p, %v : (tensor<4x8x8xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
    %s1 = act.matmul %o, %k transpose_rhs : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x8xf32>
    %p1 = act.softmax %s1 axis 2 : tensor<4x8x8xf32>
    %o1 = act.matmul %p1, %v : (tensor<4x8x8xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
    return %o1 : tensor<4x8x16xf32>
  }
}

// -----

// Near misses, each with what is in the way.
// expected-remark @below {{fuse-attention: fused no attention; left alone: 3}}
module {
  func.func @scores(%q: tensor<4x8x16xf32>, %k: tensor<4x8x16xf32>, %v: tensor<4x8x16xf32>) -> (tensor<4x8x16xf32>, tensor<4x8x8xf32>) {
    // expected-remark @below {{left alone: another op reads the scores}}
    %s = act.matmul %q, %k transpose_rhs : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x8xf32>
    // expected-note @below {{its softmax is here}}
    %p = act.softmax %s axis 2 : tensor<4x8x8xf32>
    %o = act.matmul %p, %v : (tensor<4x8x8xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
    return %o, %s : tensor<4x8x16xf32>, tensor<4x8x8xf32>
  }
  func.func @behind(%q: tensor<4x8x16xf32>, %k: tensor<4x8x16xf32>, %v: tensor<4x8x16xf32>) -> tensor<4x8x16xf32> {
    %s = act.matmul %q, %k transpose_rhs : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x8xf32>
    // expected-note @below {{its softmax is here}}
    %p = act.softmax %s axis 2 : tensor<4x8x8xf32>
    // expected-remark @below {{left alone: only casts, a dropout and views may be between the softmax and the product}}
    %t = act.scale %p by 0.5 : tensor<4x8x8xf32>
    %o = act.matmul %t, %v : (tensor<4x8x8xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
    return %o : tensor<4x8x16xf32>
  }
  func.func @axis(%q: tensor<4x8x16xf32>, %k: tensor<4x8x16xf32>, %v: tensor<4x8x16xf32>) -> tensor<4x8x16xf32> {
    %s = act.matmul %q, %k transpose_rhs : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x8xf32>
    // expected-remark @below {{left alone: its axis is neither the rows nor the columns}}
    %p = act.softmax %s axis 0 : tensor<4x8x8xf32>
    %o = act.matmul %p, %v : (tensor<4x8x8xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
    return %o : tensor<4x8x16xf32>
  }
  // A softmax that no product follows is no attention.
  func.func @router(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>) -> tensor<8x4xf32> {
    %s = act.matmul %x, %w : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
    %p = act.softmax %s axis 1 : tensor<8x4xf32>
    return %p : tensor<8x4xf32>
  }
}

// -----

// Ops of linalg and tosa, which act-opt knows.
// expected-remark @below {{fuse-attention: fused no attention; left alone: 2; the module has no act ops}}
module {
  func.func @linalg(%q: tensor<4x8x16xf32>, %kt: tensor<4x16x8xf32>, %v: tensor<4x8x16xf32>, %s0: tensor<4x8x8xf32>, %o0: tensor<4x8x16xf32>) -> tensor<4x8x16xf32> {
    %s = linalg.batch_matmul ins(%q, %kt : tensor<4x8x16xf32>, tensor<4x16x8xf32>) outs(%s0 : tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
    // expected-remark @below {{'linalg.softmax' belongs to an attention in ops of other dialects}}
    %p = linalg.softmax dimension(2) ins(%s : tensor<4x8x8xf32>) outs(%s0 : tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
    %o = linalg.batch_matmul ins(%p, %v : tensor<4x8x8xf32>, tensor<4x8x16xf32>) outs(%o0 : tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
    return %o : tensor<4x8x16xf32>
  }
  func.func @tosa(%q: tensor<4x8x16xf32>, %kt: tensor<4x16x8xf32>, %v: tensor<4x8x16xf32>, %zp: tensor<1xf32>, %shift: tensor<1xi8>) -> tensor<4x8x16xf32> {
    %s = tosa.matmul %q, %kt, %zp, %zp : (tensor<4x8x16xf32>, tensor<4x16x8xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<4x8x8xf32>
    // expected-remark @below {{'tosa.exp' belongs to an attention}}
    %e = tosa.exp %s : (tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
    %n = tosa.reduce_sum %e {axis = 2 : i32} : (tensor<4x8x8xf32>) -> tensor<4x8x1xf32>
    %r = tosa.reciprocal %n : (tensor<4x8x1xf32>) -> tensor<4x8x1xf32>
    %p = tosa.mul %e, %r, %shift : (tensor<4x8x8xf32>, tensor<4x8x1xf32>, tensor<1xi8>) -> tensor<4x8x8xf32>
    %o = tosa.matmul %p, %v, %zp, %zp : (tensor<4x8x8xf32>, tensor<4x8x16xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<4x8x16xf32>
    return %o : tensor<4x8x16xf32>
  }
  // A gate has an exponential between two products, and sums nothing up.
  func.func @gate(%x: tensor<1x8x16xf32>, %w: tensor<1x16x16xf32>, %zp: tensor<1xf32>, %shift: tensor<1xi8>) -> tensor<1x8x16xf32> {
    %s = tosa.matmul %x, %w, %zp, %zp : (tensor<1x8x16xf32>, tensor<1x16x16xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x8x16xf32>
    %e = tosa.exp %s : (tensor<1x8x16xf32>) -> tensor<1x8x16xf32>
    %r = tosa.reciprocal %e : (tensor<1x8x16xf32>) -> tensor<1x8x16xf32>
    %g = tosa.mul %s, %r, %shift : (tensor<1x8x16xf32>, tensor<1x8x16xf32>, tensor<1xi8>) -> tensor<1x8x16xf32>
    %y = tosa.matmul %g, %w, %zp, %zp : (tensor<1x8x16xf32>, tensor<1x16x16xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x8x16xf32>
    return %y : tensor<1x8x16xf32>
  }
}

// -----

// Loops that linalg's named ops become, softmax and products alike.
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#row = affine_map<(d0, d1, d2) -> (d0, d1)>
#lhs = affine_map<(b, i, j, k) -> (b, i, k)>
#rhs = affine_map<(b, i, j, k) -> (b, k, j)>
#out = affine_map<(b, i, j, k) -> (b, i, j)>
// expected-remark @below {{fuse-attention: fused no attention; left alone: 1; the module has no act ops}}
module {
  func.func @generic(%q: tensor<4x8x8xf32>, %k: tensor<4x8x8xf32>, %s0: tensor<4x8x8xf32>, %r0: tensor<4x8xf32>) -> tensor<4x8x8xf32> {
    %s = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : tensor<4x8x8xf32>, tensor<4x8x8xf32>) outs(%s0 : tensor<4x8x8xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %x = arith.mulf %a, %b : f32
      %y = arith.addf %x, %c : f32
      linalg.yield %y : f32
    } -> tensor<4x8x8xf32>
    // expected-remark @below {{'linalg.generic' belongs to an attention}}
    %e = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<4x8x8xf32>) outs(%s0 : tensor<4x8x8xf32>) {
    ^bb0(%a: f32, %c: f32):
      %x = math.exp %a : f32
      linalg.yield %x : f32
    } -> tensor<4x8x8xf32>
    %n = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%e : tensor<4x8x8xf32>) outs(%r0 : tensor<4x8xf32>) {
    ^bb0(%a: f32, %c: f32):
      %x = arith.addf %a, %c : f32
      linalg.yield %x : f32
    } -> tensor<4x8xf32>
    %p = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%e, %n : tensor<4x8x8xf32>, tensor<4x8xf32>) outs(%s0 : tensor<4x8x8xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %x = arith.divf %a, %b : f32
      linalg.yield %x : f32
    } -> tensor<4x8x8xf32>
    %o = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%p, %k : tensor<4x8x8xf32>, tensor<4x8x8xf32>) outs(%s0 : tensor<4x8x8xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %x = arith.mulf %a, %b : f32
      %y = arith.addf %x, %c : f32
      linalg.yield %y : f32
    } -> tensor<4x8x8xf32>
    return %o : tensor<4x8x8xf32>
  }
}

// -----

// Ops of dialects that nobody registered here.
// expected-remark @below {{fuse-attention: fused no attention; left alone: 2; the module has no act ops}}
module {
  func.func @stablehlo(%q: tensor<4x8x16xf32>, %k: tensor<4x8x16xf32>, %v: tensor<4x8x16xf32>, %zero: tensor<f32>) -> tensor<4x8x16xf32> {
    %s = "stablehlo.dot_general"(%q, %k) : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x8xf32>
    // expected-remark @below {{'stablehlo.exponential' belongs to an attention}}
    %e = "stablehlo.exponential"(%s) : (tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
    %n = "stablehlo.reduce"(%e, %zero) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%c) : (tensor<f32>) -> ()
    }) : (tensor<4x8x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    %nb = "stablehlo.broadcast_in_dim"(%n) : (tensor<4x8xf32>) -> tensor<4x8x8xf32>
    %p = "stablehlo.divide"(%e, %nb) : (tensor<4x8x8xf32>, tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
    %o = "stablehlo.dot_general"(%p, %v) : (tensor<4x8x8xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
    return %o : tensor<4x8x16xf32>
  }
  func.func @torch(%q: !torch.vtensor, %k: !torch.vtensor, %v: !torch.vtensor) -> !torch.vtensor {
    // expected-remark @below {{'torch.aten.scaled_dot_product_attention' belongs to an attention}}
    %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v) : (!torch.vtensor, !torch.vtensor, !torch.vtensor) -> !torch.vtensor
    return %o : !torch.vtensor
  }
}
