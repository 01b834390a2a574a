// SPDX-License-Identifier: Apache-2.0
// A product of few blocks with a long sum: for a GPU, parts of it, and what adds them up in order, with what follows.
// RUN: act-lower-linalg %s --groups | FileCheck %s
// RUN: act-opt %s --target=sm_80 --emit="file=%t.act mode=infer cache-dir=none" -o /dev/null
// RUN: act-opt %s --target=sm_80 --memory-report="cache-dir=none" -o /dev/null | FileCheck %s --check-prefix=REPORT
// RUN: act-opt %s --memory-report -o /dev/null | FileCheck %s --check-prefix=HOST

// CHECK: func.func @kernel0(%[[X:.*]]: tensor<2x64x2048xbf16>, %[[W:[^:]*]]: tensor<96x2048xbf16>, {{.*}}) -> tensor<4x2x64x96xf32>
// CHECK-SAME: "workspace 0 of f32[49152], written"
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins({{.*}} : tensor<128x4x512xbf16>, tensor<96x4x512xbf16>)
// CHECK-NOT: math.erf
// CHECK: func.func @kernel1({{.*}}, %[[PARTS:[^:]*]]: tensor<4x2x64x96xf32>) -> tensor<2x64x96xbf16>
// CHECK-COUNT-4: tensor.extract_slice %[[PARTS]]
// CHECK: math.erf

// REPORT: parts of small products need 192.00 KiB (196,608 bytes) behind the arena
// HOST-NOT: parts of small products
func.func @forward(%x: tensor<2x64x2048xbf16>, %w: tensor<96x2048xbf16>, %bias: tensor<96xbf16>) -> tensor<2x64x96xbf16> {
  %0 = act.linear %x, %w bias(%bias) : (tensor<2x64x2048xbf16>, tensor<96x2048xbf16>, tensor<96xbf16>) -> tensor<2x64x96xbf16>
  %1 = act.gelu %0 : tensor<2x64x96xbf16>
  return %1 : tensor<2x64x96xbf16>
}
