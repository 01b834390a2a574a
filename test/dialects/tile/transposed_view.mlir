// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @matrix
// CHECK: tile.transposed_view %{{.+}} [1, 0] : !tile.view<128x64xbf16> -> !tile.view<64x128xbf16, strides = [1, 64]>
func.func @matrix(%v: !tile.view<128x64xbf16>) -> !tile.view<64x128xbf16, strides = [1, 64]> {
  %t = tile.transposed_view %v [1, 0] : !tile.view<128x64xbf16> -> !tile.view<64x128xbf16, strides = [1, 64]>
  return %t : !tile.view<64x128xbf16, strides = [1, 64]>
}

// CHECK-LABEL: @there_and_back
// CHECK-COUNT-2: tile.transposed_view
// FOLD-LABEL: @there_and_back
// FOLD-NOT: tile.transposed_view
func.func @there_and_back(%v: !tile.view<2x128x64xbf16>) -> !tile.view<2x128x64xbf16> {
  %t = tile.transposed_view %v [1, 2, 0] : !tile.view<2x128x64xbf16> -> !tile.view<128x64x2xbf16, strides = [64, 1, 8192]>
  %u = tile.transposed_view %t [2, 0, 1] : !tile.view<128x64x2xbf16, strides = [64, 1, 8192]> -> !tile.view<2x128x64xbf16>
  return %u : !tile.view<2x128x64xbf16>
}
