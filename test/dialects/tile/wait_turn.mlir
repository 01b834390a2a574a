// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @rows
// CHECK: tile.wait_turn %{{.+}}[%{{.+}}, %{{.+}}], %{{.+}} : !tile.view<2x8xi32>
func.func @rows(%t: !tile.view<2x8xi32>, %h: index, %i: index, %p: index) {
  tile.wait_turn %t[%h, %i], %p : !tile.view<2x8xi32>
  return
}

// CHECK-LABEL: @one
// CHECK: tile.wait_turn %{{.+}}[%{{.+}}], %{{.+}} : !tile.view<8xi32>
func.func @one(%turns: !tile.view<8xi32>, %i: index, %p: index) {
  tile.wait_turn %turns[%i], %p : !tile.view<8xi32>
  return
}
