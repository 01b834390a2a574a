// RUN: act-opt %s --split-input-file --verify-diagnostics

// not in a kernel
func.func @f() {
  // expected-error@+1 {{'tile.roles' op is not the last op of a kernel}}
  tile.roles compute {
    tile.barrier
  } copy {
    tile.barrier
  }
  return
}

// -----

// something behind it
gpu.module @kernels {
  gpu.func @f() kernel attributes {tile.schedule = #tile.schedule<roles = {copy = 1}>} {
    // expected-error@+1 {{'tile.roles' op is not the last op of a kernel}}
    tile.roles compute {
      tile.barrier
    } copy {
      tile.barrier
    }
    tile.barrier
    gpu.return
  }
}

// -----

// nobody to copy
gpu.module @kernels {
  gpu.func @f() kernel {
    // expected-error@+1 {{'tile.roles' op is in a kernel whose schedule has no copying warps}}
    tile.roles compute {
      tile.barrier
    } copy {
      tile.barrier
    }
    gpu.return
  }
}

// -----

// a block in front, of warps that copy too
gpu.module @kernels {
  gpu.func @f(%x: !tile.view<64xf32>) kernel attributes {tile.schedule = #tile.schedule<roles = {copy = 1}>} {
    %c0 = arith.constant 0 : index
    // expected-note@+1 {{the op}}
    %a = tile.load %x[%c0 : 64] : !tile.view<64xf32>
    // expected-error@+1 {{'tile.roles' op follows an op on blocks or a write to memory, which copying warps do not execute}}
    tile.roles compute {
      tile.store %a, %x[%c0 : 64] : !tile.view<64xf32>
    } copy {
      tile.barrier
    }
    gpu.return
  }
}

// -----

// a loop of blocks in front
gpu.module @kernels {
  gpu.func @f(%x: !tile.view<64xf32>) kernel attributes {tile.schedule = #tile.schedule<roles = {copy = 1}>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    scf.for %i = %c0 to %c64 step %c64 {
      // expected-note@+1 {{the op}}
      %a = tile.load %x[%i : 64] : !tile.view<64xf32>
      tile.store %a, %x[%i : 64] : !tile.view<64xf32>
    }
    // expected-error@+1 {{'tile.roles' op follows an op on blocks or a write to memory, which copying warps do not execute}}
    tile.roles compute {
      tile.barrier
    } copy {
      tile.barrier
    }
    gpu.return
  }
}

// -----

// a number that each role would write
gpu.module @kernels {
  gpu.func @f(%x: !tile.view<64xf32>) kernel attributes {tile.schedule = #tile.schedule<roles = {copy = 1}>} {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1.0 : f32
    // expected-note@+1 {{the op}}
    tile.atomic_add %one, %x[%c0] : !tile.view<64xf32>
    // expected-error@+1 {{'tile.roles' op follows an op on blocks or a write to memory, which copying warps do not execute}}
    tile.roles compute {
      tile.barrier
    } copy {
      tile.barrier
    }
    gpu.return
  }
}

// -----

// memory of one role
gpu.module @kernels {
  gpu.func @f() kernel attributes {tile.schedule = #tile.schedule<roles = {copy = 1}>} {
    tile.roles compute {
      tile.barrier
    } copy {
      // expected-error@+1 {{'tile.alloc_shared' op is in the region of the copying warps, expected it before the tile.roles}}
      %s = tile.alloc_shared : !tile.shared<2xi64>
    }
    gpu.return
  }
}

// -----

// expected-error@+1 {{a schedule has 29 warps that copy and 4 that compute, expected 0 or more, and at most 32 in all}}
#s = #tile.schedule<warps = 4, roles = {copy = 29}>

// -----

// expected-error@+1 {{expected 'copy'}}
#s = #tile.schedule<warps = 4, roles = {load = 1}>

// -----

// no warp that stores
gpu.module @kernels {
  gpu.func @f() kernel attributes {tile.schedule = #tile.schedule<roles = {copy = 1}>} {
    %s = tile.alloc_shared : !tile.shared<8x64xf32>
    // expected-error@+1 {{'tile.roles' op has a region that stores, in a kernel whose schedule has no warp for it}}
    tile.roles compute {
      tile.barrier
    } copy {
      tile.barrier
    } store {
      tile.wait_stores %s : !tile.shared<8x64xf32>
    }
    gpu.return
  }
}

// -----

// a barrier of one thread
gpu.module @kernels {
  gpu.func @f() kernel attributes {tile.schedule = #tile.schedule<roles = {copy = 1, store = 1}>} {
    tile.roles compute {
      tile.barrier
    } copy {
      tile.barrier
    } store {
      // expected-error@+1 {{'tile.barrier' op is in the region that stores, whose one thread cannot do it}}
      tile.barrier
    }
    gpu.return
  }
}

// -----

// roles in a role
gpu.module @kernels {
  gpu.func @f() kernel attributes {tile.schedule = #tile.schedule<roles = {copy = 1}>} {
    tile.roles compute {
      // expected-error@+1 {{'tile.roles' op is not the last op of a kernel}}
      tile.roles compute {
        tile.barrier
      } copy {
        tile.barrier
      }
    } copy {
      tile.barrier
    }
    gpu.return
  }
}

// -----

// expected-error@+1 {{a schedule has 2 warps that store, expected 0, or 1 beside some that copy}}
func.func @f() attributes {tile.schedule = #tile.schedule<groups = 1, roles = {copy = 2, store = 2}>} { return }

// -----

// expected-error@+1 {{a schedule has 5 copying and storing warps with registers of their own, expected groups of 4}}
func.func @f() attributes {tile.schedule = #tile.schedule<groups = 2, roles = {copy = 4 at 24, store = 1, compute at 232}>} { return }

// -----

gpu.module @kernels {
  gpu.func @f() kernel attributes {tile.schedule = #tile.schedule<roles = {copy = 1}, cluster = 2>} {
    %c0 = arith.constant 0 : index
    %empty = tile.alloc_shared : !tile.shared<2xi64>
    tile.mbarrier_init %empty, 8 : !tile.shared<2xi64>
    tile.barrier
    tile.roles compute {
      // expected-error@+1 {{'tile.mbarrier_arrive' op reaches other programs of the cluster, expected a tile.cluster_barrier before the tile.roles, after the mbarriers' initialisation}}
      tile.mbarrier_arrive %empty[%c0] cluster : !tile.shared<2xi64>
    } copy {
      tile.mbarrier_expect %empty[%c0] bytes 0 : !tile.shared<2xi64>
    }
    tile.cluster_barrier
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @f() kernel attributes {tile.schedule = #tile.schedule<roles = {copy = 1}, cluster = 2>} {
    %c0 = arith.constant 0 : index
    %empty = tile.alloc_shared : !tile.shared<2xi64>
    tile.cluster_barrier
    tile.mbarrier_init %empty, 8 : !tile.shared<2xi64>
    tile.roles compute {
      // expected-error@+1 {{'tile.mbarrier_arrive' op reaches other programs of the cluster, expected a tile.cluster_barrier before the tile.roles, after the mbarriers' initialisation}}
      tile.mbarrier_arrive %empty[%c0] cluster : !tile.shared<2xi64>
    } copy {
      tile.mbarrier_expect %empty[%c0] bytes 0 : !tile.shared<2xi64>
    }
    tile.cluster_barrier
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @f() kernel attributes {tile.schedule = #tile.schedule<roles = {copy = 1}, cluster = 2>} {
    %c0 = arith.constant 0 : index
    %empty = tile.alloc_shared : !tile.shared<2xi64>
    tile.mbarrier_init %empty, 8 : !tile.shared<2xi64>
    tile.cluster_barrier
    tile.roles compute {
      // expected-error@+1 {{'tile.mbarrier_arrive' op reaches other programs of the cluster, expected a tile.cluster_barrier after the tile.roles}}
      tile.mbarrier_arrive %empty[%c0] cluster : !tile.shared<2xi64>
    } copy {
      tile.mbarrier_expect %empty[%c0] bytes 0 : !tile.shared<2xi64>
    }
    gpu.return
  }
}

// -----

// 12 warps begin with 168 registers a thread, 64512 in all
// expected-error@+1 {{a schedule's roles have 66560 registers, but a program of 12 warps begins with 64512, 168 a thread}}
#s = #tile.schedule<groups = 2, roles = {copy = 4 at 56, compute at 232}>

// -----

// expected-error@+1 {{a schedule has roles of 42 and 232 registers a thread, expected multiples of 8 from 24 to 256 for both}}
#s = #tile.schedule<groups = 2, roles = {copy = 4 at 42, compute at 232}>

// -----

// expected-error@+1 {{a schedule has roles of 24 and 264 registers a thread, expected multiples of 8 from 24 to 256 for both}}
#s = #tile.schedule<groups = 1, roles = {copy = 4 at 24, compute at 264}>

// -----

// no registers for one of them
// expected-error@+1 {{a schedule has roles of 40 and 0 registers a thread, expected multiples of 8 from 24 to 256 for both}}
#s = #tile.schedule<groups = 2, roles = {copy = 4 at 40}>

// -----

// registers move between groups
// expected-error@+1 {{a schedule has 2 copying and storing warps with registers of their own, expected groups of 4}}
#s = #tile.schedule<groups = 2, roles = {copy = 2 at 40, compute at 232}>

// -----

// expected-error@+1 {{a schedule has registers for roles, expected groups = N in place of warps}}
#s = #tile.schedule<warps = 8, roles = {copy = 4 at 40, compute at 232}>

// -----

// expected-error@+1 {{a schedule is rotated, expected groups = N, whose products run beside other work, and roles = {copy = N}}}
#s = #tile.schedule<warps = 8, rotated, roles = {copy = 1}>
