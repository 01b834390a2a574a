// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

#columns = #tile.layout<register = [2:(1)], lane = [32:(2)], warp = []>

// CHECK-LABEL: @block
// CHECK: tile.philox %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} : tensor<128x64xi64>
func.func @block(%seed: i64, %step: i64, %site: i64, %i: tensor<128x64xi64>) -> tensor<128x64xi32> {
  %bits = tile.philox %seed, %step, %site, %i : tensor<128x64xi64>
  return %bits : tensor<128x64xi32>
}

// CHECK-LABEL: @scalar
// CHECK: tile.philox %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} : i64
func.func @scalar(%seed: i64, %i: i64) -> i32 {
  %bits = tile.philox %seed, %seed, %seed, %i : i64
  return %bits : i32
}

// The result has the layout of the indices.
// CHECK-LABEL: @layout
// CHECK: tile.philox %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} : tensor<64xi64, #[[L:.+]]>
// CHECK: return %{{.+}} : tensor<64xi32, #[[L]]>
func.func @layout(%seed: i64, %i: tensor<64xi64, #columns>) -> tensor<64xi32, #columns> {
  %bits = tile.philox %seed, %seed, %seed, %i : tensor<64xi64, #columns>
  return %bits : tensor<64xi32, #columns>
}
