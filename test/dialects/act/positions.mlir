// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

#t = #act.dims<t>

// CHECK-LABEL: @padded
// CHECK: act.positions : tensor<8xi32>
func.func @padded() -> tensor<8xi32> {
  %0 = act.positions : tensor<8xi32>
  return %0 : tensor<8xi32>
}

// CHECK-LABEL: @packed
// CHECK: act.positions cu_seqlens(%{{.+}} : tensor<5xi32>) : tensor<8xi32>
func.func @packed(%cu: tensor<5xi32>) -> tensor<8xi32> {
  %0 = act.positions cu_seqlens(%cu : tensor<5xi32>) : tensor<8xi32>
  return %0 : tensor<8xi32>
}

// CHECK-LABEL: @named
// CHECK: act.positions : tensor<?xi32, #t>
func.func @named() -> tensor<?xi32, #t> {
  %0 = act.positions : tensor<?xi32, #t>
  return %0 : tensor<?xi32, #t>
}
