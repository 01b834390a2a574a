// RUN: act-opt %s --raise-to-act --split-input-file --verify-diagnostics | FileCheck %s

// What has no act op is one op again.
// CHECK-LABEL: @composed
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK-NEXT: math.sqrt
// CHECK-NEXT: linalg.yield
// CHECK-NOT: linalg.generic
// expected-remark@+1 {{raise-to-act: found nothing; 1 ops are left}}
func.func @composed(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  // expected-remark@+1 {{raise-to-act: 'linalg.generic' is left as it is: no act op computes it}}
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %p = math.exp %a : f32
    %q = math.sqrt %p : f32
    linalg.yield %q : f32
  } -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// A sum along another dimension than the quotient's is no softmax.
// CHECK-LABEL: @other_axis
// CHECK-NOT: act.softmax
// CHECK: act.sum_to
// CHECK: act.div
// expected-remark@+1 {{raise-to-act: found 1 act.sum_to, 1 act.reshape, 1 act.div; 1 ops are left}}
func.func @other_axis(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %n = tensor.empty() : tensor<8xf32>
  // expected-remark@+1 {{raise-to-act: 'linalg.generic' is left as it is: no act op computes it}}
  %p = linalg.exp ins(%x : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%n : tensor<8xf32>) -> tensor<8xf32>
  %s = linalg.reduce ins(%p : tensor<8x8xf32>) outs(%z : tensor<8xf32>) dimensions = [1] (%a: f32, %b: f32) {
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  }
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%p, %s : tensor<8x8xf32>, tensor<8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %q = arith.divf %a, %b : f32
    linalg.yield %q : f32
  } -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// -----

// A product that goes on with a sum is two ops; one of integers stays.
// CHECK-LABEL: @products
// CHECK: %[[P:.*]] = act.linear %arg0, %arg1 in_out
// CHECK-NEXT: act.add %[[P]], %arg2
// CHECK: linalg.generic
// expected-remark@+1 {{raise-to-act: found 1 act.linear, 1 act.add; 1 ops are left}}
func.func @products(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>, %c: tensor<4x4xf32>, %i: tensor<4x4xi32>) -> (tensor<4x4xf32>, tensor<4x4xi32>) {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<4x4xi32>
  %z = linalg.fill ins(%zero : i32) outs(%e : tensor<4x4xi32>) -> tensor<4x4xi32>
  %r = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x4xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  // expected-remark@+1 {{is left as it is}}
  %s = linalg.matmul ins(%i, %i : tensor<4x4xi32>, tensor<4x4xi32>) outs(%z : tensor<4x4xi32>) -> tensor<4x4xi32>
  return %r, %s : tensor<4x4xf32>, tensor<4x4xi32>
}

// -----

// Sizes that are not known.
// CHECK-LABEL: @dynamic
// CHECK-NOT: act.
// expected-remark@+1 {{raise-to-act: found nothing; 1 ops are left}}
func.func @dynamic(%x: tensor<?x8xf32>, %e: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // expected-remark@+1 {{is left as it is}}
  %r = linalg.add ins(%x, %x : tensor<?x8xf32>, tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}

// -----

// A softmax without the maximum is one all the same.
// CHECK-LABEL: @unsafe
// CHECK: act.softmax %arg0 axis 1
// expected-remark@+1 {{raise-to-act: found 1 act.softmax; 0 ops are left}}
func.func @unsafe(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %n = tensor.empty() : tensor<4xf32>
  %p = linalg.exp ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%n : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.reduce ins(%p : tensor<4x8xf32>) outs(%z : tensor<4xf32>) dimensions = [1] (%a: f32, %b: f32) {
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  }
  // expected-remark@+1 {{raise-to-act: the softmax did not subtract the maximum of its rows; act.softmax does}}
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%p, %s : tensor<4x8xf32>, tensor<4xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %q = arith.divf %a, %b : f32
    linalg.yield %q : f32
  } -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// One angle for all pairs of a token: no table of act.rope has that.
// CHECK-LABEL: @one_angle
// CHECK-NOT: act.rope
func.func @one_angle(%x: tensor<2x6x3x4x2xf32>, %c: tensor<6x1xf32>, %s: tensor<6x1xf32>) -> tensor<2x6x3x4x2xf32> {
  %a, %b = act.split %x : tensor<2x6x3x4x2xf32> -> tensor<2x6x3x4x1xf32>, tensor<2x6x3x4x1xf32>
  %p = act.reshape %a : tensor<2x6x3x4x1xf32> -> tensor<2x6x3x4xf32>
  %q = act.reshape %b : tensor<2x6x3x4x1xf32> -> tensor<2x6x3x4xf32>
  %cos = act.reshape %c : tensor<6x1xf32> -> tensor<1x6x1x1xf32>
  %sin = act.reshape %s : tensor<6x1xf32> -> tensor<1x6x1x1xf32>
  %pc = act.mul %p, %cos : (tensor<2x6x3x4xf32>, tensor<1x6x1x1xf32>) -> tensor<2x6x3x4xf32>
  %qs = act.mul %q, %sin : (tensor<2x6x3x4xf32>, tensor<1x6x1x1xf32>) -> tensor<2x6x3x4xf32>
  %qc = act.mul %q, %cos : (tensor<2x6x3x4xf32>, tensor<1x6x1x1xf32>) -> tensor<2x6x3x4xf32>
  %ps = act.mul %p, %sin : (tensor<2x6x3x4xf32>, tensor<1x6x1x1xf32>) -> tensor<2x6x3x4xf32>
  %m = act.sub %pc, %qs : (tensor<2x6x3x4xf32>, tensor<2x6x3x4xf32>) -> tensor<2x6x3x4xf32>
  %n = act.add %qc, %ps : (tensor<2x6x3x4xf32>, tensor<2x6x3x4xf32>) -> tensor<2x6x3x4xf32>
  %u = act.reshape %m : tensor<2x6x3x4xf32> -> tensor<2x6x3x4x1xf32>
  %v = act.reshape %n : tensor<2x6x3x4xf32> -> tensor<2x6x3x4x1xf32>
  %r = act.concat %u, %v : (tensor<2x6x3x4x1xf32>, tensor<2x6x3x4x1xf32>) -> tensor<2x6x3x4x2xf32>
  return %r : tensor<2x6x3x4x2xf32>
}
