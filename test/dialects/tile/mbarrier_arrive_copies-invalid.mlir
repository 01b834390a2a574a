// RUN: act-opt %s --split-input-file --verify-diagnostics

// numbers of 32 bits
func.func @f(%full: !tile.shared<2xi32>, %empty: !tile.shared<2xi32>, %slot: index, %round: i32) {
  // expected-error@+1 {{'tile.mbarrier_arrive_copies' op has mbarriers of type '!tile.shared<2xi32>', expected !tile.shared<Nxi64>}}
  tile.mbarrier_arrive_copies %full[%slot] : !tile.shared<2xi32>
  return
}

// -----

// a block of them
func.func @f(%full: !tile.shared<2x2xi64>, %empty: !tile.shared<2x2xi64>, %slot: index, %round: i32) {
  // expected-error@+1 {{'tile.mbarrier_arrive_copies' op has mbarriers of type '!tile.shared<2x2xi64>', expected !tile.shared<Nxi64>}}
  tile.mbarrier_arrive_copies %full[%slot] : !tile.shared<2x2xi64>
  return
}

// -----

// mbarriers that nobody initialises
gpu.module @kernels {
  gpu.func @f() kernel {
    %c0 = arith.constant 0 : index
    %full = tile.alloc_shared : !tile.shared<2xi64>
    // expected-error@+1 {{'tile.mbarrier_arrive_copies' op is of mbarriers that no tile.mbarrier_init before it initialises}}
    tile.mbarrier_arrive_copies %full[%c0] : !tile.shared<2xi64>
    gpu.return
  }
}
