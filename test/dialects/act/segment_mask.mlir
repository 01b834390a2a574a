// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

#t_t = #act.dims<t, t>

// CHECK-LABEL: @packed
// CHECK: act.segment_mask %{{.+}} : tensor<5xi32> -> tensor<8x8xi1>
func.func @packed(%cu: tensor<5xi32>) -> tensor<8x8xi1> {
  %0 = act.segment_mask %cu : tensor<5xi32> -> tensor<8x8xi1>
  return %0 : tensor<8x8xi1>
}

// CHECK-LABEL: @named
// CHECK: act.segment_mask %{{.+}} : tensor<5xi32> -> tensor<?x?xi1, #t_t>
func.func @named(%cu: tensor<5xi32>) -> tensor<?x?xi1, #t_t> {
  %0 = act.segment_mask %cu : tensor<5xi32> -> tensor<?x?xi1, #t_t>
  return %0 : tensor<?x?xi1, #t_t>
}
