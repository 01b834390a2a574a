// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize --cse | FileCheck %s

// CHECK-LABEL: @f
// CHECK: tile.store_tensor %{{.+}}, %arg0[%c0 : 128, %c0 : 256] by %{{.+}} : tensor<128x256xbf16>, !tile.view<4096x4096xbf16>, !tile.shared<8x2x16x64xbf16, #shared128>
// CHECK: tile.wait_stores
gpu.module @kernels {
  gpu.func @f(%v: !tile.view<4096x4096xbf16>) kernel attributes {tile.schedule = #tile.schedule<groups = 2, stages = 2>} {
    %c0 = arith.constant 0 : index
    %r = arith.constant dense<1.0> : tensor<128x256xbf16>
    %s = tile.alloc_shared : !tile.shared<8x2x16x64xbf16, #tile.shared<swizzle = 128>>
    tile.store_tensor %r, %v[%c0 : 128, %c0 : 256] by %s : tensor<128x256xbf16>, !tile.view<4096x4096xbf16>, !tile.shared<8x2x16x64xbf16, #tile.shared<swizzle = 128>>
    tile.wait_stores %s : !tile.shared<8x2x16x64xbf16, #tile.shared<swizzle = 128>>
    gpu.return
  }
}
