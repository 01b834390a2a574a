// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @first
// CHECK: %ticket = tile.ticket %{{.+}}[%{{.+}}] : !tile.view<1xi32>
func.func @first(%t: !tile.view<1xi32>, %c0: index) -> index {
  %p = tile.ticket %t[%c0] : !tile.view<1xi32>
  return %p : index
}
