// SPDX-License-Identifier: Apache-2.0
gpu.module @kernels {
  // Rows of 1, 2, -2, 4, by the program's number; each two rows at a time.
  gpu.func @pick(%y: !tile.view<64x4xf32>) kernel attributes {tile.block_sizes = {N = 4}, tile.grid = #tile.grid<4, 4/N>, tile.schedule = #tile.schedule<warps = 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %n = tile.block_size N
    %i = tile.program_id x
    %j = tile.program_id y
    %column = arith.muli %j, %n : index
    %one = arith.constant dense<1.0> : tensor<2x4xf32>
    %two = arith.addf %one, %one : tensor<2x4xf32>
    scf.parallel (%p) = (%c0) to (%c8) step (%c1) {
      %row = affine.apply affine_map<(d0, d1) -> (d0 * 16 + d1 * 2)>(%i, %p)
      %b = scf.index_switch %i -> tensor<2x4xf32>
      case 1 {
        scf.yield %two : tensor<2x4xf32>
      }
      case 2 {
        %r = scf.execute_region -> tensor<2x4xf32> {
          %m = arith.negf %two : tensor<2x4xf32>
          scf.yield %m : tensor<2x4xf32>
        }
        scf.yield %r : tensor<2x4xf32>
      }
      case 3 {
        %four = arith.mulf %two, %two : tensor<2x4xf32>
        scf.yield %four : tensor<2x4xf32>
      }
      default {
        scf.yield %one : tensor<2x4xf32>
      }
      tile.store %b, %y[%row : 2, %column : N = 4] : !tile.view<64x4xf32>
      scf.reduce
    }
    gpu.return
  }

  gpu.func @shown() kernel attributes {tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<warps = 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c5 = arith.constant 5 : index
    %zero = arith.constant 0 : i32
    %sum = scf.parallel (%i) = (%c0) to (%c5) step (%c1) init (%zero) -> i32 {
      %n = arith.index_cast %i : index to i32
      scf.reduce(%n : i32) {
      ^bb0(%l: i32, %r: i32):
        %s = arith.addi %l, %r : i32
        scf.reduce.return %s : i32
      }
    }
    %chosen = scf.index_switch %c2 -> i32
    case 1 {
      scf.yield %zero : i32
    }
    case 2 {
      %twice = arith.addi %sum, %sum : i32
      scf.yield %twice : i32
    }
    default {
      scf.yield %sum : i32
    }
    %most = affine.max affine_map<(d0, d1) -> (d0 * 6 + 1, d1)>(%c5, %c2)
    tile.print "{} {} {}", %sum, %chosen, %most : i32, i32, index
    gpu.return
  }
}
