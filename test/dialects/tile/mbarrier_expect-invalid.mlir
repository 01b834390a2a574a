// RUN: act-opt %s --split-input-file --verify-diagnostics

// numbers of 32 bits
func.func @f(%full: !tile.shared<2xi32>, %slot: index) {
  // expected-error@+1 {{'tile.mbarrier_expect' op has mbarriers of type '!tile.shared<2xi32>', expected !tile.shared<Nxi64>}}
  tile.mbarrier_expect %full[%slot] bytes 16 : !tile.shared<2xi32>
  return
}

// -----

// more than an mbarrier counts
func.func @f(%full: !tile.shared<2xi64>, %slot: index) {
  // expected-error@+1 {{'tile.mbarrier_expect' op expects 1048576 bytes, expected 0 to 1048575}}
  tile.mbarrier_expect %full[%slot] bytes 1048576 : !tile.shared<2xi64>
  return
}

// -----

// mbarriers that nobody initialises
gpu.module @kernels {
  gpu.func @f() kernel {
    %c0 = arith.constant 0 : index
    %full = tile.alloc_shared : !tile.shared<2xi64>
    // expected-error@+1 {{'tile.mbarrier_expect' op is of mbarriers that no tile.mbarrier_init before it initialises}}
    tile.mbarrier_expect %full[%c0] bytes 64 : !tile.shared<2xi64>
    gpu.return
  }
}
