// SPDX-License-Identifier: Apache-2.0
// RUN: rm -rf %t && act-opt %s --emit-ptx="dir=%t target=sm_80" -o /dev/null
// RUN: FileCheck %s --check-prefix=THREE < %t/three.ptx
// RUN: FileCheck %s --check-prefix=FOUR < %t/four.ptx
// RUN: FileCheck %s --check-prefix=POINTER < %t/pointer.ptx
// RUN: FileCheck %s --check-prefix=INSIDE < %t/inside.ptx

// LLVM makes one access of what lies side by side, and reads a number more if
// that fills an aligned chunk; not where the chunk goes on behind the array.
gpu.module @kernels {
  // THREE-NOT: ld.global.v
  // THREE-COUNT-3: ld.global.b32
  gpu.func @three(%x: !tile.view<3xf32>, %y: !tile.view<3xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 1, stages = 1>} {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : 3] : !tile.view<3xf32>
    tile.store %a, %y[%c0 : 3] : !tile.view<3xf32>
    gpu.return
  }
  // FOUR: ld.global.v4.b32
  gpu.func @four(%x: !tile.view<4xf32>, %y: !tile.view<3xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 1, stages = 1>} {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : 3] : !tile.view<4xf32>
    tile.store %a, %y[%c0 : 3] : !tile.view<3xf32>
    gpu.return
  }
  // POINTER-NOT: ld.global.v
  // POINTER-COUNT-3: ld.global.b32
  gpu.func @pointer(%p: !tile.ptr<f32>, %y: !tile.view<3xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 1, stages = 1>} {
    %c0 = arith.constant 0 : index
    %x = tile.view %p sizes [3] strides [1] : !tile.ptr<f32> -> !tile.view<3xf32>
    %a = tile.load %x[%c0 : 3] : !tile.view<3xf32>
    tile.store %a, %y[%c0 : 3] : !tile.view<3xf32>
    gpu.return
  }
  // Four numbers beside each other that are all inside, of an array which may be
  // the second of several: it begins at 4 * 93 bytes.
  // INSIDE-NOT: ld.global.v
  // INSIDE: ld.global.b32
  gpu.func @inside(%x: !tile.view<93xf32>, %y: !tile.view<64xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 1, stages = 1>} {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : 64] : !tile.view<93xf32>
    tile.store %a, %y[%c0 : 64] : !tile.view<64xf32>
    gpu.return
  }
}
