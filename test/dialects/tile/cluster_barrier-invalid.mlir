// RUN: act-opt %s --split-input-file --verify-diagnostics

// no cluster
gpu.module @kernels {
  gpu.func @f() kernel attributes {tile.schedule = #tile.schedule<warps = 4, roles = {copy = 1}>} {
    // expected-error@+1 {{'tile.cluster_barrier' op is for a cluster in a kernel whose schedule has none}}
    tile.cluster_barrier
    gpu.return
  }
}

// -----

// not for all threads
gpu.module @kernels {
  gpu.func @f() kernel attributes {tile.schedule = #tile.schedule<warps = 4, cluster = 2, roles = {copy = 1}>} {
    tile.roles compute {
      // expected-error@+1 {{'tile.cluster_barrier' op is not in the body of a kernel, where all threads of a cluster execute it}}
      tile.cluster_barrier
    } copy {
      tile.barrier
    }
    gpu.return
  }
}
