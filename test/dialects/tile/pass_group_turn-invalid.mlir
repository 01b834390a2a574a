// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --verify-diagnostics

// nobody waited for it
gpu.module @kernels {
  gpu.func @none() kernel attributes {tile.schedule = #tile.schedule<groups = 2, stages = 2, roles = {copy = 1}>} {
    tile.roles compute {
      // expected-error@+1 {{'tile.pass_group_turn' op passes a turn that no tile.await_group_turn before it in its block has waited for}}
      tile.pass_group_turn
    } copy {
      tile.barrier
    }
    gpu.return
  }
}

// -----

// passed twice
gpu.module @kernels {
  gpu.func @again() kernel attributes {tile.schedule = #tile.schedule<groups = 2, stages = 2, roles = {copy = 1}>} {
    tile.roles compute {
      tile.await_group_turn
      tile.pass_group_turn
      // expected-error@+1 {{'tile.pass_group_turn' op passes a turn that no tile.await_group_turn before it in its block has waited for}}
      tile.pass_group_turn
    } copy {
      tile.barrier
    }
    gpu.return
  }
}
