// RUN: act-opt %s --convert-tile-to-host --split-input-file --verify-diagnostics

gpu.module @kernels {
  gpu.func @threads() kernel {
    tile.barrier // of one thread: nothing to wait for
    // expected-error @+1 {{'tile.alloc_shared' op is about threads and their memory, which the host does not have}}
    %s = tile.alloc_shared : !tile.shared<8x8xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{'gpu.func' op has a parameter of type '!llvm.ptr<1>', expected views, pointers, integers, floats and index}}
  gpu.func @plain(%p: !llvm.ptr<1>) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @lane() kernel {
    // expected-error @+1 {{'gpu.thread_id' op is not supported on the host, where kernels consist of ops of tile, arith, math and scf}}
    %t = gpu.thread_id x
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @f8(%x: !tile.view<16xf8E5M2>) kernel {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : 16] : !tile.view<16xf8E5M2>
    // expected-error @+1 {{'arith.addf' op is not supported on the host for 8-bit floats, which can only be loaded, stored, converted and multiplied}}
    %b = arith.addf %a, %a : tensor<16xf8E5M2>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @chosen(%p: !tile.ptr<f32>, %q: !tile.ptr<f32>, %c: i1) kernel {
    %c0 = arith.constant 0 : index
    // expected-error @+1 {{'arith.select' op is not supported on the host}}
    %r = arith.select %c, %p, %q : !tile.ptr<f32>
    %v = tile.view %r sizes [16] : !tile.ptr<f32> -> !tile.view<16xf32>
    %a = tile.load %v[%c0 : 16] : !tile.view<16xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @constants() kernel {
    // expected-error @+1 {{'arith.constant' op is a block of different constants; a kernel supports only splats}}
    %a = arith.constant dense<[1, 2]> : tensor<2xi32>
    gpu.return
  }
}
