// RUN: act-opt %s --raise-to-act 2>/dev/null | FileCheck %s
// RUN: act-opt %s --raise-to-act 2>/dev/null | FileCheck %s --check-prefix=AFTER --match-full-lines

// The manual's example.
// AFTER:     %0 = act.softmax %arg0 axis 1 : tensor<4x8xf32>
func.func @forward(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tensor.empty() : tensor<4x8xf32>
  %1 = linalg.softmax dimension(1) ins(%arg0 : tensor<4x8xf32>) outs(%0 : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// 16-bit factors with a sum in f32, and the sum rounded; a weight that all
// batches share.
// CHECK-LABEL: @product
// CHECK: %[[S:.+]] = act.matmul %arg0, %arg1 : (tensor<2x4x8xbf16>, tensor<2x8x6xbf16>) -> tensor<2x4x6xf32>
// CHECK: %[[C:.+]] = act.cast %[[S]] : tensor<2x4x6xf32> to tensor<2x4x6xbf16>
// CHECK: return %[[C]]
func.func @product(%a: tensor<2x4x8xbf16>, %b: tensor<2x8x6xbf16>) -> tensor<2x4x6xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4x6xf32>
  %h = tensor.empty() : tensor<2x4x6xbf16>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %s = linalg.batch_matmul ins(%a, %b : tensor<2x4x8xbf16>, tensor<2x8x6xbf16>) outs(%z : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %r = linalg.map ins(%s : tensor<2x4x6xf32>) outs(%h : tensor<2x4x6xbf16>) (%x: f32, %o: bf16) {
    %c = arith.truncf %x : f32 to bf16
    linalg.yield %c : bf16
  }
  return %r : tensor<2x4x6xbf16>
}

// Constants: a factor of one number is a scale, a matrix is a constant.
// CHECK-LABEL: @constants
// CHECK-DAG: act.constant dense<{{\[\[}}1.0{{.*}} : tensor<2x2xf32>
// CHECK-DAG: %[[S:.+]] = act.scale %arg0 by 5.000000e-01 : tensor<2x2xf32>
// CHECK: act.add %[[S]]
// CHECK-NOT: linalg
func.func @constants(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %half = arith.constant dense<0.5> : tensor<2x2xf32>
  %m = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %e = tensor.empty() : tensor<2x2xf32>
  %s = linalg.mul ins(%x, %half : tensor<2x2xf32>, tensor<2x2xf32>) outs(%e : tensor<2x2xf32>) -> tensor<2x2xf32>
  %a = linalg.add ins(%s, %m : tensor<2x2xf32>, tensor<2x2xf32>) outs(%e : tensor<2x2xf32>) -> tensor<2x2xf32>
  return %a : tensor<2x2xf32>
}

// A function of act ops stays as it is.
// CHECK-LABEL: @already
// CHECK-NEXT: act.softmax
// CHECK-NEXT: return
func.func @already(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = act.softmax %x axis 1 : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// The gelu of torch-mlir.
// CHECK-LABEL: @gelu
// CHECK-NEXT: act.gelu %arg0
// CHECK-NEXT: return
func.func @gelu(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %half = arith.constant 5.000000e-01 : f32
  %one = arith.constant 1.000000e+00 : f32
  %root = arith.constant 1.41421354 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.divf %in, %root : f32
    %2 = math.erf %1 : f32
    %3 = arith.addf %2, %one : f32
    %4 = arith.mulf %3, %half : f32
    %5 = arith.mulf %in, %4 : f32
    linalg.yield %5 : f32
  } -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// A query sees itself and two keys before it; places are counted by indices and lists.
// CHECK-LABEL: @window
// CHECK: act.causal_mask window(3) : tensor<8x8xi1>
// CHECK-NOT: linalg.generic
// CHECK: act.select
// expected-remark@+1 {{0 ops are left}}
func.func @window(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %places = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi32>
  %low = arith.constant -1.0e9 : f32
  %b = tensor.empty() : tensor<8x8xi1>
  %e = tensor.empty() : tensor<8x8xf32>
  %causal = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%places : tensor<8xi32>) outs(%b : tensor<8x8xi1>) {
  ^bb0(%j: i32, %o: i1):
    %n = linalg.index 0 : index
    %i = arith.index_cast %n : index to i32
    %near = arith.subi %i, %j : i32
    %three = arith.constant 3 : i32
    %0 = arith.cmpi sge, %i, %j : i32
    %1 = arith.cmpi slt, %near, %three : i32
    %2 = arith.andi %0, %1 : i1
    linalg.yield %2 : i1
  } -> tensor<8x8xi1>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%causal, %x : tensor<8x8xi1>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%c: i1, %a: f32, %o: f32):
    %s = arith.select %c, %a, %low : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// -----

// Every second row but the first one, behind a row of zeros.
// CHECK-LABEL: @parts
// CHECK: act.reshape %arg0 : tensor<2x6x4xf32> -> tensor<2x3x8xf32>
// CHECK: %[[P:.*]]:2 = act.split
// CHECK: act.concat
// CHECK-NOT: tensor.
// expected-remark@+1 {{0 ops are left}}
func.func @parts(%x: tensor<2x6x4xf32>) -> tensor<2x4x4xf32> {
  %zero = arith.constant 0.0 : f32
  %s = tensor.extract_slice %x[0, 1, 0] [2, 3, 4] [1, 2, 1] : tensor<2x6x4xf32> to tensor<2x3x4xf32>
  %p = tensor.pad %s low[0, 1, 0] high[0, 0, 0] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %zero : f32
  } : tensor<2x3x4xf32> to tensor<2x4x4xf32>
  return %p : tensor<2x4x4xf32>
}

// -----

// Every third element, and no two after the last one.
// expected-remark@+1 {{0 ops are left}}
func.func @thirds(%x: tensor<5x2xf32>) -> tensor<2x2xf32> {
  %s = tensor.extract_slice %x[1, 0] [2, 2] [3, 1] : tensor<5x2xf32> to tensor<2x2xf32>
  return %s : tensor<2x2xf32>
}
