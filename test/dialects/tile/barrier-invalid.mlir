// RUN: act-opt %s --split-input-file --verify-diagnostics

// a result
func.func @f() {
  // expected-error@+1 {{'tile.barrier' op requires zero results}}
  %0 = "tile.barrier"() : () -> i1
  return
}

// -----

// parts that do not divide the program
gpu.module @m {
  gpu.func @f() kernel attributes {tile.schedule = #tile.schedule<warps = 4, stages = 2>} {
    // expected-error@+1 {{'tile.barrier' op has 3 parts, which do not divide the program's 4 warps}}
    tile.barrier parts 3
    gpu.return
  }
}

// -----

// more parts than the hardware has barriers
func.func @f() {
  // expected-error@+1 {{'tile.barrier' op attribute 'parts' failed to satisfy constraint: 64-bit signless integer attribute whose minimum value is 1 whose maximum value is 15}}
  tile.barrier parts 16
  return
}

// -----

// a part of a role
gpu.module @m {
  gpu.func @f() kernel attributes {tile.schedule = #tile.schedule<warps = 4, stages = 2, roles = {copy = 1}>} {
    tile.roles compute {
      // expected-error@+1 {{'tile.barrier' op is for a part of the program, expected it outside of tile.roles}}
      tile.barrier parts 2
    } copy {
      tile.commit_copies
    }
    gpu.return
  }
}
