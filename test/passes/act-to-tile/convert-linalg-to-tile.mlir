// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --convert-linalg-to-tile | FileCheck %s --check-prefix=AFTER --match-full-lines
// RUN: act-opt %s --convert-linalg-to-tile | FileCheck %s
// RUN: act-opt %s --convert-linalg-to-tile=shared-bytes=21000 | FileCheck %s --check-prefix=TIGHT

// A product takes its operands as they lie, and what follows it is done on its
// block before that is stored. The result's memory is dense, so that it is
// written under the product's own shape.
// CHECK-LABEL: gpu.func @linear(
// CHECK-SAME: %[[X:[a-zA-Z0-9_]+]]: !tile.ptr<bf16>, %[[W:[a-zA-Z0-9_]+]]: !tile.ptr<bf16>, %[[Y:[a-zA-Z0-9_]+]]: !tile.ptr<bf16>) kernel
// CHECK-SAME: tile.grid = array<i64: 4, 1, 1>
// CHECK-DAG: %[[XV:[a-zA-Z0-9_]+]] = tile.view %[[X]] sizes [128, 96]
// CHECK-DAG: %[[WV:[a-zA-Z0-9_]+]] = tile.view %[[W]] sizes [80, 96]
// CHECK: %[[ACC:[a-zA-Z0-9_]+]] = scf.for %[[K:[a-zA-Z0-9_]+]] =
// CHECK: %[[A:[a-zA-Z0-9_]+]] = tile.load %[[XV]][%{{.+}} : 64, %[[K]] : 64]
// CHECK: %[[B:[a-zA-Z0-9_]+]] = tile.load %[[WV]][%{{.+}} : 64, %[[K]] : 64]
// CHECK: %[[BT:[a-zA-Z0-9_]+]] = tile.trans %[[B]]
// CHECK: tile.dot %[[A]], %[[BT]], %{{.+}} : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
// CHECK: %[[R:[a-zA-Z0-9_]+]] = arith.truncf %[[ACC]]
// CHECK: tile.store %[[R]], %{{.+}} : !tile.view<128x80xbf16>
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1, d2)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @linear(%x: tensor<2x64x96xbf16>, %w: tensor<80x96xbf16>) -> tensor<2x64x80xbf16> {
  %rows = tensor.collapse_shape %x [[0, 1], [2]] : tensor<2x64x96xbf16> into tensor<128x96xbf16>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x80xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x80xf32>) -> tensor<128x80xf32>
  %p = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%rows, %w : tensor<128x96xbf16>, tensor<80x96xbf16>) outs(%f : tensor<128x80xf32>) {
  ^bb0(%l: bf16, %r: bf16, %s: f32):
    %lw = arith.extf %l : bf16 to f32
    %rw = arith.extf %r : bf16 to f32
    %m = arith.mulf %lw, %rw : f32
    %n = arith.addf %s, %m : f32
    linalg.yield %n : f32
  } -> tensor<128x80xf32>
  %o = tensor.empty() : tensor<128x80xbf16>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<128x80xf32>) outs(%o : tensor<128x80xbf16>) {
  ^bb0(%i: f32, %u: bf16):
    %v = arith.truncf %i : f32 to bf16
    linalg.yield %v : bf16
  } -> tensor<128x80xbf16>
  %y = tensor.expand_shape %t [[0, 1], [2]] output_shape [2, 64, 80] : tensor<128x80xbf16> into tensor<2x64x80xbf16>
  return %y : tensor<2x64x80xbf16>
}

// Rows are summed whole, in the program that uses the sum; a statistic beside the
// result is stored too. What is read twice is loaded once.
// CHECK-LABEL: gpu.func @center(
// CHECK: %[[L:[a-zA-Z0-9_]+]] = tile.load
// CHECK-NOT: tile.load
// CHECK: %[[S:[a-zA-Z0-9_]+]] = tile.reduce add %[[L]] axis 1 : tensor<64x48xf32>
// CHECK: tile.broadcast
// CHECK: %[[D:[a-zA-Z0-9_]+]] = arith.subf %[[L]],
// CHECK: tile.store %[[D]], {{.+}} : !tile.view<200x48xf32>
// CHECK: tile.store %{{.+}} : !tile.view<200xf32>
#row = affine_map<(d0, d1) -> (d0)>
func.func @center(%x: tensor<200x48xf32>) -> (tensor<200x48xf32>, tensor<200xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<200xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<200xf32>) -> tensor<200xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<200x48xf32>) outs(%f : tensor<200xf32>) {
  ^bb0(%i: f32, %o: f32):
    %a = arith.addf %o, %i : f32
    linalg.yield %a : f32
  } -> tensor<200xf32>
  %o = tensor.empty() : tensor<200x48xf32>
  %d = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<200x48xf32>, tensor<200xf32>) outs(%o : tensor<200x48xf32>) {
  ^bb0(%i: f32, %m: f32, %u: f32):
    %v = arith.subf %i, %m : f32
    linalg.yield %v : f32
  } -> tensor<200x48xf32>
  return %d, %s : tensor<200x48xf32>, tensor<200xf32>
}

// A row of a table that a number says.
// CHECK-LABEL: gpu.func @gather(
// CHECK: %[[I:[a-zA-Z0-9_]+]] = arith.extsi %{{.+}} : tensor<{{[0-9]+}}xi32> to tensor<{{[0-9]+}}xi64>
// CHECK: tile.load %{{.+}}[%[[I]] : tensor<{{[0-9]+}}xi64>, %{{.+}} : 32] : !tile.view<100x32xf32>
func.func @gather(%t: tensor<100x32xf32>, %n: tensor<60xi32>) -> tensor<60x32xf32> {
  %e = tensor.empty() : tensor<60x32xf32>
  %r = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%n : tensor<60xi32>) outs(%e : tensor<60x32xf32>) {
  ^bb0(%i: i32, %u: f32):
    %k = arith.index_cast %i : i32 to index
    %j = linalg.index 1 : index
    %v = tensor.extract %t[%k, %j] : tensor<100x32xf32>
    linalg.yield %v : f32
  } -> tensor<60x32xf32>
  return %r : tensor<60x32xf32>
}

// Heads of few numbers: a program has rows of all of them, and what they share
// once. 8 * (8 * 2 * 32) numbers are a block.
// CHECK-LABEL: gpu.func @turned(
// CHECK-SAME: tile.grid = array<i64: 8, 1, 1>
// CHECK: tile.load {{.*}} : !tile.view<64x8x2x32xbf16>
// CHECK: tile.load %{{.+}}[%{{.+}} : 8, %{{.+}} : 32] : !tile.view<64x32xf32>
// CHECK-NOT: tile.load
// CHECK: tile.store %{{.+}}, %{{.+}}[%{{.+}} : 8, %{{.+}} : 8, %{{.+}} : 2, %{{.+}} : 32]
#all = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#angle = affine_map<(d0, d1, d2, d3) -> (d0, d3)>
func.func @turned(%x: tensor<64x512xbf16>, %cos: tensor<64x32xf32>) -> tensor<64x8x2x32xbf16> {
  %h = tensor.expand_shape %x [[0], [1, 2, 3]] output_shape [64, 8, 2, 32] : tensor<64x512xbf16> into tensor<64x8x2x32xbf16>
  %o = tensor.empty() : tensor<64x8x2x32xbf16>
  %y = linalg.generic {indexing_maps = [#all, #angle, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%h, %cos : tensor<64x8x2x32xbf16>, tensor<64x32xf32>) outs(%o : tensor<64x8x2x32xbf16>) {
  ^bb0(%i: bf16, %c: f32, %u: bf16):
    %w = arith.extf %i : bf16 to f32
    %m = arith.mulf %w, %c : f32
    %t = arith.truncf %m : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<64x8x2x32xbf16>
  return %y : tensor<64x8x2x32xbf16>
}

// What is gathered along one dimension of a block has rows of one dimension only.
// CHECK-LABEL: gpu.func @picked(
// CHECK: tile.store %{{.+}}, %{{.+}}[%{{.+}}, %{{.+}} : 8, %{{.+}} : 32]
#three = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#two = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @picked(%t: tensor<100x32xf32>, %n: tensor<4x8xi32>) -> tensor<4x8x32xf32> {
  %o = tensor.empty() : tensor<4x8x32xf32>
  %y = linalg.generic {indexing_maps = [#two, #three], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%n : tensor<4x8xi32>) outs(%o : tensor<4x8x32xf32>) {
  ^bb0(%i: i32, %u: f32):
    %row = arith.index_cast %i : i32 to index
    %column = linalg.index 2 : index
    %v = tensor.extract %t[%row, %column] : tensor<100x32xf32>
    linalg.yield %v : f32
  } -> tensor<4x8x32xf32>
  return %y : tensor<4x8x32xf32>
}

// Heads that were in front of tokens, as columns again: 70 rows of one sequence
// are 64 and 6, not some of the next one's, and are read where they lie.
// CHECK-LABEL: gpu.func @heads(
// CHECK-SAME: %[[X:[a-zA-Z0-9_]+]]: !tile.ptr<bf16>
// CHECK-SAME: tile.grid = array<i64: 4, 1, 1>
// CHECK-DAG: %[[V:[a-zA-Z0-9_]+]] = tile.view %[[X]] sizes [2, 4, 70, 16]
// CHECK: scf.for %[[HEAD:[a-zA-Z0-9_]+]] =
// CHECK: tile.load %[[V]][%{{.+}}, %[[HEAD]], %{{.+}} : 64, %{{.+}} : 16]
// CHECK: tile.dot
// CHECK: tile.store %{{.+}} : !tile.view<2x70x48xf32>
#swap = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>
func.func @heads(%x: tensor<2x4x70x16xbf16>, %w: tensor<48x64xbf16>) -> tensor<2x70x48xf32> {
  %e = tensor.empty() : tensor<2x70x4x16xbf16>
  %t = linalg.generic {indexing_maps = [#swap, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x4x70x16xbf16>) outs(%e : tensor<2x70x4x16xbf16>) {
  ^bb0(%i: bf16, %u: bf16):
    linalg.yield %i : bf16
  } -> tensor<2x70x4x16xbf16>
  %rows = tensor.collapse_shape %t [[0, 1], [2, 3]] : tensor<2x70x4x16xbf16> into tensor<140x64xbf16>
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<140x48xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<140x48xf32>) -> tensor<140x48xf32>
  %p = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%rows, %w : tensor<140x64xbf16>, tensor<48x64xbf16>) outs(%f : tensor<140x48xf32>) {
  ^bb0(%l: bf16, %r: bf16, %s: f32):
    %lw = arith.extf %l : bf16 to f32
    %rw = arith.extf %r : bf16 to f32
    %m = arith.mulf %lw, %rw : f32
    %n = arith.addf %s, %m : f32
    linalg.yield %n : f32
  } -> tensor<140x48xf32>
  %y = tensor.expand_shape %p [[0, 1], [2]] output_shape [2, 70, 48] : tensor<140x48xf32> into tensor<2x70x48xf32>
  return %y : tensor<2x70x48xf32>
}

// -----

// A sum over rows has parts where the argument is marked: as many programs as there
// are parts go over the blocks of rows, 2 each of the 256, store what is made of each,
// and at last their part of the sum.
#rows = affine_map<(d0, d1) -> (d0, d1)>
#columns = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: gpu.func @parts(
// CHECK-SAME: %[[X:[^ ]+]]: !tile.ptr<f32>, %[[P:[^ ]+]]: !tile.ptr<f32>, %[[Y:[^ ]+]]: !tile.ptr<f32>)
// CHECK-SAME: tile.grid = array<i64: 128, 1, 1>
// CHECK-SAME: warps = 8
// CHECK: %[[PV:.*]] = tile.view %[[P]] sizes [128, 1024]
// CHECK: %[[ID:.*]] = tile.program_id x
// CHECK: %[[FROM:.*]] = arith.muli %[[ID]], %{{.*}} : index
// CHECK: %[[TO:.*]] = arith.minsi
// CHECK: %[[S:.*]] = scf.for %[[N:.*]] = %[[FROM]] to %[[TO]] {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (tensor<8x1024xf32>)
// CHECK: %[[B:.*]] = tile.load
// CHECK: %[[E:.*]] = math.exp %{{[0-9]+}} : tensor
// CHECK: tile.store %[[E]]
// CHECK: %[[NEXT:.*]] = arith.addf %[[ACC]], %[[B]]
// CHECK: scf.yield %[[NEXT]]
// CHECK: %[[R:.*]] = tile.reduce add %[[S]] axis 0
// CHECK: tile.store %[[R]], %[[PV]][%[[ID]], %{{.*}} : 1024]
func.func @parts(%x: tensor<2048x1024xf32>, %p: tensor<128x1024xf32> {act.role = #act.role<parts, result = 0>}) -> (tensor<1024xf32>, tensor<2048x1024xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1024xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1024xf32>) -> tensor<1024xf32>
  %s = linalg.generic {indexing_maps = [#rows, #columns], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<2048x1024xf32>) outs(%z : tensor<1024xf32>) {
  ^bb0(%i: f32, %o: f32):
    %1 = arith.addf %o, %i : f32
    linalg.yield %1 : f32
  } -> tensor<1024xf32>
  %f = tensor.empty() : tensor<2048x1024xf32>
  %y = linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<2048x1024xf32>) outs(%f : tensor<2048x1024xf32>) {
  ^bb0(%i: f32, %o: f32):
    %1 = math.exp %i : f32
    linalg.yield %1 : f32
  } -> tensor<2048x1024xf32>
  return %s, %y : tensor<1024xf32>, tensor<2048x1024xf32>
}

// -----

// Of a single block the one program that has it reads: the others' loops are empty.
// CHECK-LABEL: gpu.func @one_block(
// CHECK-NOT: tile.load
// CHECK: scf.for %[[N:[^ ]+]] =
// CHECK: tile.load %{{.*}}[%[[N]], %{{.*}} : 1024]
// CHECK: tile.store %{{.*}}[%[[N]], %{{.*}} : 1024]
func.func @one_block(%x: tensor<1x1024xf32> {act.role = #act.role<in_place, result = 1>}, %p: tensor<64x1024xf32> {act.role = #act.role<parts, result = 0>}) -> (tensor<1024xf32>, tensor<1x1024xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1024xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1024xf32>) -> tensor<1024xf32>
  %s = linalg.generic {indexing_maps = [#rows, #columns], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<1x1024xf32>) outs(%z : tensor<1024xf32>) {
  ^bb0(%i: f32, %o: f32):
    %1 = arith.addf %o, %i : f32
    linalg.yield %1 : f32
  } -> tensor<1024xf32>
  %f = tensor.empty() : tensor<1x1024xf32>
  %y = linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<1x1024xf32>) outs(%f : tensor<1x1024xf32>) {
  ^bb0(%i: f32, %o: f32):
    %1 = arith.negf %i : f32
    linalg.yield %1 : f32
  } -> tensor<1x1024xf32>
  return %s, %y : tensor<1024xf32>, tensor<1x1024xf32>
}

// Of many programs 8 rows begin together: those that run at once need few columns.
// CHECK-LABEL: gpu.func @many
// With less shared memory: fewer rows at once, half of the step, one stage.
// TIGHT-LABEL: gpu.func @many
// TIGHT-SAME: stages = 1
// TIGHT: tile.dot {{.*}} : tensor<32x64xbf16>, tensor<64x128xbf16> -> tensor<32x128xf32>
// CHECK-SAME: tile.grid = array<i64: 221, 1, 1>, tile.index_bits = 32 : i32, tile.planned_bytes = 65536 : i64, tile.schedule = #tile.schedule<warps = 4, stages = 2, ahead, raster = 8x13>
func.func @many(%a: tensor<2112x64xbf16>, %b: tensor<64x1600xbf16>) -> tensor<2112x1600xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2112x1600xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%empty : tensor<2112x1600xf32>) -> tensor<2112x1600xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<2112x64xbf16>, tensor<64x1600xbf16>) outs(%0 : tensor<2112x1600xf32>) {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %2 = arith.extf %x : bf16 to f32
    %3 = arith.extf %y : bf16 to f32
    %4 = arith.mulf %2, %3 : f32
    %5 = arith.addf %s, %4 : f32
    linalg.yield %5 : f32
  } -> tensor<2112x1600xf32>
  return %1 : tensor<2112x1600xf32>
}

// A sum between two ends of each row is one product, to which they are counted
// from the block's first number on.
// CHECK-LABEL: gpu.func @within(
// CHECK: scf.for %[[K:[a-zA-Z0-9_]+]] =
// CHECK: %[[LOW:[a-zA-Z0-9_]+]] = arith.subi
// CHECK: %[[HIGH:[a-zA-Z0-9_]+]] = arith.subi
// CHECK: tile.dot %{{.+}}, %{{.+}}, %{{.+}} within(%[[LOW]], %[[HIGH]] : tensor<64xi32>, tensor<64xi32>)
func.func @within(%x: tensor<128x256xbf16>, %y: tensor<256x64xbf16>, %low: tensor<128xi32>, %high: tensor<128xi32>) -> tensor<128x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<128x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<128x64xf32>) -> tensor<128x64xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i)>, affine_map<(i, j, k) -> (i)>, affine_map<(i, j, k) -> (i, j)>],
                         iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %y, %low, %high : tensor<128x256xbf16>, tensor<256x64xbf16>, tensor<128xi32>, tensor<128xi32>)
      outs(%init : tensor<128x64xf32>) {
  ^bb0(%a: bf16, %b: bf16, %l: i32, %h: i32, %s: f32):
    %aw = arith.extf %a : bf16 to f32
    %bw = arith.extf %b : bf16 to f32
    %p = arith.mulf %aw, %bw : f32
    %k = linalg.index 2 : index
    %at = arith.index_cast %k : index to i32
    %from = arith.cmpi sge, %at, %l : i32
    %to = arith.cmpi slt, %at, %h : i32
    %in = arith.andi %from, %to : i1
    %own = arith.select %in, %p, %zero : f32
    %next = arith.addf %s, %own : f32
    linalg.yield %next : f32
  } -> tensor<128x64xf32>
  return %sum : tensor<128x64xf32>
}

// Where a loop goes along what is summed up, exponentials may be approximated.
// CHECK-LABEL: gpu.func @sums(
// CHECK: scf.for
// CHECK: math.exp %{{.*}} fastmath<reassoc,contract,afn> : tensor
func.func @sums(%x: tensor<64x40000xf32>) -> tensor<64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<64x40000xf32>) outs(%z : tensor<64xf32>) {
  ^bb0(%i: f32, %o: f32):
    %1 = math.exp %i : f32
    %2 = arith.addf %o, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<64xf32>
  return %s : tensor<64xf32>
}

// The pixels that a place of the window sees are a box: a product of channels for each
// place.
// CHECK-LABEL: gpu.func @convolution
// CHECK: scf.for %[[H:.+]] = %c0 to %c3
// CHECK: scf.for %[[W:.+]] = %c0 to %c3
// CHECK: tile.load %{{.+}}[%{{.+}}, %c0 : 16, %{{.+}}, %{{.+}} : 64] : !tile.view<2x16x66x66xf32>
// CHECK: tile.load %{{.+}}[%{{.+}} : 16, %c0 : 16, %[[H]], %[[W]]] : !tile.view<8x16x3x3xf32>
// CHECK: tile.dot
func.func @convolution(%x: tensor<2x16x66x66xf32>, %w: tensor<8x16x3x3xf32>) -> tensor<2x8x64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x8x64x64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x8x64x64xf32>) -> tensor<2x8x64x64xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(n, f, h, w, c, i, j) -> (n, c, h + i, w + j)>,
                                        affine_map<(n, f, h, w, c, i, j) -> (f, c, i, j)>,
                                        affine_map<(n, f, h, w, c, i, j) -> (n, f, h, w)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<2x16x66x66xf32>, tensor<8x16x3x3xf32>) outs(%z : tensor<2x8x64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x8x64x64xf32>
  return %y : tensor<2x8x64x64xf32>
}

// Every other element is gathered: the view is flat, and each element has a place.
// CHECK-LABEL: gpu.func @every_other
// CHECK: %[[X:.+]] = tile.view %{{.+}} sizes [640]
// CHECK: %[[I:.+]] = tile.reshape %{{.+}} : tensor<{{.+}}xi64> -> tensor<256xi64>
// CHECK: tile.load %[[X]][%[[I]] : tensor<256xi64>]
func.func @every_other(%x: tensor<16x40xf32>) -> tensor<16x16xf32> {
  %e = tensor.empty() : tensor<16x16xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j * 2 + 3)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<16x40xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<16x16xf32>
  return %y : tensor<16x16xf32>
}

// The manual's example.
#map = affine_map<(d0) -> (d0)>
func.func @double(%arg0: tensor<1000xf32>) -> tensor<1000xf32> {
  %0 = tensor.empty() : tensor<1000xf32>
  %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%arg0 : tensor<1000xf32>) outs(%0 : tensor<1000xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.addf %in, %in : f32
    linalg.yield %2 : f32
  } -> tensor<1000xf32>
  return %1 : tensor<1000xf32>
}
// AFTER: gpu.func @double(%arg0: !tile.ptr<f32>, %arg1: !tile.ptr<f32>) kernel attributes {{.*}}
// AFTER-NEXT:   %0 = tile.view %arg1 sizes [1000] : !tile.ptr<f32> -> !tile.view<1000xf32>
// AFTER-NEXT:   %1 = tile.view %arg0 sizes [1000] : !tile.ptr<f32> -> !tile.view<1000xf32>
// AFTER-NEXT:   %c0 = arith.constant 0 : index
// AFTER-NEXT:   %pid_x = tile.program_id x
// AFTER-NEXT:   %2 = tile.load %1[%c0 : 1024] : !tile.view<1000xf32>
// AFTER-NEXT:   %3 = arith.addf %2, %2 : tensor<1024xf32>
// AFTER-NEXT:   tile.store %3, %0[%c0 : 1024] : !tile.view<1000xf32>
// AFTER-NEXT:   gpu.return
