// SPDX-License-Identifier: Apache-2.0
// A product by warp groups has a tensor map of each operand and of its result, 128 bytes each.
// RUN: act-opt %s --target=sm_90a --memory-report="cache-dir=none" -o /dev/null | FileCheck %s
// RUN: act-opt %s --target=sm_80 --memory-report="cache-dir=none" -o /dev/null | FileCheck %s --check-prefix=NONE

// CHECK: kernels launched 1,
// CHECK: tensor maps of the launches take 384 B (384 bytes) on the host
// NONE: kernels launched 1,
// NONE-NOT: tensor maps
func.func @forward(%x: tensor<1x1024x512xbf16>, %w: tensor<1024x512xbf16>) -> tensor<1x1024x1024xbf16> {
  %0 = act.linear %x, %w : (tensor<1x1024x512xbf16>, tensor<1024x512xbf16>) -> tensor<1x1024x1024xbf16>
  return %0 : tensor<1x1024x1024xbf16>
}
