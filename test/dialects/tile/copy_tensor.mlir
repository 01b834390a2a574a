// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize --cse | FileCheck %s

// CHECK-LABEL: @f
// CHECK: tile.copy_tensor %arg0[%c0 : 128, %c0 : 64] to %{{.+}}[%c0] signals %{{.+}}[%c0] : !tile.view<4096x4096xbf16>, !tile.shared<4x128x64xbf16, #shared128>, !tile.shared<4xi64>
// CHECK: tile.copy_tensor
gpu.module @kernels {
  gpu.func @f(%v: !tile.view<4096x4096xbf16>, %h: !tile.view<2x8x4096x64xbf16>) kernel {
    %c0 = arith.constant 0 : index
    %s = tile.alloc_shared : !tile.shared<4x128x64xbf16, #tile.shared<swizzle = 128>>
    %full = tile.alloc_shared : !tile.shared<4xi64>
    tile.copy_tensor %v[%c0 : 128, %c0 : 64] to %s[%c0] signals %full[%c0] : !tile.view<4096x4096xbf16>, !tile.shared<4x128x64xbf16, #tile.shared<swizzle = 128>>, !tile.shared<4xi64>
    tile.copy_tensor %h[%c0, %c0, %c0 : 128, %c0 : 64] to %s[%c0] signals %full[%c0] : !tile.view<2x8x4096x64xbf16>, !tile.shared<4x128x64xbf16, #tile.shared<swizzle = 128>>, !tile.shared<4xi64>
    gpu.return
  }
}

// CHECK-LABEL: @multicast
// CHECK: tile.copy_tensor %arg0[%c0 : 128, %c0 : 64] to %{{.+}}[%c0] signals %{{.+}}[%c0] multicast : !tile.view<4096x4096xbf16>, !tile.shared<4x128x64xbf16, #shared128>, !tile.shared<4xi64>
gpu.module @clusters {
  gpu.func @multicast(%v: !tile.view<4096x4096xbf16>) kernel attributes {tile.schedule = #tile.schedule<warps = 4, cluster = 2, roles = {copy = 1}>} {
    %c0 = arith.constant 0 : index
    %s = tile.alloc_shared : !tile.shared<4x128x64xbf16, #tile.shared<swizzle = 128>>
    %full = tile.alloc_shared : !tile.shared<4xi64>
    tile.copy_tensor %v[%c0 : 128, %c0 : 64] to %s[%c0] signals %full[%c0] : !tile.view<4096x4096xbf16>, !tile.shared<4x128x64xbf16, #tile.shared<swizzle = 128>>, !tile.shared<4xi64>
    tile.copy_tensor %v[%c0 : 128, %c0 : 64] to %s[%c0] signals %full[%c0] multicast : !tile.view<4096x4096xbf16>, !tile.shared<4x128x64xbf16, #tile.shared<swizzle = 128>>, !tile.shared<4xi64>
    gpu.return
  }
}
