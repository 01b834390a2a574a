// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

#all = #tile.layout<register = [4:(1)], lane = [32:(4)], warp = []>

// CHECK-LABEL: @numbers
// CHECK: tile.iota 0 to 128{{$}}
// CHECK: tile.iota -3 to 80{{$}}
func.func @numbers() -> (tensor<128xi32>, tensor<83xi32>) {
  %0 = tile.iota 0 to 128
  %1 = tile.iota -3 to 80
  return %0, %1 : tensor<128xi32>, tensor<83xi32>
}

// CHECK-LABEL: @layout
// CHECK: tile.iota 0 to 128 : tensor<128xi32, #{{.+}}>
func.func @layout() -> tensor<128xi32, #all> {
  %0 = tile.iota 0 to 128 : tensor<128xi32, #all>
  return %0 : tensor<128xi32, #all>
}

// CHECK-LABEL: @one
// FOLD-LABEL: @one
// FOLD: arith.constant dense<-7> : tensor<1xi32>
func.func @one() -> tensor<1xi32> {
  %0 = tile.iota -7 to -6
  return %0 : tensor<1xi32>
}
