// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @block
// CHECK: tile.assert %{{.+}}, "index is below the size of the vocabulary" : tensor<128xi1>
// FOLD-LABEL: @block
// FOLD: tile.assert
func.func @block(%ok: tensor<128xi1>) {
  tile.assert %ok, "index is below the size of the vocabulary" : tensor<128xi1>
  return
}

// CHECK-LABEL: @scalar
// CHECK: tile.assert %{{.+}}, "ok" : i1
func.func @scalar(%ok: i1) {
  tile.assert %ok, "ok" : i1
  return
}

// What holds need not be asked; what does not is not removed.
// CHECK-LABEL: @constants
// FOLD-LABEL: @constants
// FOLD-NOT: "holds
// FOLD: tile.assert %{{.+}}, "fails"
func.func @constants() {
  %true = arith.constant true
  %all = arith.constant dense<true> : tensor<4xi1>
  %one = arith.constant dense<[true, false]> : tensor<2xi1>
  tile.assert %true, "holds" : i1
  tile.assert %all, "holds too" : tensor<4xi1>
  tile.assert %one, "fails" : tensor<2xi1>
  return
}
