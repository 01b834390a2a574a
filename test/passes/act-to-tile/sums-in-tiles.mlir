// SPDX-License-Identifier: Apache-2.0
// What programs add up, dq, lies in tiles of 8 rows and 8 columns: as threads have a
// product's numbers, 32 that are added at once are beside each other. The kernel that
// rounds it reads it so. Rows that are no whole tiles lie as ever.
// RUN: rm -rf %t && mkdir %t
// RUN: act-opt %s --target=sm_80 --emit="file=%t/a.act kernels=%t/k.mlir" -o /dev/null
// RUN: act-opt %t/k.mlir --convert-linalg-to-tile | FileCheck %s
// RUN: sed 's/96/90/g' %s | act-opt --target=sm_80 --emit="file=%t/b.act kernels=%t/r.mlir" -o /dev/null
// RUN: act-opt %t/r.mlir --convert-linalg-to-tile | FileCheck %s --check-prefix=RAGGED
// In PTX, too:
// RUN: act-opt %s --target=sm_80 --emit-ptx="dir=%t/ptx cache-dir=none" -o /dev/null
// RUN: grep -hoE "red\.[a-z.]*f32 \[%%rd[0-9]+ \+ [0-9]+\]" %t/ptx/k1_attention_grad.ptx | FileCheck %s --check-prefix=PTX

// CHECK: gpu.func @k1
// CHECK: %[[SUM:.+]] = tile.view %arg7 sizes [1, 12, 8, 4, 1, 4, 4, 2] strides [12288, 1024, 4, 256, 256, 64, 1, 32]
// CHECK: tile.reshape {{.*}} -> tensor<{{[0-9]+}}x8x4x4x2xf32>
// CHECK: tile.atomic_add %{{.+}}, %[[SUM]][
// CHECK: gpu.func @k2
// CHECK: %[[SUM:.+]] = tile.view %arg6 sizes [1, 12, 8, 4, 4, 4, 2] strides [12288, 1024, 4, 256, 64, 1, 32]
// CHECK: tile.load %[[SUM]][
// CHECK: tile.reshape
// RAGGED: gpu.func @k1
// RAGGED-NOT: strides
// RAGGED: tile.atomic_add

// A warp's 32 lanes have 8 rows of 4 numbers, 128 bytes; odd columns are behind.
// PTX: red.relaxed.gpu.global.add.f32 [%[[AT:rd[0-9]+]] + 0]
// PTX: red.relaxed.gpu.global.add.f32 [%[[AT]] + 128]

func.func @forward(%do: tensor<1x96x4x32xbf16>, %q: tensor<1x96x4x32xbf16>, %k: tensor<1x96x4x32xbf16>, %v: tensor<1x96x4x32xbf16>, %o: tensor<1x96x4x32xbf16>, %lse: tensor<1x4x96xf32>) -> (tensor<1x96x4x32xbf16>, tensor<1x96x4x32xbf16>, tensor<1x96x4x32xbf16>) {
  %dq, %dk, %dv = act.attention_grad %do, %q, %k, %v, %o, %lse scale 1.8e-01 : (tensor<1x96x4x32xbf16>, tensor<1x96x4x32xbf16>, tensor<1x96x4x32xbf16>, tensor<1x96x4x32xbf16>, tensor<1x96x4x32xbf16>, tensor<1x4x96xf32>) -> (tensor<1x96x4x32xbf16>, tensor<1x96x4x32xbf16>, tensor<1x96x4x32xbf16>)
  return %dq, %dk, %dv : tensor<1x96x4x32xbf16>, tensor<1x96x4x32xbf16>, tensor<1x96x4x32xbf16>
}
