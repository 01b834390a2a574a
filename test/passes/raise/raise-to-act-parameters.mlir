// RUN: act-opt %s --raise-to-act=parameters=1-2,4 | FileCheck %s
// RUN: not act-opt %s --raise-to-act=parameters=1,5 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not act-opt %s --raise-to-act=parameters=2-1 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not act-opt %s --raise-to-act=parameters=x 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not act-opt %s --raise-to-act=parameters=3 2>&1 | FileCheck %s --check-prefix=TYPE

// RANGE: '5' is not among the arguments 0 to 4
// ORDER: '2-1' is not among the arguments 0 to 4
// NUMBER: 'x' is no argument's number
// TYPE: argument 3 is 'tensor<4xi32>'; a parameter is a tensor of floats

// A bias begins as zeros. Names that are taken are made anew.
// CHECK-DAG: act.parameter @arg1 "arg1" : tensor<8x16xf32>
// CHECK-DAG: act.parameter @b "b" : tensor<16xf32> init(zeros, 0.000000e+00)
// CHECK-DAG: act.parameter @arg4 "arg4" : tensor<4xf32>
// CHECK: func.func @forward(%{{.*}}: tensor<4x8xf32>, %{{.*}}: tensor<4xi32>)
// CHECK-NOT: act.param @arg0
// CHECK: act.linear %{{.*}}, %{{.*}} bias(%{{.*}}) in_out
func.func @forward(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %b: tensor<16xf32> {act.name = "b"}, %i: tensor<4xi32>, %c: tensor<4xf32>) -> (tensor<4x16xf32>, tensor<4xi32>, tensor<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x16xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
  %p = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>) outs(%z : tensor<4x16xf32>) -> tensor<4x16xf32>
  %r = linalg.broadcast ins(%b : tensor<16xf32>) outs(%e : tensor<4x16xf32>) dimensions = [0]
  %s = linalg.add ins(%p, %r : tensor<4x16xf32>, tensor<4x16xf32>) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %s, %i, %c : tensor<4x16xf32>, tensor<4xi32>, tensor<4xf32>
}
