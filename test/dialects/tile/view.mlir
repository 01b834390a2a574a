// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @strided
// CHECK: tile.view %{{.+}} sizes [%{{.+}}, 64] strides [256, 1] : !tile.ptr<bf16> -> !tile.view<?x64xbf16, strides = [256, 1]>
func.func @strided(%p: !tile.ptr<bf16>, %n: index) -> !tile.view<?x64xbf16, strides = [256, 1]> {
  %v = tile.view %p sizes [%n, 64] strides [256, 1] : !tile.ptr<bf16> -> !tile.view<?x64xbf16, strides = [256, 1]>
  return %v : !tile.view<?x64xbf16, strides = [256, 1]>
}

// CHECK-LABEL: @dense
// CHECK: tile.view %{{.+}} sizes [%{{.+}}, %{{.+}}] : !tile.ptr<f32> -> !tile.view<?x?xf32>
func.func @dense(%p: !tile.ptr<f32>, %n: index) -> !tile.view<?x?xf32> {
  %v = tile.view %p sizes [%n, %n] : !tile.ptr<f32> -> !tile.view<?x?xf32>
  return %v : !tile.view<?x?xf32>
}

// Strides that are row-major anyway are not part of the type.
// CHECK-LABEL: @row_major
// CHECK: tile.view %{{.+}} sizes [%{{.+}}, 64] strides [64, 1] : !tile.ptr<f32> -> !tile.view<?x64xf32>
func.func @row_major(%p: !tile.ptr<f32>, %n: index) -> !tile.view<?x64xf32> {
  %v = tile.view %p sizes [%n, 64] strides [64, 1] : !tile.ptr<f32> -> !tile.view<?x64xf32, strides = [64, 1]>
  return %v : !tile.view<?x64xf32>
}

// CHECK-LABEL: @one_number
// CHECK: tile.view %{{.+}} sizes [] : !tile.ptr<i32> -> !tile.view<i32>
func.func @one_number(%p: !tile.ptr<i32>) -> !tile.view<i32> {
  %v = tile.view %p sizes [] : !tile.ptr<i32> -> !tile.view<i32>
  return %v : !tile.view<i32>
}

// CHECK-LABEL: @constants
// FOLD-LABEL: @constants
// FOLD: tile.view %{{.+}} sizes [7, %{{.+}}] strides [256, %{{.+}}] : !tile.ptr<i8> -> !tile.view<?x?xi8, strides = [?, ?]>
func.func @constants(%p: !tile.ptr<i8>, %n: index) -> !tile.view<?x?xi8, strides = [?, ?]> {
  %c7 = arith.constant 7 : index
  %c256 = arith.constant 256 : index
  %v = tile.view %p sizes [%c7, %n] strides [%c256, %n] : !tile.ptr<i8> -> !tile.view<?x?xi8, strides = [?, ?]>
  return %v : !tile.view<?x?xi8, strides = [?, ?]>
}

// A negative size is for the launch to refuse; the least i64 stands for a value.
// CHECK-LABEL: @no_such_numbers
// FOLD-LABEL: @no_such_numbers
// FOLD: tile.view %{{.+}} sizes [%{{.+}}, 4] strides [%{{.+}}, -1]
func.func @no_such_numbers(%p: !tile.ptr<i8>) -> !tile.view<?x4xi8, strides = [?, ?]> {
  %neg = arith.constant -1 : index
  %least = arith.constant -9223372036854775808 : index
  %v = tile.view %p sizes [%neg, 4] strides [%least, %neg] : !tile.ptr<i8> -> !tile.view<?x4xi8, strides = [?, ?]>
  return %v : !tile.view<?x4xi8, strides = [?, ?]>
}
