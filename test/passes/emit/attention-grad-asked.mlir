// SPDX-License-Identifier: Apache-2.0
// Where nobody asks for what keys get of attention's gradient, rows of queries go along
// the keys, and nothing takes turns.
// RUN: rm -rf %t && mkdir %t
// RUN: act-opt %s --emit-ptx="dir=%t target=sm_80" -o /dev/null
// RUN: FileCheck %s --check-prefix=INDEX < %t/index.json
// RUN: not grep -E "[[:space:]](atom|red)\." %t/k0_attention_grad.ptx %t/k1_attention_grad.ptx
// RUN: act-opt %s --memory-report=format=json -o /dev/null | FileCheck %s --check-prefix=HOST
// RUN: act-opt %s --memory-report="format=json target=sm_80" -o /dev/null | FileCheck %s --check-prefix=GPU

// Three products of half the scores: 4 * 96 * 96 / 2 * 2 * 3 * 32.
// INDEX: "name"
// INDEX: "name"
// INDEX: "useful_flops": 3538944,
// INDEX-NOT: "name"
// A row's sum is all that the kernels hand each other: 4 * 96 f32, and three numbers.
// HOST: "peak_bytes": 1548,
// HOST: "launches": 1,
// GPU: "launches": 2,

func.func @forward(%do: tensor<1x96x4x32xbf16>, %q: tensor<1x96x4x32xbf16>, %k: tensor<1x96x2x32xbf16>, %v: tensor<1x96x2x32xbf16>, %o: tensor<1x96x4x32xbf16>, %lse: tensor<1x4x96xf32>) -> tensor<1x96x4x32xbf16> {
  %dq, %dk, %dv = act.attention_grad %do, %q, %k, %v, %o, %lse scale 1.8e-01 causal : (tensor<1x96x4x32xbf16>, tensor<1x96x4x32xbf16>, tensor<1x96x2x32xbf16>, tensor<1x96x2x32xbf16>, tensor<1x96x4x32xbf16>, tensor<1x4x96xf32>) -> (tensor<1x96x4x32xbf16>, tensor<1x96x2x32xbf16>, tensor<1x96x2x32xbf16>)
  return %dq : tensor<1x96x4x32xbf16>
}
