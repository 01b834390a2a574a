// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --convert-linalg-to-tile --verify-diagnostics
// RUN: not act-opt %s --split-input-file --convert-linalg-to-tile=shared-bytes=-1 2>&1 | FileCheck %s
// CHECK: error: shared-bytes is -1, expected 0 or more

func.func @loop(%x: tensor<64xf32>) -> tensor<64xf32> {
  %e = tensor.empty() : tensor<64xf32>
  // expected-error @below {{'scf.forall' op cannot be lowered to blocks}}
  %r = scf.forall (%i) in (64) shared_outs(%o = %e) -> (tensor<64xf32>) {
    %s = tensor.extract_slice %x[%i] [1] [1] : tensor<64xf32> to tensor<1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %o[%i] [1] [1] : tensor<1xf32> into tensor<64xf32>
    }
  }
  return %r : tensor<64xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>
#half = affine_map<(d0) -> (d0 floordiv 2)>
func.func @halves(%x: tensor<32xf32>) -> tensor<64xf32> {
  %e = tensor.empty() : tensor<64xf32>
  // expected-error @below {{reads operand 0 at a quotient or remainder of loop indices}}
  %r = linalg.generic {indexing_maps = [#half, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<32xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  } -> tensor<64xf32>
  return %r : tensor<64xf32>
}

// -----

#rows = affine_map<(d0, d1) -> (d0, d1)>
#columns = affine_map<(d0, d1) -> (d1)>
// expected-error @below {{sums up rows, but no program has a whole row}}
func.func @parts(%x: tensor<8x20000xf32>, %p: tensor<128x20000xf32> {act.role = #act.role<parts, result = 0>}) -> (tensor<20000xf32>, tensor<8x20000xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<20000xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<20000xf32>) -> tensor<20000xf32>
  %s = linalg.generic {indexing_maps = [#rows, #columns], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<8x20000xf32>) outs(%z : tensor<20000xf32>) {
  ^bb0(%i: f32, %o: f32):
    %1 = arith.addf %o, %i : f32
    linalg.yield %1 : f32
  } -> tensor<20000xf32>
  %f = tensor.empty() : tensor<8x20000xf32>
  %y = linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x20000xf32>) outs(%f : tensor<8x20000xf32>) {
  ^bb0(%i: f32, %o: f32):
    %1 = arith.negf %i : f32
    linalg.yield %1 : f32
  } -> tensor<8x20000xf32>
  return %s, %y : tensor<20000xf32>, tensor<8x20000xf32>
}

// -----

// expected-error @below {{no result of this function is stored by blocks}}
func.func @only_parts(%x: tensor<8x64xf32>, %p: tensor<128x64xf32> {act.role = #act.role<parts, result = 0>}) -> tensor<64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<8x64xf32>) outs(%z : tensor<64xf32>) {
  ^bb0(%i: f32, %o: f32):
    %1 = arith.addf %o, %i : f32
    linalg.yield %1 : f32
  } -> tensor<64xf32>
  return %s : tensor<64xf32>
}

// -----

// expected-error @below {{is no kernel: expected a body and results to store}}
func.func @nothing(%x: tensor<64xf32>) {
  return
}
