// RUN: act-opt %s --split-input-file --verify-diagnostics

// numbers of 32 bits
func.func @f(%full: !tile.shared<2xi32>, %empty: !tile.shared<2xi32>, %slot: index, %round: i32) {
  // expected-error@+1 {{'tile.mbarrier_wait' op has mbarriers of type '!tile.shared<2xi32>', expected !tile.shared<Nxi64>}}
  tile.mbarrier_wait %full[%slot] parity %round : !tile.shared<2xi32>
  return
}

// -----

// a block of them
func.func @f(%full: !tile.shared<2x2xi64>, %empty: !tile.shared<2x2xi64>, %slot: index, %round: i32) {
  // expected-error@+1 {{'tile.mbarrier_wait' op has mbarriers of type '!tile.shared<2x2xi64>', expected !tile.shared<Nxi64>}}
  tile.mbarrier_wait %full[%slot] parity %round : !tile.shared<2x2xi64>
  return
}

// -----

// no cluster
gpu.module @kernels {
  gpu.func @f(%round: i32) kernel attributes {tile.schedule = #tile.schedule<warps = 4, roles = {copy = 1}>} {
    %c0 = arith.constant 0 : index
    %empty = tile.alloc_shared : !tile.shared<2xi64>
    // expected-error@+1 {{'tile.mbarrier_wait' op is for a cluster in a kernel whose schedule has none}}
    tile.mbarrier_wait %empty[%c0] parity %round cluster : !tile.shared<2xi64>
    gpu.return
  }
}

// -----

// mbarriers that nobody initialises
gpu.module @kernels {
  gpu.func @f() kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0 : i32
    %full = tile.alloc_shared : !tile.shared<2xi64>
    // expected-error@+1 {{'tile.mbarrier_wait' op is of mbarriers that no tile.mbarrier_init before it initialises}}
    tile.mbarrier_wait %full[%c0] parity %zero : !tile.shared<2xi64>
    gpu.return
  }
}

// -----

// mbarriers that are initialised too late
gpu.module @kernels {
  gpu.func @f() kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0 : i32
    %full = tile.alloc_shared : !tile.shared<2xi64>
    // expected-error@+1 {{'tile.mbarrier_wait' op is of mbarriers that no tile.mbarrier_init before it initialises}}
    tile.mbarrier_wait %full[%c0] parity %zero : !tile.shared<2xi64>
    tile.mbarrier_init %full, 32 : !tile.shared<2xi64>
    gpu.return
  }
}
