// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --convert-linalg-to-tile=target=sm_80 | FileCheck %s --check-prefixes=CHECK,LARGE
// RUN: act-opt %s --convert-linalg-to-tile=target=sm_86 | FileCheck %s --check-prefixes=CHECK,SMALL
// RUN: act-opt %s --convert-linalg-to-tile=draw-schedules=1 > %t.1
// RUN: act-opt %s --convert-linalg-to-tile=draw-schedules=1 | diff %t.1 -
// RUN: act-opt %s --convert-linalg-to-tile=draw-schedules=2 > %t.2
// RUN: not diff %t.1 %t.2 | FileCheck %s --check-prefix=DRAWN
// RUN: not act-opt %s --convert-linalg-to-tile=target=sm_70 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// DRAWN: tile.schedule
// UNKNOWN: error: {{.*}}sm_70{{.*}}sm_80, sm_86, sm_89 or sm_90a

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>

// Two results of a product are put into the layout of memory together: 128 KiB,
// which sm_86 does not have.
// LARGE-LABEL: gpu.func @two
// LARGE-SAME: tile.planned_bytes = 131072
// LARGE-SAME: warps = 8, stages = 2
// LARGE: tile.dot {{.*}} -> tensor<128x128xf32>
// SMALL-LABEL: gpu.func @two
// SMALL-SAME: tile.planned_bytes = 65536
// SMALL-SAME: warps = 4, stages = 1
// SMALL: tile.dot {{.*}} -> tensor<64x128xf32>
func.func @two(%a: tensor<2048x64xf32>, %b: tensor<64x1024xf32>) -> (tensor<2048x1024xf32>, tensor<2048x1024xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2048x1024xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %p = linalg.generic {indexing_maps = [#rows, #columns, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<2048x64xf32>, tensor<64x1024xf32>) outs(%f : tensor<2048x1024xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %m = arith.mulf %x, %y : f32
    %n = arith.addf %s, %m : f32
    linalg.yield %n : f32
  } -> tensor<2048x1024xf32>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<2048x1024xf32>) outs(%e : tensor<2048x1024xf32>) {
  ^bb0(%x: f32, %s: f32):
    %m = arith.maximumf %x, %zero : f32
    linalg.yield %m : f32
  } -> tensor<2048x1024xf32>
  return %p, %q : tensor<2048x1024xf32>, tensor<2048x1024xf32>
}

// A product of a product: the keys at a time are the same, whatever is fused
// to it. On sm_86 the second result takes shared memory that the rows then lack.
// CHECK-LABEL: gpu.func @alone
// LARGE: tile.dot {{.*}} : tensor<64x[[KEYS:64]]xbf16>, tensor<[[KEYS]]x256xbf16> -> tensor<64x256xf32>
// SMALL: tile.dot {{.*}} : tensor<64x[[KEYS:64]]xbf16>, tensor<[[KEYS]]x256xbf16> -> tensor<64x256xf32>
// CHECK-LABEL: gpu.func @fused
// LARGE: tile.dot {{.*}} : tensor<64x[[KEYS]]xbf16>, tensor<[[KEYS]]x256xbf16> -> tensor<64x256xf32>
// SMALL: tile.dot {{.*}} : tensor<32x[[KEYS]]xbf16>, tensor<[[KEYS]]x256xbf16> -> tensor<32x256xf32>
func.func @alone(%q: tensor<4096x256xbf16>, %k: tensor<256x512xbf16>, %v: tensor<512x256xbf16>) -> tensor<4096x256xf32> {
  %zero = arith.constant 0.0 : f32
  %es = tensor.empty() : tensor<4096x512xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4096x512xf32>) -> tensor<4096x512xf32>
  %s = linalg.generic {indexing_maps = [#rows, #columns, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<4096x256xbf16>, tensor<256x512xbf16>) outs(%fs : tensor<4096x512xf32>) {
  ^bb0(%x: bf16, %y: bf16, %acc: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %m = arith.mulf %xw, %yw : f32
    %n = arith.addf %acc, %m : f32
    linalg.yield %n : f32
  } -> tensor<4096x512xf32>
  %eo = tensor.empty() : tensor<4096x256xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4096x256xf32>) -> tensor<4096x256xf32>
  %o = linalg.generic {indexing_maps = [#rows, #columns, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%s, %v : tensor<4096x512xf32>, tensor<512x256xbf16>) outs(%fo : tensor<4096x256xf32>) {
  ^bb0(%x: f32, %y: bf16, %acc: f32):
    %yw = arith.extf %y : bf16 to f32
    %m = arith.mulf %x, %yw : f32
    %n = arith.addf %acc, %m : f32
    linalg.yield %n : f32
  } -> tensor<4096x256xf32>
  return %o : tensor<4096x256xf32>
}
func.func @fused(%q: tensor<4096x256xbf16>, %k: tensor<256x512xbf16>, %v: tensor<512x256xbf16>, %r: tensor<4096x256xf32>) -> (tensor<4096x256xf32>, tensor<4096x256xf32>) {
  %zero = arith.constant 0.0 : f32
  %es = tensor.empty() : tensor<4096x512xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4096x512xf32>) -> tensor<4096x512xf32>
  %s = linalg.generic {indexing_maps = [#rows, #columns, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<4096x256xbf16>, tensor<256x512xbf16>) outs(%fs : tensor<4096x512xf32>) {
  ^bb0(%x: bf16, %y: bf16, %acc: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %m = arith.mulf %xw, %yw : f32
    %n = arith.addf %acc, %m : f32
    linalg.yield %n : f32
  } -> tensor<4096x512xf32>
  %eo = tensor.empty() : tensor<4096x256xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4096x256xf32>) -> tensor<4096x256xf32>
  %o = linalg.generic {indexing_maps = [#rows, #columns, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%s, %v : tensor<4096x512xf32>, tensor<512x256xbf16>) outs(%fo : tensor<4096x256xf32>) {
  ^bb0(%x: f32, %y: bf16, %acc: f32):
    %yw = arith.extf %y : bf16 to f32
    %m = arith.mulf %x, %yw : f32
    %n = arith.addf %acc, %m : f32
    linalg.yield %n : f32
  } -> tensor<4096x256xf32>
  %t = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%o, %r : tensor<4096x256xf32>, tensor<4096x256xf32>) outs(%eo : tensor<4096x256xf32>) {
  ^bb0(%x: f32, %y: f32, %u: f32):
    %m = arith.addf %x, %y : f32
    linalg.yield %m : f32
  } -> tensor<4096x256xf32>
  return %o, %t : tensor<4096x256xf32>, tensor<4096x256xf32>
}
