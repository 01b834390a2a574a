// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @to_a_slot
// CHECK: tile.copy_async %{{.+}}[%{{.+}} : 64, %{{.+}} : 128] to %{{.+}}[%{{.+}}] : !tile.view<4096x128xbf16>, !tile.shared<2x64x128xbf16, #{{.+}}>
func.func @to_a_slot(%v: !tile.view<4096x128xbf16>, %i: index, %k: index, %s: !tile.shared<2x64x128xbf16, #tile.shared<swizzle = 128>>, %slot: index) {
  tile.copy_async %v[%i : 64, %k : 128] to %s[%slot] : !tile.view<4096x128xbf16>, !tile.shared<2x64x128xbf16, #tile.shared<swizzle = 128>>
  return
}

// CHECK-LABEL: @gathered_without_slots
// CHECK: tile.copy_async %{{.+}}[%{{.+}} : tensor<64xi32>, %{{.+}} : i32 : 128] to %{{.+}} : !tile.view<4096x128xbf16>, !tile.shared<64x128xbf16>
func.func @gathered_without_slots(%v: !tile.view<4096x128xbf16>, %i: tensor<64xi32>, %k: i32, %s: !tile.shared<64x128xbf16>) {
  tile.copy_async %v[%i : tensor<64xi32>, %k : i32 : 128] to %s : !tile.view<4096x128xbf16>, !tile.shared<64x128xbf16>
  return
}
