// RUN: act-opt %s --split-input-file --verify-diagnostics

// numbers of 32 bits
func.func @f(%full: !tile.shared<2xi32>, %empty: !tile.shared<2xi32>, %slot: index, %round: i32) {
  // expected-error@+1 {{'tile.mbarrier_init' op has mbarriers of type '!tile.shared<2xi32>', expected !tile.shared<Nxi64>}}
  tile.mbarrier_init %full, 32 : !tile.shared<2xi32>
  return
}

// -----

// a block of them
func.func @f(%full: !tile.shared<2x2xi64>, %empty: !tile.shared<2x2xi64>, %slot: index, %round: i32) {
  // expected-error@+1 {{'tile.mbarrier_init' op has mbarriers of type '!tile.shared<2x2xi64>', expected !tile.shared<Nxi64>}}
  tile.mbarrier_init %full, 32 : !tile.shared<2x2xi64>
  return
}

// -----

// more than an mbarrier counts
func.func @f(%full: !tile.shared<2xi64>) {
  // expected-error@+1 {{'tile.mbarrier_init' op waits for 1048576 arrivals, expected 1 to 1048575}}
  tile.mbarrier_init %full, 1048576 : !tile.shared<2xi64>
  return
}
