// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

#rows = #tile.layout<register = [64:(0,1)], lane = [32:(1,0)], warp = [4:(32,0)]>

// CHECK-LABEL: @block
// CHECK: tile.store %{{.+}}, %{{.+}}[%{{.+}}, %{{.+}} : 128, %{{.+}} : 64] : !tile.view<8x4096x64xbf16>
func.func @block(%a: tensor<128x64xbf16>, %v: !tile.view<8x4096x64xbf16>, %b: index, %i: index, %c0: index) {
  tile.store %a, %v[%b, %i : 128, %c0 : 64] : !tile.view<8x4096x64xbf16>
  return
}

// CHECK-LABEL: @scalar_rows_and_layout
// CHECK: tile.store %{{.+}}, %{{.+}}[%{{.+}}, %{{.+}}] : !tile.view<128x64xf32>
// CHECK: tile.store %{{.+}}, %{{.+}}[%{{.+}} : tensor<2xi64>, %{{.+}}] : !tile.view<128x64xf32>
// CHECK: tile.store %{{.+}}, %{{.+}}[%{{.+}} : 128, %{{.+}} : 64] : tensor<128x64xf32, #{{.+}}>, !tile.view<128x64xf32>
func.func @scalar_rows_and_layout(%x: f32, %two: tensor<2xf32>, %a: tensor<128x64xf32, #rows>, %k: tensor<2xi64>, %v: !tile.view<128x64xf32>, %c0: index) {
  tile.store %x, %v[%c0, %c0] : !tile.view<128x64xf32>
  tile.store %two, %v[%k : tensor<2xi64>, %c0] : !tile.view<128x64xf32>
  tile.store %a, %v[%c0 : 128, %c0 : 64] : tensor<128x64xf32, #rows>, !tile.view<128x64xf32>
  return
}
