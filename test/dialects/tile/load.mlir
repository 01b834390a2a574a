// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

#rows = #tile.layout<register = [64:(0,1)], lane = [32:(1,0)], warp = [4:(32,0)]>

// CHECK-LABEL: @blocks
// CHECK: tile.load %{{.+}}[%{{.+}}, %{{.+}} : 128, %{{.+}} : 64] : !tile.view<8x4096x64xbf16>
// CHECK: tile.load %{{.+}}[%{{.+}}, %{{.+}} : 128, %{{.+}} : 64] pad = neg_inf : !tile.view<8x4096x64xbf16>
// CHECK: tile.load %{{.+}}[%{{.+}} : tensor<128xi32>, %{{.+}} : 64] : !tile.view<50257x64xbf16>
// CHECK: tile.load %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] : !tile.view<8x4096x64xbf16>
// CHECK: return %{{.+}} : tensor<128x64xbf16>, tensor<128x64xbf16>, tensor<128x64xbf16>, bf16
func.func @blocks(%v: !tile.view<8x4096x64xbf16>, %w: !tile.view<50257x64xbf16>, %b: index, %i: index, %c0: index, %ids: tensor<128xi32>) -> (tensor<128x64xbf16>, tensor<128x64xbf16>, tensor<128x64xbf16>, bf16) {
  %a = tile.load %v[%b, %i : 128, %c0 : 64] : !tile.view<8x4096x64xbf16>
  %s = tile.load %v[%b, %i : 128, %c0 : 64] pad = neg_inf : !tile.view<8x4096x64xbf16>
  %e = tile.load %w[%ids : tensor<128xi32>, %c0 : 64] : !tile.view<50257x64xbf16>
  %x = tile.load %v[%b, %i, %c0] : !tile.view<8x4096x64xbf16>
  return %a, %s, %e, %x : tensor<128x64xbf16>, tensor<128x64xbf16>, tensor<128x64xbf16>, bf16
}

// CHECK-LABEL: @indices_of_other_types
// CHECK: tile.load %{{.+}}[%{{.+}} : i32, %{{.+}} : i64 : 80] : !tile.view<8x4096xf32>
// CHECK: tile.load %{{.+}}[%{{.+}}, %{{.+}} : tensor<3xi64>] : !tile.view<8x4096xf32>
func.func @indices_of_other_types(%v: !tile.view<8x4096xf32>, %b: i32, %i: i64, %c0: index, %k: tensor<3xi64>) -> (tensor<80xf32>, tensor<3xf32>) {
  %a = tile.load %v[%b : i32, %i : i64 : 80] : !tile.view<8x4096xf32>
  %g = tile.load %v[%c0, %k : tensor<3xi64>] : !tile.view<8x4096xf32>
  return %a, %g : tensor<80xf32>, tensor<3xf32>
}

// CHECK-LABEL: @padding
// CHECK: pad = -1.500000e+00 : !tile.view<99xf16>
// CHECK: pad = 1.000000e+00 : !tile.view<99xf16>
// CHECK: pad = inf : !tile.view<99xf16>
// CHECK: pad = nan : !tile.view<99xf16>
// CHECK: pad = -100 : !tile.view<99xi64>
// CHECK: pad = -9223372036854775808 : !tile.view<99xi64>
// CHECK: pad = true : !tile.view<99xi1>
func.func @padding(%v: !tile.view<99xf16>, %w: !tile.view<99xi64>, %m: !tile.view<99xi1>, %c0: index) {
  %0 = tile.load %v[%c0 : 8] pad = -1.5 : !tile.view<99xf16>
  %1 = tile.load %v[%c0 : 8] pad = 1 : !tile.view<99xf16>
  %2 = tile.load %v[%c0 : 8] pad = inf : !tile.view<99xf16>
  %3 = tile.load %v[%c0 : 8] pad = nan : !tile.view<99xf16>
  %4 = tile.load %w[%c0 : 8] pad = -100 : !tile.view<99xi64>
  %5 = tile.load %w[%c0 : 8] pad = -9223372036854775808 : !tile.view<99xi64>
  %6 = tile.load %m[%c0 : 8] pad = true : !tile.view<99xi1>
  return
}

// CHECK-LABEL: @number_and_layout
// CHECK: tile.load %{{.+}}[] : !tile.view<f32>
// CHECK: tile.load %{{.+}}[%{{.+}} : 128, %{{.+}} : 64] : !tile.view<128x64xf32> -> tensor<128x64xf32, #{{.+}}>
func.func @number_and_layout(%n: !tile.view<f32>, %v: !tile.view<128x64xf32>, %c0: index) -> (f32, tensor<128x64xf32, #rows>) {
  %0 = tile.load %n[] : !tile.view<f32>
  %1 = tile.load %v[%c0 : 128, %c0 : 64] : !tile.view<128x64xf32> -> tensor<128x64xf32, #rows>
  return %0, %1 : f32, tensor<128x64xf32, #rows>
}
