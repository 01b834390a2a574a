// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @combiner
// CHECK: tile.yield %{{.+}} : f32
func.func @combiner(%a: tensor<8xf32>) -> f32 {
  %0 = tile.reduce %a axis 0 : tensor<8xf32> {
  ^bb0(%x: f32, %y: f32):
    %r = arith.maxnumf %x, %y : f32
    tile.yield %r : f32
  }
  return %0 : f32
}
