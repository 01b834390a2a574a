// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --convert-linalg-to-tile --verify-diagnostics

func.func @loop(%x: tensor<64xf32>) -> tensor<64xf32> {
  %e = tensor.empty() : tensor<64xf32>
  // expected-error @below {{'scf.forall' op has no form on blocks}}
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
#next = affine_map<(d0) -> (d0 + 1)>
func.func @window(%x: tensor<65xf32>) -> tensor<64xf32> {
  %e = tensor.empty() : tensor<64xf32>
  // expected-error @below {{reads operand 0 at a sum of loops; expected one loop's number}}
  %r = linalg.generic {indexing_maps = [#next, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<65xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  } -> tensor<64xf32>
  return %r : tensor<64xf32>
}
