// SPDX-License-Identifier: Apache-2.0
// Which products are made in parts: of 32 blocks of 64x64 or fewer, no more parts than keep 128 programs busy, and of
// 512 terms or more each, by 64.
// RUN: sed 's/M/2048/g; s/N/64/g; s/K/4096/g' %s | act-lower-linalg - --groups | FileCheck %s --check-prefix=FOUR
// RUN: sed 's/M/2049/g; s/N/64/g; s/K/4096/g' %s | act-lower-linalg - --groups | FileCheck %s --check-prefix=WHOLE
// RUN: sed 's/M/1/g; s/N/64/g; s/K/65536/g' %s | act-lower-linalg - --groups | FileCheck %s --check-prefix=SIXTEEN
// RUN: sed 's/M/64/g; s/N/64/g; s/K/1536/g' %s | act-lower-linalg - --groups | FileCheck %s --check-prefix=TWO
// RUN: sed 's/M/64/g; s/N/64/g; s/K/960/g' %s | act-lower-linalg - --groups | FileCheck %s --check-prefix=WHOLE
// RUN: sed 's/M/64/g; s/N/64/g; s/K/2000/g' %s | act-lower-linalg - --groups | FileCheck %s --check-prefix=WHOLE

// FOUR: -> tensor<4x2048x64xf32>
// WHOLE: @kernel0
// WHOLE-NOT: @kernel1
// SIXTEEN: -> tensor<16x1x64xf32>
// TWO: -> tensor<2x64x64xf32>
func.func @f(%a: tensor<MxKxbf16>, %b: tensor<NxKxbf16>) -> tensor<MxNxbf16> {
  %0 = act.matmul %a, %b transpose_rhs : (tensor<MxKxbf16>, tensor<NxKxbf16>) -> tensor<MxNxbf16>
  return %0 : tensor<MxNxbf16>
}
