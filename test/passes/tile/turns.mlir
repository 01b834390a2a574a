// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(canonicalize,tile-fuse-loops,canonicalize))' | FileCheck %s --check-prefix=FUSED
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(canonicalize,tile-split-masked-loops,canonicalize,cse))' | FileCheck %s --check-prefix=SPLIT
// RUN: act-opt %s --emit-ptx="dir=%t target=sm_80 cache-dir=none" -o /dev/null
// RUN: FileCheck %s --check-prefix=PTX < %t/window.ptx

gpu.module @kernels {
  // A loop that adds to memory of its own goes with one that reads.
  // FUSED-LABEL: gpu.func @together
  // FUSED: scf.for
  // FUSED: tile.load
  // FUSED: tile.atomic_add
  // FUSED-NOT: scf.for
  // FUSED-LABEL: gpu.func @apart
  // FUSED: scf.for
  // FUSED: scf.for
  gpu.func @together(%x: !tile.view<512xf32>, %y: !tile.view<64xf32>, %sum: !tile.view<512xf32> {llvm.noalias}) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c512 = arith.constant 512 : index
    %zero = arith.constant dense<0.0> : tensor<64xf32>
    %s = scf.for %i = %c0 to %c512 step %c64 iter_args(%a = %zero) -> (tensor<64xf32>) {
      %v = tile.load %x[%i : 64] : !tile.view<512xf32>
      %b = arith.addf %a, %v : tensor<64xf32>
      scf.yield %b : tensor<64xf32>
    }
    scf.for %i = %c0 to %c512 step %c64 {
      %v = tile.load %x[%i : 64] : !tile.view<512xf32>
      tile.atomic_add %v, %sum[%i : 64] : !tile.view<512xf32>
    }
    tile.store %s, %y[%c0 : 64] : !tile.view<64xf32>
    gpu.return
  }
  // What may be the same memory is left as it is.
  gpu.func @apart(%x: !tile.view<512xf32>, %y: !tile.view<64xf32>, %sum: !tile.view<512xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c512 = arith.constant 512 : index
    %zero = arith.constant dense<0.0> : tensor<64xf32>
    %s = scf.for %i = %c0 to %c512 step %c64 iter_args(%a = %zero) -> (tensor<64xf32>) {
      %v = tile.load %x[%i : 64] : !tile.view<512xf32>
      %b = arith.addf %a, %v : tensor<64xf32>
      scf.yield %b : tensor<64xf32>
    }
    scf.for %i = %c0 to %c512 step %c64 {
      %v = tile.load %x[%i : 64] : !tile.view<512xf32>
      tile.atomic_add %v, %sum[%i : 64] : !tile.view<512xf32>
    }
    tile.store %s, %y[%c0 : 64] : !tile.view<64xf32>
    gpu.return
  }

  // Program p adds to rows i with 0 <= i - 64 p < 128: those before have no turn
  // of it, those behind get it at once.
  // SPLIT-LABEL: gpu.func @window
  // SPLIT: scf.for
  // SPLIT: tile.wait_turn
  // SPLIT: tile.atomic_add
  // SPLIT: tile.pass_turn
  // SPLIT: scf.for %{{.+}} = %{{.+}} to %c512
  // SPLIT-NEXT: tile.pass_turn
  // SPLIT-NEXT: }
  // SPLIT-NEXT: gpu.return
  // PTX: atom.relaxed.gpu.global.add.u32
  // PTX-DAG: ld.acquire.gpu.global.b32
  // PTX-DAG: red.relaxed.gpu.global.add.f32
  // PTX-DAG: red.release.gpu.global.add.u32
  gpu.func @window(%sum: !tile.view<512xf32> {llvm.noalias}, %turns: !tile.view<512xi32> {llvm.noalias}, %t: !tile.view<1xi32> {llvm.noalias}) kernel attributes {tile.grid = array<i64: 8, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c512 = arith.constant 512 : index
    %p = tile.ticket %t[%c0] : !tile.view<1xi32>
    %from = arith.muli %p, %c64 : index
    %first = arith.index_cast %from : index to i64
    %last = arith.constant 128 : i64
    %end = arith.addi %first, %last : i64
    %firsts = tensor.splat %first : tensor<64xi64>
    %ends = tensor.splat %end : tensor<64xi64>
    %one = arith.constant dense<1.0> : tensor<64xf32>
    %zero = arith.constant dense<0.0> : tensor<64xf32>
    %r = tile.iota 0 to 64
    %rows = arith.extsi %r : tensor<64xi32> to tensor<64xi64>
    scf.for %i = %c0 to %c512 step %c64 {
      %b = arith.index_cast %i : index to i64
      %bs = tensor.splat %b : tensor<64xi64>
      %row = arith.addi %bs, %rows : tensor<64xi64>
      %after = arith.cmpi sge, %row, %firsts : tensor<64xi64>
      %before = arith.cmpi slt, %row, %ends : tensor<64xi64>
      %seen = arith.andi %after, %before : tensor<64xi1>
      %v = arith.select %seen, %one, %zero : tensor<64xi1>, tensor<64xf32>
      tile.wait_turn %turns[%i], %p : !tile.view<512xi32>
      tile.atomic_add %v, %sum[%i : 64] : !tile.view<512xf32>
      tile.pass_turn %turns[%i] : !tile.view<512xi32>
    }
    gpu.return
  }

  // The same rows for the programs in the other order: those before get the turn at once,
  // before anything is added, and those behind have none.
  // SPLIT-LABEL: gpu.func @last_first
  // SPLIT: scf.for %{{.+}} = %c0 to %[[FROM:.+]] step
  // SPLIT-NEXT: tile.pass_turn
  // SPLIT-NEXT: }
  // SPLIT: scf.for %{{.+}} = %{{.+}} to
  // SPLIT: tile.wait_turn
  // SPLIT: tile.atomic_add
  // SPLIT: tile.pass_turn
  // SPLIT: gpu.return
  gpu.func @last_first(%sum: !tile.view<512xf32> {llvm.noalias}, %turns: !tile.view<512xi32> {llvm.noalias}, %t: !tile.view<1xi32> {llvm.noalias}) kernel attributes {tile.grid = array<i64: 8, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c512 = arith.constant 512 : index
    %p = tile.ticket %t[%c0] : !tile.view<1xi32>
    %c7 = arith.constant 7 : index
    %number = arith.subi %c7, %p : index
    %from = arith.muli %number, %c64 : index
    %first = arith.index_cast %from : index to i64
    %last = arith.constant 128 : i64
    %end = arith.addi %first, %last : i64
    %firsts = tensor.splat %first : tensor<64xi64>
    %ends = tensor.splat %end : tensor<64xi64>
    %one = arith.constant dense<1.0> : tensor<64xf32>
    %zero = arith.constant dense<0.0> : tensor<64xf32>
    %r = tile.iota 0 to 64
    %rows = arith.extsi %r : tensor<64xi32> to tensor<64xi64>
    scf.for %i = %c0 to %c512 step %c64 {
      %b = arith.index_cast %i : index to i64
      %bs = tensor.splat %b : tensor<64xi64>
      %row = arith.addi %bs, %rows : tensor<64xi64>
      %after = arith.cmpi sge, %row, %firsts : tensor<64xi64>
      %before = arith.cmpi slt, %row, %ends : tensor<64xi64>
      %seen = arith.andi %after, %before : tensor<64xi1>
      %v = arith.select %seen, %one, %zero : tensor<64xi1>, tensor<64xf32>
      tile.wait_turn %turns[%i], %p : !tile.view<512xi32>
      tile.atomic_add %v, %sum[%i : 64] : !tile.view<512xf32>
      tile.pass_turn %turns[%i] : !tile.view<512xi32>
    }
    gpu.return
  }
}
