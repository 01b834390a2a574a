// Arguments of each kind, a block of 2^62 numbers, more registers than there are, and a copy.
gpu.module @kernels {
  gpu.func @scale(%x: !tile.view<8xf32>, %f: f32, %n: i32, %i: index) kernel {
    %a = tile.load %x[%i : 8] : !tile.view<8xf32>
    %n32 = arith.sitofp %n : i32 to f32
    %s = arith.addf %f, %n32 : f32
    %b = tensor.splat %s : tensor<8xf32>
    %c = arith.mulf %a, %b : tensor<8xf32>
    gpu.return
  }
  gpu.func @huge(%x: !tile.view<64xf32>) kernel {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : 4611686018427387904] : !tile.view<64xf32>
    tile.print "{}", %a : tensor<4611686018427387904xf32>
    gpu.return
  }

  // 256x128 numbers of f32 are 256 for each of 128 threads.
  gpu.func @many(%x: !tile.view<256x64xbf16>, %y: !tile.view<64x128xbf16>, %z: !tile.view<256x128xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<256x128xf32>

    // The accumulators.
    %sum = scf.for %k = %c0 to %c64 step %c16 iter_args(%acc = %zero) -> tensor<256x128xf32> {
      %a = tile.load %x[%c0 : 256, %k : 16] : !tile.view<256x64xbf16>
      %b = tile.load %y[%k : 16, %c0 : 128] : !tile.view<64x128xbf16>
      %next = tile.dot %a, %b, %acc : tensor<256x16xbf16>, tensor<16x128xbf16> -> tensor<256x128xf32>
      scf.yield %next : tensor<256x128xf32>
    }
    tile.store %sum, %z[%c0 : 256, %c0 : 128] : !tile.view<256x128xf32>
    gpu.return
  }

  // What is copied keeps its bits.
  gpu.func @copy(%p: !tile.ptr<bf16>, %q: !tile.ptr<bf16>) kernel attributes {tile.grid = array<i64: 64, 1, 1>} {
    %x = tile.view %p sizes [65536] : !tile.ptr<bf16> -> !tile.view<65536xbf16>
    %y = tile.view %q sizes [65536] : !tile.ptr<bf16> -> !tile.view<65536xbf16>
    %c1024 = arith.constant 1024 : index
    %b = tile.program_id x
    %i = arith.muli %b, %c1024 : index
    %a = tile.load %x[%i : 1024] : !tile.view<65536xbf16>
    tile.store %a, %y[%i : 1024] : !tile.view<65536xbf16>
    gpu.return
  }
}
