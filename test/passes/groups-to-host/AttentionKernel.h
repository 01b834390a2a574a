// SPDX-License-Identifier: Apache-2.0
//
// Causal flash attention as a person would write it for the host: a grid of
// (batch, head, block of queries), and in each block a loop over blocks of keys
// with a running maximum, sum and output. Fully masked blocks of keys are left
// out by the loop's bound. The last block is shorter when the sequence is not a
// multiple of 64.
#ifndef ACT_TEST_PASSES_GROUPSTOHOST_ATTENTIONKERNEL_H
#define ACT_TEST_PASSES_GROUPSTOHOST_ATTENTIONKERNEL_H
#include "test/passes/groups-to-host/Operands.h"

namespace act::test {

struct AttentionShape {
  int64_t batch, sequence, heads, keyHeads, dim;
};

/// A power of two near 1/sqrt(d): as good as any for a test.
inline double attentionScale(const AttentionShape &shape) {
  double scale = 1;
  while (scale * scale * shape.dim > 1)
    scale /= 2;
  return scale;
}

/// @attention(q [b, s, heads, d], k, v [b, s, keyHeads, d])
///     -> (o [b, s, heads, d], lse [b, heads, s]), f32.
inline std::string attentionKernel(const AttentionShape &shape) {
  bool whole = shape.sequence % 64 == 0;
  auto n = [](int64_t value) { return std::to_string(value); };
  return format(R"(
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#rc = affine_map<(r, c) -> (r, c)>
#r = affine_map<(r, c) -> (r)>
#v = affine_map<(r) -> (r)>
#rows = affine_map<(i) -> (64, $S - i)>
#end = affine_map<(i) -> (i + 64, $S)>
#group = affine_map<(h) -> (h floordiv $G)>
func.func @attention(%q: tensor<$Bx$Sx$Hx$Dxf32>, %k: tensor<$Bx$Sx$Kx$Dxf32>, %v: tensor<$Bx$Sx$Kx$Dxf32>)
    -> (tensor<$Bx$Sx$Hx$Dxf32>, tensor<$Bx$Hx$Sxf32>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %scale = arith.constant $SCALE : f32
  %eo = tensor.empty() : tensor<$Bx$Sx$Hx$Dxf32>
  %el = tensor.empty() : tensor<$Bx$Hx$Sxf32>
  %out:2 = scf.forall (%b, %h, %i) = (0, 0, 0) to ($B, $H, $S) step (1, 1, 64)
      shared_outs(%oo = %eo, %ll = %el) -> (tensor<$Bx$Sx$Hx$Dxf32>, tensor<$Bx$Hx$Sxf32>) {
    %g = affine.apply #group(%h)
    $MINROWS
    %qt = tensor.extract_slice %q[%b, %i, %h, 0] [1, $R, 1, $D] [1, 1, 1, 1] : tensor<$Bx$Sx$Hx$Dxf32> to tensor<$Mx$Dxf32>
    %ea = tensor.empty($DR) : tensor<$Mx$Dxf32>
    %acc0 = linalg.fill ins(%zero : f32) outs(%ea : tensor<$Mx$Dxf32>) -> tensor<$Mx$Dxf32>
    %ev = tensor.empty($DR) : tensor<$Mxf32>
    %m0 = linalg.fill ins(%ninf : f32) outs(%ev : tensor<$Mxf32>) -> tensor<$Mxf32>
    %l0 = linalg.fill ins(%zero : f32) outs(%ev : tensor<$Mxf32>) -> tensor<$Mxf32>
    %end = affine.min #end(%i)
    %last:3 = scf.for %j = %c0 to %end step %c64 iter_args(%acc = %acc0, %m = %m0, %l = %l0)
        -> (tensor<$Mx$Dxf32>, tensor<$Mxf32>, tensor<$Mxf32>) {
      $MINCOLS
      %kt = tensor.extract_slice %k[%b, %j, %g, 0] [1, $C, 1, $D] [1, 1, 1, 1] : tensor<$Bx$Sx$Kx$Dxf32> to tensor<$Nx$Dxf32>
      %vt = tensor.extract_slice %v[%b, %j, %g, 0] [1, $C, 1, $D] [1, 1, 1, 1] : tensor<$Bx$Sx$Kx$Dxf32> to tensor<$Nx$Dxf32>
      %es = tensor.empty($DRC) : tensor<$Mx$Nxf32>
      %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<$Mx$Nxf32>) -> tensor<$Mx$Nxf32>
      %dot = linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
          ins(%qt, %kt : tensor<$Mx$Dxf32>, tensor<$Nx$Dxf32>) outs(%fs : tensor<$Mx$Nxf32>) {
      ^bb0(%x: f32, %y: f32, %o: f32):
        %1 = arith.mulf %x, %y : f32
        %2 = arith.addf %o, %1 : f32
        linalg.yield %2 : f32
      } -> tensor<$Mx$Nxf32>
      %s = linalg.generic {indexing_maps = [#rc, #rc], iterator_types = ["parallel", "parallel"]}
          ins(%dot : tensor<$Mx$Nxf32>) outs(%es : tensor<$Mx$Nxf32>) {
      ^bb0(%x: f32, %o: f32):
        %row = linalg.index 0 : index
        %column = linalg.index 1 : index
        %qi = arith.addi %row, %i : index
        %kj = arith.addi %column, %j : index
        %seen = arith.cmpi sge, %qi, %kj : index
        %1 = arith.mulf %x, %scale : f32
        %2 = arith.select %seen, %1, %ninf : f32
        linalg.yield %2 : f32
      } -> tensor<$Mx$Nxf32>
      %mj = linalg.generic {indexing_maps = [#rc, #r], iterator_types = ["parallel", "reduction"]}
          ins(%s : tensor<$Mx$Nxf32>) outs(%m : tensor<$Mxf32>) {
      ^bb0(%x: f32, %o: f32):
        %1 = arith.maximumf %o, %x : f32
        linalg.yield %1 : f32
      } -> tensor<$Mxf32>
      %alpha = linalg.generic {indexing_maps = [#v, #v, #v], iterator_types = ["parallel"]}
          ins(%m, %mj : tensor<$Mxf32>, tensor<$Mxf32>) outs(%ev : tensor<$Mxf32>) {
      ^bb0(%x: f32, %y: f32, %o: f32):
        %1 = arith.subf %x, %y : f32
        %2 = math.exp %1 : f32
        linalg.yield %2 : f32
      } -> tensor<$Mxf32>
      %p = linalg.generic {indexing_maps = [#rc, #r, #rc], iterator_types = ["parallel", "parallel"]}
          ins(%s, %mj : tensor<$Mx$Nxf32>, tensor<$Mxf32>) outs(%es : tensor<$Mx$Nxf32>) {
      ^bb0(%x: f32, %y: f32, %o: f32):
        %1 = arith.subf %x, %y : f32
        %2 = math.exp %1 : f32
        linalg.yield %2 : f32
      } -> tensor<$Mx$Nxf32>
      %lr = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]}
          ins(%alpha : tensor<$Mxf32>) outs(%l : tensor<$Mxf32>) {
      ^bb0(%x: f32, %o: f32):
        %1 = arith.mulf %o, %x : f32
        linalg.yield %1 : f32
      } -> tensor<$Mxf32>
      %lj = linalg.generic {indexing_maps = [#rc, #r], iterator_types = ["parallel", "reduction"]}
          ins(%p : tensor<$Mx$Nxf32>) outs(%lr : tensor<$Mxf32>) {
      ^bb0(%x: f32, %o: f32):
        %1 = arith.addf %o, %x : f32
        linalg.yield %1 : f32
      } -> tensor<$Mxf32>
      %ar = linalg.generic {indexing_maps = [#r, #rc], iterator_types = ["parallel", "parallel"]}
          ins(%alpha : tensor<$Mxf32>) outs(%acc : tensor<$Mx$Dxf32>) {
      ^bb0(%x: f32, %o: f32):
        %1 = arith.mulf %o, %x : f32
        linalg.yield %1 : f32
      } -> tensor<$Mx$Dxf32>
      %aj = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
          ins(%p, %vt : tensor<$Mx$Nxf32>, tensor<$Nx$Dxf32>) outs(%ar : tensor<$Mx$Dxf32>) {
      ^bb0(%x: f32, %y: f32, %o: f32):
        %1 = arith.mulf %x, %y : f32
        %2 = arith.addf %o, %1 : f32
        linalg.yield %2 : f32
      } -> tensor<$Mx$Dxf32>
      scf.yield %aj, %mj, %lj : tensor<$Mx$Dxf32>, tensor<$Mxf32>, tensor<$Mxf32>
    }
    %ot = linalg.generic {indexing_maps = [#rc, #r, #rc], iterator_types = ["parallel", "parallel"]}
        ins(%last#0, %last#2 : tensor<$Mx$Dxf32>, tensor<$Mxf32>) outs(%ea : tensor<$Mx$Dxf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %1 = arith.divf %x, %y : f32
      linalg.yield %1 : f32
    } -> tensor<$Mx$Dxf32>
    %lt = linalg.generic {indexing_maps = [#v, #v, #v], iterator_types = ["parallel"]}
        ins(%last#1, %last#2 : tensor<$Mxf32>, tensor<$Mxf32>) outs(%ev : tensor<$Mxf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %1 = math.log %y : f32
      %2 = arith.addf %x, %1 : f32
      linalg.yield %2 : f32
    } -> tensor<$Mxf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %ot into %oo[%b, %i, %h, 0] [1, $R, 1, $D] [1, 1, 1, 1] : tensor<$Mx$Dxf32> into tensor<$Bx$Sx$Hx$Dxf32>
      tensor.parallel_insert_slice %lt into %ll[%b, %h, %i] [1, 1, $R] [1, 1, 1] : tensor<$Mxf32> into tensor<$Bx$Hx$Sxf32>
    }
  }
  return %out#0, %out#1 : tensor<$Bx$Sx$Hx$Dxf32>, tensor<$Bx$Hx$Sxf32>
})",
                {{"$SCALE", std::to_string(attentionScale(shape))},
                 {"$MINROWS", whole ? "" : "%rows = affine.min #rows(%i)"},
                 {"$MINCOLS", whole ? "" : "%columns = affine.min #rows(%j)"},
                 {"$DRC", whole ? "" : "%rows, %columns"},
                 {"$DR", whole ? "" : "%rows"},
                 {"$R", whole ? "64" : "%rows"},
                 {"$C", whole ? "64" : "%columns"},
                 {"$Mx", whole ? "64x" : "?x"},
                 {"$Nx", whole ? "64x" : "?x"},
                 {"$G", n(shape.heads / shape.keyHeads)},
                 {"$B", n(shape.batch)},
                 {"$S", n(shape.sequence)},
                 {"$H", n(shape.heads)},
                 {"$K", n(shape.keyHeads)},
                 {"$D", n(shape.dim)}});
}

} // namespace act::test
#endif
