// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --host-distribute-blocks | FileCheck %s --check-prefix=AFTER --match-full-lines
// RUN: act-opt %s --host-distribute-blocks | FileCheck %s

// The example of the manual: exp is computed in the tile of its consumer.
// AFTER: %1 = scf.forall (%arg2, %arg3) = (0, 0) to (64, 4096) step (1, 64) shared_outs(%arg4 = %0) -> (tensor<64x4096xf32>) {
// AFTER-NEXT: %extracted_slice = tensor.extract_slice %arg0[%arg2, %arg3] [1, 64] {{.*}}
// AFTER-NEXT: %2 = tensor.empty() : tensor<1x64xf32>
// AFTER-NEXT: %3 = linalg.exp ins(%extracted_slice : {{.*}}
// AFTER: %4 = linalg.add ins(%3, %extracted_slice_0 : {{.*}}
// AFTER-NEXT: scf.forall.in_parallel {
// AFTER-NEXT: tensor.parallel_insert_slice %4 into %arg4[%arg2, %arg3] [1, 64] {{.*}}
func.func @exp_add(%x: tensor<64x4096xf32>, %y: tensor<64x4096xf32>) -> tensor<64x4096xf32> {
  %e = tensor.empty() : tensor<64x4096xf32>
  %0 = linalg.exp ins(%x : tensor<64x4096xf32>) outs(%e : tensor<64x4096xf32>) -> tensor<64x4096xf32>
  %1 = linalg.add ins(%0, %y : tensor<64x4096xf32>, tensor<64x4096xf32>) outs(%e : tensor<64x4096xf32>) -> tensor<64x4096xf32>
  return %1 : tensor<64x4096xf32>
}

// A matrix product: tiles of both dimensions, the depth whole. A multiply-add
// counts 1/8.
// CHECK-LABEL: func.func @product
// CHECK-SAME: act.work = [212993]
// CHECK: scf.forall (%[[M:.+]], %[[N:.+]]) = (0, 0) to (512, 512) step (128, 128)
// CHECK: tensor.extract_slice %{{.+}}[%[[M]], 0] [128, 96]
// CHECK: tensor.extract_slice %{{.+}}[0, %[[N]]] [96, 128]
// CHECK: linalg.fill {{.*}} tensor<128x128xf32>
// CHECK: linalg.generic
// CHECK: tensor.parallel_insert_slice %{{.+}} into %{{.+}}[%[[M]], %[[N]]] [128, 128]
func.func @product(%a: tensor<512x96xf32>, %b: tensor<96x512xf32>) -> tensor<512x512xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<512x512xf32>) -> tensor<512x512xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<512x96xf32>, tensor<96x512xf32>) outs(%f : tensor<512x512xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %acc, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<512x512xf32>
  return %r : tensor<512x512xf32>
}

// Two results that share the rows of %x share a loop.
// CHECK-LABEL: func.func @companions
// CHECK: scf.forall (%[[I:.+]]) in (64) shared_outs
// CHECK: %[[ROW:.+]] = tensor.extract_slice %{{.+}}[%[[I]], 0] [1, 1024]
// CHECK: linalg.negf ins(%[[ROW]]
// CHECK: linalg.reduce { arith.addf } ins(%[[ROW]]
// CHECK-NOT: scf.forall (
// CHECK: return
func.func @companions(%x: tensor<64x1024xf32>) -> (tensor<64x1024xf32>, tensor<64xf32>) {
  %e = tensor.empty() : tensor<64x1024xf32>
  %0 = linalg.negf ins(%x : tensor<64x1024xf32>) outs(%e : tensor<64x1024xf32>) -> tensor<64x1024xf32>
  %zero = arith.constant 0.0 : f32
  %s = tensor.empty() : tensor<64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%s : tensor<64xf32>) -> tensor<64xf32>
  %1 = linalg.reduce { arith.addf } ins(%x : tensor<64x1024xf32>) outs(%f : tensor<64xf32>) dimensions = [1]
  return %0, %1 : tensor<64x1024xf32>, tensor<64xf32>
}

// No common rows: a loop each, and the work of an iteration of each.
// CHECK-LABEL: func.func @apart
// CHECK-SAME: act.work = [17408, 8704]
// CHECK: scf.forall (%{{.+}}) in (64)
// CHECK: scf.forall (%{{.+}}) in (32)
func.func @apart(%x: tensor<64x1024xf32>, %y: tensor<32x512xf32>) -> (tensor<64x1024xf32>, tensor<32x512xf32>) {
  %e = tensor.empty() : tensor<64x1024xf32>
  %0 = linalg.exp ins(%x : tensor<64x1024xf32>) outs(%e : tensor<64x1024xf32>) -> tensor<64x1024xf32>
  %s = tensor.empty() : tensor<32x512xf32>
  %1 = linalg.exp ins(%y : tensor<32x512xf32>) outs(%s : tensor<32x512xf32>) -> tensor<32x512xf32>
  return %0, %1 : tensor<64x1024xf32>, tensor<32x512xf32>
}

// Too small for tiles.
// CHECK-LABEL: func.func @small
// CHECK-SAME: act.work = []
// CHECK-NOT: scf.forall
// CHECK: return
func.func @small(%x: tensor<16xf32>) -> tensor<16xf32> {
  %e = tensor.empty() : tensor<16xf32>
  %0 = linalg.exp ins(%x : tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// The kernel's own loop stays.
// CHECK-LABEL: func.func @own
// CHECK-SAME: act.work = [32]
// CHECK: scf.forall (%{{.+}}) in (8)
// CHECK-NOT: scf.forall (
// CHECK: return
func.func @own(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %e = tensor.empty() : tensor<8x16xf32>
  %r = scf.forall (%i) in (8) shared_outs(%o = %e) -> (tensor<8x16xf32>) {
    %a = tensor.extract_slice %x[%i, 0] [1, 16] [1, 1] : tensor<8x16xf32> to tensor<1x16xf32>
    %b = tensor.extract_slice %o[%i, 0] [1, 16] [1, 1] : tensor<8x16xf32> to tensor<1x16xf32>
    %c = linalg.negf ins(%a : tensor<1x16xf32>) outs(%b : tensor<1x16xf32>) -> tensor<1x16xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %c into %o[%i, 0] [1, 16] [1, 1] : tensor<1x16xf32> into tensor<8x16xf32>
    }
  }
  return %r : tensor<8x16xf32>
}
