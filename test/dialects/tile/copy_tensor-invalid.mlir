// RUN: act-opt %s --split-input-file --verify-diagnostics

// another block
gpu.module @kernels {
  gpu.func @f(%v: !tile.view<4096x4096xbf16>) kernel {
    %c0 = arith.constant 0 : index
    %s = tile.alloc_shared : !tile.shared<4x128x64xbf16, #tile.shared<swizzle = 128>>
    %full = tile.alloc_shared : !tile.shared<4xi64>
    // expected-error@+1 {{'tile.copy_tensor' op copies a block of shape [64, 64] into shared memory of shape [4, 128, 64] by 1 slot indices}}
    tile.copy_tensor %v[%c0 : 64, %c0 : 64] to %s[%c0] signals %full[%c0] : !tile.view<4096x4096xbf16>, !tile.shared<4x128x64xbf16, #tile.shared<swizzle = 128>>, !tile.shared<4xi64>
    gpu.return
  }
}
// -----

// a view of dynamic size
gpu.module @kernels {
  gpu.func @f(%p: !tile.ptr<bf16>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %v = tile.view %p sizes [%n, 4096] : !tile.ptr<bf16> -> !tile.view<?x4096xbf16>
    %s = tile.alloc_shared : !tile.shared<4x128x64xbf16, #tile.shared<swizzle = 128>>
    %full = tile.alloc_shared : !tile.shared<4xi64>
    // expected-error@+1 {{'tile.copy_tensor' op is of a view of dynamic size}}
    tile.copy_tensor %v[%c0 : 128, %c0 : 64] to %s[%c0] signals %full[%c0] : !tile.view<?x4096xbf16>, !tile.shared<4x128x64xbf16, #tile.shared<swizzle = 128>>, !tile.shared<4xi64>
    gpu.return
  }
}
// -----

// rows that begin anywhere
gpu.module @kernels {
  gpu.func @f(%v: !tile.view<4096x100xbf16>) kernel {
    %c0 = arith.constant 0 : index
    %s = tile.alloc_shared : !tile.shared<4x128x64xbf16, #tile.shared<swizzle = 128>>
    %full = tile.alloc_shared : !tile.shared<4xi64>
    // expected-error@+1 {{'tile.copy_tensor' op is of a view with a stride of 100 elements along dimension 0, expected a multiple of 16 bytes below 2^40}}
    tile.copy_tensor %v[%c0 : 128, %c0 : 64] to %s[%c0] signals %full[%c0] : !tile.view<4096x100xbf16>, !tile.shared<4x128x64xbf16, #tile.shared<swizzle = 128>>, !tile.shared<4xi64>
    gpu.return
  }
}
// -----

// a column
gpu.module @kernels {
  gpu.func @f(%w: !tile.view<4096x4096xbf16>) kernel {
    %c0 = arith.constant 0 : index
    %v = tile.transposed_view %w [1, 0] : !tile.view<4096x4096xbf16> -> !tile.view<4096x4096xbf16, strides = [1, 4096]>
    %s = tile.alloc_shared : !tile.shared<4x128x64xbf16, #tile.shared<swizzle = 128>>
    %full = tile.alloc_shared : !tile.shared<4xi64>
    // expected-error@+1 {{'tile.copy_tensor' op is of a view with a stride of 1 elements along dimension 0, expected a multiple of 16 bytes below 2^40}}
    tile.copy_tensor %v[%c0 : 128, %c0 : 64] to %s[%c0] signals %full[%c0] : !tile.view<4096x4096xbf16, strides = [1, 4096]>, !tile.shared<4x128x64xbf16, #tile.shared<swizzle = 128>>, !tile.shared<4xi64>
    gpu.return
  }
}
// -----

// rows of an index
gpu.module @kernels {
  gpu.func @f(%v: !tile.view<4096x4096xbf16>, %rows: tensor<128xi32>) kernel {
    %c0 = arith.constant 0 : index
    %s = tile.alloc_shared : !tile.shared<4x128x64xbf16, #tile.shared<swizzle = 128>>
    %full = tile.alloc_shared : !tile.shared<4xi64>
    // expected-error@+1 {{'tile.copy_tensor' op gathers rows, which a copy by a tensor map does not}}
    tile.copy_tensor %v[%rows : tensor<128xi32>, %c0 : 64] to %s[%c0] signals %full[%c0] : !tile.view<4096x4096xbf16>, !tile.shared<4x128x64xbf16, #tile.shared<swizzle = 128>>, !tile.shared<4xi64>
    gpu.return
  }
}
// -----

// numbers that are no mbarriers
gpu.module @kernels {
  gpu.func @f(%v: !tile.view<4096x4096xbf16>) kernel {
    %c0 = arith.constant 0 : index
    %s = tile.alloc_shared : !tile.shared<4x128x64xbf16, #tile.shared<swizzle = 128>>
    %full = tile.alloc_shared : !tile.shared<4xi32>
    // expected-error@+1 {{'tile.copy_tensor' op signals mbarriers of type '!tile.shared<4xi32>', expected !tile.shared<Nxi64>}}
    tile.copy_tensor %v[%c0 : 128, %c0 : 64] to %s[%c0] signals %full[%c0] : !tile.view<4096x4096xbf16>, !tile.shared<4x128x64xbf16, #tile.shared<swizzle = 128>>, !tile.shared<4xi32>
    gpu.return
  }
}
// -----

// too many dimensions
gpu.module @kernels {
  gpu.func @f(%v: !tile.view<1x1x1x1x4096x64xbf16>) kernel {
    %c0 = arith.constant 0 : index
    %s = tile.alloc_shared : !tile.shared<4x128x64xbf16, #tile.shared<swizzle = 128>>
    %full = tile.alloc_shared : !tile.shared<4xi64>
    // expected-error@+1 {{'tile.copy_tensor' op is of a view of rank 6, expected at most 5}}
    tile.copy_tensor %v[%c0, %c0, %c0, %c0, %c0 : 128, %c0 : 64] to %s[%c0] signals %full[%c0] : !tile.view<1x1x1x1x4096x64xbf16>, !tile.shared<4x128x64xbf16, #tile.shared<swizzle = 128>>, !tile.shared<4xi64>
    gpu.return
  }
}
// -----

// a multicast to nobody
gpu.module @kernels {
  gpu.func @f(%v: !tile.view<4096x4096xbf16>) kernel {
    %c0 = arith.constant 0 : index
    %s = tile.alloc_shared : !tile.shared<4x128x64xbf16, #tile.shared<swizzle = 128>>
    %full = tile.alloc_shared : !tile.shared<4xi64>
    // expected-error@+1 {{'tile.copy_tensor' op is a multicast in a kernel whose schedule has no cluster}}
    tile.copy_tensor %v[%c0 : 128, %c0 : 64] to %s[%c0] signals %full[%c0] multicast : !tile.view<4096x4096xbf16>, !tile.shared<4x128x64xbf16, #tile.shared<swizzle = 128>>, !tile.shared<4xi64>
    gpu.return
  }
}
// -----

// parts of 6 rows
gpu.module @kernels {
  gpu.func @f(%v: !tile.view<4096x4096xbf16>) kernel attributes {tile.schedule = #tile.schedule<warps = 4, cluster = 8, roles = {copy = 1}>} {
    %c0 = arith.constant 0 : index
    %s = tile.alloc_shared : !tile.shared<4x48x64xbf16, #tile.shared<swizzle = 128>>
    %full = tile.alloc_shared : !tile.shared<4xi64>
    // expected-error@+1 {{'tile.copy_tensor' op is a multicast of a block of shape [48, 64], expected a multiple of 64 rows for a cluster of 8}}
    tile.copy_tensor %v[%c0 : 48, %c0 : 64] to %s[%c0] signals %full[%c0] multicast : !tile.view<4096x4096xbf16>, !tile.shared<4x48x64xbf16, #tile.shared<swizzle = 128>>, !tile.shared<4xi64>
    gpu.return
  }
}

// -----

// rows that no box holds
gpu.module @kernels {
  gpu.func @f(%v: !tile.view<4096xf32>) kernel {
    %c0 = arith.constant 0 : index
    %s = tile.alloc_shared : !tile.shared<2x512xf32>
    %full = tile.alloc_shared : !tile.shared<2xi64>
    // expected-error@+1 {{'tile.copy_tensor' op copies rows of 512 elements to '!tile.shared<2x512xf32>', expected at most 256 where there is no swizzle}}
    tile.copy_tensor %v[%c0 : 512] to %s[%c0] signals %full[%c0] : !tile.view<4096xf32>, !tile.shared<2x512xf32>, !tile.shared<2xi64>
    gpu.return
  }
}
