// RUN: act-opt %s --split-input-file --verify-diagnostics

// elements of 32 bits
gpu.module @kernels {
  gpu.func @f(%v: !tile.view<4096x4096xf32>) kernel attributes {tile.schedule = #tile.schedule<groups = 2, stages = 2>} {
    %c0 = arith.constant 0 : index
    %r = arith.constant dense<1.0> : tensor<128x64xf32>
    %s = tile.alloc_shared : !tile.shared<8x2x16x32xf32, #tile.shared<swizzle = 128>>
    // expected-error@+1 {{expected a matrix of 16-bit elements}}
    tile.store_tensor %r, %v[%c0 : 128, %c0 : 64] by %s : tensor<128x64xf32>, !tile.view<4096x4096xf32>, !tile.shared<8x2x16x32xf32, #tile.shared<swizzle = 128>>
    tile.wait_stores %s : !tile.shared<8x2x16x32xf32, #tile.shared<swizzle = 128>>
    gpu.return
  }
}
// -----

// memory for other warps
gpu.module @kernels {
  gpu.func @f(%v: !tile.view<4096x4096xbf16>) kernel attributes {tile.schedule = #tile.schedule<groups = 2, stages = 2>} {
    %c0 = arith.constant 0 : index
    %r = arith.constant dense<1.0> : tensor<128x256xbf16>
    %s = tile.alloc_shared : !tile.shared<4x2x16x64xbf16, #tile.shared<swizzle = 128>>
    // expected-error@+1 {{expected 8x2x16 rows of 16, 32 or 64 columns that divide the block's, in panels of that width}}
    tile.store_tensor %r, %v[%c0 : 128, %c0 : 256] by %s : tensor<128x256xbf16>, !tile.view<4096x4096xbf16>, !tile.shared<4x2x16x64xbf16, #tile.shared<swizzle = 128>>
    tile.wait_stores %s : !tile.shared<4x2x16x64xbf16, #tile.shared<swizzle = 128>>
    gpu.return
  }
}
// -----

// rows that begin anywhere
gpu.module @kernels {
  gpu.func @f(%v: !tile.view<4096x100xbf16>) kernel attributes {tile.schedule = #tile.schedule<groups = 2, stages = 2>} {
    %c0 = arith.constant 0 : index
    %r = arith.constant dense<1.0> : tensor<128x64xbf16>
    %s = tile.alloc_shared : !tile.shared<8x2x16x64xbf16, #tile.shared<swizzle = 128>>
    // expected-error@+1 {{'tile.store_tensor' op is of a view with a stride of 100 elements along dimension 0, expected a multiple of 16 bytes below 2^40}}
    tile.store_tensor %r, %v[%c0 : 128, %c0 : 64] by %s : tensor<128x64xbf16>, !tile.view<4096x100xbf16>, !tile.shared<8x2x16x64xbf16, #tile.shared<swizzle = 128>>
    tile.wait_stores %s : !tile.shared<8x2x16x64xbf16, #tile.shared<swizzle = 128>>
    gpu.return
  }
}
