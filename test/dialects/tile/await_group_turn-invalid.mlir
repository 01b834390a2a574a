// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --verify-diagnostics

// the turn is never passed
gpu.module @kernels {
  gpu.func @never() kernel attributes {tile.schedule = #tile.schedule<groups = 2, stages = 2, roles = {copy = 1}>} {
    tile.roles compute {
      // expected-error@+1 {{'tile.await_group_turn' op has no tile.pass_group_turn after it in its block, without another turn or a barrier before that: the other groups would wait for ever}}
      tile.await_group_turn
    } copy {
      tile.barrier
    }
    gpu.return
  }
}

// -----

// two turns, one in the other
gpu.module @kernels {
  gpu.func @twice() kernel attributes {tile.schedule = #tile.schedule<groups = 2, stages = 2, roles = {copy = 1}>} {
    tile.roles compute {
      // expected-error@+1 {{'tile.await_group_turn' op has no tile.pass_group_turn after it in its block, without another turn or a barrier before that: the other groups would wait for ever}}
      tile.await_group_turn
      // expected-note@+1 {{this op comes first}}
      tile.await_group_turn
      tile.pass_group_turn
      tile.pass_group_turn
    } copy {
      tile.barrier
    }
    gpu.return
  }
}

// -----

// a barrier of all groups in a turn
gpu.module @kernels {
  gpu.func @barrier() kernel attributes {tile.schedule = #tile.schedule<groups = 2, stages = 2, roles = {copy = 1}>} {
    tile.roles compute {
      // expected-error@+1 {{'tile.await_group_turn' op has no tile.pass_group_turn after it in its block, without another turn or a barrier before that: the other groups would wait for ever}}
      tile.await_group_turn
      // expected-note@+1 {{this op comes first}}
      tile.barrier
      tile.pass_group_turn
    } copy {
      tile.barrier
    }
    gpu.return
  }
}

// -----

// passed in a loop, perhaps often
gpu.module @kernels {
  gpu.func @loop() kernel attributes {tile.schedule = #tile.schedule<groups = 2, stages = 2, roles = {copy = 1}>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    tile.roles compute {
      // expected-error@+1 {{'tile.await_group_turn' op has no tile.pass_group_turn after it in its block, without another turn or a barrier before that: the other groups would wait for ever}}
      tile.await_group_turn
      // expected-note@+1 {{this op comes first}}
      scf.for %i = %c0 to %c4 step %c1 {
        tile.pass_group_turn
      }
    } copy {
      tile.barrier
    }
    gpu.return
  }
}
