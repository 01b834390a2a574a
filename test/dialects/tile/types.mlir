// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// Views, pointers and shared memory are written in full; strides that are
// row-major anyway are left out.
// CHECK: func.func private @views(!tile.view<4096x128xbf16>, !tile.view<?x128xf8E4M3FN>, !tile.view<f64>, !tile.view<8x4xi1, strides = [?, 2]>, !tile.view<8x4xi8>, !tile.view<?x4xf32, strides = [?, 1]>)
func.func private @views(!tile.view<4096x128xbf16>, !tile.view<?x128xf8E4M3FN>, !tile.view<f64>, !tile.view<8x4xi1, strides = [?, 2]>, !tile.view<8x4xi8, strides = [4, 1]>, !tile.view<?x4xf32, strides = [?, 1]>)

// CHECK: func.func private @others(!tile.ptr<f16>, !tile.shared<7xi32>, !tile.shared<2x64x80xbf16, #[[S:shared32]]>, !tile.shared<64x80xf32, #[[P:shared64p]]>)
func.func private @others(!tile.ptr<f16>, !tile.shared<7xi32>, !tile.shared<2x64x80xbf16, #tile.shared<swizzle = 32>>, !tile.shared<64x80xf32, #tile.shared<swizzle = 64, pairs = true>>)

// CHECK: func.func private @digit() attributes {d = #tile.digit<2:(0,1)>}
func.func private @digit() attributes {d = #tile.digit<2:(0, 1)>}
