// SPDX-License-Identifier: Apache-2.0
// RUN: rm -rf %t && act-opt %s --target=sm_80 --emit-ptx=%t -o /dev/null
// RUN: FileCheck %s --check-prefix=ONE --input-file=%t/one.ptx
// RUN: FileCheck %s --check-prefix=TWO --input-file=%t/two.ptx

// With one stage addresses come from the loop's counter, through a copy that
// keeps LLVM from stepping each of them in a register of its own.
// ONE: .visible .entry one(
// ONE: $L__BB0_1:
// ONE-NEXT: // begin inline asm
// ONE-NEXT: mov.b64 %rd{{[0-9]+}}, [[COUNTER:%rd[0-9]+]];
// ONE: add.s64 [[COUNTER]], [[COUNTER]], 32;
// TWO: .visible .entry two(
// TWO: $L__BB0_1:
// TWO-NOT: mov.b64 %rd{{[0-9]+}}, %rd
// TWO: ret;

// Where a loop is around another both do so, whatever the stages are.
// RUN: FileCheck %s --check-prefix=NESTED --input-file=%t/nested.ptx
// NESTED: .visible .entry nested(
// NESTED: $L__BB0_1:
// NESTED: mov.b64 %rd{{[0-9]+}}, [[OUTER:%rd[0-9]+]];
// NESTED: $L__BB0_2:
// NESTED: mov.b64 %rd{{[0-9]+}}, [[INNER:%rd[0-9]+]];
// NESTED: add.s64 [[INNER]], [[INNER]], 32;
// NESTED: add.s64 [[OUTER]], [[OUTER]], 1;
gpu.module @kernels {
  gpu.func @one(%x: !tile.view<64x256xbf16>, %y: !tile.view<256x64xbf16>, %z: !tile.view<64x64xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 4, stages = 1>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %r = scf.for %k = %c0 to %c256 step %c32 iter_args(%s = %zero) -> tensor<64x64xf32> {
      %a = tile.load %x[%c0 : 64, %k : 32] : !tile.view<64x256xbf16>
      %b = tile.load %y[%k : 32, %c0 : 64] : !tile.view<256x64xbf16>
      %d = tile.dot %a, %b, %s : tensor<64x32xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    }
    tile.store %r, %z[%c0 : 64, %c0 : 64] : !tile.view<64x64xf32>
    gpu.return
  }
  gpu.func @nested(%x: !tile.view<4x64x256xbf16>, %y: !tile.view<256x64xbf16>, %z: !tile.view<64x64xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 4, stages = 2>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %r = scf.for %h = %c0 to %c4 step %c1 iter_args(%t = %zero) -> tensor<64x64xf32> {
      %q = scf.for %k = %c0 to %c256 step %c32 iter_args(%s = %t) -> tensor<64x64xf32> {
        %a = tile.load %x[%h, %c0 : 64, %k : 32] : !tile.view<4x64x256xbf16>
        %b = tile.load %y[%k : 32, %c0 : 64] : !tile.view<256x64xbf16>
        %d = tile.dot %a, %b, %s : tensor<64x32xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
        scf.yield %d : tensor<64x64xf32>
      }
      scf.yield %q : tensor<64x64xf32>
    }
    tile.store %r, %z[%c0 : 64, %c0 : 64] : !tile.view<64x64xf32>
    gpu.return
  }
  gpu.func @two(%x: !tile.view<64x256xbf16>, %y: !tile.view<256x64xbf16>, %z: !tile.view<64x64xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 4, stages = 2>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %r = scf.for %k = %c0 to %c256 step %c32 iter_args(%s = %zero) -> tensor<64x64xf32> {
      %a = tile.load %x[%c0 : 64, %k : 32] : !tile.view<64x256xbf16>
      %b = tile.load %y[%k : 32, %c0 : 64] : !tile.view<256x64xbf16>
      %d = tile.dot %a, %b, %s : tensor<64x32xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    }
    tile.store %r, %z[%c0 : 64, %c0 : 64] : !tile.view<64x64xf32>
    gpu.return
  }
}
