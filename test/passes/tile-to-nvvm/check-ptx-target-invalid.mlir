// RUN: act-opt %s --lower-gpu-to-llvm=target=sm_80 --split-input-file --verify-diagnostics -o /dev/null

gpu.module @m {
  gpu.func @cluster() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    // expected-error @below {{'nvvm.cluster.arrive' op needs sm_90, but the target is sm_80}}
    nvvm.cluster.arrive
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @registers() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    // expected-error @below {{'nvvm.setmaxregister' op needs sm_90a, but the target is sm_80}}
    nvvm.setmaxregister increase 240
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @remainder(%x: f32, %y: f32, %p: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    // expected-error @below {{'arith.remf' op is not supported on GPUs for 'f32'}}
    %r = arith.remf %x, %y : f32
    llvm.store %r, %p : f32, !llvm.ptr<1>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k(%x: f8E5M2, %p: !llvm.ptr<1>) kernel {
    // expected-error @below {{'arith.addf' op is not supported on GPUs for 8-bit floats, which can only be loaded, stored, converted to nearest and multiplied}}
    %r = arith.addf %x, %x : f8E5M2
    %b = arith.bitcast %r : f8E5M2 to i8
    llvm.store %b, %p : i8, !llvm.ptr<1>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @double(%x: f64, %p: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    // expected-error @below {{'math.exp' op is not supported on GPUs for 'f64'}}
    %r = math.exp %x : f64
    llvm.store %r, %p : f64, !llvm.ptr<1>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @wide(%x: i128, %p: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    // expected-error @below {{has an operand of type 'i128', which GPUs do not have}}
    llvm.store %x, %p : i128, !llvm.ptr<1>
    gpu.return
  }
}

// -----

gpu.module @m {
  llvm.func @elsewhere()
  gpu.func @call() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    // expected-error @below {{calls 'elsewhere', which has no body}}
    llvm.call @elsewhere() : () -> ()
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{has blocks of 2048x1x1 threads, expected at most 1024}}
  gpu.func @large() kernel attributes {known_block_size = array<i32: 2048, 1, 1>} {
    gpu.return
  }
}
