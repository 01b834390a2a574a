// Kernels in upstream's dialects alone: no tile ops, no memrefs.
gpu.module @kernels {
  // c = a + b, one element a thread.
  gpu.func @add(%a: !llvm.ptr<1> {llvm.noalias, llvm.readonly}, %b: !llvm.ptr<1>,
                %c: !llvm.ptr<1>, %n: i32) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %block = gpu.block_id x
    %thread = gpu.thread_id x
    %threads = gpu.block_dim x
    %first = arith.muli %block, %threads : index
    %at = arith.addi %first, %thread : index
    %i = arith.index_cast %at : index to i32
    %inside = arith.cmpi slt, %i, %n : i32
    scf.if %inside {
      %pa = llvm.getelementptr %a[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      %pb = llvm.getelementptr %b[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      %pc = llvm.getelementptr %c[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      %x = llvm.load %pa : !llvm.ptr<1> -> f32
      %y = llvm.load %pb : !llvm.ptr<1> -> f32
      %sum = arith.addf %x, %y : f32
      llvm.store %sum, %pc : f32, !llvm.ptr<1>
    }
    gpu.return
  }

  llvm.mlir.global external @act_dynamic_shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>

  // The sum of 256 numbers per block: a tree through dynamic shared memory.
  gpu.func @sum(%a: !llvm.ptr<1>, %out: !llvm.ptr<1>) kernel
      attributes {known_block_size = array<i32: 256, 1, 1>,
                  tile.grid = array<i64: 4, 1, 1>, tile.shared_bytes = 1024 : i64} {
    %shared = llvm.mlir.addressof @act_dynamic_shared : !llvm.ptr<3>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c128 = arith.constant 128 : i32
    %thread = gpu.thread_id x
    %block = gpu.block_id x
    %threads = gpu.block_dim x
    %first = arith.muli %block, %threads : index
    %at = arith.addi %first, %thread : index
    %i = arith.index_cast %at : index to i64
    %t = arith.index_cast %thread : index to i32
    %from = llvm.getelementptr %a[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %mine = llvm.getelementptr %shared[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %x = llvm.load %from : !llvm.ptr<1> -> f32
    llvm.store %x, %mine : f32, !llvm.ptr<3>
    gpu.barrier
    scf.for %step = %c0 to %c8 step %c1 {
      %s = arith.index_cast %step : index to i32
      %half = arith.shrui %c128, %s : i32
      %active = arith.cmpi ult, %t, %half : i32
      scf.if %active {
        %j = arith.addi %t, %half : i32
        %other = llvm.getelementptr %shared[%j] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
        %u = llvm.load %mine : !llvm.ptr<3> -> f32
        %v = llvm.load %other : !llvm.ptr<3> -> f32
        %w = arith.addf %u, %v : f32
        llvm.store %w, %mine : f32, !llvm.ptr<3>
      }
      gpu.barrier
    }
    %zero = arith.constant 0 : i32
    %leader = arith.cmpi eq, %t, %zero : i32
    scf.if %leader {
      %total = llvm.load %shared : !llvm.ptr<3> -> f32
      %b = arith.index_cast %block : index to i64
      %to = llvm.getelementptr %out[%b] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
      llvm.store %total, %to : f32, !llvm.ptr<1>
    }
    gpu.return
  }
}
