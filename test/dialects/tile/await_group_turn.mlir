// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK: tile.await_group_turn
// CHECK-NEXT: tile.pass_group_turn
func.func @turn() {
  tile.await_group_turn
  tile.pass_group_turn
  return
}
