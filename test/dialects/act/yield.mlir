// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @one
// CHECK: act.yield %{{.+}} : tensor<4xf32>
func.func @one(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = act.group "copy" (%0 = %x : tensor<4xf32>) -> tensor<4xf32> {
    act.yield %0 : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// CHECK-LABEL: @none
// CHECK: act.yield{{$}}
func.func @none() {
  act.group "empty" () {
    act.yield
  }
  return
}

// CHECK-LABEL: @with_attributes
// CHECK: act.yield {note = 1 : i64}
func.func @with_attributes() {
  act.group "empty" () {
    act.yield {note = 1 : i64}
  }
  return
}
