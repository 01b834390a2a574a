// RUN: act-opt %s --split-input-file --verify-diagnostics

// too many warps
// expected-error@+1 {{a schedule has 33 warps, expected 1 to 32}}
#s = #tile.schedule<warps = 33>

// -----

// no stages
// expected-error@+1 {{a schedule has 0 stages, expected 1 to 16}}
#s = #tile.schedule<stages = 0>

// -----

// an unknown key
// expected-error@+1 {{expected warps, groups, stages, early, ahead, raster, a, rotated, turns, persistent, cluster or roles, got lanes}}
#s = #tile.schedule<lanes = 32>

// -----

// a raster of one number, and of no rows
// expected-error@+1 {{a schedule has a raster of [8], expected rows x programs in a row, 1 or more of each}}
#s = #tile.schedule<raster = 8>

// -----

// expected-error@+1 {{a schedule has a raster of [0, 4], expected rows x programs in a row, 1 or more of each}}
#s = #tile.schedule<raster = 0x4>

// -----

// a raster of nobody knows how many rows
gpu.module @m {
  // expected-error@+1 {{'gpu.func' op has a raster in its schedule and no tile.grid, which says how many rows there are}}
  gpu.func @f() kernel attributes {tile.schedule = #tile.schedule<raster = 8x4>} {
    gpu.return
  }
}

// -----

// a grid of no whole rows
gpu.module @m {
  // expected-error@+1 {{'gpu.func' op has rows of 8 programs in its schedule's raster, and a grid of 7x5}}
  gpu.func @f() kernel attributes {tile.schedule = #tile.schedule<raster = 2x8>, tile.grid = array<i64: 7, 5, 1>} {
    gpu.return
  }
}

// -----

// not on a kernel
// expected-error@+1 {{'func.func' op has tile.schedule, expected it on a gpu.func that is a kernel}}
func.func private @f() attributes {tile.schedule = #tile.schedule<warps = 4>}

// -----

// not a schedule
gpu.module @m {
  // expected-error@+1 {{'gpu.func' op tile.schedule is 4 : i64, expected a #tile.schedule}}
  gpu.func @f() kernel attributes {tile.schedule = 4} {
    gpu.return
  }
}

// -----

// an argument that no launch can pass
gpu.module @m {
  // expected-error@+1 {{'gpu.func' op argument 1 is of type '!tile.view<?xf32>', expected a view of static size without strides, a pointer, an integer, a float or an index}}
  gpu.func @f(%a: i32, %v: !tile.view<?xf32>) kernel attributes {tile.schedule = #tile.schedule<>} {
    gpu.return
  }
}

// -----

// a layout of other warps
#l = #tile.layout<register = [], lane = [32:(1)], warp = [2:(32)]>
gpu.module @m {
  gpu.func @f() kernel attributes {tile.schedule = #tile.schedule<warps = 4>} {
    // expected-error@+1 {{'tile.iota' op has a block spread over 2 warps in a kernel of 4}}
    %0 = tile.iota 0 to 64 : tensor<64xi32, #l>
    gpu.return
  }
}

// -----

// a grid of two
gpu.module @m {
  // expected-error@+1 {{'gpu.func' op tile.grid is array<i64: 4, 4>, expected array<i64: x, y, z>}}
  gpu.func @f() kernel attributes {tile.grid = array<i64: 4, 4>} {
    gpu.return
  }
}

// -----

// a grid longer than a launch takes
gpu.module @m {
  // expected-error@+1 {{'gpu.func' op tile.grid is 65536 along y, expected 1 to 65535}}
  gpu.func @f() kernel attributes {tile.grid = array<i64: 1, 65536, 1>} {
    gpu.return
  }
}

// -----

// a grid of no kernel
// expected-error@+1 {{'func.func' op has tile.grid, expected it on a gpu.func that is a kernel}}
func.func private @f() attributes {tile.grid = array<i64: 1, 1, 1>}

// -----

// a misspelt attribute
gpu.module @m {
  // expected-error@+1 {{'gpu.func' op has an attribute tile.shedule that is unknown to the tile dialect}}
  gpu.func @f() kernel attributes {tile.shedule = #tile.schedule<>} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @no_grid(%n: index) kernel {
    // expected-error@+1 {{is of a number, but the kernel has no tile.grid in which it counts}}
    %p = tile.program_id x of %n
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @one_group() kernel attributes {tile.schedule = #tile.schedule<groups = 1, stages = 2, roles = {copy = 1}>} {
    tile.roles compute {
      // expected-error@+1 {{is for the computing role of two groups of warps or more}}
      tile.await_group_turn
    } copy {
      tile.barrier
    }
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @no_role() kernel attributes {tile.schedule = #tile.schedule<groups = 2, stages = 2>} {
    // expected-error@+1 {{is for the computing role of two groups of warps or more}}
    tile.pass_group_turn
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error@+1 {{a schedule has turns, expected groups = 2 or more that take them, and roles = {copy = N}}}
  gpu.func @turns() kernel attributes {tile.schedule = #tile.schedule<groups = 1, stages = 2, turns, roles = {copy = 1}>} {
    gpu.return
  }
}

// -----

// no power of two, and more than a cluster has
// expected-error@+1 {{a schedule has clusters of 3 programs, expected 2, 4 or 8}}
#s = #tile.schedule<cluster = 3, roles = {copy = 1}>

// -----

// expected-error@+1 {{a schedule has clusters of 16 programs, expected 2, 4 or 8}}
#s = #tile.schedule<cluster = 16, roles = {copy = 1}>

// -----

// nothing to share
// expected-error@+1 {{a schedule has clusters, expected roles = {copy = N}, whose copies the programs share}}
#s = #tile.schedule<cluster = 2>

// -----

// no whole clusters
gpu.module @m {
  // expected-error@+1 {{'gpu.func' op has clusters of 2 programs in its schedule, and 3 along x, expected a multiple}}
  gpu.func @f() kernel attributes {tile.schedule = #tile.schedule<cluster = 2, roles = {copy = 1}>, tile.grid = array<i64: 3, 2, 1>} {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{'gpu.func' op has clusters of 4 programs in its schedule, and 6 in its grid, expected a multiple}}
  gpu.func @f() kernel attributes {tile.schedule = #tile.schedule<persistent, cluster = 4, roles = {copy = 1}>, tile.grid = array<i64: 3, 2, 1>} {
    gpu.return
  }
}

// -----

// expected-error@+1 {{a tensor map has a box of [64, 512], expected 1 to 256 along each dimension}}
#m = #tile.tensor_map<argument = 0, element = bf16, sizes = [4096, 512], strides = [2, 8192], box = [64, 512], swizzle = 128>

// -----

// expected-error@+1 {{a tensor map has a box of 256 bytes along the innermost dimension, expected a multiple of 16, at most the swizzle's}}
#m = #tile.tensor_map<argument = 0, element = bf16, sizes = [4096, 512], strides = [2, 8192], box = [128, 64], swizzle = 128>

// -----

// expected-error@+1 {{a tensor map has a box of 24 bytes along the innermost dimension, expected a multiple of 16, at most the swizzle's}}
#m = #tile.tensor_map<argument = 0, element = bf16, sizes = [4096, 512], strides = [2, 8192], box = [12, 64], swizzle = 128>

// -----

gpu.module @kernels {
  gpu.func @scaled(%x: f32) kernel {
    // expected-error@+1 {{has tile.exponent_scale = 2.000000e+00 : f32, expected an f64 on an exponential}}
    %y = math.exp %x {tile.exponent_scale = 2.0 : f32} : f32
    gpu.return
  }
}

// -----

// expected-error@+1 {{expected registers or shared, got memory}}
#m = #tile.schedule<groups = 2, stages = 2, a = memory>

// -----

// expected-error@+1 {{a schedule has a = registers, expected groups = N, whose products may read their first operand from there}}
#m = #tile.schedule<warps = 8, stages = 2, a = registers>

// -----

// expected-error@+1 {{a schedule is early, expected stages = 1 and no roles: each block has one place}}
#m = #tile.schedule<warps = 8, stages = 2, early>

// -----

// expected-error@+1 {{a schedule fetches ahead, expected warps = N, which read fragments, and no roles}}
#m = #tile.schedule<groups = 2, stages = 2, ahead>

// -----

gpu.module @kernels {
  // expected-error@+1 {{has tile.at_once = 0 : i64, expected 1 or more programs of a kernel}}
  gpu.func @f() kernel attributes {tile.at_once = 0 : i64} {
    gpu.return
  }
}
