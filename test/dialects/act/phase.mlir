// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @backward
// CHECK: act.phase "backward"
// FOLD-LABEL: @backward
// FOLD: act.phase
func.func @backward() {
  act.phase "backward"
  return
}

// CHECK-LABEL: @update
// CHECK: act.phase "update"
func.func @update() {
  act.phase "update"
  return
}
