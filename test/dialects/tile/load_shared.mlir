// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

#rows = #tile.layout<register = [64:(0,1), 2:(0,64)], lane = [32:(1,0)], warp = [2:(32,0)]>

// CHECK-LABEL: @from_a_slot
// CHECK: tile.load_shared %{{.+}}[%{{.+}}] : !tile.shared<2x64x128xbf16, #{{.+}}> -> tensor<64x128xbf16>
func.func @from_a_slot(%s: !tile.shared<2x64x128xbf16, #tile.shared<swizzle = 128>>, %slot: index) -> tensor<64x128xbf16> {
  %a = tile.load_shared %s[%slot] : !tile.shared<2x64x128xbf16, #tile.shared<swizzle = 128>> -> tensor<64x128xbf16>
  return %a : tensor<64x128xbf16>
}

// CHECK-LABEL: @without_slots
// CHECK: tile.load_shared %{{.+}} : !tile.shared<64x128xbf16> -> tensor<64x128xbf16, #{{.+}}>
func.func @without_slots(%s: !tile.shared<64x128xbf16>) -> tensor<64x128xbf16, #rows> {
  %a = tile.load_shared %s : !tile.shared<64x128xbf16> -> tensor<64x128xbf16, #rows>
  return %a : tensor<64x128xbf16, #rows>
}
