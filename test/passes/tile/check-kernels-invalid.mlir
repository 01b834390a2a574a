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

// -----

// a kernel without any attribute of the dialect
gpu.module @kernels {
  // expected-error @+1 {{'gpu.func' op argument 1 is of type '!tile.view<?x8xf32>', expected a view of static size without strides, a pointer, an integer, a float or an index}}
  gpu.func @unknown(%n: i32, %x: !tile.view<?x8xf32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{'gpu.func' op argument 0 is of type 'tensor<64xf32>', expected a view}}
  gpu.func @block(%x: tensor<64xf32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @nowhere() kernel {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    // expected-error @+1 {{'scf.for' op has a step of 0, expected 1 or more}}
    scf.for %i = %c0 to %c8 step %c0 {
    }
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @downwards() kernel {
    %c0 = arith.constant 0 : i32
    %c8 = arith.constant 8 : i32
    %back = arith.constant -8 : i32
    // from 0 by 2^32 - 8: once
    scf.for unsigned %i = %c0 to %c8 step %back : i32 {
    }
    // expected-error @+1 {{'scf.for' op has a step of -8, expected 1 or more}}
    scf.for %i = %c8 to %c0 step %back : i32 {
    }
    gpu.return
  }
}
