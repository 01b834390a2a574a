// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-check-kernels))' --split-input-file --verify-diagnostics

gpu.module @kernels {
  gpu.func @index() kernel {
    %a = tile.iota 0 to 16
    // expected-error @+1 {{has a result that is a block of type 'tensor<16xindex>'; expected elements of f64, f32, f16, bf16, f8, i1, i8, i16, i32 or i64}}
    %i = arith.index_cast %a : tensor<16xi32> to tensor<16xindex>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @empty() kernel {
    // expected-error @+1 {{has a result that is a block of type 'tensor<0x16xf32>'; expected one element or more}}
    %a = arith.constant dense<0.0> : tensor<0x16xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @scalar() kernel {
    // expected-error @+1 {{has a result that is a block of type 'tensor<f32>'; expected a static shape of one dimension or more}}
    %a = arith.constant dense<0.0> : tensor<f32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @large(%x: !tile.view<2048x1024xf32>) kernel {
    %c0 = arith.constant 0 : index
    // expected-error @+1 {{expected at most 1048576 elements}}
    %a = tile.load %x[%c0 : 2048, %c0 : 1024] : !tile.view<2048x1024xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @odd(%x: !tile.view<31x31x3x31xi8>) kernel {
    %c0 = arith.constant 0 : index
    // expected-error @+1 {{expected at most 4096 elements in a thread; extents that powers of 2 divide spread over more threads}}
    %a = tile.load %x[%c0 : 31, %c0 : 31, %c0 : 3, %c0 : 31] : !tile.view<31x31x3x31xi8>
    gpu.return
  }
}
