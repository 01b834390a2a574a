gpu.module @kernels {
  // A condition that nothing changes, around a block that is carried.
  gpu.func @forever(%x: !tile.view<64xi32>) kernel {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : 64] : !tile.view<64xi32>
    %zero = arith.constant 0 : i32
    %true = arith.cmpi eq, %zero, %zero : i32
    %one = arith.constant dense<1> : tensor<64xi32>

    tile.store %one, %x[%c0 : 64] : !tile.view<64xi32>

    %b = scf.while (%v = %a) : (tensor<64xi32>) -> tensor<64xi32> {
      scf.condition(%true) %v : tensor<64xi32>
    } do {
    ^bb0(%v: tensor<64xi32>):
      %w = arith.addi %v, %one : tensor<64xi32>
      scf.yield %w : tensor<64xi32>
    }
    tile.store %b, %x[%c0 : 64] : !tile.view<64xi32>
    gpu.return
  }

  // A step of 0, and a body without anything.
  gpu.func @nowhere(%x: !tile.view<64xi32>, %step: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %c1 step %step {
    }
    gpu.return
  }

  // More programs than there are instructions for.

  gpu.func @many(%x: !tile.view<64xi32>) kernel {
    %c0 = arith.constant 0 : index
    gpu.return
  }

  gpu.func @long(%x: !tile.view<64xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c1000 = arith.constant 1000 : index
    %one = arith.constant dense<1> : tensor<64xi32>
    %a = tile.load %x[%c0 : 64] : !tile.view<64xi32>

    %b = scf.for %i = %c0 to %c1000 step %c1 iter_args(%v = %a) -> tensor<64xi32> {
      %w = arith.addi %v, %one : tensor<64xi32>
      scf.yield %w : tensor<64xi32>
    }
    tile.store %b, %x[%c0 : 64] : !tile.view<64xi32>
    gpu.return
  }
}
